//! Tests of reshaping with every library, on modules written as assembly.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_llvm::{Context, Library, LlvmError, Module, Opcode};

/// The assembler and the library of each version.
fn versions() -> Vec<(&'static str, Library)> {
    let library = |version: &str| {
        let directory = PathBuf::from(format!("/usr/lib/llvm-{version}/lib"));
        let files = std::fs::read_dir(&directory)
            .unwrap()
            .flatten()
            .map(|entry| entry.path());
        let mut files: Vec<_> = files
            .filter(|path| {
                path.file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with("libLLVM.so.")
            })
            .collect();
        files.sort();
        Library::open(files.last().unwrap()).unwrap()
    };
    let rustc = Library::find(None, Some(Path::new("rustc"))).unwrap();
    vec![
        ("llvm-as-19", library("19")),
        ("llvm-as-22", library("22")),
        ("llvm-as-22", rustc),
    ]
}

fn check(
    assembly: &str,
    change: impl Fn(&mut Module<'_>) -> usize,
    see: impl Fn(&Module<'_>, usize),
) {
    for (assembler, library) in versions() {
        let directory = std::env::temp_dir().join(format!(
            "holloway-reshape-{}-{:p}",
            std::process::id(),
            &assembly
        ));
        std::fs::create_dir_all(&directory).unwrap();
        let (source, bitcode) = (directory.join("m.ll"), directory.join("m.bc"));
        std::fs::write(&source, assembly).unwrap();
        let output = Command::new(assembler)
            .arg(&source)
            .arg("-o")
            .arg(&bitcode)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let bytes = std::fs::read(bitcode).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        let context = Context::new(&library);
        let mut module = Module::parse(&context, "m", &bytes).unwrap();
        let changed = change(&mut module);
        module
            .verify("reshaping")
            .unwrap_or_else(|error| panic!("{error}\n{}", module.to_text()));
        see(&module, changed);
    }
}

/// Returns the indices of each block's successors in the function `f`.
fn shape(module: &Module<'_>) -> Vec<Vec<usize>> {
    let blocks: Vec<_> = module.function("f").unwrap().blocks().collect();
    let position = |block| blocks.iter().position(|other| *other == block).unwrap();
    blocks
        .iter()
        .map(|block| {
            block
                .terminator()
                .unwrap()
                .successors()
                .into_iter()
                .map(position)
                .collect()
        })
        .collect()
}

#[test]
fn the_cases_of_a_pair_share_one_block() {
    let assembly = "
define i32 @f(i32 %x, i1 %c) {
entry:
  br i1 %c, label %pick, label %end
pick:
  switch i32 %x, label %end [ i32 1, label %other  i32 2, label %end  i32 3, label %end ]
other:
  br label %end
end:
  %r = phi i32 [ 0, %entry ], [ 7, %pick ], [ 7, %pick ], [ 7, %pick ], [ %x, %other ]
  %fast = phi nnan float [ 1.0, %entry ], [ 2.0, %pick ], [ 2.0, %pick ], [ 2.0, %pick ], [ 3.0, %other ]
  %i = fptosi float %fast to i32
  %s = add i32 %r, %i
  ret i32 %s
}";
    check(
        assembly,
        |module| module.split_critical_edges(&|_| true),
        |module, changed| {
            assert_eq!(changed, 2);
            // entry, new, pick, new, other, end
            assert_eq!(
                shape(module),
                vec![
                    vec![2, 1],
                    vec![5],
                    vec![3, 4, 3, 3],
                    vec![5],
                    vec![5],
                    vec![]
                ]
            );
            let text = module.to_text();
            assert!(text.contains("phi nnan float"), "{text}");
            let phi = module
                .function("f")
                .unwrap()
                .blocks()
                .last()
                .unwrap()
                .instructions()
                .next()
                .unwrap();
            assert_eq!(phi.opcode(), Opcode::Phi);
            assert_eq!(phi.incoming().len(), 3);
        },
    );
}

#[test]
fn a_phi_that_uses_itself_is_rebuilt_correctly() {
    let assembly = "
define i32 @f(i32 %n) {
entry:
  br label %loop
loop:
  %x = phi i32 [ 0, %entry ], [ %x, %loop ], [ %y, %turn ]
  %y = add i32 %x, 1
  %c = icmp slt i32 %y, %n
  br i1 %c, label %loop, label %turn
turn:
  %d = icmp eq i32 %y, 99
  br i1 %d, label %loop, label %end
end:
  ret i32 %x
}";
    check(
        assembly,
        |module| module.split_critical_edges(&|_| true),
        |module, changed| {
            assert_eq!(changed, 2);
            assert_eq!(
                shape(module),
                vec![vec![1], vec![2, 3], vec![1], vec![4, 5], vec![1], vec![]]
            );
        },
    );
}

#[test]
fn edges_that_cannot_be_redirected_stay() {
    let assembly = "
declare void @may()
declare i32 @personality(...)
define void @f(ptr %to) personality ptr @personality {
entry:
  indirectbr ptr %to, [ label %a, label %b ]
a:
  invoke void @may() to label %b unwind label %pad
b:
  invoke void @may() to label %end unwind label %pad
pad:
  %p = landingpad { ptr, i32 } cleanup
  br label %end
end:
  ret void
}";
    check(
        assembly,
        |module| module.split_critical_edges(&|_| true),
        |module, changed| {
            // Only the normal edges of the invokes, into b and end, are split.
            assert_eq!(changed, 2, "{}", module.to_text());
            assert_eq!(
                shape(module),
                vec![
                    vec![1, 3],
                    vec![2, 5],
                    vec![3],
                    vec![4, 5],
                    vec![6],
                    vec![6],
                    vec![]
                ]
            );
        },
    );
}

#[test]
fn tail_calls_get_separate_returns() {
    let assembly = "
declare i32 @g(i32)
declare void @llvm.lifetime.end.p0(i64, ptr)
define i32 @f(i32 %x) {
entry:
  switch i32 %x, label %no [ i32 1, label %one  i32 2, label %two ]
one:
  %a = tail call i32 @g(i32 1)
  br label %end
two:
  %b = tail call i32 @g(i32 2)
  %bb = add i32 %b, 1
  br label %end
no:
  br label %end
end:
  %r = phi i32 [ %a, %one ], [ %bb, %two ], [ %x, %no ]
  ret i32 %r
}
define void @h(i1 %c) {
entry:
  br i1 %c, label %one, label %two
one:
  %a = tail call i32 @g(i32 1)
  br label %end
two:
  %b = tail call i32 @g(i32 2)
  br label %end
end:
  ret void
}";
    check(
        assembly,
        |module| module.duplicate_tail_returns(&|_| true),
        |module, changed| {
            assert_eq!(changed, 3, "{}", module.to_text());
            assert_eq!(
                shape(module),
                vec![vec![3, 1, 2], vec![], vec![4], vec![4], vec![]]
            );
            assert_eq!(module.function("h").unwrap().blocks().count(), 3);
        },
    );
}

#[test]
fn only_chosen_functions_are_reshaped() {
    let assembly = "
define void @f(i1 %c) {
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  ret void
}";
    check(
        assembly,
        |module| module.split_critical_edges(&|function| function.name() != "f"),
        |module, changed| {
            assert_eq!((changed, shape(module).len()), (0, 3));
        },
    );
}

#[test]
fn libraries_are_found_in_order() {
    let explicit = Library::find(
        Some(Path::new("/usr/lib/llvm-19/lib/libLLVM.so.1")),
        Some(Path::new("rustc")),
    )
    .unwrap();
    assert_eq!(explicit.version().0, 19);
    let sysroot = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .unwrap();
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout).unwrap().trim());
    for rustc_or_sysroot in [Path::new("rustc"), &sysroot] {
        let library = Library::find(None, Some(rustc_or_sysroot)).unwrap();
        assert!(
            library
                .path()
                .starts_with(std::fs::canonicalize(&sysroot).unwrap()),
            "{library:?}"
        );
    }
    let system = Library::find(None, None).unwrap();
    assert_eq!(
        (system.version().0, system.path().starts_with("/usr/lib")),
        (22, true)
    );
    let missing = Library::find(Some(Path::new("/nowhere/libLLVM.so")), None).unwrap_err();
    assert!(matches!(missing, LlvmError::CannotOpen { .. }), "{missing}");
}

#[test]
fn each_invoke_gets_a_landing_pad() {
    // Both invokes of the loop unwind to %pad, which has phis and uses its landingpad. A third
    // invoke is the only one that unwinds to %alone.
    let assembly = "
declare void @g()
declare void @h(ptr, i32)
declare i32 @__gxx_personality_v0(...)
define void @f(i1 %c, i32 %x) personality ptr @__gxx_personality_v0 {
entry:
  invoke void @g() to label %loop unwind label %pad
loop:
  %n = phi i32 [ 0, %entry ], [ %m, %next ], [ %k, %pad ]
  %m = add i32 %n, 1
  invoke void @g() to label %next unwind label %pad
next:
  br i1 %c, label %loop, label %last
last:
  invoke void @g() to label %end unwind label %alone
pad:
  %k = phi i32 [ %x, %entry ], [ %m, %loop ]
  %e = landingpad { ptr, i32 } cleanup catch ptr null
  %p = extractvalue { ptr, i32 } %e, 0
  call void @h(ptr %p, i32 %k)
  br i1 %c, label %loop, label %out
out:
  resume { ptr, i32 } %e
alone:
  %o = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %o
end:
  ret void
}";
    check(
        assembly,
        |module| module.split_landing_pads(&|_| true),
        |module, changed| {
            assert_eq!(changed, 2);
            // entry, loop, next, last, a pad for each invoke, the former pad, out, alone, end.
            let expected: [&[usize]; 10] = [
                &[1, 4],
                &[2, 5],
                &[1, 3],
                &[9, 8],
                &[6],
                &[6],
                &[1, 7],
                &[],
                &[],
                &[],
            ];
            assert_eq!(shape(module), expected);
            let blocks: Vec<_> = module.function("f").unwrap().blocks().collect();
            let opcodes = |block: usize| -> Vec<Opcode> {
                let instructions = blocks[block].instructions();
                instructions
                    .map(holloway_llvm::Instruction::opcode)
                    .collect()
            };
            assert_eq!(opcodes(4), [Opcode::LandingPad, Opcode::Br]);
            assert_eq!(opcodes(5), [Opcode::LandingPad, Opcode::Br]);
            assert_eq!(opcodes(6)[..2], [Opcode::Phi, Opcode::Phi]);
            assert_eq!(opcodes(8)[0], Opcode::LandingPad);
        },
    );
}

#[test]
fn funclets_are_not_changed() {
    let assembly = "
declare void @g()
declare i32 @__CxxFrameHandler3(...)
define void @f() personality ptr @__CxxFrameHandler3 {
entry:
  invoke void @g() to label %more unwind label %pad
more:
  invoke void @g() to label %end unwind label %pad
pad:
  %p = cleanuppad within none []
  cleanupret from %p unwind to caller
end:
  ret void
}";
    check(
        assembly,
        |module| module.split_landing_pads(&|_| true),
        |_, changed| assert_eq!(changed, 0),
    );
}

#[test]
fn conditions_whose_value_is_kept_get_branches() {
    // while (a && (b || !c)) …
    let assembly = "
define void @f(i1 %a, i1 %b, i1 %c) {
head:
  br i1 %a, label %second, label %join
second:
  br i1 %b, label %inner, label %third
third:
  %n = xor i1 %c, true
  br label %inner
inner:
  %p = phi i1 [ true, %second ], [ %n, %third ]
  br label %join
join:
  %q = phi i1 [ false, %head ], [ %p, %inner ]
  br i1 %q, label %body, label %end
body:
  br label %end
end:
  ret void
}
";
    check(
        assembly,
        |module| module.branch_on_conditions(&|_| true),
        |module, changed| {
            assert_eq!(changed, 2);
            // head: second, end; second: body, third; third: body, end.
            assert_eq!(
                shape(module),
                [vec![1, 4], vec![3, 2], vec![3, 4], vec![4], vec![]]
            );
        },
    );
}

#[test]
fn conditions_that_are_stored_get_branches() {
    // let r = a && !b; if r …, as rustc writes it
    let assembly = "
define void @f(i1 %a, i1 %b) {
head:
  %r = alloca [1 x i8]
  br i1 %a, label %second, label %fails
second:
  %n = xor i1 %b, true
  %wide = zext i1 %n to i8
  store i8 %wide, ptr %r
  br label %join
fails:
  store i8 0, ptr %r
  br label %join
join:
  %loaded = load i8, ptr %r
  %bit = trunc i8 %loaded to i1
  br i1 %bit, label %body, label %end
body:
  br label %end
end:
  ret void
}
";
    check(
        assembly,
        |module| module.branch_on_conditions(&|_| true),
        |module, changed| {
            assert_eq!(changed, 1);
            // head, second, fails, the block that stores 1, body, end. The stores stay.
            let expected = [vec![1, 2], vec![3, 2], vec![5], vec![4], vec![5], vec![]];
            assert_eq!(shape(module), expected);
            assert_eq!(module.to_text().matches("store i8").count(), 2);
        },
    );
}

#[test]
fn other_values_of_a_block_follow_the_moved_edges() {
    // The second phi takes other values from the edges that move. The third one takes a condition
    // of its own, so it stays.
    let assembly = "
define i32 @f(i1 %a, i1 %b, i32 %x, i1 %c) {
head:
  br i1 %a, label %second, label %join
second:
  br label %join
join:
  %p = phi i1 [ false, %head ], [ %b, %second ]
  %q = phi i32 [ 1, %head ], [ %x, %second ]
  %s = phi i1 [ false, %head ], [ %c, %second ]
  %w = zext i1 %p to i32
  %v = zext i1 %s to i32
  %r = add i32 %q, %w
  %t = add i32 %r, %v
  ret i32 %t
}
";
    check(
        assembly,
        |module| module.branch_on_conditions(&|_| true),
        |module, changed| {
            assert_eq!(changed, 1);
            let text = module.to_text();
            assert!(
                text.contains("phi i32 [ 1, %head ], [ %x, %second ]"),
                "{text}"
            );
            assert!(
                text.contains("phi i1 [ false, %head ], [ %c, %second ]"),
                "{text}"
            );
            assert_eq!(
                shape(module),
                [vec![1, 3], vec![2, 3], vec![4], vec![4], vec![]]
            );
        },
    );
}

#[test]
fn a_choice_between_two_values_stays() {
    // c ? a : b
    let assembly = "
define i1 @f(i1 %a, i1 %b, i1 %c) {
head:
  br i1 %c, label %first, label %second
first:
  br label %join
second:
  br label %join
join:
  %p = phi i1 [ %a, %first ], [ %b, %second ]
  ret i1 %p
}
";
    check(
        assembly,
        |module| module.branch_on_conditions(&|_| true),
        |module, changed| {
            assert_eq!(changed, 0);
            assert_eq!(shape(module), [vec![1, 2], vec![3], vec![3], vec![]]);
        },
    );
}
