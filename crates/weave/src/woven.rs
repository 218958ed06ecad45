//! A woven module, as workers send it to the link step and as the cache keeps it.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  size of the counters in bytes
//!      8    8  length s of the base symbol
//!     16    8  length f of the fragment
//!     24    8  number of functions with counts of a plan
//!     32    s  base symbol
//!      …    f  fragment (format::map)
//!      …    …  object
//! ```

use crate::cache::{Entry, take_bytes, take_number};

/// A woven module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WovenModule {
    /// The object file.
    pub object: Vec<u8>,
    /// The module's path map, encoded by [`ModuleMap::encode`](holloway_format::ModuleMap::encode).
    pub fragment: Vec<u8>,
    /// The size of a thread's counters for the module, in bytes.
    pub counters_size: u64,
    /// The symbol of the module's base: the offset of its counters in a thread's block.
    pub base_symbol: String,
    /// The number of functions that got counts of a plan
    /// ([`EarlyBuild::Optimized`](crate::EarlyBuild::Optimized)).
    pub planned_functions: u64,
    /// Whether the module's assembly includes files. The bitcode does not contain these files, so
    /// the result must not be cached.
    pub reads_files: bool,
}

impl Entry for WovenModule {
    const MAGIC: [u8; 8] = *b"HLWCACHE";

    fn write(&self, bytes: &mut Vec<u8>) {
        let Self {
            object,
            fragment,
            counters_size,
            base_symbol,
            planned_functions,
            // A module that reads files is never cached.
            reads_files: _,
        } = self;
        bytes.extend(counters_size.to_le_bytes());
        bytes.extend((base_symbol.len() as u64).to_le_bytes());
        bytes.extend((fragment.len() as u64).to_le_bytes());
        bytes.extend(planned_functions.to_le_bytes());
        bytes.extend(base_symbol.as_bytes());
        bytes.extend(fragment);
        bytes.extend(object);
    }

    fn read(mut content: &[u8]) -> Option<Self> {
        let content = &mut content;
        let counters_size = take_number(content)?;
        let symbol_length = take_number(content)?;
        let fragment_length = take_number(content)?;
        let planned_functions = take_number(content)?;
        let symbol = take_bytes(content, symbol_length)?;
        let fragment = take_bytes(content, fragment_length)?;
        Some(Self {
            object: content.to_vec(),
            fragment: fragment.to_vec(),
            counters_size,
            planned_functions,
            base_symbol: String::from_utf8(symbol.to_vec()).ok()?,
            reads_files: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{decode, encode};

    #[test]
    fn modules_are_written_and_read() {
        let module = WovenModule {
            object: vec![3; 50],
            fragment: vec![2; 33],
            counters_size: 64 * 3,
            base_symbol: format!("__holloway_base_{:032x}", 3),
            planned_functions: 5,
            reads_files: false,
        };
        let bytes = encode(&module);
        assert_eq!(decode(&bytes), Some(module));
        // The base symbol ends after the content.
        let mut short = b"".to_vec();
        for number in [0, 9, 0, 0] {
            short.extend(u64::to_le_bytes(number));
        }
        assert_eq!(WovenModule::read(&short), None);
    }
}
