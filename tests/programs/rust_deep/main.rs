//! Recursion through boxed trees, 128-bit arithmetic, slices, strings, and a loop left by a label.
//#expect-calls insert 500
//#expect-runs leaf 500

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SINK: AtomicU64 = AtomicU64::new(0);

#[derive(Default)]
struct Tree(Option<Box<(u64, Tree, Tree)>>);

#[inline(never)]
fn mark(n: u64) {
    SINK.fetch_add(n, Relaxed);
}

#[inline(never)]
fn insert(tree: &mut Tree, key: u64) {
    let mut at = tree;
    while at.0.is_some() {
        let node = at.0.as_mut().unwrap();
        at = if key < node.0 { &mut node.1 } else { &mut node.2 };
    }
    mark(1); // @leaf
    at.0 = Some(Box::new((key, Tree::default(), Tree::default())));
}

fn depth(tree: &Tree) -> usize {
    tree.0.as_ref().map_or(0, |n| 1 + depth(&n.1).max(depth(&n.2)))
}

fn sum(tree: &Tree) -> u128 {
    tree.0.as_ref().map_or(0, |n| u128::from(n.0) * u128::from(n.0) + sum(&n.1) + sum(&n.2))
}

fn main() {
    let mut tree = Tree::default();
    let mut state = 42u64;
    for _ in 0..500 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        insert(&mut tree, state >> 11);
    }
    let found = 'outer: {
        for a in 1..100u32 {
            for b in 1..100u32 {
                if a * b == 4087 {
                    break 'outer (a, b);
                }
            }
        }
        (0, 0)
    };
    println!("{} {} {found:?}", depth(&tree), sum(&tree));
}
