//! Units of measured numbers: executions and processor cycles.
//!
//! A `u64` in a record of this crate is a size, an offset, a hash, or how many different things
//! there are. JSON and text show both units as plain numbers.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::Serialize;

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize,
        )]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// None.
            pub const ZERO: Self = Self(0);

            /// The sum, at most 2^64 - 1.
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// The difference, or 0 if `other` is larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// The product, at most 2^64 - 1.
            #[must_use]
            pub const fn saturating_mul(self, factor: u64) -> Self {
                Self(self.0.saturating_mul(factor))
            }

            /// The number, rounded to the nearest float.
            #[must_use]
            pub const fn to_f64(self) -> f64 {
                self.0 as f64
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<u64> for $name {
            fn from(number: u64) -> Self {
                Self(number)
            }
        }

        impl From<$name> for u64 {
            fn from(number: $name) -> Self {
                number.0
            }
        }

        impl From<$name> for u128 {
            fn from(number: $name) -> Self {
                number.0.into()
            }
        }

        impl From<$name> for i128 {
            fn from(number: $name) -> Self {
                number.0.into()
            }
        }

        impl Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
                Self(numbers.map(|number| number.0).sum())
            }
        }
    };
}

unit! {
    /// How often something happened in a run: a path ran, a function was entered, an instruction
    /// ran, a sample was taken.
    Count
}

impl From<bool> for Count {
    fn from(happened: bool) -> Self {
        Self(happened.into())
    }
}

unit! {
    /// Processor cycles, as the time stamp counter counts them.
    Cycles
}
