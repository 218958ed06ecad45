//! Detects fat objects whose machine code was edited after it was compiled, by comparing symbols.
//!
//! A fat object is compiled twice: to machine code, and to bitcode in a section. Tools that edit
//! objects (`objcopy --redefine-sym`, `--localize-symbol`) change the machine code only. Weaving
//! the bitcode would undo the edit, so an edited object is linked unchanged.
//!
//! In an unedited object, machine code and bitcode define the same symbols. The undefined symbols
//! may differ: either compilation may have removed the last use of a function, or added a call
//! (`memcpy`). A rename leaves two traces. A name that the bitcode uses is missing from the machine
//! code, and the machine code uses a name that the bitcode does not contain and that no compiler
//! adds. Both together count as an edit. Local symbols are ignored, because nothing outside the
//! object can refer to them.
//!
//! Sanitizers add names too, and clang 19 runs them on a fat object's machine code a second time
//! (`source_name`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use object::{Object, ObjectSymbol};

/// Evidence that an object's machine code was edited after it was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Either the machine code or the bitcode defines this strong global symbol, but not both.
    Defined(String),
    /// The machine code has two symbols of this name.
    Twice(String),
    /// The bitcode uses the first symbol, and the machine code uses the second instead.
    Renamed(String, String),
    /// The symbol table of the machine code or of the woven object cannot be read.
    Unreadable,
}

/// Compares `machine`, a fat object, with its `bitcode` and with `woven`, the object made from the
/// bitcode. Returns how `machine` was edited after it was compiled, or `None` if it was not. Weak
/// definitions (inline functions) may differ, because either compilation may have removed an unused
/// one.
pub fn changed(machine: &[u8], bitcode: &[u8], woven: &[u8]) -> Option<Change> {
    let (Some(machine), Some(woven)) = (Names::of(machine), Names::of(woven)) else {
        return Some(Change::Unreadable);
    };
    let to_text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    if let Some(name) = machine.duplicate_name() {
        return Some(Change::Twice(to_text(name)));
    }
    let only_woven = missing_names(&woven.defined, &machine.defined);
    let only_machine = missing_names(&machine.defined, &woven.defined);
    if let Some(name) = only_woven.chain(only_machine).next() {
        return Some(Change::Defined(to_text(name)));
    }
    let string_table = holloway_llvm::string_table(bitcode).unwrap_or_default();
    let is_in_bitcode = |name: &[u8]| positions(string_table, name).next().is_some();
    let lost: Vec<&[u8]> = missing_names(&woven.undefined, &machine.undefined)
        .filter(|name| !name.starts_with(b"__holloway_") && is_in_bitcode(name))
        .collect();
    let old = lost.first()?;
    let mut gained = missing_names(&machine.undefined, &woven.undefined);
    let new =
        gained.find(|name| !is_from_compiler(name) && !is_named(string_table, name, &lost))?;
    Some(Change::Renamed(to_text(old), to_text(new)))
}

/// The number of global symbols with each name.
type NameCounts = BTreeMap<Vec<u8>, usize>;

struct Names {
    /// Strong definitions.
    defined: NameCounts,
    undefined: NameCounts,
}

impl Names {
    fn of(bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let (mut defined, mut undefined) = (NameCounts::new(), NameCounts::new());
        for symbol in file.symbols().filter(ObjectSymbol::is_global) {
            let names = match symbol.is_undefined() {
                true => &mut undefined,
                false if symbol.is_weak() => continue,
                false => &mut defined,
            };
            if let Some(name) = source_name(symbol.name_bytes().ok()?) {
                *names.entry(name.into_owned()).or_default() += 1;
            }
        }
        Some(Self { defined, undefined })
    }

    /// A name that two symbols have. One of them was renamed to a name that existed already.
    fn duplicate_name(&self) -> Option<&[u8]> {
        let is_duplicate = |&(name, &count): &(&Vec<u8>, &usize)| {
            count > 1 || self.undefined.contains_key(name) && self.defined.contains_key(name)
        };
        let mut all = self.undefined.iter().chain(&self.defined);
        Some(all.find(is_duplicate)?.0)
    }
}

/// A symbol's name without the additions of a sanitizer's second run. `None` for a symbol that only
/// the second run adds.
///
/// Each run of DataFlowSanitizer appends `.dfsan` to the names of functions. AddressSanitizer
/// defines `___asan_globals_registered`. LLVM appends a number if the name exists already.
fn source_name(name: &[u8]) -> Option<Cow<'_, [u8]>> {
    const DFSAN: &[u8] = b".dfsan";
    if let Some(suffix) = name.strip_prefix(b"___asan_globals_registered.") {
        return (!suffix.iter().all(u8::is_ascii_digit)).then_some(name.into());
    }
    let mut source = name;
    while let Some(shorter) = source.strip_suffix(DFSAN)
        && shorter.ends_with(DFSAN)
    {
        source = shorter;
    }
    Some(source.into())
}

/// The names of `left` that `right` doesn't have.
fn missing_names<'a>(
    left: &'a NameCounts,
    right: &'a NameCounts,
) -> impl Iterator<Item = &'a [u8]> {
    let names = left.keys().filter(|name| !right.contains_key(*name));
    names.map(Vec::as_slice)
}

/// Whether the bitcode's string table contains a name. The table has the names one after another
/// without separators, so matches inside one of the `lost` names do not count. An accidental match
/// may hide a rename, but never reports one.
fn is_named(string_table: &[u8], name: &[u8], lost: &[&[u8]]) -> bool {
    let is_inside_lost = |position: usize| {
        lost.iter().any(|lost| {
            positions(lost, name).any(|offset| {
                position
                    .checked_sub(offset)
                    .is_some_and(|start| string_table[start..].starts_with(lost))
            })
        })
    };
    positions(string_table, name).any(|position| !is_inside_lost(position))
}

/// The offsets at which `bytes` contain `name`.
fn positions(bytes: &[u8], name: &[u8]) -> impl Iterator<Item = usize> {
    let windows = bytes.windows(name.len().max(1)).enumerate();
    windows.filter_map(move |(offset, window)| (window == name).then_some(offset))
}

/// Whether compilers may add a use of this name to code that does not contain it: LLVM replaces
/// loops, arithmetic, and calls by calls of library functions, and sanitizers insert calls.
fn is_from_compiler(name: &[u8]) -> bool {
    /// The prefixes of the names of sanitizers' functions and tables.
    const SANITIZERS: [&str; 12] = [
        "__asan_",
        "__dfsan_",
        "__hwasan_",
        "__msan_",
        "__nsan_",
        "__rtsan_",
        "__sanitizer_",
        "__start___sancov_",
        "__start_asan_globals",
        "__stop___sancov_",
        "__stop_asan_globals",
        "__tsan_",
    ];
    /// C functions that LLVM calls in place of other functions, and symbols that generated code
    /// needs.
    #[rustfmt::skip]
    const NAMES: [&str; 39] = [
        "_GLOBAL_OFFSET_TABLE_", "_Unwind_Resume", "__cxa_begin_catch", "__gxx_personality_v0", "__stack_chk_fail",
        "__stack_chk_guard", "__tls_get_addr", "_ZSt9terminatev", "abort", "bcmp", "bzero", "calloc", "fputc",
        "fputs", "fputs_unlocked", "fwrite", "memccpy", "memchr", "memcmp", "memcpy", "memmove", "mempcpy", "memrchr",
        "memset", "putchar", "puts", "sprintf", "stpcpy", "stpncpy", "strchr", "strcpy", "strlen", "strncmp",
        "strncpy", "strnlen", "strpbrk", "strrchr", "strspn", "strtol",
    ];
    /// Functions of `math.h` for `double`. The names for `float` and `long double` end with `f` and
    /// `l`.
    #[rustfmt::skip]
    const MATH: [&str; 36] = [
        "acos", "asin", "atan", "atan2", "cbrt", "ceil", "cos", "cosh", "cospi", "exp", "exp10",
        "exp2", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "ldexp", "log", "log10", "log2",
        "lrint", "nearbyint", "pow", "rint", "round", "roundeven", "sin", "sincos", "sincospi",
        "sinh", "sqrt", "tan", "tanh", "trunc",
    ];
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    // For example __udivti3, __floatuntidf, __extendhfsf2, __aarch64_cas4_relax, __memcpy_chk.
    let is_compiler_support = name.strip_prefix("__").is_some_and(|name| {
        name.starts_with("aarch64_")
            || name.starts_with("float")
            || name.starts_with("fix")
            || name.ends_with("_chk")
            || name.ends_with(['2', '3', '4'])
    });
    let double_name = name.strip_suffix(['f', 'l']).unwrap_or(name);
    let is_math = MATH.contains(&name) || MATH.contains(&double_name);
    let is_sanitizer = SANITIZERS.iter().any(|prefix| name.starts_with(prefix));
    is_sanitizer || is_compiler_support || is_math || NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_inside_a_lost_name_do_not_count() {
        let check = |names: &[u8], name: &[u8], expect| {
            assert_eq!(is_named(names, name, &[b"foo", b"bar"]), expect);
        };
        check(b"xmainfoobar", b"fo", false);
        check(b"xmainfoobar", b"oob", true);
        check(b"xmainfoobarfo", b"fo", true);
        check(b"xmain", b"foo", false);
        check(b"", b"f", false);
    }

    #[test]
    fn additions_of_a_sanitizers_second_run_are_removed() {
        let check = |name: &str, expect: Option<&str>| {
            let source = source_name(name.as_bytes());
            assert_eq!(source.as_deref(), expect.map(str::as_bytes), "{name}");
        };
        check("f.dfsan.dfsan", Some("f.dfsan"));
        check("f.dfsan.dfsan.dfsan", Some("f.dfsan"));
        check("f.dfsan", Some("f.dfsan"));
        check(".dfsan", Some(".dfsan"));
        check(
            "___asan_globals_registered",
            Some("___asan_globals_registered"),
        );
        check("___asan_globals_registered.17", None);
        check(
            "___asan_globals_registered.x",
            Some("___asan_globals_registered.x"),
        );
        check("f.17", Some("f.17"));
    }

    #[test]
    fn names_that_compilers_add_are_recognized() {
        for name in [
            "memcpy",
            "sincosf",
            "__udivti3",
            "fmodl",
            "__memcpy_chk",
            "__asan_report_load4",
            "__start___sancov_guards.24",
        ] {
            assert!(is_from_compiler(name.as_bytes()), "{name}");
        }
        for name in ["wrapped", "__wrap_f", "f", "l", "malloc"] {
            assert!(!is_from_compiler(name.as_bytes()), "{name}");
        }
    }
}
