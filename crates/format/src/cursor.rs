//! Reads the numbers of a record in order. Errors contain the file offset of the number.

use holloway_abi::Kind;

use crate::error::FormatError;
use crate::varint;

/// A position in the bytes of one record.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Index in `bytes` of the next byte to read.
    position: usize,
    /// Offset of `bytes` in the file.
    base: u64,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`, which lie at offset `base` of the file.
    pub(crate) fn new(bytes: &'a [u8], base: u64) -> Self {
        Self {
            bytes,
            position: 0,
            base,
        }
    }

    /// The position as an offset in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.base.saturating_add(self.position as u64)
    }

    /// Reads the next `n` bytes.
    pub(crate) fn bytes(&mut self, n: usize) -> Result<&'a [u8], FormatError> {
        let end = self
            .position
            .checked_add(n)
            .filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(FormatError::Truncated {
            offset: self.base.saturating_add(self.bytes.len() as u64),
        })?;
        let bytes = &self.bytes[self.position..end];
        self.position = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        Ok(self.bytes(N)?.try_into().expect("bytes(N) returns N bytes"))
    }

    /// Reads the next byte.
    pub(crate) fn u8(&mut self) -> Result<u8, FormatError> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads the next four bytes as a little-endian number.
    pub(crate) fn u32(&mut self) -> Result<u32, FormatError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads the next eight bytes as a little-endian number.
    pub(crate) fn u64(&mut self) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads the next sixteen bytes: a build id.
    pub(crate) fn id(&mut self) -> Result<[u8; 16], FormatError> {
        self.array()
    }

    /// Reads the next variable-length number ([`varint`]).
    #[inline]
    pub(crate) fn var(&mut self) -> Result<u64, FormatError> {
        match varint::take(&self.bytes[self.position..]) {
            Some((value, len)) => {
                self.position += len;
                Ok(value)
            }
            None => Err(FormatError::Number {
                offset: self.offset(),
            }),
        }
    }

    /// Reads the next variable-length number. The number must fit in 32 bits.
    #[inline]
    pub(crate) fn var32(&mut self) -> Result<u32, FormatError> {
        let offset = self.offset();
        u32::try_from(self.var()?).map_err(|_| FormatError::Number { offset })
    }

    /// Reads the next signed variable-length number.
    #[inline]
    pub(crate) fn signed(&mut self) -> Result<i64, FormatError> {
        Ok(varint::unzigzag(self.var()?))
    }

    /// Reads the next signed LEB128 number, in which the highest bit of the last byte's seven is
    /// the sign.
    pub(crate) fn sleb(&mut self) -> Result<i64, FormatError> {
        let offset = self.offset();
        let mut value = 0i64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                let is_negative = byte & 0x40 != 0;
                let sign = (-1i64).checked_shl(shift + 7).unwrap_or(0);
                return Ok(if is_negative { value | sign } else { value });
            }
        }
        Err(FormatError::Number { offset })
    }

    /// Returns whether all bytes were read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.position == self.bytes.len()
    }

    /// Reads a signed variable-length difference, and adds it to `from`. The sum must be less than
    /// `limit`.
    #[inline]
    pub(crate) fn near(
        &mut self,
        from: u32,
        limit: u64,
        noun: &'static str,
    ) -> Result<u32, FormatError> {
        let value = i64::from(from).wrapping_add(self.signed()?);
        self.below(value as u64, limit, noun)
    }

    /// Reads a variable-length number. The number must be less than `limit`.
    #[inline]
    pub(crate) fn index(&mut self, limit: usize, noun: &'static str) -> Result<u32, FormatError> {
        let value = self.var()?;
        self.below(value, limit as u64, noun)
    }

    #[inline]
    fn below(&self, value: u64, limit: u64, noun: &'static str) -> Result<u32, FormatError> {
        match u32::try_from(value) {
            Ok(index) if value < limit => Ok(index),
            _ => Err(FormatError::Range {
                what: noun,
                value,
                limit,
                offset: self.offset(),
            }),
        }
    }

    /// Reads the number of the items that follow. Each item takes at least `min_size` bytes. A
    /// number of items that the remaining bytes cannot hold is an error, so the caller can allocate
    /// memory for all items.
    pub(crate) fn count(
        &mut self,
        min_size: usize,
        noun: &'static str,
    ) -> Result<usize, FormatError> {
        let value = self.var()?;
        let limit = ((self.bytes.len() - self.position) / min_size) as u64 + 1;
        Ok(self.below(value, limit, noun)? as usize)
    }

    /// Reads all remaining bytes.
    pub(crate) fn remaining(&mut self) -> &'a [u8] {
        let remaining = &self.bytes[self.position..];
        self.position = self.bytes.len();
        remaining
    }

    /// Checks that the record ends here.
    ///
    /// # Errors
    /// If bytes remain.
    pub(crate) fn end(&self) -> Result<(), FormatError> {
        if self.position == self.bytes.len() {
            Ok(())
        } else {
            Err(FormatError::Leftover {
                offset: self.offset(),
            })
        }
    }
}

/// Returns the kind with this number. Every file has the number of its kind at byte 12.
///
/// # Errors
/// If this version knows no kind with this number.
pub(crate) fn known_kind(number: u32) -> Result<Kind, FormatError> {
    Kind::from_number(number).ok_or(FormatError::UnknownKind {
        kind: number,
        offset: 12,
    })
}
