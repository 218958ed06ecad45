//! Compiles, weaves, links, and runs small programs with the stub in place of the runtime
//! (`stub.c`), and reads their counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use holloway_abi::Kind;
use holloway_format::{Counters, FunctionMap, ModuleMap};
use holloway_llvm::Library;
use holloway_weave::{LinkKind, ModuleOptions, OptLevel, WovenModule, patch, weave_module};

use super::graph::block_counts;

const LINES: usize = 65536;
const HASH_SLOTS: usize = 65536;
const BLOCK_COUNTERS: usize = 1 << 19;

/// A compiler and the libLLVM that weaves its bitcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    pub clang: &'static str,
    pub llvm: &'static str,
}

/// Every combination that must work.
pub const SETUPS: [Setup; 4] = [
    Setup {
        clang: "clang-19",
        llvm: "19",
    },
    Setup {
        clang: "clang-19",
        llvm: "22",
    },
    Setup {
        clang: "clang-22",
        llvm: "22",
    },
    Setup {
        clang: "clang-22",
        llvm: "rustc",
    },
];

/// The libLLVM of a version, or of the Rust toolchain.
pub fn library(which: &str) -> Library {
    if which == "rustc" {
        return Library::find(None, Some(Path::new("rustc"))).unwrap();
    }
    let directory = format!("/usr/lib/llvm-{which}/lib");
    let file = std::fs::read_dir(&directory)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .find(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with(&format!("libLLVM.so.{which}"))
                || name == format!("libLLVM-{which}.so")
        });
    Library::open(file.unwrap_or_else(|| panic!("no libLLVM in {directory}"))).unwrap()
}

/// A temporary directory for one test.
pub struct Workspace {
    dir: tempfile::TempDir,
}

impl Workspace {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Compiles C or C++ (by the extension of `name`) to bitcode.
    pub fn compile(&self, clang: &str, name: &str, source: &str, args: &[&str]) -> Vec<u8> {
        let source = self.write(name, source.as_bytes());
        let out = self.path(&format!("{name}.bc"));
        run(Command::new(clang)
            .args(["-c", "-flto", "-g"])
            .args(args)
            .arg(&source)
            .arg("-o")
            .arg(&out));
        std::fs::read(out).unwrap()
    }

    /// Links objects with the stub and runs the program.
    pub fn run(&self, objects: &[Vec<u8>], link: &[&str]) -> ProgramRun {
        let program = self.path("program");
        let mut linker = Command::new("clang++-22");
        for (index, object) in objects.iter().enumerate() {
            linker.arg(self.write(&format!("woven{index}.o"), object));
        }
        // Every linker would do. lld is the fastest.
        linker.arg("-fuse-ld=lld").arg(stub()).args(link);
        run(linker.arg("-o").arg(&program));
        // If the file exists, the stub adds to its counts.
        let dump = self.path("dump");
        let _ = std::fs::remove_file(&dump);
        let output = Command::new(&program)
            .env("STUB_DUMP", &dump)
            .output()
            .unwrap();
        ProgramRun {
            output,
            dump: Dump::read(&dump),
        }
    }
}

/// The stub's object, compiled once.
fn stub() -> &'static Path {
    static STUB: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, object) = STUB.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let object = dir.path().join("stub.o");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/weave/support/stub.c");
        run(Command::new("gcc")
            .args(["-c", "-O2", "-fPIC", "-mgeneral-regs-only"])
            .arg(source)
            .arg("-o")
            .arg(&object));
        (dir, object)
    });
    object
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// The results of a program's run.
pub struct ProgramRun {
    pub output: Output,
    pub dump: Dump,
}

impl ProgramRun {
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }
}

/// The counts that the stub wrote, in this order: the hits of traced lines, the hash table (three
/// words per slot), and two blocks of counters, of which the program used one.
pub struct Dump {
    words: Vec<u64>,
    /// The index of the first counter of the block that the program used.
    first: usize,
}

impl Dump {
    pub fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_default();
        let words = bytes.chunks_exact(8);
        let words = words.map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        let words: Vec<u64> = words.collect();
        let first_block = LINES + 3 * HASH_SLOTS;
        let mut counts = words.iter().skip(first_block).take(BLOCK_COUNTERS);
        let first = match counts.any(|&count| count > 0) {
            true => first_block,
            false => first_block + BLOCK_COUNTERS,
        };
        Self { words, first }
    }

    /// The traced lines with hits, and their hits.
    pub fn lines(&self) -> BTreeMap<u32, u64> {
        let lines = self.words.iter().take(LINES);
        lines
            .enumerate()
            .filter(|(_, hits)| **hits > 0)
            .map(|(line, hits)| (line as u32, *hits))
            .collect()
    }

    /// The counts of a function in a module with this base, by path or edge counter.
    pub fn counts(&self, base: u64, function: &FunctionMap) -> BTreeMap<u64, u64> {
        match function.counters {
            Counters::Array { offset, len } | Counters::Edges { offset, len, .. } => {
                let first = self.first + ((base + offset) / 8) as usize;
                let counts = (0..len)
                    .filter_map(|path| Some((path, *self.words.get(first + path as usize)?)));
                counts.filter(|(_, count)| *count > 0).collect()
            }
            Counters::Hash { offset } => {
                let table = self
                    .words
                    .get(LINES..LINES + 3 * HASH_SLOTS)
                    .unwrap_or_default();
                let slots = table
                    .chunks_exact(3)
                    .filter(|slot| slot[1] != 0 && slot[0] == base + offset);
                slots.map(|slot| (slot[1] - 1, slot[2])).collect()
            }
        }
    }
}

/// Options for tests.
pub fn options(name: &str, opt: OptLevel) -> ModuleOptions {
    let mut options = ModuleOptions::new(name, LinkKind::Executable, Kind::Paths);
    options.opt = Some(opt);
    options
}

/// A woven module with its base written into the object.
pub struct PatchedModule {
    pub woven: WovenModule,
    pub map: ModuleMap,
    pub base: u64,
    /// The base of the counters next to the ring.
    pub ring_base: u64,
}

/// Weaves a module and writes its base into the object.
pub fn weave(llvm: &Library, bitcode: &[u8], options: &ModuleOptions, base: u64) -> PatchedModule {
    let mut woven = weave_module(llvm, bitcode, options, &mut |_| {}).unwrap();
    let written = base / options.collect.base_unit();
    patch::resolve_base(&mut woven.object, &woven.base_symbol, written).unwrap();
    let ring_base = base / 2;
    let symbol = patch::ring_counters_symbol(&woven.base_symbol);
    patch::resolve_base(&mut woven.object, &symbol, ring_base).unwrap();
    let (map, damage) = ModuleMap::decode(&woven.fragment).unwrap();
    assert!(damage.is_empty());
    PatchedModule {
        woven,
        map,
        base,
        ring_base,
    }
}

/// The hits of traced lines according to the profile: for each traced line, the sum of the counts
/// of the blocks that have a place on it.
pub fn profiled_lines(
    patched: &[&PatchedModule],
    dump: &Dump,
    file: &str,
    traced: &[u32],
) -> BTreeMap<u32, u64> {
    let mut lines = BTreeMap::new();
    for patched in patched {
        for function in &patched.map.functions {
            let counts = block_counts(function, &dump.counts(patched.base, function));
            for (block, count) in function.blocks.iter().zip(counts) {
                // Only the call of the tracer has column 1. The compiler may assign other code to
                // the same line, but not to this column.
                let called = block.places.iter().filter(|place| {
                    place.column == 1 && function.scopes[place.scope as usize].file.ends_with(file)
                });
                let mut lines_of_block: Vec<(u32, u32)> =
                    called.map(|place| (place.scope, place.line)).collect();
                lines_of_block.dedup();
                for (_, line) in lines_of_block {
                    if traced.contains(&line) && count > 0 {
                        *lines.entry(line).or_insert(0) += count;
                    }
                }
            }
        }
    }
    lines
}

/// The lines of a source that call the tracer.
pub fn traced_lines(source: &str) -> Vec<u32> {
    (1..)
        .zip(source.lines())
        .filter(|(_, text)| matches!(text.trim(), "T;" | "t!();"))
        .map(|(line, _)| line)
        .collect()
}

/// The beginning of every traced C source. `T;` calls the tracer, which counts the line, and which
/// the weaver does not see. The attribute `nomerge` is necessary because a merged call has no line.
pub const TRACED: &str = "#ifdef __cplusplus
extern \"C\"
#endif
__attribute__((nomerge)) void trace(unsigned);
#define T trace(__LINE__)
";
