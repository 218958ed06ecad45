//! Values of the program that training counts: targets of indirect calls, and sizes of memory
//! operations (value profiling: Calder, Feller, Eustace 1997).

/// A value at one place of a function.
///
/// Training counts the values of a function in one hash table. The key of a count is a number of 64
/// bits:
///
/// ```text
/// bit  63         0 for targets, 1 for sizes
/// bits 48 to 62   site: the number of the indirect call, or of the memory operation, in the function,
///                 in the order of the code
/// bits  0 to 47   target: its address, minus the address at which the image with the call was
///                 loaded (`__ehdr_start`)
///                 size: in bytes
/// ```
/// Examples: the third indirect call of a function called the code at 0x1150: key
/// `0x0002_0000_0000_1150`. Its first memory operation copied 16 bytes: key
/// `0x8000_0000_0000_0010`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteValue {
    /// A target of an indirect call.
    Target(CallTarget),
    /// A size of a memory operation.
    Size(OperationSize),
}

/// A target of an indirect call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTarget {
    /// The number of the indirect call in its function, from 0.
    pub site: u16,
    /// The target's address relative to the image. Code of other images has an address outside of
    /// the image.
    pub address: u64,
}

/// A size of a memory operation: `memcpy`, `memmove`, `memset`, `memcmp`, or `bcmp`, with a size
/// that the compiler does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationSize {
    /// The number of the operation in its function, from 0.
    pub site: u16,
    /// Bytes, at most [`OperationSize::LARGE`], which stands for all larger ones, too.
    pub bytes: u64,
}

impl OperationSize {
    /// All sizes from this one on count as this one. LLVM makes no special code for them.
    pub const LARGE: u64 = 513;
}

impl SiteValue {
    /// The number of bits of an address or size.
    pub const VALUE_BITS: u32 = 48;
    /// Only so many indirect calls, and so many memory operations, of a function have keys.
    pub const SITE_LIMIT: usize = 1 << 15;
    const IS_SIZE: u64 = 1 << 63;

    /// The key of the value's count. Sites are below [`SiteValue::SITE_LIMIT`].
    pub fn key(self) -> u64 {
        match self {
            Self::Target(CallTarget { site, address }) => {
                u64::from(site) << Self::VALUE_BITS | address
            }
            Self::Size(OperationSize { site, bytes }) => {
                Self::IS_SIZE | u64::from(site) << Self::VALUE_BITS | bytes
            }
        }
    }

    /// The value with this key.
    pub fn from_key(key: u64) -> Self {
        let site = (key & !Self::IS_SIZE) >> Self::VALUE_BITS;
        let site = site as u16;
        let value = key & ((1 << Self::VALUE_BITS) - 1);
        match key & Self::IS_SIZE {
            0 => Self::Target(CallTarget {
                site,
                address: value,
            }),
            _ => Self::Size(OperationSize { site, bytes: value }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_keys() {
        let check = |value: SiteValue, key: u64| {
            assert_eq!(value.key(), key);
            assert_eq!(SiteValue::from_key(key), value);
        };
        let target = CallTarget {
            site: 2,
            address: 0x1150,
        };
        check(SiteValue::Target(target), 0x0002_0000_0000_1150);
        let size = OperationSize { site: 0, bytes: 16 };
        check(SiteValue::Size(size), 0x8000_0000_0000_0010);
        let last = OperationSize {
            site: (1 << 15) - 1,
            bytes: OperationSize::LARGE,
        };
        check(SiteValue::Size(last), 0xffff_0000_0000_0201);
    }
}
