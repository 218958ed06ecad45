//! Reads BOLT's text of branches that were added up by another tool (`perf2bolt -pa`, `llvm-bolt`).
//!
//! ```text
//! E NAME                       the event of the following lines
//! S ADDRESS COUNT              samples
//! B FROM TO COUNT MISPREDICTED taken branches
//! F START END COUNT            runs: the code from START to the branch at END
//! f START END COUNT            the same, after a branch from outside; r: after a return
//! T FROM TO END COUNT          a branch and the run after it; R: the branch is a return
//! ```
//! An address is `[ID:]OFFSET` in hexadecimal digits. ID is the build id of the file, or `X` for an
//! unknown file; without it, the file is the program. OFFSET is the address that the file's symbols
//! have. 0 stands for code outside. In old files, END may be the largest number, or one or two
//! less, if it is not known; FROM may have these values, too.

use std::io::{self, BufRead};

/// Maximum bytes of a line.
const MAX_LINE: u64 = 4096;
/// Numbers from here on stand for addresses that are not known.
const UNKNOWN: u64 = u64::MAX - 2;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// An address of the program.
    Program(u64),
    /// An address of the file with this build id.
    File(Vec<u8>, u64),
    /// An unknown file.
    Outside,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The event of the following lines.
    Event(String),
    /// Samples at an address.
    Samples {
        /// The address.
        at: Location,
        /// Their number.
        count: u64,
    },
    /// A branch, a run, or a branch and the run after it.
    Trace {
        /// The branch: source and target.
        branch: Option<(Location, Location)>,
        /// Whether the branch is a return.
        is_return: bool,
        /// The run: its first address, and the address of the branch that ends it.
        run: Option<(Location, Location)>,
        /// The number of times.
        count: u64,
        /// How often the branch was mispredicted.
        mispredicted: u64,
    },
}

/// The reason why a text cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PreAggregatedError {
    /// The system's error.
    #[error("{0}")]
    System(#[from] io::Error),
    /// A line is not of the format.
    #[error(
        "line {line} is neither a line of BOLT's pre-aggregated text nor is the file a perf.data: expected {expected}"
    )]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What should be there.
        expected: &'static str,
    },
    /// The text has no line.
    #[error("it is empty: record again")]
    Empty,
}

/// Reads a text, and calls `visit` with each line.
///
/// # Errors
/// If a line is not of the format, or there is none.
pub fn read(mut text: impl BufRead, visit: &mut dyn FnMut(Line)) -> Result<(), PreAggregatedError> {
    let mut bytes = Vec::new();
    let mut is_empty = true;
    for line in 1.. {
        bytes.clear();
        let limited = &mut io::Read::take(&mut text, MAX_LINE);
        if limited.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let words = str::from_utf8(&bytes).ok();
        let words = words.filter(|_| bytes.len() < MAX_LINE as usize);
        let words: Vec<&str> = words.map(|text| text.split_whitespace().collect()).ok_or(
            PreAggregatedError::Line {
                line,
                expected: "text",
            },
        )?;
        if words.is_empty() {
            continue;
        }
        let parsed = parse(&words);
        visit(parsed.map_err(|expected| PreAggregatedError::Line { line, expected })?);
        is_empty = false;
    }
    match is_empty {
        true => Err(PreAggregatedError::Empty),
        false => Ok(()),
    }
}

/// Parses a line. The error names the expected form.
fn parse(words: &[&str]) -> Result<Line, &'static str> {
    let number = |word: &str| word.parse::<u64>().map_err(|_| "a number of times");
    match *words {
        ["E", ..] if words.len() > 1 => Ok(Line::Event(words[1..].join(" "))),
        ["S", at, count] => Ok(Line::Samples {
            at: location(at)?,
            count: number(count)?,
        }),
        ["B", from, to, count, mispredicted] => Ok(Line::Trace {
            branch: Some((location(from)?, location(to)?)),
            is_return: false,
            run: None,
            count: number(count)?,
            mispredicted: number(mispredicted)?,
        }),
        ["F" | "f" | "r", start, end, count] => Ok(Line::Trace {
            branch: None,
            is_return: false,
            run: Some((location(start)?, location(end)?)),
            count: number(count)?,
            mispredicted: 0,
        }),
        [kind @ ("T" | "R"), from, to, end, count] => {
            let known = |word: &str| {
                let location = location(word)?;
                let is_known = !matches!(
                    location,
                    Location::Program(UNKNOWN..) | Location::File(_, UNKNOWN..)
                );
                Ok(is_known.then_some(location))
            };
            let (from, end) = (known(from)?, known(end)?);
            let to = location(to)?;
            Ok(Line::Trace {
                branch: from.map(|from| (from, to.clone())),
                is_return: kind == "R",
                run: end.map(|end| (to, end)),
                count: number(count)?,
                mispredicted: 0,
            })
        }
        _ => Err(
            "E NAME, S ADDRESS COUNT, B FROM TO COUNT MISPREDICTED, F START END COUNT, or T FROM TO END COUNT",
        ),
    }
}

fn location(word: &str) -> Result<Location, &'static str> {
    const EXPECTED: &str = "an address such as 4b196f or BUILDID:4b196f";
    let (id, offset) = match word.split_once(':') {
        Some((id, offset)) => (Some(id), offset),
        None => (None, word),
    };
    let digits = offset.strip_prefix("0x").unwrap_or(offset);
    let offset = u64::from_str_radix(digits, 16).map_err(|_| EXPECTED)?;
    match id {
        None if offset == 0 => Ok(Location::Outside),
        None => Ok(Location::Program(offset)),
        Some("X" | "x") => Ok(Location::Outside),
        Some(id) => {
            let bytes = id.as_bytes().chunks(2).map(|pair| {
                let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
                u8::from_str_radix(pair, 16).ok()
            });
            let bytes = bytes.collect::<Option<Vec<u8>>>();
            let bytes = bytes.filter(|bytes| !bytes.is_empty()).ok_or(EXPECTED)?;
            Ok(Location::File(bytes, offset))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn lines(text: &str) -> Result<Vec<Line>, String> {
        let mut lines = Vec::new();
        let read = read(text.as_bytes(), &mut |line| lines.push(line));
        read.map(|()| lines).map_err(|error| error.to_string())
    }

    /// The examples in BOLT's documentation.
    #[test]
    fn all_sorts_of_lines_are_read() {
        use Location::{File, Outside, Program};
        let text = "E cycles:u\nS 41be50 3\n\nT 4b196f 4b19e0 4b19ef 2\r\nF 41be50 41be50 3\n\
                    B 4b1942 39b57f0 3 1\nB X:10 abcd:0x20 7 0\nR 4b1942 0 4b19ef 5\n\
                    T ffffffffffffffff 10 20 1\nT 10 20 ffffffffffffffff 1\n";
        let trace = |branch, run, count, mispredicted| Line::Trace {
            branch,
            is_return: false,
            run,
            count,
            mispredicted,
        };
        let expected = vec![
            Line::Event("cycles:u".to_owned()),
            Line::Samples {
                at: Program(0x41_be50),
                count: 3,
            },
            trace(
                Some((Program(0x4b_196f), Program(0x4b_19e0))),
                Some((Program(0x4b_19e0), Program(0x4b_19ef))),
                2,
                0,
            ),
            trace(None, Some((Program(0x41_be50), Program(0x41_be50))), 3, 0),
            trace(Some((Program(0x4b_1942), Program(0x39b_57f0))), None, 3, 1),
            trace(Some((Outside, File(vec![0xab, 0xcd], 0x20))), None, 7, 0),
            Line::Trace {
                branch: Some((Program(0x4b_1942), Outside)),
                is_return: true,
                run: Some((Outside, Program(0x4b_19ef))),
                count: 5,
                mispredicted: 0,
            },
            trace(None, Some((Program(0x10), Program(0x20))), 1, 0),
            trace(Some((Program(0x10), Program(0x20))), None, 1, 0),
        ];
        assert_eq!(lines(text).unwrap(), expected);
    }

    #[test]
    fn other_lines_are_errors_with_their_number() {
        let long = format!("E {}", "x".repeat(5000));
        for text in [
            "B 1 2 3",
            "B 1 2 x 0",
            "S g 1",
            "S a:bc:1 1",
            "S abc:1 1",
            "Q 1",
            "E",
            &long,
        ] {
            let error = lines(&format!("S 1 1\n{text}\n")).unwrap_err();
            assert!(error.contains("line 2") && !error.contains('\n'), "{error}");
        }
        assert!(lines("\n\n").unwrap_err().contains("empty"));
        let mut nothing = |_| ();
        assert!(read(&b"\xff\xfe"[..], &mut nothing).is_err());
    }
}
