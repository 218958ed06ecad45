fn main() {
    println!("cargo::rustc-env=BUILT=yes");
    println!("cargo::rerun-if-changed=build.rs");
}
