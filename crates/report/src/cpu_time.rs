//! Words the CPU time of a run: the names of code that is not woven, and the margin of a share.
//!
//! Unwoven Rust functions are grouped by crate, and `core`, `alloc`, and `std` are one group.
//! Functions of other languages have no such group and are named one by one.

use std::collections::BTreeMap;
use std::path::Path;

use holloway_analysis::cpu_time::{Code, SampleSums, UnwovenCode};
use holloway_format::Count;

use crate::names::display;

/// A group of unwoven code with one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    /// The sort of code.
    pub(crate) sort: CodeSort,
    /// File name, crate, or function.
    pub(crate) name: String,
    /// Path of the file that contains the code. Empty for code in no file.
    pub(crate) path: String,
}

/// A sort of unwoven code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CodeSort {
    /// A whole file.
    File,
    /// The unwoven functions of a Rust crate in a woven image. `std` includes `core` and `alloc`.
    Crate,
    /// A function of a woven image.
    Function,
    /// Code without a symbol in a woven image.
    WithoutSymbol,
    /// Code in no file.
    WithoutFile,
}

impl CodeSort {
    /// The word for the sort in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Crate => "crate",
            Self::Function => "function",
            Self::WithoutSymbol => "without_symbol",
            Self::WithoutFile => "without_file",
        }
    }
}

impl Group {
    fn of(code: &Code) -> Self {
        let new = |sort, name: &str, path: &str| Self {
            sort,
            name: name.to_owned(),
            path: path.to_owned(),
        };
        match code {
            Code::File { path } => new(CodeSort::File, file_name(path), path),
            Code::Function {
                linkage_name,
                image,
            } => match crate_of(linkage_name) {
                Some(name) => new(CodeSort::Crate, &name, image),
                None => new(CodeSort::Function, &display(linkage_name, ""), image),
            },
            Code::WithoutSymbol { image } => new(CodeSort::WithoutSymbol, file_name(image), image),
            Code::WithoutFile => new(CodeSort::WithoutFile, "", ""),
        }
    }

    /// The name of the code on the terminal.
    pub(crate) fn text(&self) -> String {
        match self.sort {
            CodeSort::File | CodeSort::Crate | CodeSort::Function => self.name.clone(),
            CodeSort::WithoutSymbol => format!("code without symbols in {}", self.name),
            CodeSort::WithoutFile => "code generated at run time".to_owned(),
        }
    }
}

/// Groups the unwoven code of a run by name, most samples first.
pub(crate) fn groups(sums: &SampleSums) -> Vec<(Group, Count)> {
    let mut groups: BTreeMap<Group, Count> = BTreeMap::new();
    for UnwovenCode { code, samples } in &sums.unwoven {
        let sum = groups.entry(Group::of(code)).or_default();
        *sum = sum.saturating_add(*samples);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|&(_, samples)| std::cmp::Reverse(samples));
    groups
}

/// The name of a program or library: the last part of its path.
pub(crate) fn file_name(path: &str) -> &str {
    let name = Path::new(path).file_name();
    name.and_then(|name| name.to_str()).unwrap_or(path)
}

/// The crate that defines a Rust function. `None` for names that are not Rust's, or begin with a
/// type that belongs to no crate.
fn crate_of(linkage_name: &str) -> Option<String> {
    rustc_demangle::try_demangle(linkage_name).ok()?;
    let name = display(linkage_name, "");
    let path = name.trim_start_matches(['<', '&', '(', '[', '*']);
    let path = path.trim_start_matches("mut ").trim_start_matches("const ");
    let (first, _) = path.split_once("::")?;
    // A trait for a type without a crate: `<u64 as core::fmt::Display>::fmt`.
    let first = first.rsplit_once(" as ").map_or(first, |(_, name)| name);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    if first.is_empty() || !first.chars().all(is_name) {
        return None;
    }
    Some(match first {
        "core" | "alloc" | "std" | "__rustc" | "compiler_builtins" | "std_detect" => {
            "std".to_owned()
        }
        other => other.to_owned(),
    })
}

/// The margin of a share of samples: half of the 95 % confidence interval, as a part of 1. The
/// formula of Agresti and Coull (1998), which does not become 0 for shares of 0 and 1.
pub(crate) fn margin(part: Count, whole: Count) -> f64 {
    let trials = whole.to_f64() + 4.0;
    let share = (part.to_f64() + 2.0) / trials;
    1.96 * (share * (1.0 - share) / trials).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_functions_belong_to_a_crate() {
        let check = |linkage_name: &str, expect: Option<&str>| {
            assert_eq!(crate_of(linkage_name).as_deref(), expect, "{linkage_name}");
        };
        check(
            "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
            Some("std"),
        );
        check("_RNvCs1234_7mycrate3foo", Some("mycrate"));
        check(
            "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
            Some("std"),
        );
        check(
            "_ZN42_$LT$u64$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
            Some("std"),
        );
        check("libdeflate_deflate_compress", None);
        check("_ZN3foo3barEi", None);
    }

    #[test]
    fn functions_of_one_crate_are_one_group() {
        let function = |name: &str, samples| UnwovenCode {
            code: Code::Function {
                linkage_name: name.to_owned(),
                image: "/bin/app".to_owned(),
            },
            samples: Count(samples),
        };
        let file = UnwovenCode {
            code: Code::File {
                path: "/lib/libbz2.so.1.0".to_owned(),
            },
            samples: Count(4),
        };
        let sums = SampleSums {
            unwoven: vec![
                file,
                function("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", 3),
                function("_ZN5alloc3fmt6format17h0123456789abcdefE", 3),
                function("memcpy", 1),
            ],
            ..SampleSums::default()
        };
        let named: Vec<_> = groups(&sums)
            .iter()
            .map(|(group, samples)| (group.text(), samples.0))
            .collect();
        let expect = [("std", 6), ("libbz2.so.1.0", 4), ("memcpy", 1)];
        assert_eq!(
            named,
            expect.map(|(name, samples)| (name.to_owned(), samples))
        );
    }

    #[test]
    fn the_margin_shrinks_with_the_number_of_samples() {
        let margin = |part, whole| margin(Count(part), Count(whole));
        // 50 of 100: 1.96 * sqrt(0.25 / 104).
        assert!((margin(50, 100) - 0.0961).abs() < 0.0001);
        assert!(margin(50, 100) > margin(5_000, 10_000));
        assert!(margin(100, 100) > 0.0);
    }
}
