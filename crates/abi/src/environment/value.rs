//! The types of the values of environment variables, and how each type is parsed.
//!
//! Each type of value implements [`ValueType`]. Types that this crate parses also implement
//! [`Parse`]. The values of the other types ([`Directory`], [`Patterns`], and so on) are used as
//! they are, or other crates parse them.

use core::convert::Infallible;
use core::fmt;
use core::num::NonZero;
use core::ops::RangeInclusive;

use crate::burst::{BURST_MOST, BurstRate};
use crate::kind::{DEFAULT_K, Kind};

/// A type of value.
pub trait ValueType {
    /// The placeholder for the value in help texts.
    const PLACEHOLDER: &'static str;
}

/// A type of value that is parsed.
pub trait Parse: ValueType + Sized {
    /// The error for a text that is no value of this type.
    type Error;

    /// Parses the text of a value.
    ///
    /// # Errors
    /// If the text is no value of this type.
    fn parse(text: &[u8]) -> Result<Self, Self::Error>;
}

/// A kind of collection: `paths`, `edges`, `loops`, `loops=K`, `trace`, `variation`, `times`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// The kind.
    pub kind: Kind,
    /// K, the maximum number of consecutive paths in a sequence. Only [`Kind::Loops`] uses it.
    pub k: u32,
}

impl Collection {
    /// The values of K that `loops=K` accepts. With 1, no sequence would have more than one path,
    /// as in a path profile.
    pub const K_RANGE: RangeInclusive<u32> = 2..=1024;

    /// Parses K, the maximum number of consecutive paths in a sequence.
    ///
    /// # Errors
    /// If the text is no number in [`Collection::K_RANGE`].
    #[inline]
    pub fn parse_k(text: &[u8]) -> Result<u32, InvalidCollection> {
        let k = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        k.filter(|k| Self::K_RANGE.contains(k))
            .ok_or(InvalidCollection::Iterations)
    }
}

/// The error for a text that is no [`Collection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidCollection {
    /// There is no such kind.
    Kind,
    /// K is no number in [`Collection::K_RANGE`].
    Iterations,
}

impl ValueType for Collection {
    const PLACEHOLDER: &'static str = "KIND";
}

impl Parse for Collection {
    type Error = InvalidCollection;

    #[inline]
    fn parse(text: &[u8]) -> Result<Self, InvalidCollection> {
        if let Some(k) = text.strip_prefix(b"loops=") {
            let k = Self::parse_k(k)?;
            let kind = Kind::Loops;
            return Ok(Self { kind, k });
        }
        let name = str::from_utf8(text).map_err(|_| InvalidCollection::Kind)?;
        let kind = name.parse().map_err(|_| InvalidCollection::Kind)?;
        Ok(Kind::into(kind))
    }
}

impl From<Kind> for Collection {
    #[inline]
    fn from(kind: Kind) -> Self {
        let k = DEFAULT_K;
        Self { kind, k }
    }
}

impl fmt::Display for Collection {
    /// Writes the value as it is parsed: `paths`, `loops=8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Loops => write!(f, "{}={}", self.kind, self.k),
            Kind::Paths
            | Kind::Edges
            | Kind::Trace
            | Kind::Variation
            | Kind::Times
            | Kind::Nothing => self.kind.fmt(f),
        }
    }
}

/// The code whose graph a build profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GraphStage {
    /// `optimized`: the code after the optimizer.
    #[default]
    Optimized,
    /// `source`: the code as the compiler's front end made it, before the optimizer.
    Source,
}

/// The error for a text that is no [`GraphStage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidGraphStage;

impl ValueType for GraphStage {
    const PLACEHOLDER: &'static str = "source|optimized";
}

impl Parse for GraphStage {
    type Error = InvalidGraphStage;

    #[inline]
    fn parse(text: &[u8]) -> Result<Self, InvalidGraphStage> {
        match text {
            b"source" => Ok(Self::Source),
            b"optimized" => Ok(Self::Optimized),
            _ => Err(InvalidGraphStage),
        }
    }
}

impl fmt::Display for GraphStage {
    /// Writes the value as it is parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Optimized => "optimized",
            Self::Source => "source",
        })
    }
}

/// A switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// `on`
    On,
    /// `off`
    Off,
}

/// The error for a text that is no [`Switch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSwitch;

impl ValueType for Switch {
    const PLACEHOLDER: &'static str = "on|off";
}

impl Parse for Switch {
    type Error = InvalidSwitch;

    #[inline]
    fn parse(text: &[u8]) -> Result<Self, InvalidSwitch> {
        match text {
            b"on" => Ok(Self::On),
            b"off" => Ok(Self::Off),
            _ => Err(InvalidSwitch),
        }
    }
}

impl From<bool> for Switch {
    #[inline]
    fn from(is_on: bool) -> Self {
        if is_on { Self::On } else { Self::Off }
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

/// A flag. Any text but `1`, `true`, and `yes` leaves it unset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// The flag is set.
    Set,
    /// The flag is unset.
    Unset,
}

impl ValueType for Flag {
    const PLACEHOLDER: &'static str = "1";
}

impl Parse for Flag {
    type Error = Infallible;

    #[inline]
    fn parse(text: &[u8]) -> Result<Self, Infallible> {
        Ok(match text {
            b"1" | b"true" | b"yes" => Self::Set,
            _ => Self::Unset,
        })
    }
}

/// A number, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(pub NonZero<usize>);

/// The error for a text that is no [`Number`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidNumber;

impl ValueType for Number {
    const PLACEHOLDER: &'static str = "N";
}

impl Parse for Number {
    type Error = InvalidNumber;

    #[inline]
    fn parse(text: &[u8]) -> Result<Self, InvalidNumber> {
        let text = str::from_utf8(text).map_err(|_| InvalidNumber)?;
        text.parse().map(Self).map_err(|_| InvalidNumber)
    }
}

/// The error for a text that is no [`BurstRate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidBurst;

impl ValueType for BurstRate {
    const PLACEHOLDER: &'static str = "N:M";
}

impl Parse for BurstRate {
    type Error = InvalidBurst;

    /// Parses `N:M`, or `N` for `N:1`.
    #[inline]
    fn parse(text: &[u8]) -> Result<Self, InvalidBurst> {
        let (untimed, rest) = split_burst_number(text)?;
        let (timed, rest) = match rest.split_first() {
            None => (1, rest),
            Some((b':', rest)) => split_burst_number(rest)?,
            Some(_) => return Err(InvalidBurst),
        };
        if rest.is_empty() && timed > 0 {
            Ok(Self { untimed, timed })
        } else {
            Err(InvalidBurst)
        }
    }
}

/// Splits a number of at most [`BURST_MOST`] off the front of `text`.
#[inline]
fn split_burst_number(text: &[u8]) -> Result<(u32, &[u8]), InvalidBurst> {
    /// The number of digits of [`BURST_MOST`].
    const MOST_DIGITS: usize = 10;
    let digit_count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digit_count == 0 || digit_count > MOST_DIGITS {
        return Err(InvalidBurst);
    }
    let (digits, rest) = text.split_at_checked(digit_count).ok_or(InvalidBurst)?;
    let value = digits
        .iter()
        .fold(0_u64, |value, digit| 10 * value + u64::from(digit - b'0'));
    if value <= u64::from(BURST_MOST) {
        Ok((value as u32, rest))
    } else {
        Err(InvalidBurst)
    }
}

/// Types of values that are not parsed here.
macro_rules! text_types {
    ($($(#[$doc:meta])* $name:ident: $placeholder:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {}

        impl ValueType for $name {
            const PLACEHOLDER: &'static str = $placeholder;
        }
    )*};
}

text_types! {
    /// The directory of a run, one profile of a run, or `latest`.
    Run: "RUN";
    /// A directory.
    Directory: "DIR";
    /// A file.
    File: "FILE";
    /// The name or path of a program.
    Program: "PROGRAM";
    /// Patterns, one per line.
    Patterns: "PATTERNS";
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn collections() {
        let check = |text: &str, expected| assert_eq!(Collection::parse(text.as_bytes()), expected);
        check("edges", Ok(Kind::Edges.into()));
        check("loops", Ok(Kind::Loops.into()));
        let (kind, k) = (Kind::Loops, 1024);
        check("loops=1024", Ok(Collection { kind, k }));
        check("loops=1025", Err(InvalidCollection::Iterations));
        check("loops=1", Err(InvalidCollection::Iterations));
        check("loops=", Err(InvalidCollection::Iterations));
        check("paths=2", Err(InvalidCollection::Kind));
        check("", Err(InvalidCollection::Kind));
        let invalid_utf8 = Collection::parse(b"loops=\xff");
        assert_eq!(invalid_utf8, Err(InvalidCollection::Iterations));
        for kind in Kind::ALL {
            let collection = Collection::from(kind);
            check(&collection.to_string(), Ok(collection));
        }
    }

    #[test]
    fn switches_flags_and_numbers() {
        assert_eq!(Switch::parse(b"on"), Ok(Switch::On));
        assert_eq!(Switch::parse(b"off"), Ok(Switch::Off));
        assert_eq!(Switch::parse(b"On"), Err(InvalidSwitch));
        for stage in [GraphStage::Optimized, GraphStage::Source] {
            assert_eq!(GraphStage::parse(stage.to_string().as_bytes()), Ok(stage));
        }
        assert_eq!(GraphStage::parse(b""), Err(InvalidGraphStage));
        for text in ["1", "true", "yes"] {
            assert_eq!(Flag::parse(text.as_bytes()), Ok(Flag::Set));
        }
        assert_eq!(Flag::parse(b"0"), Ok(Flag::Unset));
        assert_eq!(Flag::parse(b""), Ok(Flag::Unset));
        let number = |text: &str| Number::parse(text.as_bytes()).map(|Number(n)| n.get());
        assert_eq!(number("12"), Ok(12));
        for text in ["", "0", "-1", "many", "99999999999999999999"] {
            assert_eq!(number(text), Err(InvalidNumber), "{text}");
        }
    }

    #[test]
    fn bursts() {
        let check = |text: &str, untimed, timed| {
            let expected = Ok(BurstRate { untimed, timed });
            assert_eq!(BurstRate::parse(text.as_bytes()), expected, "{text}");
        };
        check("5", 5, 1);
        check("0:1", 0, 1);
        check("0000000005:07", 5, 7);
        check("1000000000:1000000000", BURST_MOST, BURST_MOST);
        for text in [
            "",
            ":",
            "5:",
            ":5",
            "5:0",
            "5:1x",
            " 5:1",
            "1:2:3",
            "00000000005",
            "1000000001",
            "18446744073709551617:1",
        ] {
            assert_eq!(
                BurstRate::parse(text.as_bytes()),
                Err(InvalidBurst),
                "{text}"
            );
        }
    }
}
