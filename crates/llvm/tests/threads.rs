//! Tests that several threads can use one library from the start. They have a process of their own,
//! because a target is registered only once in a process.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;
use std::sync::Barrier;

use holloway_llvm::{CodeGenLevel, CodeModel, Context, Library, Machine, Module, Reloc};

const THREADS: usize = 16;

#[test]
fn threads_may_need_a_target_at_the_same_time() {
    let directory = tempfile::tempdir().unwrap();
    let (source, bitcode) = (directory.path().join("m.ll"), directory.path().join("m.bc"));
    std::fs::write(&source, "target triple = \"x86_64-unknown-linux-gnu\"\n").unwrap();
    let assembler = Command::new("llvm-as-22")
        .arg(&source)
        .arg("-o")
        .arg(&bitcode)
        .status()
        .unwrap();
    assert!(assembler.success());
    let bytes = std::fs::read(bitcode).unwrap();
    let library = Library::find(None, Some(Path::new("rustc"))).unwrap();
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| {
            scope.spawn(|| {
                let context = Context::new(&library);
                let module = Module::parse(&context, "m", &bytes).unwrap();
                start.wait();
                let machine = Machine::new(
                    &module,
                    CodeGenLevel::Default,
                    Reloc::Pic,
                    CodeModel::Default,
                );
                machine.map(drop)
            })
        });
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
    });
}
