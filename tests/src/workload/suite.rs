//! The suite: a table of real programs.
//!
//! | program | source | what it does |
//! |---|---|---|
//! | bzip2 | bzip2-sys | compresses and decompresses generated text |
//! | lua | lua-src (5.4) and a driver | runs tests/workloads/lua/work.lua |
//! | minisat | minisat (C++) and a driver | decides generated formulas |
//! | quickjs | rquickjs-sys and a driver | runs tests/workloads/quickjs/work.js |
//! | sqlite | libsqlite3-sys and a driver | fills and queries a database in memory |
//! | xz | liblzma-sys and a driver | compresses and decompresses generated text; xz-2 with two threads |
//! | zlib | libz-sys and a driver | compresses and decompresses generated text at three levels |
//! | zstd | zstd-sys and a driver | compresses and decompresses generated text; zstd-2 with two workers |
//! | chess | cozy-chess and a driver | counts the positions after a few moves |
//! | json | serde_json and a driver | parses and prints a document |
//! | markdown | pulldown-cmark and a driver | makes HTML of a generated text |
//! | paint | tiny-skia and a driver | draws shapes and gradients |
//! | parse | syn and a driver | parses ripgrep's sources |
//! | png | png and a driver | packs and unpacks images |
//! | ripgrep | the crate, its own Cargo.lock | searches a generated tree with a regular expression; ripgrep-2 with two threads |
//! | script | rhai and a driver | runs tests/workloads/rust/script/src/work.rhai |
//! | parallel | rayon and a driver | sorts, draws, counts and sieves on two threads |

use super::c::CSource;
use super::program::{Input, Source, Workload};
use super::rust::RustSource;

/// All programs of the suite, in the order of the tables: programs with one thread first, and C
/// before Rust.
pub static SUITE: [&Workload; 20] = [
    &BZIP2, &LUA, &MINISAT, &QUICKJS, &SQLITE, &XZ, &ZLIB, &ZSTD, //
    &CHESS, &JSON, &MARKDOWN, &PAINT, &PARSE, &PNG, &RIPGREP, &SCRIPT, //
    &XZ_2, &ZSTD_2, &PARALLEL, &RIPGREP_2,
];

/// A program with one thread that reads no generated file. Its only argument is the size.
const fn sized(
    name: &'static str,
    about: &'static str,
    source: Source,
    sizes: [usize; 3],
) -> Workload {
    Workload {
        name,
        about,
        source,
        threads: 1,
        input: Input::Nothing,
        sizes,
        runs: &[&["{size}"]],
        ordered: true,
    }
}

/// A package of the workspace tests/workloads/rust.
const fn member(name: &'static str) -> RustSource {
    RustSource {
        name,
        binary: name,
        from_registry: false,
    }
}

/// bzip2 with its own main program.
pub static BZIP2: Workload = Workload {
    input: Input::Text,
    runs: &[&["-k", "-f", "-9", "text"], &["-k", "-d", "-c", "text.bz2"]],
    ..sized(
        "bzip2",
        "compression, C",
        Source::C(&BZIP2_SOURCE),
        [700_000, 1_400_000, 8_400_000],
    )
};
static BZIP2_SOURCE: CSource = CSource {
    name: "bzip2",
    from: Some(("bzip2-sys", "bzip2-1.0.8")),
    driver: "",
    files: &[
        "bzip2.c",
        "blocksort.c",
        "bzlib.c",
        "compress.c",
        "crctable.c",
        "decompress.c",
        "huffman.c",
        "randtable.c",
    ],
    except: &[],
    flags: "-D_FILE_OFFSET_BITS=64",
    libraries: "",
};

/// Lua's interpreter, which runs a script of tests/workloads.
pub static LUA: Workload = Workload {
    runs: &[&["{workloads}/lua/work.lua", "{size}"]],
    ..sized("lua", "interpreter, C", Source::C(&LUA_SOURCE), [7, 15, 20])
};
static LUA_SOURCE: CSource = CSource {
    name: "lua",
    from: Some(("lua-src", "lua-5.4.9")),
    driver: "lua",
    files: &["*.c"],
    except: &[],
    flags: "-DLUA_USE_POSIX -Dluai_makeseed(L)=1",
    libraries: "-lm",
};

/// MiniSat, in C++.
pub static MINISAT: Workload = sized(
    "minisat",
    "SAT solver, C++",
    Source::C(&MINISAT_SOURCE),
    [1, 8, 40],
);
static MINISAT_SOURCE: CSource = CSource {
    name: "minisat",
    from: Some(("minisat", "lib/minisat")),
    driver: "minisat",
    files: &[
        "minisat/core/Solver.cc",
        "minisat/simp/SimpSolver.cc",
        "minisat/utils/Options.cc",
        "minisat/utils/System.cc",
        "driver.cc",
    ],
    except: &[],
    flags: "-DNDEBUG -I. -D__STDC_LIMIT_MACROS -D__STDC_FORMAT_MACROS",
    libraries: "",
};

/// QuickJS's interpreter, which runs a script of tests/workloads.
pub static QUICKJS: Workload = Workload {
    runs: &[&["{workloads}/quickjs/work.js", "{size}"]],
    ..sized(
        "quickjs",
        "interpreter, C",
        Source::C(&QUICKJS_SOURCE),
        [1, 6, 28],
    )
};
static QUICKJS_SOURCE: CSource = CSource {
    name: "quickjs",
    from: Some(("rquickjs-sys", "quickjs")),
    driver: "quickjs/driver.c",
    files: &[
        "quickjs.c",
        "libregexp.c",
        "libunicode.c",
        "dtoa.c",
        "driver.c",
    ],
    except: &[],
    flags: "-DNDEBUG -D_GNU_SOURCE",
    libraries: "-lm -pthread",
};

/// SQLite with a database in memory.
pub static SQLITE: Workload = sized(
    "sqlite",
    "database, C",
    Source::C(&SQLITE_SOURCE),
    [10, 40, 200],
);
static SQLITE_SOURCE: CSource = CSource {
    name: "sqlite",
    from: Some(("libsqlite3-sys", "sqlite3")),
    driver: "sqlite",
    files: &["sqlite3.c", "driver.c"],
    except: &[],
    flags: "-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_DEFAULT_MEMSTATUS=0",
    libraries: "-lm",
};

/// liblzma, one thread.
pub static XZ: Workload = Workload {
    input: Input::Text,
    runs: &[&["text", "6", "1"]],
    ..sized(
        "xz",
        "compression, C",
        Source::C(&XZ_SOURCE),
        [100_000, 400_000, 1_400_000],
    )
};
/// liblzma, two threads.
pub static XZ_2: Workload = Workload {
    name: "xz-2",
    threads: 2,
    input: Input::Text,
    runs: &[&["text", "6", "2"]],
    ..sized(
        "xz-2",
        "compression, C",
        Source::C(&XZ_SOURCE),
        [1_100_000, 1_100_000, 3_000_000],
    )
};
static XZ_SOURCE: CSource = CSource {
    name: "xz",
    from: Some(("liblzma-sys", "")),
    driver: "xz",
    files: &[
        "xz/src/liblzma/common/*.c",
        "xz/src/liblzma/lzma/*.c",
        "xz/src/liblzma/lz/*.c",
        "xz/src/liblzma/check/*.c",
        "xz/src/liblzma/delta/*.c",
        "xz/src/liblzma/rangecoder/*.c",
        "xz/src/liblzma/simple/*.c",
        "xz/src/common/tuklib_cpucores.c",
        "xz/src/common/tuklib_physmem.c",
        "driver.c",
    ],
    // Smaller variants, and programs that make tables.
    except: &["_small.c", "tablegen.c", "_consts_gen.c"],
    flags: "-DNDEBUG -DHAVE_CONFIG_H=1 -DLZMA_SYS_ENABLE_THREADS=1 -std=gnu99 -I. -Ixz/src/common -Ixz/src/liblzma/api \
            -Ixz/src/liblzma/common -Ixz/src/liblzma/check -Ixz/src/liblzma/delta -Ixz/src/liblzma/lz -Ixz/src/liblzma/lzma \
            -Ixz/src/liblzma/rangecoder -Ixz/src/liblzma/simple",
    libraries: "-pthread",
};

/// zlib at three levels.
pub static ZLIB: Workload = Workload {
    input: Input::Text,
    runs: &[&["text"]],
    ..sized(
        "zlib",
        "compression, C",
        Source::C(&ZLIB_SOURCE),
        [200_000, 600_000, 3_000_000],
    )
};
static ZLIB_SOURCE: CSource = CSource {
    name: "zlib",
    from: Some(("libz-sys", "src/zlib")),
    driver: "zlib",
    files: &[
        "adler32.c",
        "compress.c",
        "crc32.c",
        "deflate.c",
        "inffast.c",
        "inflate.c",
        "inftrees.c",
        "trees.c",
        "uncompr.c",
        "zutil.c",
        "driver.c",
    ],
    except: &[],
    flags: "-D_LARGEFILE64_SOURCE=1",
    libraries: "",
};

/// zstd, in the calling thread.
pub static ZSTD: Workload = Workload {
    input: Input::Text,
    runs: &[&["text", "9", "0"]],
    ..sized(
        "zstd",
        "compression, C",
        Source::C(&ZSTD_SOURCE),
        [300_000, 4_000_000, 16_000_000],
    )
};
/// zstd with two workers.
pub static ZSTD_2: Workload = Workload {
    name: "zstd-2",
    threads: 2,
    input: Input::Text,
    runs: &[&["text", "12", "2"]],
    ..sized(
        "zstd-2",
        "compression, C",
        Source::C(&ZSTD_SOURCE),
        [3_000_000, 3_000_000, 9_000_000],
    )
};
static ZSTD_SOURCE: CSource = CSource {
    name: "zstd",
    from: Some(("zstd-sys", "zstd/lib")),
    driver: "zstd",
    files: &["common/*.c", "compress/*.c", "decompress/*.c", "driver.c"],
    except: &[],
    flags: "-DZSTD_DISABLE_ASM -DZSTD_MULTITHREAD -DZSTD_LEGACY_SUPPORT=0 -I. -Icommon",
    libraries: "-pthread",
};

/// cozy-chess.
pub static CHESS: Workload = sized(
    "chess",
    "move generator, Rust",
    Source::Rust(&CHESS_SOURCE),
    [3, 30, 200],
);
static CHESS_SOURCE: RustSource = member("chess");

/// serde_json.
pub static JSON: Workload = sized(
    "json",
    "JSON, Rust",
    Source::Rust(&JSON_SOURCE),
    [2, 12, 60],
);
static JSON_SOURCE: RustSource = member("json");

/// pulldown-cmark.
pub static MARKDOWN: Workload = Workload {
    input: Input::Markdown,
    runs: &[&["text.md"]],
    ..sized(
        "markdown",
        "text to HTML, Rust",
        Source::Rust(&MARKDOWN_SOURCE),
        [100_000, 3_000_000, 12_000_000],
    )
};
static MARKDOWN_SOURCE: RustSource = member("markdown");

/// tiny-skia.
pub static PAINT: Workload = sized(
    "paint",
    "2D drawing, Rust",
    Source::Rust(&PAINT_SOURCE),
    [1, 4, 18],
);
static PAINT_SOURCE: RustSource = member("paint");

/// syn.
pub static PARSE: Workload = Workload {
    input: Input::RustFiles,
    ..sized(
        "parse",
        "Rust parser, Rust",
        Source::Rust(&PARSE_SOURCE),
        [1, 5, 30],
    )
};
static PARSE_SOURCE: RustSource = member("parse");

/// png.
pub static PNG: Workload = sized("png", "images, Rust", Source::Rust(&PNG_SOURCE), [1, 4, 18]);
static PNG_SOURCE: RustSource = member("images");

/// ripgrep, one thread.
pub static RIPGREP: Workload = Workload {
    input: Input::Tree,
    runs: &[
        &[
            "-j1",
            "--sort",
            "path",
            "--no-config",
            "-c",
            r"\b\w{5}\s\w{7}\b",
            "tree",
        ],
        &[
            "-j1",
            "--sort",
            "path",
            "--no-config",
            "-n",
            "-i",
            "holway|zoquist?a",
            "tree",
        ],
    ],
    ..sized(
        "ripgrep",
        "search, Rust",
        Source::Rust(&RIPGREP_SOURCE),
        [3_000_000, 15_000_000, 120_000_000],
    )
};
/// ripgrep, two threads.
pub static RIPGREP_2: Workload = Workload {
    name: "ripgrep-2",
    threads: 2,
    input: Input::Tree,
    runs: &[&["-j2", "--no-config", "-c", r"\b\w{5}\s\w{7}\b", "tree"]],
    ordered: false,
    ..sized(
        "ripgrep-2",
        "search, Rust",
        Source::Rust(&RIPGREP_SOURCE),
        [3_000_000, 40_000_000, 200_000_000],
    )
};
static RIPGREP_SOURCE: RustSource = RustSource {
    name: "ripgrep",
    binary: "rg",
    from_registry: true,
};

/// The programs, apart from ripgrep, whose builds from scratch are timed: brotli and oxipng with
/// `lto = "fat"`, jaq without, and SQLite as a C program of one large file.
pub static FIRST_BUILDS: [Source; 4] = [
    Source::Rust(&RustSource {
        name: "brotli",
        binary: "brotli",
        from_registry: true,
    }),
    Source::Rust(&RustSource {
        name: "oxipng",
        binary: "oxipng",
        from_registry: true,
    }),
    Source::Rust(&RustSource {
        name: "jaq",
        binary: "jaq",
        from_registry: true,
    }),
    SQLITE.source,
];

/// rhai.
pub static SCRIPT: Workload = sized(
    "script",
    "interpreter, Rust",
    Source::Rust(&SCRIPT_SOURCE),
    [2, 25, 160],
);
static SCRIPT_SOURCE: RustSource = member("script");

/// The rayon program, on two threads.
pub static PARALLEL: Workload = Workload {
    threads: 2,
    runs: &[&["{size}", "2"]],
    ..sized(
        "parallel",
        "rayon, Rust",
        Source::Rust(&PARALLEL_SOURCE),
        [200, 2000, 8000],
    )
};
static PARALLEL_SOURCE: RustSource = member("parallel");
