//! The order of functions in a program that is linked from its recipe.
//!
//! A linker script tells the linker where the sections of functions go. It adds two output sections
//! to those of the linker's own script: one with the functions of the order, before all other code,
//! and one with the code that never ran, after all other code. GNU ld and lld read such scripts
//! (`INSERT`). gold and mold do not, and a program that is linked with a script of its own keeps
//! the order of that script.
//!
//! A function is found by the names that LLVM gives its section: `.text.f`, or `.text.hot.f`.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holloway_format::Text;

use crate::error::{Error, Result};
use crate::line::Flavor;

/// The code that never ran, by the names that LLVM gives its sections.
const COLD: &str = "*(.text.unlikely .text.unlikely.* .text.split .text.split.*)";
/// What linkers that read the script call themselves. A distribution may put its name before that.
const LINKERS: [&str; 2] = ["GNU ld ", "LLD "];

/// Writes the script for an order of functions, given by their linkage names, into `directory`.
/// Returns the arguments that pass it to the linker.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn arguments(order: &[Text], directory: &Path) -> Result<[OsString; 2]> {
    let path: PathBuf = directory.join("order.ld");
    std::fs::write(&path, script(order)).map_err(Error::writing(&path))?;
    Ok(["-T".into(), path.into_os_string()])
}

/// Makes the script. A name that a script cannot express is left out.
fn script(order: &[Text]) -> String {
    let mut script = "SECTIONS {\n.text.ordered : {\n".to_owned();
    let is_expressible = |name: &&Text| !name.contains(['"', '\n', '\\', '*', '?', '[']);
    for name in order.iter().filter(is_expressible) {
        let _ = writeln!(script, "*(\".text.hot.{name}\" \".text.{name}\")");
    }
    script += "}\n} INSERT BEFORE .text;\n";
    let _ = writeln!(
        script,
        "SECTIONS {{ .text.cold : {{ {COLD} }} }} INSERT AFTER .text;"
    );
    script
}

/// Whether the linker of a line reads the script.
pub(crate) fn is_supported(flavor: Flavor, linker: &Path, arguments: &[OsString]) -> bool {
    if arguments.iter().any(|argument| names_script(argument)) {
        return false;
    }
    let mut command = Command::new(linker);
    match flavor {
        Flavor::Driver => command.args(arguments).arg("-Wl,--version"),
        Flavor::Ld => command.arg("--version"),
    };
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines();
        lines.any(|line| LINKERS.iter().any(|linker| line.contains(linker)))
    })
}

/// Whether an argument names a linker script.
fn names_script(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    let mut words = bytes.split(|&byte| byte == b',');
    words.any(|word| {
        let options = [
            b"-T".as_slice(),
            b"-dT",
            b"--script",
            b"-script",
            b"--default-script",
            b"-default-script",
            b"--mri-script",
        ];
        options.iter().any(|option| word.starts_with(option))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_the_functions_in_order_and_cold_code_last() {
        let order = ["main", "_ZN1a1bE", "odd\"name"].map(Text::from);
        let expect = "SECTIONS {\n.text.ordered : {\n\
            *(\".text.hot.main\" \".text.main\")\n\
            *(\".text.hot._ZN1a1bE\" \".text._ZN1a1bE\")\n\
            }\n} INSERT BEFORE .text;\n\
            SECTIONS { .text.cold : { *(.text.unlikely .text.unlikely.* .text.split .text.split.*) \
            } } INSERT AFTER .text;\n";
        assert_eq!(script(&order), expect);
    }

    #[test]
    fn a_script_of_the_line_has_precedence() {
        for argument in [
            "-T",
            "-Tkernel.ld",
            "-Wl,-T,kernel.ld",
            "-Wl,--script=a.ld",
            "-Wl,-script,a.ld",
        ] {
            assert!(names_script(argument.as_ref()), "{argument}");
        }
        for argument in ["-o", "-Wl,--gc-sections", "-Lfoo", "test.o"] {
            assert!(!names_script(argument.as_ref()), "{argument}");
        }
    }
}
