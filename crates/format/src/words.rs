//! Formats numbers and nouns in messages: thousands separators and plurals.

/// A number with thousands separators: `1,234,567`.
pub fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 path`, `2 paths`.
pub fn plural(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

/// The verb after a number and its noun: `1 path is`, `2 paths are`.
pub fn is_or_are(number: impl Into<u64>) -> &'static str {
    if number.into() == 1 { "is" } else { "are" }
}

#[cfg(test)]
mod tests {
    use super::{grouped, plural};

    #[test]
    fn thousands_are_separated() {
        assert_eq!(grouped(0u64), "0");
        assert_eq!(grouped(999u64), "999");
        assert_eq!(grouped(1000u64), "1,000");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(plural(1u64, "thread"), "1 thread");
        assert_eq!(plural(2000u64, "thread"), "2,000 threads");
    }
}
