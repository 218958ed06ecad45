//! Bytes of bounded length, NUL terminated: paths and messages without an allocator.

/// A string of at most `N - 1` bytes, always followed by a NUL. Bytes that do not fit are dropped,
/// and the string remembers that.
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
    is_cut: bool,
    /// Where a NUL covers the byte beside it; see [`Text::cover`].
    covered: (usize, u8),
}

impl<const N: usize> Text<N> {
    pub(crate) const fn new() -> Text<N> {
        Text {
            bytes: [0; N],
            len: 0,
            is_cut: false,
            covered: (0, 0),
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

    /// Ends the string at `end` for a while: until [`Text::uncover`], a system call sees only the
    /// part before `end`.
    pub(crate) fn cover(&mut self, end: usize) {
        if let Some(place) = self.bytes.get_mut(end) {
            self.covered = (end, *place);
            *place = 0;
        }
    }

    /// Undoes the last [`Text::cover`].
    pub(crate) fn uncover(&mut self) {
        let (end, byte) = self.covered;
        if let Some(place) = self.bytes.get_mut(end) {
            *place = byte;
        }
    }

    pub(crate) fn push(&mut self, byte: u8) {
        if self.len + 1 >= N {
            self.is_cut = true;
            return;
        }
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
        }
        self.len += 1;
        self.terminate();
    }

    pub(crate) fn push_all(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.push(*byte);
        }
    }

    /// `value` in decimal, with leading zeros up to `width` digits.
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
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = 0;
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    /// The bytes with the NUL after them, for a system call.
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

    /// Room for a system call to write in, without the last byte, which is the NUL's. Call
    /// [`Text::set_len`] afterwards.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..N - 1).unwrap_or(&mut [])
    }

    /// The length after something was written to [`Text::room`].
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
            if let Some(place) = self.bytes.get_mut(to) {
                *place = byte;
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

/// Copies as many bytes of `from` as fit. The rest of `to` becomes zero.
pub(crate) fn copy_padded(to: &mut [u8], from: &[u8]) {
    for (index, place) in to.iter_mut().enumerate() {
        *place = from.get(index).copied().unwrap_or(0);
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

/// The value of an entry of the auxiliary vector: pairs of type and value, as in `/proc/self/auxv`.
pub(crate) fn aux_value(vector: &[u8], wanted: u64) -> Option<u64> {
    let (words, _) = vector.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    let mut pairs = pairs
        .iter()
        .map(|[kind, value]| (u64::from_ne_bytes(*kind), u64::from_ne_bytes(*value)));
    pairs.find_map(|(kind, value)| (kind == wanted).then_some(value))
}

/// Splits a number in `radix` (10 or 16) off the front of `text`.
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

/// `YYYYMMDD-HHMMSS` of `seconds` since 1970, UTC.
///
/// Years begin on 1 March here, so that the leap day is a year's last day. They come in eras of 400
/// years with 146,097 days (H. Hinnant, "chrono-compatible low-level date algorithms").
pub(crate) fn push_time<const N: usize>(text: &mut Text<N>, seconds: u64) {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153; // 0 is March
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, turn) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    text.push_decimal(era * 400 + year + turn, 4);
    text.push_decimal(month, 2);
    text.push_decimal(date, 2);
    text.push(b'-');
    text.push_decimal(second / 3_600, 2);
    text.push_decimal(second / 60 % 60, 2);
    text.push_decimal(second % 60, 2);
}

#[cfg(test)]
mod tests;
