//! Reads the numbers of a record in order, and knows the offset of each in the file.

use holloway_abi::Kind;

use crate::error::FormatError;
use crate::varint;

/// Position in the bytes of one record.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    base: u64,
}

impl<'a> Cursor<'a> {
    /// Reads `bytes`, which lie at offset `base` of the file.
    pub(crate) fn new(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, at: 0, base }
    }

    /// Offset in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.base.saturating_add(self.at as u64)
    }

    /// The next `n` bytes.
    pub(crate) fn bytes(&mut self, n: usize) -> Result<&'a [u8], FormatError> {
        let end = self
            .at
            .checked_add(n)
            .filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(FormatError::Truncated {
            offset: self.base.saturating_add(self.bytes.len() as u64),
        })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        Ok(self.bytes(N)?.try_into().expect("bytes(N) gives N bytes"))
    }

    /// The next byte.
    pub(crate) fn u8(&mut self) -> Result<u8, FormatError> {
        Ok(self.array::<1>()?[0])
    }

    /// The next four bytes, little-endian.
    pub(crate) fn u32(&mut self) -> Result<u32, FormatError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// The next eight bytes, little-endian.
    pub(crate) fn u64(&mut self) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// The next sixteen bytes.
    pub(crate) fn id(&mut self) -> Result<[u8; 16], FormatError> {
        self.array()
    }

    /// The next variable-length number.
    #[inline]
    pub(crate) fn var(&mut self) -> Result<u64, FormatError> {
        match varint::take(&self.bytes[self.at..]) {
            Some((value, len)) => {
                self.at += len;
                Ok(value)
            }
            None => Err(FormatError::Number {
                offset: self.offset(),
            }),
        }
    }

    /// The next variable-length number, which must fit in 32 bits.
    #[inline]
    pub(crate) fn var32(&mut self) -> Result<u32, FormatError> {
        let offset = self.offset();
        u32::try_from(self.var()?).map_err(|_| FormatError::Number { offset })
    }

    /// The next signed number.
    #[inline]
    pub(crate) fn signed(&mut self) -> Result<i64, FormatError> {
        Ok(varint::unzigzag(self.var()?))
    }

    /// The number at a signed distance from `from`, which must be below `limit`.
    #[inline]
    pub(crate) fn near(
        &mut self,
        from: u32,
        limit: u64,
        what: &'static str,
    ) -> Result<u32, FormatError> {
        let value = i64::from(from).wrapping_add(self.signed()?);
        self.below(value as u64, limit, what)
    }

    /// A number below `limit`.
    #[inline]
    pub(crate) fn index(&mut self, limit: usize, what: &'static str) -> Result<u32, FormatError> {
        let value = self.var()?;
        self.below(value, limit as u64, what)
    }

    #[inline]
    fn below(&self, value: u64, limit: u64, what: &'static str) -> Result<u32, FormatError> {
        match u32::try_from(value) {
            Ok(index) if value < limit => Ok(index),
            _ => Err(FormatError::Range {
                what,
                value,
                limit,
                offset: self.offset(),
            }),
        }
    }

    /// A count of items that take at least `least` bytes each. A count that the rest cannot hold is
    /// refused, so that nobody allocates as much as an unchecked length asks for.
    pub(crate) fn count(&mut self, least: usize, what: &'static str) -> Result<usize, FormatError> {
        let value = self.var()?;
        let limit = ((self.bytes.len() - self.at) / least) as u64 + 1;
        Ok(self.below(value, limit, what)? as usize)
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// Ends the record: no bytes may be left.
    pub(crate) fn end(&self) -> Result<(), FormatError> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(FormatError::Leftover {
                offset: self.offset(),
            })
        }
    }
}

/// The kind of collection that a file's head names, always at byte 12.
pub(crate) fn known_kind(number: u32) -> Result<Kind, FormatError> {
    Kind::from_number(number).ok_or(FormatError::UnknownKind {
        kind: number,
        offset: 12,
    })
}
