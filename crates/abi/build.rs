//! Publishes the path of this crate's source. The build script of `holloway-runtime` compiles that
//! source again for the targets of the runtime objects.
//!
//! Cargo passes the path to that script in the variable `DEP_HOLLOWAY_ABI_SOURCE`, because of
//! `links` in Cargo.toml.

fn main() {
    let directory = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts");
    println!("cargo::metadata=source={directory}/src");
    println!("cargo::rerun-if-changed=build.rs");
}
