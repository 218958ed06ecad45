//! Names of functions that survive a new version of their crate.

use holloway_format::map::hash_of_words;

/// A linkage name without the parts that change although the function does not: the hash or the
/// disambiguators of a Rust name, and LLVM's suffix for local functions that it made global.
pub(super) fn stable_name(linkage_name: &str) -> String {
    let name = linkage_name.strip_prefix('\u{1}').unwrap_or(linkage_name);
    if let Ok(demangled) = rustc_demangle::try_demangle(name) {
        return format!("{demangled:#}");
    }
    let end = name.find(".llvm.").unwrap_or(name.len());
    name[..end].to_owned()
}

/// A hash of the stable name.
pub(super) fn name_hash(linkage_name: &str) -> u32 {
    let name = stable_name(linkage_name);
    let words: Vec<u64> = name.bytes().map(u64::from).collect();
    low_half(hash_of_words(&words))
}

/// Half of a hash is enough for the blocks and the callees of a function.
pub(super) fn low_half(hash: u64) -> u32 {
    (hash & u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::stable_name;

    #[test]
    fn hashes_and_disambiguators_are_left_out() {
        let check = |name: &str, expect: &str| assert_eq!(stable_name(name), expect);
        check("main", "main");
        check("helper.llvm.1234", "helper");
        check("_ZN5small4fast17h0123456789abcdefE", "small::fast");
        check("_ZN5small4fast17hfedcba9876543210E", "small::fast");
        check("_RNvCs1234_5small4fast", "small::fast");
        check("_RNvCsabcd_5small4fast", "small::fast");
        check("_Z4fasti", "_Z4fasti");
    }
}
