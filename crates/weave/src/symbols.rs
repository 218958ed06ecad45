//! Does an object's machine code still define and use the symbols of its bitcode?
//!
//! A fat object is compiled twice: to machine code, and to bitcode in a section. Tools that edit
//! objects (`objcopy --redefine-sym`, `--localize-symbol`) change the machine code only. Weaving
//! the bitcode would bring the old names back, so such an object is linked as it is.
//!
//! The *defined* symbols must be the same. The *undefined* symbols may differ a little: either
//! compilation may have dropped the last use of a function, or added a call of its own (`memcpy`).
//! A rename removes a name that the bitcode has, and adds a name that the bitcode doesn't have and
//! that compilers don't invent. Both together are the sign of an edit. Local symbols don't count,
//! because nothing outside of the object can refer to them.
//!
//! Sanitizers invent names too, and clang 19 runs them on a fat object's machine code a second time
//! (`of_source`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use object::{Object, ObjectSymbol};

/// The sign that an object's machine code was edited after it was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only one of the two defines a symbol, strong and for others.
    Defined(String),
    /// The machine code has two symbols of one name.
    Twice(String),
    /// The bitcode asks for the first symbol, and the machine code for the second.
    Renamed(String, String),
    /// It has no symbol table that can be read.
    Unreadable,
}

/// How `machine` (a fat object) was edited after it was compiled, if it was. Compares it with its
/// `bitcode` and with `woven`, the object made from the bitcode: they define other strong global
/// symbols, or `machine` uses a symbol under another name. Weak definitions (inline functions) may
/// differ: either compilation may have dropped an unused one.
pub fn changed(machine: &[u8], bitcode: &[u8], woven: &[u8]) -> Option<Change> {
    let (Some(machine), Some(woven)) = (Names::of(machine), Names::of(woven)) else {
        return Some(Change::Unreadable);
    };
    let shown = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    if let Some(name) = machine.twice() {
        return Some(Change::Twice(shown(name)));
    }
    let (ours, theirs) = (&woven.defined, &machine.defined);
    if let Some(name) = only(ours, theirs).chain(only(theirs, ours)).next() {
        return Some(Change::Defined(shown(name)));
    }
    let names = holloway_llvm::string_table(bitcode).unwrap_or_default();
    let lost: Vec<&[u8]> = only(&woven.undefined, &machine.undefined)
        .filter(|name| !name.starts_with(b"__holloway_") && positions(names, name).next().is_some())
        .collect();
    let old = lost.first()?;
    let mut gained = only(&machine.undefined, &woven.undefined);
    let new = gained.find(|name| !is_from_compiler(name) && !is_named(names, name, &lost))?;
    Some(Change::Renamed(shown(old), shown(new)))
}

/// The number of global symbols of each name.
type Count = BTreeMap<Vec<u8>, usize>;

struct Names {
    /// Strong definitions.
    defined: Count,
    undefined: Count,
}

impl Names {
    fn of(bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let (mut defined, mut undefined) = (Count::new(), Count::new());
        for symbol in file.symbols().filter(ObjectSymbol::is_global) {
            let names = match symbol.is_undefined() {
                true => &mut undefined,
                false if symbol.is_weak() => continue,
                false => &mut defined,
            };
            if let Some(name) = of_source(symbol.name_bytes().ok()?) {
                *names.entry(name.into_owned()).or_default() += 1;
            }
        }
        Some(Self { defined, undefined })
    }

    /// A name of two symbols: one was renamed to a name that existed already.
    fn twice(&self) -> Option<&[u8]> {
        let is_twice = |&(name, &count): &(&Vec<u8>, &usize)| {
            count > 1 || self.undefined.contains_key(name) && self.defined.contains_key(name)
        };
        let mut all = self.undefined.iter().chain(&self.defined);
        Some(all.find(is_twice)?.0)
    }
}

/// A symbol's name without the additions of a sanitizer's second run. `None` for a symbol that only
/// the second run adds.
///
/// DataFlowSanitizer appends `.dfsan` to the names of functions, each time. AddressSanitizer
/// defines `___asan_globals_registered`, to which LLVM appends a number if the name is taken.
fn of_source(name: &[u8]) -> Option<Cow<'_, [u8]>> {
    const DFSAN: &[u8] = b".dfsan";
    if let Some(rest) = name.strip_prefix(b"___asan_globals_registered.") {
        return (!rest.iter().all(u8::is_ascii_digit)).then_some(name.into());
    }
    let mut source = name;
    while let Some(once) = source.strip_suffix(DFSAN)
        && once.ends_with(DFSAN)
    {
        source = once;
    }
    Some(source.into())
}

/// The names of `left` that `right` doesn't have.
fn only<'a>(left: &'a Count, right: &'a Count) -> impl Iterator<Item = &'a [u8]> {
    let names = left.keys().filter(|name| !right.contains_key(*name));
    names.map(Vec::as_slice)
}

/// Whether `names` contains the name. The names lie in one string, one after the other, so a match
/// inside a `lost` name doesn't count. A match by chance hides a rename, and never invents one.
fn is_named(names: &[u8], name: &[u8], lost: &[&[u8]]) -> bool {
    let inside_lost = |at: usize| {
        lost.iter().any(|lost| {
            positions(lost, name).any(|offset| {
                at.checked_sub(offset)
                    .is_some_and(|start| names[start..].starts_with(lost))
            })
        })
    };
    positions(names, name).any(|at| !inside_lost(at))
}

fn positions(bytes: &[u8], name: &[u8]) -> impl Iterator<Item = usize> {
    let windows = bytes.windows(name.len().max(1)).enumerate();
    windows.filter_map(move |(at, window)| (window == name).then_some(at))
}

/// Whether compilers use a name that no source contains: what LLVM makes of loops, arithmetic and
/// other calls, and what sanitizers insert.
fn is_from_compiler(name: &[u8]) -> bool {
    /// How the names of sanitizers' functions and tables begin.
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
    /// C functions that others are turned into, and what code needs that no source names.
    #[rustfmt::skip]
    const NAMES: [&str; 39] = [
        "_GLOBAL_OFFSET_TABLE_", "_Unwind_Resume", "__cxa_begin_catch", "__gxx_personality_v0", "__stack_chk_fail",
        "__stack_chk_guard", "__tls_get_addr", "_ZSt9terminatev", "abort", "bcmp", "bzero", "calloc", "fputc",
        "fputs", "fputs_unlocked", "fwrite", "memccpy", "memchr", "memcmp", "memcpy", "memmove", "mempcpy", "memrchr",
        "memset", "putchar", "puts", "sprintf", "stpcpy", "stpncpy", "strchr", "strcpy", "strlen", "strncmp",
        "strncpy", "strnlen", "strpbrk", "strrchr", "strspn", "strtol",
    ];
    /// Of `math.h`, for `double`; with `f` or `l` after it for the others.
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
    // __udivti3, __floatuntidf, __extendhfsf2, __aarch64_cas4_relax, __memcpy_chk
    let support = name.strip_prefix("__").is_some_and(|rest| {
        rest.starts_with("aarch64_")
            || rest.starts_with("float")
            || rest.starts_with("fix")
            || rest.ends_with("_chk")
            || rest.ends_with(['2', '3', '4'])
    });
    let plain = name.strip_suffix(['f', 'l']).unwrap_or(name);
    let sanitizes = SANITIZERS.iter().any(|begin| name.starts_with(begin));
    sanitizes || support || NAMES.contains(&name) || MATH.contains(&name) || MATH.contains(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_inside_a_lost_one_is_not_there() {
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
    fn a_sanitizers_second_run_does_not_count() {
        let check = |name: &str, expect: Option<&str>| {
            let source = of_source(name.as_bytes());
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
    fn what_compilers_call_is_known() {
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
