//! Integers that keep their value in JavaScript, whose numbers are exact up to 2^53 only. Larger
//! integers are written as strings of digits.
//!
//! Example: `[1,9007199254740993]` becomes `[1,"9007199254740993"]`.

use holloway_format::Count;
use serde::{Serialize, Serializer};

/// The first integer that a JavaScript number may not hold exactly.
const LIMIT: u64 = 1 << 53;

/// An integer of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exact(i128);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.0) {
            Ok(number) if number.unsigned_abs() < LIMIT => serializer.serialize_i64(number),
            Ok(_) | Err(_) => serializer.collect_str(&self.0),
        }
    }
}

impl From<u64> for Exact {
    fn from(number: u64) -> Self {
        Self(number.into())
    }
}

impl From<u32> for Exact {
    fn from(number: u32) -> Self {
        Self(number.into())
    }
}

impl From<i64> for Exact {
    fn from(number: i64) -> Self {
        Self(number.into())
    }
}

impl From<Count> for Exact {
    fn from(count: Count) -> Self {
        Self(count.0.into())
    }
}

#[cfg(test)]
mod tests {
    use super::Exact;

    fn check(number: impl Into<Exact>, expect: &str) {
        let text = serde_json::to_string(&number.into()).expect("integers are JSON");
        assert_eq!(text, expect);
    }

    #[test]
    fn large_integers_are_strings() {
        check(0u64, "0");
        check(-3i64, "-3");
        check((1u64 << 53) - 1, "9007199254740991");
        check(1u64 << 53, "\"9007199254740992\"");
        check(u64::MAX, "\"18446744073709551615\"");
        check(i64::MIN, "\"-9223372036854775808\"");
    }
}
