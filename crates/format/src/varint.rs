//! Variable-length numbers (LEB128): seven bits per byte, low bits first, so small numbers take few
//! bytes. Zigzag coding maps signed numbers to unsigned ones.
//!
//! ```text
//!       0  00          127  7f          128  80 01          300  ac 02
//!      -1  01 (zigzag)   1  02 (zigzag)  -2  03 (zigzag)
//!   2^64-1  ff ff ff ff ff ff ff ff ff 01
//! ```

/// Appends `value`.
///
/// ```
/// let mut bytes = Vec::new();
/// holloway_format::varint::put(&mut bytes, 300);
/// assert_eq!(bytes, [0xac, 0x02]);
/// assert_eq!(holloway_format::varint::take(&bytes), Some((300, 2)));
/// ```
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed `value`. Small absolute values take few bytes.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, zigzag(value));
}

/// Reads the number at the start of `bytes`. Returns the number and its length, or `None` if the
/// number does not end or exceeds 64 bits.
#[inline]
pub fn take(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    take_long(bytes)
}

fn take_long(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        if index == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Moves the sign into the lowest bit: 0, -1, 1, -2 become 0, 1, 2, 3.
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
