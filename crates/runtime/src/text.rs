//! Text of bounded length with a final NUL: paths and messages without an allocator, and functions
//! to parse bytes.

/// A string of at most `N - 1` bytes, always followed by a NUL. Bytes that do not fit are dropped,
/// and [`Text::is_whole`] returns false then.
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
    is_cut: bool,
    /// An index, and the byte that a NUL replaced at this index; see [`Text::end_at`].
    replaced: (usize, u8),
}

impl<const N: usize> Text<N> {
    pub(crate) const fn new() -> Text<N> {
        Text {
            bytes: [0; N],
            len: 0,
            is_cut: false,
            replaced: (0, 0),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.truncate(0);
        self.is_cut = false;
    }

    /// Shortens to `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        if len <= self.len {
            self.len = len;
            self.terminate();
        }
    }

    /// Ends the string at `end` temporarily: until [`Text::restore_end`], system calls read only
    /// the part before `end`.
    pub(crate) fn end_at(&mut self, end: usize) {
        if let Some(byte) = self.bytes.get_mut(end) {
            self.replaced = (end, *byte);
            *byte = 0;
        }
    }

    /// Undoes the last [`Text::end_at`].
    pub(crate) fn restore_end(&mut self) {
        let (end, old_byte) = self.replaced;
        if let Some(byte) = self.bytes.get_mut(end) {
            *byte = old_byte;
        }
    }

    pub(crate) fn push(&mut self, byte: u8) {
        if self.len + 1 >= N {
            self.is_cut = true;
            return;
        }
        if let Some(free_byte) = self.bytes.get_mut(self.len) {
            *free_byte = byte;
        }
        self.len += 1;
        self.terminate();
    }

    pub(crate) fn push_all(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.push(*byte);
        }
    }

    /// Appends `value` in decimal, with leading zeros up to `width` digits.
    pub(crate) fn push_decimal(&mut self, value: u64, width: usize) {
        let mut digits = [b'0'; 20];
        let mut rest = value;
        let mut used = 0;
        for digit in digits.iter_mut().rev() {
            if rest == 0 && used >= width.max(1) {
                break;
            }
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            used += 1;
        }
        for digit in digits.iter().skip(20 - used) {
            self.push(*digit);
        }
    }

    fn terminate(&mut self) {
        if let Some(end) = self.bytes.get_mut(self.len) {
            *end = 0;
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    /// The address of the bytes and their final NUL, for a system call.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Did everything pushed since [`Text::clear`] fit?
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// The buffer for a system call to write in, without the last byte, which is for the NUL. The
    /// caller then calls [`Text::set_len`].
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..N - 1).unwrap_or(&mut [])
    }

    /// Sets the length after a system call wrote to [`Text::room`].
    pub(crate) fn set_len(&mut self, len: usize) {
        self.len = len.min(N - 1);
        self.terminate();
    }

    /// Removes the first `count` bytes.
    pub(crate) fn drop_front(&mut self, count: usize) {
        let count = count.min(self.len);
        let mut to = 0;
        while count + to < self.len {
            let byte = self.bytes.get(count + to).copied().unwrap_or(0);
            if let Some(target) = self.bytes.get_mut(to) {
                *target = byte;
            }
            to += 1;
        }
        self.truncate(to);
    }
}

/// The bytes before the first NUL.
pub(crate) fn until_nul(bytes: &[u8]) -> &[u8] {
    let len = position(bytes, 0).unwrap_or(bytes.len());
    bytes.get(..len).unwrap_or(bytes)
}

/// Position of the first `wanted` byte.
pub(crate) fn position(bytes: &[u8], wanted: u8) -> Option<usize> {
    bytes.iter().position(|byte| *byte == wanted)
}

/// The part after the last slash.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => path.get(slash + 1..).unwrap_or(&[]),
        None => path,
    }
}

/// Copies as many bytes of `from` as fit, and sets the remaining bytes of `to` to zero.
pub(crate) fn copy_padded(to: &mut [u8], from: &[u8]) {
    for (index, byte) in to.iter_mut().enumerate() {
        *byte = from.get(index).copied().unwrap_or(0);
    }
}

/// Are two slices of bytes equal? (The `==` of slices calls `memcmp`.)
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y)
}

/// Does `text` begin with `start`?
pub(crate) fn starts_with(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len())
        .is_some_and(|front| same(front, start))
}

/// The value of the entry with the type `wanted` in the auxiliary vector: pairs of type and value,
/// as in `/proc/self/auxv`.
pub(crate) fn aux_value(vector: &[u8], wanted: u64) -> Option<u64> {
    let (words, _) = vector.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    let mut pairs = pairs
        .iter()
        .map(|[kind, value]| (u64::from_ne_bytes(*kind), u64::from_ne_bytes(*value)));
    pairs.find_map(|(kind, value)| (kind == wanted).then_some(value))
}

/// Splits a number in `radix` (10 or 16) off the front of `text`. The number is 0 if there are no
/// digits.
pub(crate) fn number(text: &[u8], radix: u64) -> (u64, &[u8]) {
    let mut value: u64 = 0;
    let mut used = 0;
    for byte in text {
        let digit = match byte {
            b'0'..=b'9' => u64::from(byte - b'0'),
            b'a'..=b'f' if radix == 16 => u64::from(byte - b'a' + 10),
            _ => break,
        };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        used += 1;
    }
    (value, text.get(used..).unwrap_or(&[]))
}

/// Appends the time `YYYYMMDD-HHMMSS` for `seconds` since 1970, UTC.
///
/// In this computation, years begin on 1 March, so that the leap day is the last day of a year. An
/// era is 400 years with 146,097 days (H. Hinnant, "chrono-compatible low-level date algorithms").
pub(crate) fn push_time<const N: usize>(text: &mut Text<N>, seconds: u64) {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153; // 0 is March
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    text.push_decimal(era * 400 + year + next_year, 4);
    text.push_decimal(month, 2);
    text.push_decimal(date, 2);
    text.push(b'-');
    text.push_decimal(second / 3_600, 2);
    text.push_decimal(second / 60 % 60, 2);
    text.push_decimal(second % 60, 2);
}

#[cfg(test)]
mod tests;
