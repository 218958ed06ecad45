//! The option `--burst N[:M]`: how often a program woven for variation times its paths.
//!
//! The program reads the variable [`BURST_VARIABLE`] when it starts. So another burst does not
//! require another build.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;

use holloway_abi::environment::{BURST, InvalidBurst};
use holloway_abi::{BURST_MOST, BURST_VARIABLE, BurstRate, DEFAULT_BURST_RATE};

/// How many paths run untimed before the next burst of timed paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// The number of untimed paths.
    untimed: u32,
    /// The number of timed paths.
    timed: u32,
}

/// The error for a text that is no burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "give N or N:M, at most {BURST_MOST} each, M at least 1: N paths pass, then M are timed, as in {}",
    Burst::default()
)]
pub struct BurstError;

/// The error for a value of [`BURST_VARIABLE`] that is no burst.
#[derive(Debug, thiserror::Error)]
#[error("{BURST_VARIABLE}={}: {source}", value.display())]
pub struct BurstVariableError {
    /// The variable's value.
    pub value: OsString,
    /// The error of the value.
    pub source: BurstError,
}

impl Burst {
    /// Checks the value of [`BURST_VARIABLE`], if it is set.
    ///
    /// # Errors
    /// If the value is no burst.
    pub fn check_environment() -> Result<(), BurstVariableError> {
        let value = std::env::var_os(BURST_VARIABLE).filter(|value| !value.is_empty());
        let Some(value) = value else { return Ok(()) };
        match value.to_string_lossy().parse::<Self>() {
            Ok(_) => Ok(()),
            Err(source) => Err(BurstVariableError { value, source }),
        }
    }

    /// Returns the environment variable that sets the burst in a program.
    pub fn variable(self) -> (&'static str, String) {
        (BURST_VARIABLE, self.to_string())
    }
}

impl Default for Burst {
    /// Returns the burst of the paper (Perelman, Chilimbi, Calder 2005).
    fn default() -> Self {
        let BurstRate { untimed, timed } = DEFAULT_BURST_RATE;
        Self { untimed, timed }
    }
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.untimed, self.timed)
    }
}

impl FromStr for Burst {
    type Err = BurstError;

    /// Parses `N:M`, or `N` for bursts of one timed path.
    fn from_str(text: &str) -> Result<Self, BurstError> {
        let rate = BURST.parse(text.as_bytes());
        let BurstRate { untimed, timed } = rate.map_err(|InvalidBurst| BurstError)?;
        Ok(Self { untimed, timed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_one_number_or_two() {
        let check = |text: &str, expect: &str| {
            let burst: Burst = text.parse().expect("a burst");
            assert_eq!(burst.to_string(), expect);
            assert_eq!(expect.parse(), Ok(burst));
        };
        check("10000", "10000:1");
        check("0:1", "0:1");
        check("1000000000:1000000000", "1000000000:1000000000");
        assert_eq!(Burst::default().to_string(), "10000:1");
    }

    #[test]
    fn the_error_describes_the_expected_form() {
        for text in [
            "",
            ":",
            "1:0",
            "1:",
            ":1",
            "-1",
            "+1",
            "1:2:3",
            "x",
            "1 :2",
            "1000000001",
            "99999999999999999999",
        ] {
            let error = text.parse::<Burst>().expect_err(text).to_string();
            assert!(error.contains("as in 10000:1"), "{text}: {error}");
        }
    }
}
