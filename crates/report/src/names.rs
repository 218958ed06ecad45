//! Names of functions in reports: the demangled linkage name, or the source name if the linkage
//! name is not mangled.

use cpp_demangle::{DemangleOptions, Symbol};

/// The name to show for a function with this linkage name and source name. Either may be empty.
pub fn display(linkage_name: &str, name: &str) -> String {
    // LLVM puts a byte 1 before a name that must not get the prefix of the object format.
    let symbol = linkage_name.strip_prefix('\u{1}').unwrap_or(linkage_name);
    if let Ok(demangled) = rustc_demangle::try_demangle(symbol) {
        return format!("{demangled:#}");
    }
    if symbol.starts_with("_Z")
        && let Some(demangled) = demangle_cpp(symbol)
    {
        return demangled;
    }
    if name.is_empty() {
        without_llvm_suffix(symbol).to_owned()
    } else {
        name.to_owned()
    }
}

fn demangle_cpp(symbol: &str) -> Option<String> {
    let options = DemangleOptions::new().no_return_type();
    Symbol::new(without_clone_suffixes(symbol))
        .ok()?
        .demangle_with_options(&options)
        .ok()
}

/// Removes the suffixes that compilers append to clones: `.llvm.123`, `.cold`, `.part.0`,
/// `.constprop.1`.
fn without_clone_suffixes(symbol: &str) -> &str {
    symbol.split_once('.').map_or(symbol, |(symbol, _)| symbol)
}

/// Removes the suffix that LLVM appends to a local symbol that it makes global: `.llvm.123`.
fn without_llvm_suffix(symbol: &str) -> &str {
    symbol
        .split_once(".llvm.")
        .map_or(symbol, |(symbol, _)| symbol)
}

#[cfg(test)]
mod tests {
    use super::display;

    fn check(linkage_name: &str, name: &str, expect: &str) {
        assert_eq!(display(linkage_name, name), expect);
    }

    #[test]
    fn rust_names_lose_their_hash() {
        check(
            "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
            "pad",
            "core::fmt::Formatter::pad",
        );
        check(
            "_ZN4main4loop17h0123456789abcdefE.llvm.77",
            "loop",
            "main::loop",
        );
        check("_RNvCs1234_7mycrate3foo", "foo", "mycrate::foo");
    }

    #[test]
    fn cpp_names_keep_their_parameters() {
        check("_ZN3foo3barEi", "bar", "foo::bar(int)");
        check("_ZN3foo3barEi.cold", "bar", "foo::bar(int)");
        check("_Zbroken", "", "_Zbroken");
    }

    #[test]
    fn c_names_come_from_the_source() {
        check("helper.llvm.42", "helper", "helper");
        check("helper.llvm.42", "", "helper");
        check("\u{1}main", "", "main");
        check("", "", "");
    }
}
