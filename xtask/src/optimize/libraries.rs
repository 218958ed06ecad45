//! Measures selects in the loops of libraries: small programs of tests/workloads/selects that call
//! unmodified code with random data. The fourth table of the study.

use super::selects::{apply, measure, train};
use anyhow::Result;
use holloway_tests::registry;
use holloway_tests::tool::{clean, holloway_command, installed, run_ok, scratch, tests_directory};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The text before the table.
const HEAD: &str = "\
## Selects in libraries

The programs in tests/workloads/selects call unmodified libraries with random data. Each spends most
of its time in the loop of the table. Both optimized builds have the plan of one training run. It
has no unpredictable branches in *early counts*.

| loop | used for | plain | early counts | selects | selects / early counts |
|---|---|---|---|---|---|
";

/// The text after the table.
const REMARKS: &str = "\
The first three loops gain most: the outcome of their branch is as good as random, and little else
happens in them. The makers of Huffman codes do more than that. The last three loops have branches
that are marked, and gain nothing:

- MiniSat's heap chooses the smaller child behind a test that a right child exists. So three ways
  lead to the block after the choice, and LLVM makes no select of it.
- The merge of `std::stable_sort` stores on both sides of its branch.
- `bsearch` has three outcomes, and leaves the loop with one of them.
";

/// A program that spends most of its time in a loop of a library.
struct LibraryLoop {
    /// The loop, for the table.
    name: &'static str,
    /// What the program does, for the table.
    purpose: &'static str,
    /// Its source in tests/workloads/selects.
    source: &'static str,
    /// The crate with the library, and the folder in it that is searched for headers.
    library: Option<(&'static str, &'static str)>,
    /// Files of the library.
    files: &'static [&'static str],
    options: &'static [&'static str],
    /// The program's argument in training, and when it is measured.
    sizes: [&'static str; 2],
}

/// A program of the C++ library alone.
const CPP: LibraryLoop = LibraryLoop {
    name: "",
    purpose: "",
    source: "",
    library: None,
    files: &[],
    options: &["-Wno-deprecated-declarations"],
    sizes: ["100000", "2000000"],
};

/// A program that makes Huffman codes, or sorts arrays.
const ARRAYS: LibraryLoop = LibraryLoop {
    options: &["-w"],
    sizes: ["500", "10000"],
    ..CPP
};

const LOOPS: [LibraryLoop; 8] = [
    LibraryLoop {
        name: "libstdc++ `std::lower_bound`",
        purpose: "`std::discrete_distribution`",
        source: "draw.cc",
        ..CPP
    },
    LibraryLoop {
        name: "libstdc++ `std::__adjust_heap`",
        purpose: "`std::priority_queue` of events",
        source: "events.cc",
        ..CPP
    },
    LibraryLoop {
        name: "libdeflate `heap_sort`",
        purpose: "arrays of 4,096 numbers",
        source: "heapsort.c",
        library: Some(("libdeflate-sys", "libdeflate")),
        files: &["lib/utils.c"],
        sizes: ["20", "800"],
        ..ARRAYS
    },
    LibraryLoop {
        name: "bzip2 `BZ2_hbMakeCodeLengths`",
        purpose: "codes for 258 symbols",
        source: "bzip2.c",
        library: Some(("bzip2-sys", "bzip2-1.0.8")),
        files: &["huffman.c"],
        options: &["-w", "-DBZ_NO_STDIO"],
        ..ARRAYS
    },
    LibraryLoop {
        name: "zstd `HUF_buildCTable_wksp`",
        purpose: "codes for 256 symbols",
        source: "zstd.c",
        library: Some(("zstd-sys", "zstd/lib")),
        files: &[
            "compress/huf_compress.c",
            "compress/hist.c",
            "compress/fse_compress.c",
            "common/entropy_common.c",
            "common/error_private.c",
            "common/debug.c",
            "common/fse_decompress.c",
        ],
        ..ARRAYS
    },
    LibraryLoop {
        name: "MiniSat `Heap::percolateDown`",
        purpose: "the order of decisions",
        source: "order.cc",
        library: Some(("minisat", "lib/minisat")),
        options: &[
            "-w",
            "-DNDEBUG",
            "-D__STDC_LIMIT_MACROS",
            "-D__STDC_FORMAT_MACROS",
        ],
        ..CPP
    },
    LibraryLoop {
        name: "libstdc++ `std::__move_merge`",
        purpose: "`std::stable_sort`",
        source: "merge.cc",
        sizes: ["10", "200"],
        ..CPP
    },
    LibraryLoop {
        name: "glibc `bsearch`",
        purpose: "a table of 4,096 numbers",
        source: "bsearch.c",
        ..CPP
    },
];

/// Builds and measures the loops. Returns the section of the page.
///
/// # Errors
/// If a build or a run fails, or the builds print different things.
pub(super) fn section(rounds: NonZeroUsize) -> Result<String> {
    let scratch = scratch("study-libraries")?;
    let mut section = String::from(HEAD);
    for looped in &LOOPS {
        section += &row(looped, scratch.path(), rounds)?;
    }
    section += &format!(
        "\nCPU times of whole programs: seconds of plain, and the others over plain. Medians of {rounds} rounds.\n\n{REMARKS}"
    );
    Ok(section)
}

/// Trains, optimizes, and measures a program. Returns its row of the table.
fn row(looped: &LibraryLoop, folder: &Path, rounds: NonZeroUsize) -> Result<String> {
    let [training, measured] = looped.sizes;
    let plain = build(looped, folder)?;
    train(folder, &plain, looped.source, &[training])?;
    let early = apply(folder, &plain, &format!("{}.early", looped.source))?;
    let selects = apply(folder, &plain, looped.source)?;
    let samples = measure(&[plain, early, selects], &[measured], rounds)?;
    let [plain, early, selects] = &samples;
    Ok(format!(
        "| {} | {} | {:.3} s | {:.2} | {:.2} | {:.2} |\n",
        looped.name,
        looped.purpose,
        plain.median(),
        early.over(plain).median(),
        selects.over(plain).median(),
        selects.over(early).median()
    ))
}

fn build(looped: &LibraryLoop, folder: &Path) -> Result<PathBuf> {
    let is_cpp = Path::new(looped.source)
        .extension()
        .is_some_and(|end| end == "cc");
    let (command, clang) = match is_cpp {
        true => ("c++", "clang++-22"),
        false => ("cc", "clang-22"),
    };
    let sources = tests_directory().join("workloads/selects");
    let program = folder.join(format!("{}.plain", looped.source));
    let mut build = holloway_command([command, "--embed", "-O2"]);
    clean(&mut build);
    build
        .env("HOLLOWAY_CLANG", installed(clang)?)
        .args(looped.options)
        .arg("-I")
        .arg(&sources)
        .arg(sources.join(looped.source));
    if let Some((name, inside)) = looped.library {
        let library = registry::source(name)?.join(inside);
        build.arg("-I").arg(&library);
        build.args(looped.files.iter().map(|file| library.join(file)));
    }
    run_ok(build.arg("-o").arg(&program))?;
    Ok(program)
}
