//! Set-up, tests and benches of the project: `cargo xtask help` lists them.
fn main() {}
