//! Tests Rust programs, woven with the libLLVM of the Rust toolchain and with Debian's.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Case, KINDS, Workspace, follow, library, options, run, traced_lines, weave};
use holloway_abi::Kind;
use holloway_weave::ModuleOptions;
use holloway_weave::OptLevel::{self, O0, O2, O3};

/// `t!();` calls the tracer, which counts the line, and which the weaver does not see.
const TRACED: &str = "unsafe extern \"C\" { fn trace(line: u32); }
#[collapse_debuginfo(yes)]
macro_rules! t { () => { unsafe { trace(line!()) } }; }
";

/// The directory of the standard library as a shared object, and its name for the linker.
fn shared_std() -> (PathBuf, String) {
    let sysroot = run(Command::new("rustc").args(["--print", "sysroot"]));
    let lib = PathBuf::from(String::from_utf8(sysroot.stdout).unwrap().trim()).join(format!(
        "lib/rustlib/{}-unknown-linux-gnu/lib",
        std::env::consts::ARCH
    ));
    let name = std::fs::read_dir(&lib)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| name.starts_with("libstd-") && name.ends_with(".so"))
        .unwrap();
    (lib, name)
}

/// Compiles a crate to bitcode.
pub(crate) fn compile(workspace: &Workspace, name: &str, source: &str, flag: &str) -> Vec<u8> {
    let file = workspace.write("program.rs", source.as_bytes());
    let bitcode = workspace.path("program.bc");
    let flags = [
        "-g",
        "-Ccodegen-units=1",
        "-Cprefer-dynamic",
        "-Clinker-plugin-lto",
        flag,
    ];
    run(Command::new("rustc")
        .args(["--edition=2024", "--emit=llvm-bc", "--crate-name", name])
        .args(flags)
        .arg(file)
        .arg("-o")
        .arg(&bitcode));
    std::fs::read(bitcode).unwrap()
}

/// The linker options for Rust programs.
fn link() -> Vec<String> {
    let (directory, std) = shared_std();
    vec![
        "-pie".to_string(),
        directory.join(std).display().to_string(),
        format!("-Wl,-rpath,{}", directory.display()),
        "-Wl,--gc-sections".into(),
    ]
}

fn check(name: &str, source: &str, levels: &[(OptLevel, &str)], status: i32) {
    let source = format!("{TRACED}{source}");
    let traced = traced_lines(&source);
    for llvm in ["22", "rustc"] {
        for (level, flag) in levels {
            let workspace = Workspace::new();
            let case = Case {
                context: format!("{name} with {llvm} at {level}"),
                workspace: &workspace,
                llvm: library(llvm),
                bitcode: compile(&workspace, name, &source, flag),
                options: options(name, *level),
                link: link(),
                status,
                file: "program.rs",
                traced: &traced,
            };
            case.check(&KINDS);
        }
    }
}

/// The harness of `rustc --test` has a `main` and a closure for each test. Their code is no code of
/// the file; a closure that the source contains is.
#[test]
fn generated_functions_have_no_lines() {
    let source = "fn twice(n: u32) -> u32 { (|| n * 2)() }
#[test]
fn one() { assert_eq!(twice(1), 2); }
#[test]
fn two() {
    assert_eq!(twice(2), 4);
}
";
    let workspace = Workspace::new();
    let bitcode = compile(&workspace, "program", source, "--test");
    let map = weave(&library("rustc"), &bitcode, &options("program", O0), 0).map;
    let mut declared: Vec<(&str, &str, u32)> = map
        .functions
        .iter()
        .filter(|function| function.linkage_name.contains("7program"))
        .map(|function| {
            let file = function.file.rsplit('/').next().unwrap_or_default();
            (&*function.name, file, function.line)
        })
        .filter(|(name, ..)| !name.contains('<'))
        .collect();
    declared.sort_unstable();
    assert_eq!(
        declared,
        [
            ("main", "program.rs", 0),
            ("one", "program.rs", 3),
            ("twice", "program.rs", 1),
            ("two", "program.rs", 5),
            ("{closure#0}", "program.rs", 0),
            ("{closure#0}", "program.rs", 0),
            ("{closure#0}", "program.rs", 1),
        ]
    );
    let generated = map.functions.iter().filter(|function| function.line == 0);
    let mut places = generated.flat_map(|function| {
        let places = function.blocks.iter().flat_map(|block| &block.places);
        places.filter(|place| place.scope == 0)
    });
    assert_eq!(places.next(), None);
}

const LEVELS: [(OptLevel, &str); 3] = [
    (O0, "-Copt-level=0"),
    (O2, "-Copt-level=2"),
    (O3, "-Copt-level=3"),
];

#[test]
fn matches_iterators_and_collections() {
    let source = r#"
use std::collections::{HashMap, hash_map::DefaultHasher};
use std::hash::BuildHasherDefault;
enum Op { Push(i64), Add, Mul, Jump(usize), Print }
fn run(ops: &[Op], mut fuel: u32) -> Option<i64> {
    let mut stack = Vec::new();
    let mut pc = 0;
    while let Some(op) = ops.get(pc) {
        fuel = fuel.checked_sub(1)?;
        pc += 1;
        match op {
            Op::Push(n) => {
t!();
                stack.push(*n);
            }
            Op::Add | Op::Mul => {
t!();
                let (a, b) = (stack.pop()?, stack.pop()?);
                if matches!(op, Op::Add) {
t!();
                    stack.push(a + b);
                } else {
t!();
                    stack.push(a.wrapping_mul(b));
                }
            }
            Op::Jump(to) => {
t!();
                pc = *to;
            }
            Op::Print => {
t!();
                println!("{:?}", stack.last());
            }
        }
    }
    stack.pop()
}
fn main() {
    let ops = [Op::Push(2), Op::Push(3), Op::Add, Op::Print, Op::Push(7), Op::Mul, Op::Print, Op::Jump(0)];
    assert_eq!(run(&ops, 100), None);
    assert_eq!(run(&ops[..6], 100), Some(35));
    // This hasher gives the same hashes in every run.
    let mut words: HashMap<&str, usize, BuildHasherDefault<DefaultHasher>> = HashMap::default();
    for word in "the quick brown fox jumps over the lazy dog and the cat".split(' ') {
t!();
        *words.entry(word).or_default() += 1;
    }
    let mut sorted: Vec<_> = words.into_iter().filter(|(word, _)| word.len() < 5).collect();
    sorted.sort_unstable();
    println!("{sorted:?}");
}
"#;
    check("collections", source, &LEVELS, 0);
}

#[test]
fn caught_and_uncaught_panics() {
    let source = r#"
use std::panic::catch_unwind;
struct Guard(u32);
impl Drop for Guard {
    fn drop(&mut self) {
t!();
        self.0 += 1;
    }
}
#[inline(never)]
fn risky(n: u32) -> u32 {
    let guard = Guard(n);
    if n % 3 == 0 {
t!();
        panic!("three");
    }
t!();
    guard.0 * 2
}
fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut caught = 0;
    for n in 1..20 {
        match catch_unwind(|| risky(n)) {
            Ok(_) => {
t!();
            }
            Err(_) => {
t!();
                caught += 1;
            }
        }
    }
    assert_eq!(caught, 6);
    let _guard = Guard(1);
t!();
    risky(3);
}
"#;
    check("panics", source, &LEVELS, 101);
}

/// The code before `std::process::exit` is counted even in a frame with values to drop, in which
/// the call is an invoke.
#[test]
fn code_before_process_exit_is_counted() {
    let source = r#"
fn main() {
    let text = vec![String::from("x"); std::env::args().count() + 3];
    for word in &text {
        if word.len() == 1 {
t!();
        }
    }
    if text.len() > 2 {
t!();
        std::process::exit(text.len() as i32);
    }
}
"#;
    check("exit", source, &LEVELS, 4);
}

#[test]
fn async_threads_and_thread_locals() {
    let source = r#"
use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
thread_local! { static DROPS: Late = const { Late(Cell::new(0)) }; }
struct Late(Cell<u32>);
impl Drop for Late {
    fn drop(&mut self) {
t!();
    }
}
struct Yield(bool);
impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
t!();
        Poll::Pending
    }
}
async fn steps(n: u32) -> u32 {
    let mut sum = 0;
    for i in 0..n {
t!();
        Yield(false).await;
        sum += i;
    }
    sum
}
fn main() {
    let mut future = pin!(steps(7));
    let mut context = Context::from_waker(Waker::noop());
    let sum = loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(sum) => break sum,
            Poll::Pending => {
t!();
            }
        }
    };
    assert_eq!(sum, 21);
    std::thread::spawn(|| DROPS.with(|late| late.0.set(1))).join().unwrap();
}
"#;
    check("asynchronous", source, &LEVELS, 0);
}

/// With caught panics and drops during unwinding, a trace has the traced lines in their order.
#[test]
fn streams() {
    let source = r#"
struct Guard<'a>(&'a std::cell::Cell<u32>);
impl Drop for Guard<'_> {
    #[inline(never)]
    fn drop(&mut self) {
t!();
        self.0.set(self.0.get() + 1);
    }
}
#[inline(never)]
fn risky(n: u32) -> u32 {
t!();
    if n % 3 == 2 {
t!();
        std::panic::resume_unwind(Box::new(n));
    }
    n * 2
}
#[inline(never)]
fn guarded(n: u32, count: &std::cell::Cell<u32>) -> u32 {
    let _guard = Guard(count);
    let mut sum = 0;
    for i in 0..n {
t!();
        sum += risky(i) + (0..i).map(|j| risky(3 * j)).sum::<u32>();
    }
t!();
    sum
}
fn main() {
    let count = std::cell::Cell::new(0);
    let mut sum = 0;
    for n in 0..6 {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| guarded(n, &count)));
t!();
        match caught {
            Ok(n) => {
t!();
                sum += n;
            }
            Err(_) => {
t!();
                sum += 1000;
            }
        }
    }
    assert_eq!((sum, count.get()), (3002, 6));
}
"#;
    let source = format!("{TRACED}{source}");
    let traced = traced_lines(&source);
    for (llvm, (level, flag), collect) in ["22", "rustc"].into_iter().flat_map(|llvm| {
        let kinds = [Kind::Trace, Kind::Loops];
        let levels = LEVELS.into_iter();
        levels.flat_map(move |level| kinds.map(|collect| (llvm, level, collect)))
    }) {
        let context = format!("streams with {llvm} at {level}, {collect}");
        let workspace = Workspace::new();
        let bitcode = compile(&workspace, "streams", &source, flag);
        let options = ModuleOptions {
            collect,
            ..options("streams", level)
        };
        let patched = weave(&library(llvm), &bitcode, &options, 64);
        let link = link();
        let link: Vec<&str> = link.iter().map(String::as_str).collect();
        let stream = workspace.stream(std::slice::from_ref(&patched.woven.object), &link);
        assert_eq!(stream.status, Some(0), "{context}");
        let followed = follow(&patched, &stream, "program.rs", &traced);
        assert!(followed.caught > 0 && followed.open.is_empty(), "{context}");
        if collect == Kind::Trace {
            let lines: Vec<u32> = followed
                .steps
                .iter()
                .flat_map(|s| s.lines.clone())
                .collect();
            assert_eq!(lines, stream.lines, "{context}");
        }
    }
}
