//! Tells the build script of `holloway-runtime` where this crate's source is: it compiles the source again, for the
//! targets of its objects. Cargo passes the path on as `DEP_HOLLOWAY_ABI_SOURCE` (`links` in Cargo.toml).

fn main() {
    let directory = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts");
    println!("cargo::metadata=source={directory}/src");
    println!("cargo::rerun-if-changed=build.rs");
}
