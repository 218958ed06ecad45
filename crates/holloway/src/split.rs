//! Separates holloway's options of `cargo holloway VERB …` from cargo's options.
//!
//! Holloway's options may be anywhere before `--`. All other
//! arguments go to cargo unchanged and in order. The lists below name cargo's options that take a
//! value. They show where an option's value ends and, for `run`, where the program's arguments
//! begin. An option that cargo adds later still passes, but its detached value may be mistaken for
//! an option of holloway.

use std::ffi::{OsStr, OsString};

use clap::{ArgAction, Args};

/// The command line of a cargo verb, split by the reader of each argument.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Split {
    /// Holloway's options, including `--help`.
    pub(crate) holloway: Vec<OsString>,
    /// Cargo's options and positional arguments, in order.
    pub(crate) cargo: Vec<OsString>,
    /// The program's arguments: all arguments after `--`. For `cargo run`, also the first
    /// positional argument and all that follow it.
    pub(crate) program: Vec<OsString>,
}

/// Cargo's long options that take a value.
const CARGO_LONG: &[&str] = &[
    "--package",
    "--exclude",
    "--jobs",
    "--features",
    "--profile",
    "--target",
    "--target-dir",
    "--artifact-dir",
    "--out-dir",
    "--manifest-path",
    "--lockfile-path",
    "--message-format",
    "--color",
    "--config",
    "--bin",
    "--example",
    "--test",
    "--bench",
];

/// Cargo's short options that take a value.
const CARGO_SHORT: &[&str] = &["-p", "-j", "-F", "-Z", "-C"];

/// The reader of an argument, and whether the next argument is its value.
enum Owner {
    Holloway { value_follows: bool },
    Both { value_follows: bool },
    Cargo { value_follows: bool },
    Positional,
}

/// Meaning of a verb's first positional argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Positional {
    /// An argument of cargo, as in `cargo test NAME`.
    Cargo,
    /// The first argument of the program, as in `cargo run ARG`.
    Program,
}

/// Splits the arguments of a verb. `Options` are holloway's options of the verb.
pub(crate) fn split<Options: Args>(args: &[OsString], positional: Positional) -> Split {
    let holloway_options = HollowayOptions::new::<Options>();
    let mut split = Split::default();
    let mut remaining = args.iter();
    while let Some(arg) = remaining.next() {
        if arg == "--" {
            split.program = remaining.cloned().collect();
            break;
        }
        let (to_holloway, to_cargo, value_follows) = match holloway_options.owner(arg) {
            Owner::Holloway { value_follows } => (true, false, value_follows),
            Owner::Both { value_follows } => (true, true, value_follows),
            Owner::Cargo { value_follows } => (false, true, value_follows),
            Owner::Positional if positional == Positional::Program => {
                split.program = std::iter::once(arg).chain(remaining).cloned().collect();
                break;
            }
            Owner::Positional => (false, true, false),
        };
        let value = if value_follows {
            detached_value(arg, &mut remaining)
        } else {
            None
        };
        for word in std::iter::once(arg).chain(value) {
            if to_holloway {
                split.holloway.push(word.clone());
            }
            if to_cargo {
                split.cargo.push(word.clone());
            }
        }
    }
    split
}

/// The next argument if it can be the value of `option`. `--bin`, `--example`, `--test` and
/// `--bench` may have no value: cargo then lists all names. So their value does not begin with a
/// dash.
fn detached_value<'a>(
    option: &OsStr,
    remaining: &mut std::slice::Iter<'a, OsString>,
) -> Option<&'a OsString> {
    let next = remaining.as_slice().first()?;
    let value_is_optional = matches!(
        option.to_str(),
        Some("--bin" | "--example" | "--test" | "--bench" | "--package" | "-p")
    );
    if next == "--" || (value_is_optional && is_option(next)) {
        return None;
    }
    remaining.next()
}

fn is_option(arg: &OsStr) -> bool {
    arg.as_encoded_bytes().starts_with(b"-") && arg.len() > 1
}

/// Names of holloway's options, from clap's data.
struct HollowayOptions {
    /// `--name` or `-n`, and whether the option takes a value.
    names: Vec<(String, bool)>,
}

impl HollowayOptions {
    fn new<Options: Args>() -> Self {
        let command = Options::augment_args(clap::Command::new("verb"));
        let mut names = vec![("--help".to_owned(), false), ("-h".to_owned(), false)];
        for argument in command.get_arguments() {
            let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
            names.extend(
                argument
                    .get_long()
                    .map(|long| (format!("--{long}"), takes_value)),
            );
            names.extend(
                argument
                    .get_short()
                    .map(|short| (format!("-{short}"), takes_value)),
            );
        }
        Self { names }
    }

    fn owner(&self, arg: &OsStr) -> Owner {
        if !is_option(arg) {
            return Owner::Positional;
        }
        // An option that is not UTF-8 can only be an option of cargo with its value attached.
        let Some(text) = arg.to_str() else {
            return Owner::Cargo {
                value_follows: false,
            };
        };
        let (name, attached) = match text.split_once('=') {
            Some((name, _)) if name.starts_with("--") => (name, true),
            _ => (text, false),
        };
        if let Some(takes_value) = self.takes_value(name) {
            let value_follows = takes_value && !attached;
            return match name {
                "--color" => Owner::Both { value_follows },
                _ => Owner::Holloway { value_follows },
            };
        }
        // `-oRUN`: a short option of holloway with its value attached.
        let has_attached_value = self.names.iter().any(|(short, takes_value)| {
            *takes_value && short.len() == 2 && name.starts_with(short.as_str())
        });
        if has_attached_value && !name.starts_with("--") {
            return Owner::Holloway {
                value_follows: false,
            };
        }
        let takes_value = CARGO_LONG.contains(&name) || CARGO_SHORT.contains(&name);
        Owner::Cargo {
            value_follows: takes_value && !attached,
        }
    }

    fn takes_value(&self, name: &str) -> Option<bool> {
        self.names
            .iter()
            .find(|(option, _)| option == name)
            .map(|(_, takes_value)| *takes_value)
    }
}

/// The last value of a cargo option. All spellings count: `--name value`, `--name=value`,
/// `-n value`, `-nvalue`.
pub(crate) fn cargo_value<'a>(
    cargo: &'a [OsString],
    long: &str,
    short: Option<&str>,
) -> Option<&'a str> {
    cargo_values(cargo, long, short).pop()
}

/// All values of a cargo option, in order.
pub(crate) fn cargo_values<'a>(
    cargo: &'a [OsString],
    long: &str,
    short: Option<&str>,
) -> Vec<&'a str> {
    let mut values = Vec::new();
    let mut remaining = cargo.iter();
    while let Some(arg) = remaining.next() {
        let Some(text) = arg.to_str() else { continue };
        let is_requested = text == long || Some(text) == short;
        if is_requested || CARGO_LONG.contains(&text) || CARGO_SHORT.contains(&text) {
            let value = detached_value(arg, &mut remaining).and_then(|value| value.to_str());
            values.extend(value.filter(|_| is_requested));
        } else if let Some(value) = text
            .strip_prefix(long)
            .and_then(|tail| tail.strip_prefix('='))
        {
            values.push(value);
        } else if let Some(value) = short.and_then(|short| text.strip_prefix(short)) {
            values.push(value.trim_start_matches('='));
        }
    }
    values
}

/// Whether cargo's options contain a short option without a value: alone, or after others, as in
/// `-qr`.
pub(crate) fn has_short_option(cargo: &[OsString], option: u8) -> bool {
    let mut remaining = cargo.iter();
    while let Some(arg) = remaining.next() {
        let is_named = |names: &[&str]| names.iter().any(|name| arg == name);
        if is_named(CARGO_LONG) || is_named(CARGO_SHORT) {
            detached_value(arg, &mut remaining);
            continue;
        }
        let letters = match arg.as_encoded_bytes() {
            [b'-', letters @ ..] if !letters.starts_with(b"-") => letters,
            _ => continue,
        };
        let has_value = |letter: &u8| {
            CARGO_SHORT
                .iter()
                .any(|name| name.as_bytes() == [b'-', *letter])
        };
        // An option with a value takes the rest of the word: `-pregex`.
        let flags = letters.split(has_value).next().unwrap_or_default();
        if flags.contains(&option) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::CargoArgs;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn check(positional: Positional, line: &str, holloway: &str, cargo: &str, program: &str) {
        let expected = Split {
            holloway: words(holloway),
            cargo: words(cargo),
            program: words(program),
        };
        assert_eq!(
            split::<CargoArgs>(&words(line), positional),
            expected,
            "{line}"
        );
    }

    #[test]
    fn holloways_options_may_be_anywhere_before_the_dashes() {
        check(
            Positional::Program,
            "--release --top 3 -p a",
            "--top 3",
            "--release -p a",
            "",
        );
        check(
            Positional::Program,
            "-o d --bin top --std",
            "-o d --std",
            "--bin top",
            "",
        );
        check(
            Positional::Program,
            "-od --only=x -q",
            "-od --only=x",
            "-q",
            "",
        );
        check(
            Positional::Program,
            "--release -- --top 3",
            "",
            "--release",
            "--top 3",
        );
        check(
            Positional::Cargo,
            "name --top 3 -- --skip x",
            "--top 3",
            "name",
            "--skip x",
        );
    }

    #[test]
    fn values_of_cargos_options_are_not_holloways_options() {
        check(
            Positional::Program,
            "--config --std --top 1",
            "--top 1",
            "--config --std",
            "",
        );
        check(
            Positional::Program,
            "--features=std -F std",
            "",
            "--features=std -F std",
            "",
        );
        check(Positional::Program, "--bin -o d", "-o d", "--bin", "");
    }

    #[test]
    fn the_program_gets_the_first_positional_of_run_and_all_that_follow() {
        check(
            Positional::Program,
            "--bin a file --top 3",
            "",
            "--bin a",
            "file --top 3",
        );
        check(Positional::Program, "- --top 3", "", "", "- --top 3");
        check(Positional::Cargo, "file --top 3", "--top 3", "file", "");
    }

    #[test]
    fn color_goes_to_holloway_and_cargo() {
        check(
            Positional::Program,
            "--color always -v",
            "--color always",
            "--color always -v",
            "",
        );
        check(
            Positional::Program,
            "--color=never",
            "--color=never",
            "--color=never",
            "",
        );
    }

    #[test]
    fn values_are_read_in_every_spelling() {
        let line = words("-p a -pb --package c --package=d --bin -q --target t");
        assert_eq!(
            cargo_values(&line, "--package", Some("-p")),
            ["a", "b", "c", "d"]
        );
        assert_eq!(cargo_value(&line, "--target", None), Some("t"));
        assert_eq!(
            cargo_value(&words("--config --target"), "--target", None),
            None
        );
    }
}
