//! Numbers as text: whole, with thousands separators; shares with one decimal.

use std::fmt::Write as _;

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `part` of `whole` as `42.3 %`; rounded down to less than 100.0 where it isn't all.
pub(crate) fn share(part: u64, whole: u64) -> String {
    let tenths = (u128::from(part) * 1000 + u128::from(whole) / 2)
        .checked_div(u128::from(whole))
        .unwrap_or(0);
    let tenths = if part < whole {
        tenths.min(999)
    } else {
        tenths
    };
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// `1 path`, `2 paths`.
pub(crate) fn plural(number: u64, noun: &str) -> String {
    let mut text = grouped(number);
    let _ = write!(text, " {noun}{}", if number == 1 { "" } else { "s" });
    text
}

#[cfg(test)]
mod tests {
    use super::{grouped, plural, share};

    #[test]
    fn thousands_are_separated() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(plural(1, "thread"), "1 thread");
        assert_eq!(plural(2000, "thread"), "2,000 threads");
    }

    #[test]
    fn shares_have_one_decimal() {
        assert_eq!(share(1, 3), "33.3 %");
        assert_eq!(share(0, 0), "0.0 %");
        assert_eq!(share(7, 7), "100.0 %");
        assert_eq!(share(99_999, 100_000), "99.9 %");
        assert_eq!(share(u64::MAX, u64::MAX), "100.0 %");
    }
}
