//! `script SIZE` runs work.rhai with rhai, with `size` set.

use rhai::{Engine, Scope};

fn main() -> Result<(), Box<rhai::EvalAltResult>> {
    let size: i64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("usage: script SIZE");
    let mut engine = Engine::new();
    engine.set_max_expr_depths(64, 64);
    let mut scope = Scope::new();
    scope.push("size", size);
    engine.run_with_scope(&mut scope, include_str!("work.rhai"))
}
