//! Formats numbers as text: integers with thousands separators, shares with one decimal, times with
//! units.

pub(crate) use holloway_format::words::is_or_are;
pub use holloway_format::words::{grouped, plural};

/// A number of unpredictable branches, in words.
pub(crate) fn unpredictable_branches(count: usize) -> String {
    let ending = if count == 1 { "" } else { "es" };
    format!("{} unpredictable branch{ending}", grouped(count as u64))
}

/// A signed number with thousands separators: `-1,234`.
pub(crate) fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

/// A difference with its sign and thousands separators: `+1,234`, `-5`, `0`.
pub(crate) fn difference(number: i128) -> String {
    let sign = match number {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    let size = u64::try_from(number.unsigned_abs()).unwrap_or(u64::MAX);
    format!("{sign}{}", grouped(size))
}

/// How much `b` is above `a`, in percent of `a`: `+12.5 %`. `None` if `a` is 0.
pub(crate) fn relative_change(a: impl Into<u64>, b: impl Into<u64>) -> Option<String> {
    let (a, b) = (a.into(), b.into());
    let sign = match a.cmp(&b) {
        std::cmp::Ordering::Less => "+",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => "-",
    };
    let share_of_change = share(a.abs_diff(b), a);
    (a > 0).then(|| format!("{sign}{share_of_change}"))
}

/// The average of `count` numbers with this sum, as `8.3`.
pub(crate) fn mean(sum: u128, count: impl Into<u64>) -> String {
    let count = count.into();
    let tenths = (sum.saturating_mul(10) + u128::from(count) / 2)
        .checked_div(count.into())
        .unwrap_or(0);
    let whole = u64::try_from(tenths / 10).unwrap_or(u64::MAX);
    format!("{}.{}", grouped(whole), tenths % 10)
}

/// The share that `part` has of `whole`, as `42.3 %`. A part that is less than the whole is never
/// shown as 100.0 %.
pub fn share(part: impl Into<u64>, whole: impl Into<u64>) -> String {
    let (part, whole) = (part.into(), whole.into());
    let tenths = (u128::from(part) * 1000 + u128::from(whole) / 2)
        .checked_div(u128::from(whole))
        .unwrap_or(0);
    let tenths = if part < whole {
        tenths.min(999)
    } else {
        tenths
    };
    let percents = u64::try_from(tenths / 10).unwrap_or(u64::MAX);
    format!("{}.{} %", grouped(percents), tenths % 10)
}

/// A number with thousands separators and one decimal: `1,234.6`.
pub(crate) fn one_decimal(number: f64) -> String {
    let tenths = (number.max(0.0) * 10.0).round();
    format!("{}.{}", grouped((tenths / 10.0) as u64), tenths as u64 % 10)
}

/// A number in a few columns: `12`, `1,234`, `12.3k`, `4.56M`. Numbers above 9,999 have three
/// digits and a prefix.
pub(crate) fn short(number: f64) -> String {
    if number < 9_999.5 {
        return grouped(number.max(0.0).round() as u64);
    }
    let prefixes = ["k", "M", "G", "T", "P", "E"];
    let (mut number, mut prefix) = (number / 1e3, 0);
    while number >= 999.5 && prefix + 1 < prefixes.len() {
        number /= 1e3;
        prefix += 1;
    }
    format!("{}{}", three_digits(number), prefixes[prefix])
}

/// A number below 1000 with three digits: `1.23`, `12.3`, `123`.
pub(crate) fn three_digits(number: f64) -> String {
    if number < 9.995 {
        format!("{number:.2}")
    } else if number < 99.95 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}

/// A time in seconds, as `12.3 ms`.
pub(crate) fn seconds(time: f64) -> String {
    let (number, unit) = if time < 999.5e-9 {
        (time * 1e9, "ns")
    } else if time < 999.5e-6 {
        (time * 1e6, "µs")
    } else if time < 999.5e-3 {
        (time * 1e3, "ms")
    } else {
        (time, "s")
    };
    let number = if number == 0.0 {
        "0".to_owned()
    } else {
        three_digits(number)
    };
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use super::{mean, one_decimal, seconds, share, short, signed};

    #[test]
    fn signs_and_means_are_shown() {
        assert_eq!(signed(-1234), "-1,234");
        assert_eq!(signed(i64::MIN), "-9,223,372,036,854,775,808");
        assert_eq!(mean(19, 4u64), "4.8");
        assert_eq!(mean(20_000, 2u64), "10,000.0");
        assert_eq!(mean(7, 0u64), "0.0");
        assert_eq!(mean(u128::MAX, 1u64), "18,446,744,073,709,551,615.5");
    }

    #[test]
    fn shares_have_one_decimal() {
        assert_eq!(share(1u64, 3u64), "33.3 %");
        assert_eq!(share(0u64, 0u64), "0.0 %");
        assert_eq!(share(7u64, 7u64), "100.0 %");
        assert_eq!(share(73_316u64, 1000u64), "7,331.6 %");
        assert_eq!(share(99_999u64, 100_000u64), "99.9 %");
        assert_eq!(share(u64::MAX, u64::MAX), "100.0 %");
    }

    #[test]
    fn large_numbers_keep_three_digits() {
        let all = [
            0.4, 52.0, 9_999.4, 9_999.6, 88_120.0, 999_499.0, 999_500.0, 4.5678e9,
        ];
        let shown = [
            "0", "52", "9,999", "10.0k", "88.1k", "999k", "1.00M", "4.57G",
        ];
        assert_eq!(all.map(short), shown);
        assert_eq!(
            [1.0, 99.95, 1234.56].map(one_decimal),
            ["1.0", "100.0", "1,234.6"]
        );
    }

    #[test]
    fn times_have_a_unit() {
        let all = [0.0, 12.3e-9, 999.6e-9, 0.00123, 0.5, 1.0, 123.4];
        let shown = [
            "0 ns", "12.3 ns", "1.00 µs", "1.23 ms", "500 ms", "1.00 s", "123 s",
        ];
        assert_eq!(all.map(seconds), shown);
    }
}
