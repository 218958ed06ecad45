//! Tests the image object with real linkers: they keep the map and the header, and export nothing.
//! On aarch64, the object defines the bases.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::link_support::linkers;
use holloway_abi::{ABI_VERSION, IMAGE_MAGIC, ImageHeader, MAP_SECTION};
use holloway_weave::image::{Machine, image_object};
use object::{Object, ObjectSection, ObjectSymbol};

fn header() -> ImageHeader {
    ImageHeader {
        magic: IMAGE_MAGIC,
        version: ABI_VERSION,
        kind: 0,
        build_id: [7; 16],
        block_size: 4032,
        parameter: 0,
        name: [b'n'; 80],
        runs: [b'r'; 896],
    }
}

/// Uses the header and the slot, as the runtime does. Returns 0 if both are correct.
const USER: &str = r#"
extern const unsigned char __holloway_image[1024] __attribute__((visibility("hidden")));
extern __thread void *__holloway_slot __attribute__((visibility("hidden")));
__attribute__((visibility("default"))) int check(void) {
    return __holloway_image[0] == 'H' && __holloway_image[16] == 7 && __holloway_image[127] == 'n'
        && __holloway_image[1023] == 'r' && __holloway_slot == 0 ? 0 : 1;
}
int main(void) { return check(); }
"#;

fn compile(dir: &Path) -> [PathBuf; 2] {
    let (source, user, image) = (dir.join("user.c"), dir.join("user.o"), dir.join("image.o"));
    std::fs::write(&source, USER).unwrap();
    let mut cc = Command::new("cc");
    let status = cc
        .args([
            "-c",
            "-O1",
            "-fPIC",
            "-ffunction-sections",
            "-fdata-sections",
        ])
        .arg(&source)
        .arg("-o")
        .arg(&user);
    assert!(status.status().unwrap().success());
    std::fs::write(
        &image,
        image_object(&header(), &[0x5a; 100], Machine::X86_64, &BTreeMap::new()).unwrap(),
    )
    .unwrap();
    [user, image]
}

/// The bytes of the map in a linked file.
fn map_of(file: &Path) -> Vec<u8> {
    let bytes = std::fs::read(file).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    file.section_by_name(MAP_SECTION)
        .map(|section| section.data().unwrap().to_vec())
        .unwrap_or_default()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_map_survives_garbage_collection_and_strip() {
    let dir = tempfile::tempdir().unwrap();
    let objects = compile(dir.path());
    for (linker, mut flags) in linkers() {
        flags.push("-Wl,--gc-sections".to_owned());
        // This flag is lld's default. The other linkers do not know it, or warn.
        flags.extend((linker == "lld").then(|| "-Wl,-z,start-stop-gc".to_owned()));
        for kind in ["-pie", "-no-pie", "-static"] {
            let program = dir.path().join("program");
            let status = Command::new("cc")
                .args(&flags)
                .arg(kind)
                .args(&objects)
                .arg("-o")
                .arg(&program)
                .status();
            assert!(status.unwrap().success(), "{linker} {kind}");
            assert_eq!(
                Command::new(&program).status().unwrap().code(),
                Some(0),
                "{linker} {kind}"
            );
            assert!(
                Command::new("strip")
                    .arg("--strip-all")
                    .arg(&program)
                    .status()
                    .unwrap()
                    .success()
            );
            assert_eq!(map_of(&program), [0x5a; 100], "{linker} {kind}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_shared_object_exports_no_symbols_of_the_image() {
    let dir = tempfile::tempdir().unwrap();
    let objects = compile(dir.path());
    for (linker, flags) in linkers() {
        let library = dir.path().join("library.so");
        let mut cc = Command::new("cc");
        cc.args(flags)
            .args(["-shared", "-Wl,-z,defs", "-Wl,--gc-sections"])
            .args(&objects)
            .arg("-o")
            .arg(&library);
        assert!(cc.status().unwrap().success(), "{linker}");
        assert_eq!(map_of(&library), [0x5a; 100], "{linker}");
        let bytes = std::fs::read(&library).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let exported: Vec<_> = file
            .dynamic_symbols()
            .filter(|symbol| !symbol.is_undefined() && symbol.is_global())
            .filter_map(|symbol| symbol.name().ok())
            .collect();
        assert!(
            exported.contains(&"check") && !exported.iter().any(|name| name.contains("holloway")),
            "{linker}: {exported:?}"
        );
    }
}

#[test]
fn aarch64_gets_its_bases_as_constants() {
    let bases = BTreeMap::from([
        ("__holloway_base_a".to_owned(), 64),
        ("__holloway_base_b".to_owned(), 1 << 40),
    ]);
    let bytes = image_object(&header(), b"map", Machine::Aarch64, &bases).unwrap();
    assert_eq!(Machine::of_object(&bytes), Some(Machine::Aarch64));
    let file = object::File::parse(&*bytes).unwrap();
    for (name, base) in &bases {
        let symbol = file.symbol_by_name(name).unwrap();
        let section = file
            .section_by_index(symbol.section_index().unwrap())
            .unwrap();
        let data = section.data_range(symbol.address(), 8).unwrap().unwrap();
        assert_eq!(data, base.to_le_bytes(), "{name}");
        assert!(
            matches!(symbol.scope(), object::SymbolScope::Linkage),
            "{name}"
        );
    }
}

#[test]
fn the_same_image_twice_is_the_same_object() {
    let build = || image_object(&header(), b"map", Machine::X86_64, &BTreeMap::new()).unwrap();
    assert_eq!(build(), build());
}
