//! The reason why a program could not write counts or words to its profile.

use std::fmt;

/// The reason why a program could not write counts or words to its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFailure {
    /// The file system had no space left.
    FileSystemFull,
    /// The disk quota was exceeded.
    QuotaExceeded,
    /// The file would have exceeded the process's limit on file sizes (`RLIMIT_FSIZE`).
    FileSizeLimit,
    /// The process had no memory for the mapping.
    NoMemory,
    /// The process that took the words ended before the program.
    CollectorEnded,
    /// Another error of the kernel.
    Error {
        /// Linux's error number.
        number: u16,
    },
}

/// The number of [`WriteFailure::CollectorEnded`], which is no error of the kernel.
const COLLECTOR_ENDED: u16 = u16::MAX - 1;

/// The bits of a head's flags below the number of the failure.
const FLAG_BITS: u32 = 16;

impl WriteFailure {
    /// The failure in the flags of a head. `None`: no write failed, or the reason is unknown.
    pub(crate) fn from_flags(flags: u32) -> Option<Self> {
        let number = u16::try_from(flags >> FLAG_BITS).ok()?;
        Some(match number {
            0 => return None,
            12 => Self::NoMemory,
            27 => Self::FileSizeLimit,
            28 => Self::FileSystemFull,
            122 => Self::QuotaExceeded,
            COLLECTOR_ENDED => Self::CollectorEnded,
            number => Self::Error { number },
        })
    }

    /// The failure's bits of the flags of a head.
    pub fn flags(self) -> u32 {
        let number = match self {
            Self::NoMemory => 12,
            Self::FileSizeLimit => 27,
            Self::FileSystemFull => 28,
            Self::QuotaExceeded => 122,
            Self::CollectorEnded => COLLECTOR_ENDED,
            Self::Error { number } => number,
        };
        u32::from(number) << FLAG_BITS
    }
}

impl fmt::Display for WriteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileSystemFull => f.write_str("the file system was full"),
            Self::QuotaExceeded => f.write_str("the disk quota was exceeded"),
            Self::FileSizeLimit => f.write_str("the limit on file sizes was reached (ulimit -f)"),
            Self::NoMemory => f.write_str("the process had no memory left"),
            Self::CollectorEnded => f.write_str("the collector ended before the program"),
            Self::Error { number } => {
                write!(f, "the profile could not be written (error {number})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_a_bijection() {
        for number in 1..=u16::MAX {
            let flags = u32::from(number) << FLAG_BITS;
            let failure = WriteFailure::from_flags(flags | 1).expect("a failure");
            assert_eq!(failure.flags(), flags);
        }
        assert_eq!(WriteFailure::from_flags(1), None);
    }
}
