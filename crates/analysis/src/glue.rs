//! Glue: small functions that do no work of their own, but pass a call on or return a value. Lists
//! of the hottest code show them after all other functions, so that they never lead a list.
//!
//! A function is glue in four cases:
//!
//! 1. It is a shim of Rust's allocator. rustc and `std` reserve these names: `__rust_alloc`,
//!    `__rdl_alloc`, `__rg_alloc`, and so on.
//! 2. It has no branch and at most `MAX_GLUE` instructions: one besides a call and the return.
//! 3. Its name says that it allocates or frees memory, and it is small: it has no loop and at most
//!    `MAX_WRAPPER` instructions. `xmalloc` and `operator new` are examples. The functions of a
//!    real allocator are larger.
//! 4. It is drop glue of Rust, which the compiler made (`core::ptr::drop_in_place::<T>`), without a
//!    loop: it calls the functions that drop the parts of a value. Drop glue with a loop may be the
//!    program's own work, such as dropping a million elements.
//!
//! ```text
//! xmalloc: p = malloc(n); if (!p) die(); return p;     5 instructions, no loop: glue
//! len:     return self.len;                            2 instructions, no branch: glue
//! malloc:  search a free list                          a loop: no glue
//! ```
//! Cost: linear in the blocks and edges of small functions. Large functions are not searched.

use holloway_format::{EdgeKind, FunctionMap};

/// Maximum number of instructions of a function without branches that is glue: a call, a return,
/// and one more.
const MAX_GLUE: u64 = 3;
/// Maximum number of instructions of a wrapper of an allocator. In optimized C programs (bzip2,
/// mawk, jq), wrappers with a check for null have 5 to 12.
const MAX_WRAPPER: u64 = 16;

/// Beginnings of the reserved names of Rust's allocator shims.
const RUST_SHIMS: [&str; 6] = [
    "__rust_alloc",
    "__rust_dealloc",
    "__rust_realloc",
    "__rust_no_alloc_shim",
    "__rdl_",
    "__rg_",
];
/// Beginnings of the linkage names of C++'s `operator new` and `operator delete`.
const CXX_OPERATORS: [&str; 4] = ["_Znw", "_Zna", "_Zdl", "_Zda"];

/// Whether a function is a shim of Rust's allocator, which the compiler makes.
pub fn is_allocator_shim(linkage_name: &str) -> bool {
    RUST_SHIMS.iter().any(|shim| linkage_name.contains(shim))
}

/// Whether a function is drop glue, by its name in either of Rust's manglings.
fn is_drop_glue(linkage_name: &str) -> bool {
    const LEGACY: &str = "_ZN4core3ptr";
    let is_v0 = linkage_name
        .strip_prefix("_RINvNtC")
        .and_then(|crate_and_path| crate_and_path.find("_4core3ptr13drop_in_place"))
        // The hash of the crate is before it.
        .is_some_and(|hash| hash < 16);
    let is_legacy = linkage_name.strip_prefix(LEGACY).is_some_and(|path| {
        let name = path.trim_start_matches(|c: char| c.is_ascii_digit());
        name.starts_with("drop_in_place")
    });
    is_v0 || is_legacy
}

/// Whether a function is glue.
pub fn is_glue(map: &FunctionMap) -> bool {
    let linkage_name = map.linkage_name.as_str();
    if is_allocator_shim(linkage_name) || is_drop_glue(linkage_name) && !has_loop(map) {
        return true;
    }
    let blocks = map.blocks.iter();
    let instructions: u64 = blocks.map(|block| u64::from(block.instructions)).sum();
    match instructions {
        0..=MAX_GLUE if !has_branch(map) => true,
        0..=MAX_WRAPPER => is_allocator_wrapper(linkage_name, &map.name) && !has_loop(map),
        _ => false,
    }
}

/// Whether the names of a function say that it allocates or frees memory.
pub(crate) fn is_allocator_wrapper(linkage_name: &str, name: &str) -> bool {
    let name = match name.is_empty() {
        true => linkage_name,
        false => name,
    };
    let mut operators = CXX_OPERATORS.iter();
    let mut words = without_generics(name).split(|c: char| !c.is_ascii_alphanumeric());
    operators.any(|operator| linkage_name.starts_with(operator)) || words.any(is_about_memory)
}

/// A name without its generic arguments: rustc and clang put them into the name.
fn without_generics(name: &str) -> &str {
    let end = name.find('<').filter(|_| !name.starts_with("operator"));
    &name[..end.unwrap_or(name.len())]
}

/// Whether a word of a name says that a function allocates or frees memory: `alloc`, `xmalloc`,
/// `allocate`, `dealloc`, `free`, `xfree`.
fn is_about_memory(word: &str) -> bool {
    word.ends_with("alloc")
        || word.starts_with("alloc")
        || word.ends_with("free") && word.len() <= "xfree".len()
}

/// Whether control may leave a block by several edges. Frames left in calls do not count.
fn has_branch(map: &FunctionMap) -> bool {
    let mut out = vec![0u32; map.blocks.len()];
    edges(map).any(|(from, _)| {
        out[from] += 1;
        out[from] > 1
    })
}

/// Whether the graph has a cycle: blocks remain after those without an edge into them have been
/// removed one after the other.
fn has_loop(map: &FunctionMap) -> bool {
    let mut into = vec![0u32; map.blocks.len()];
    edges(map).for_each(|(_, to)| into[to] += 1);
    let mut removable: Vec<usize> = (0..into.len()).filter(|&block| into[block] == 0).collect();
    let mut removed = 0;
    while let Some(block) = removable.pop() {
        removed += 1;
        for (_, to) in edges(map).filter(|&(from, _)| from == block) {
            into[to] -= 1;
            if into[to] == 0 {
                removable.push(to);
            }
        }
    }
    removed < into.len()
}

fn edges(map: &FunctionMap) -> impl Iterator<Item = (usize, usize)> {
    let edges = map.edges.iter();
    let edges = edges.filter(|edge| edge.kind != EdgeKind::Exit);
    edges.map(|edge| (edge.from as usize, edge.to as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use holloway_format::{BlockMap, EdgeMap, Outcome};

    /// A function with these instructions of its blocks and these edges. The last block is the
    /// exit.
    fn function(
        name: &str,
        linkage_name: &str,
        instructions: &[u32],
        edges: &[(u32, u32)],
    ) -> FunctionMap {
        let block = |&instructions: &u32| BlockMap {
            instructions,
            ..BlockMap::default()
        };
        let edge = |&(from, to): &(u32, u32)| EdgeMap {
            from,
            to,
            kind: EdgeKind::Plain,
            outcome: Outcome::Jump,
            place: None,
        };
        FunctionMap {
            name: name.into(),
            linkage_name: linkage_name.into(),
            exit: instructions.len() as u32 - 1,
            blocks: instructions.iter().map(block).collect(),
            edges: edges.iter().map(edge).collect(),
            ..FunctionMap::default()
        }
    }

    #[test]
    fn shims_of_rusts_allocator_are_glue() {
        let check = |linkage_name: &str, expect: bool| {
            let map = function("", linkage_name, &[50, 0], &[(0, 1), (0, 0)]);
            assert_eq!(is_glue(&map), expect, "{linkage_name}");
        };
        check("__rust_alloc", true);
        check("_RNvCs1234_7___rustc12___rust_alloc", true);
        check("__rdl_dealloc", true);
        check("_RNvCs1234_3app4work", false);
        check("_ZN3app5alloc17h0123456789abcdefE", false);
    }

    #[test]
    fn code_of_one_instruction_is_glue_but_not_a_branch_or_more() {
        let check = |instructions: &[u32], edges: &[(u32, u32)], expect: bool| {
            let map = function("len", "len", instructions, edges);
            assert_eq!(is_glue(&map), expect, "{instructions:?}");
        };
        check(&[2, 0], &[(0, 1)], true);
        check(&[2, 1, 0], &[(0, 1), (1, 2)], true);
        check(&[4, 0], &[(0, 1)], false);
        check(&[2, 1, 0], &[(0, 1), (0, 2), (1, 2)], false);
    }

    #[test]
    fn small_wrappers_of_allocators_are_glue() {
        let checked = &[(0, 1), (0, 2), (1, 3), (2, 3)];
        let check = |name: &str, instructions: &[u32], edges: &[(u32, u32)], expect: bool| {
            let map = function(name, name, instructions, edges);
            assert_eq!(is_glue(&map), expect, "{name}");
        };
        check("xmalloc", &[3, 2, 1, 0], checked, true);
        check("free_node", &[3, 2, 1, 0], checked, true);
        check("_Znwm", &[3, 2, 1, 0], checked, true);
        check("parse", &[3, 2, 1, 0], checked, false);
        let generic = "longer<alloc::vec::Vec<u8, alloc::alloc::Global>>";
        check(generic, &[3, 2, 1, 0], checked, false);
        check("free_all<u8>", &[3, 2, 1, 0], checked, true);
        check("freeze", &[3, 2, 1, 0], checked, false);
        check("malloc", &[30, 2, 1, 0], checked, false);
        // A loop is work.
        check("alloc_scan", &[3, 2, 0], &[(0, 1), (1, 1), (1, 2)], false);
    }

    /// Drop glue is glue without a loop. Functions about it, and with it as a type, are not.
    #[test]
    fn drop_glue_without_a_loop_is_glue() {
        let v0 = "_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtB4_6option6OptionjEECs1_3app";
        let legacy = "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE";
        let other = "_RINvCs1_3app4sortNvNtCs2_4core3ptr13drop_in_placeE";
        for (linkage_name, expect) in [(v0, true), (legacy, true), (other, false)] {
            let branch = function("", linkage_name, &[20, 20, 0], &[(0, 1), (0, 2), (1, 2)]);
            assert_eq!(is_glue(&branch), expect, "{linkage_name}");
            let looped = function("", linkage_name, &[20, 20, 0], &[(0, 1), (1, 1), (1, 2)]);
            assert!(!is_glue(&looped), "{linkage_name}");
        }
    }
}
