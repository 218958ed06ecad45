//! Simulates branch records: BOLT's text of the straight sections that a program executed under
//! callgrind.
//!
//! Callgrind's file has the executions of each instruction, and its jumps. A straight section ends
//! at a jump, at a gap, and where the executions change. Of each section, one of about 1,000
//! executions is taken. Which ones, a random number with a fixed seed decides.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

/// One execution of so many is taken.
const PERIOD: u64 = 1_000;
/// The longest x86-64 instruction, in bytes.
const MAX_INSTRUCTION: u64 = 15;

/// What callgrind says about the instructions of a program.
#[derive(Default)]
struct Executed {
    executions: BTreeMap<u64, u64>,
    jumps: BTreeSet<u64>,
}

/// The text for a program, from callgrind's file with addresses and jumps.
pub(super) fn pre_aggregated(callgrind: &str, program: &OsStr) -> String {
    let executed = read(callgrind, program);
    let mut random = 1u64;
    let mut text = String::from("E branches\n");
    for ((start, end), count) in sections(&executed) {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let taken = (count + (random >> 33) % PERIOD) / PERIOD;
        if taken > 0 {
            writeln!(text, "F {start:x} {end:x} {taken}").expect("a text takes every line");
        }
    }
    text
}

/// Reads the lines of a program's own code.
///
/// A line `calls=…` stands before the cost of the called functions, which is no execution. A line
/// `jump=…` or `jcnd=…` stands before the line with the address of the jump.
fn read(callgrind: &str, program: &OsStr) -> Executed {
    let mut executed = Executed::default();
    let mut objects: BTreeMap<&str, &str> = BTreeMap::new();
    let mut is_own = false;
    let mut lines = callgrind.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("ob=").or(line.strip_prefix("cob=")) {
            // `(3) name` gives a name a number, and `(3)` refers to it.
            let path = match name.split_once(") ") {
                Some((number, path)) => {
                    objects.insert(number, path);
                    path
                }
                None => {
                    let number = name.strip_suffix(')');
                    number.and_then(|n| objects.get(n)).copied().unwrap_or(name)
                }
            };
            if line.starts_with("ob=") {
                is_own = Path::new(path).file_name() == Some(program);
            }
        } else if line.starts_with("calls=") {
            lines.next();
        } else if line.starts_with("jump=") || line.starts_with("jcnd=") {
            let jump = lines
                .next()
                .and_then(|line| address(line.split(' ').next()?));
            executed.jumps.extend(jump.filter(|_| is_own));
        } else if let Some((address, count)) = cost(line).filter(|_| is_own) {
            *executed.executions.entry(address).or_default() += count;
        }
    }
    executed
}

/// The address and the executions of a line `0xADDRESS LINE EXECUTIONS`.
fn cost(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split(' ');
    let address = address(words.next()?)?;
    Some((address, words.nth(1)?.parse().ok()?))
}

fn address(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// The straight sections, by the addresses of their first and last instructions.
fn sections(executed: &Executed) -> BTreeMap<(u64, u64), u64> {
    let mut sections = BTreeMap::new();
    let mut open: Option<(u64, u64, u64)> = None;
    for (&address, &count) in &executed.executions {
        open = Some(match open {
            Some((start, last, before))
                if before == count
                    && address - last <= MAX_INSTRUCTION
                    && !executed.jumps.contains(&last) =>
            {
                (start, address, count)
            }
            Some((start, last, before)) => {
                sections.insert((start, last), before);
                (address, address, count)
            }
            None => (address, address, count),
        });
    }
    sections.extend(open.map(|(start, last, count)| ((start, last), count)));
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_end_at_jumps_gaps_and_changes() {
        let text = "\
ob=(1) /tmp/app
fn=(1) main
0x1000 0 5000
0x1004 0 5000
jcnd=3000/5000 0x1010 0
0x1004 0
0x1006 0 5000
calls=1 (2)
0x1006 0 777777
0x1010 0 2000
ob=(2) /lib/libc.so
0x2000 0 9000
ob=(1)
0x1040 0 2000
";
        let executed = read(text, OsStr::new("app"));
        let found: Vec<_> = sections(&executed).into_iter().collect();
        let expect = [
            ((0x1000, 0x1004), 5000),
            ((0x1006, 0x1006), 5000),
            ((0x1010, 0x1010), 2000),
            ((0x1040, 0x1040), 2000),
        ];
        assert_eq!(found, expect);
        let text = pre_aggregated(text, OsStr::new("app"));
        assert!(
            text.starts_with("E branches\nF 1000 1004 5\nF 1006 1006 5\n"),
            "{text}"
        );
    }
}
