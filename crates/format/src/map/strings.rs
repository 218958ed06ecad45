//! The strings of a module. Each string is stored once and has its own checksum. If a string is
//! damaged, only the functions that use it are left out.
//!
//! A flipped bit in the text damages one string. A flipped bit in the end of a string also damages
//! the next string, which starts there.

use std::collections::HashMap;

use crate::error::FormatError;
use crate::text::Text;

/// Encodes strings, and numbers them in the order of their first use.
#[derive(Default)]
pub(super) struct StringWriter<'a> {
    numbers: HashMap<&'a str, u32>,
    /// The end and the checksum of each string.
    table: Vec<u8>,
    /// All strings, one after the other.
    text: Vec<u8>,
}

impl<'a> StringWriter<'a> {
    /// Returns the string's number.
    ///
    /// # Panics
    /// If all strings together have 4 GiB or more.
    pub(super) fn number(&mut self, string: &'a str) -> u32 {
        if let Some(&number) = self.numbers.get(string) {
            return number;
        }
        let number = u32::try_from(self.numbers.len()).expect("fewer than 2^32 strings");
        self.numbers.insert(string, number);
        self.text.extend_from_slice(string.as_bytes());
        let end = u32::try_from(self.text.len()).expect("the strings of a module are below 4 GiB");
        self.table.extend_from_slice(&end.to_le_bytes());
        self.table
            .extend_from_slice(&crc32fast::hash(string.as_bytes()).to_le_bytes());
        number
    }

    /// Returns the table and the text.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<u8>) {
        (self.table, self.text)
    }
}

/// The strings of a module, by number. `None` replaces a damaged string.
pub(super) struct Strings(Vec<Option<Text>>);

impl Strings {
    /// Decodes the strings. The length of `table` is a multiple of 8.
    pub(super) fn read(table: &[u8], text: &[u8]) -> Self {
        let mut start = 0;
        let strings = table.as_chunks::<8>().0.iter().map(|entry| {
            let end = u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]) as usize;
            let crc = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
            let bytes = text.get(start..end);
            start = end;
            let bytes = bytes.filter(|bytes| crc32fast::hash(bytes) == crc)?;
            std::str::from_utf8(bytes).ok().map(Text::from)
        });
        Self(strings.collect())
    }

    /// Returns the string with this number. `offset` is the offset of the reference to the string.
    ///
    /// # Errors
    /// If the string is damaged or does not exist.
    pub(super) fn get(&self, number: u32, offset: u64) -> Result<Text, FormatError> {
        let error = FormatError::Text {
            index: number.into(),
            offset,
        };
        self.0.get(number as usize).cloned().flatten().ok_or(error)
    }

    /// Returns the strings with these numbers. `offset` is the offset of the first number.
    pub(super) fn all<const N: usize>(
        &self,
        numbers: [u32; N],
        offset: u64,
    ) -> Result<[Text; N], FormatError> {
        let mut texts = std::array::from_fn(|_| Text::default());
        for (text, number) in texts.iter_mut().zip(numbers) {
            *text = self.get(number, offset)?;
        }
        Ok(texts)
    }

    /// Returns the string with this number, or an empty text if the string is damaged or does not
    /// exist.
    pub(super) fn find(&self, number: u32) -> Text {
        self.0
            .get(number as usize)
            .cloned()
            .flatten()
            .unwrap_or_default()
    }
}
