//! `CC="holloway cc"` under CMake and autoconf: their checks of the compiler pass, and the programs
//! that they build run and count.

use std::path::Path;
use std::process::Command;

use crate::link_support::{Sandbox, succeed};

const MAIN: &str = r#"
#include <stdio.h>
int in_archive(int), in_library(int);
int main(void) { printf("%d\n", in_archive(3) + in_library(4)); return 0; }
"#;
const ARCHIVE: &str = "int in_archive(int x) { return x > 2 ? x * 2 : x; }";
const LIBRARY: &str = r#"
#include <string>
#include <stdexcept>
extern "C" int in_library(int x) { try { throw std::runtime_error(std::to_string(x)); } catch (const std::exception &e) { return std::stoi(e.what()); } }
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("main.c", MAIN)
        .write("archive.c", ARCHIVE)
        .write("library.cpp", LIBRARY);
    sandbox
}

/// A call of `program` with `holloway` in `PATH`, and with CC and CXX set to holloway.
fn with_compilers(sandbox: &Sandbox, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = sandbox.command(program);
    let dir = Path::new(env!("CARGO_BIN_EXE_holloway")).parent().unwrap();
    let paths = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect::<Vec<_>>();
    let paths = std::env::join_paths(std::iter::once(dir.to_owned()).chain(paths)).unwrap();
    command
        .env("PATH", paths)
        .env("CC", "holloway cc")
        .env("CXX", "holloway c++");
    for flags in ["CFLAGS", "CXXFLAGS", "LDFLAGS", "CPPFLAGS"] {
        command.env_remove(flags);
    }
    command.env("HOLLOWAY_DATA", sandbox.path("configure-runs"));
    command
}

#[test]
fn cmake_knows_the_compiler_and_builds_with_it() {
    let sandbox = sandbox();
    sandbox.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(app C CXX)\ninclude(CheckFunctionExists)\n\
         check_function_exists(no_such_function HAVE_NONE)\ncheck_function_exists(printf HAVE_PRINTF)\n\
         if(HAVE_NONE OR NOT HAVE_PRINTF)\nmessage(FATAL_ERROR \"checks are wrong\")\nendif()\n\
         add_library(archive STATIC archive.c)\nadd_library(library SHARED library.cpp)\n\
         add_executable(app main.c)\ntarget_link_libraries(app archive library)\n",
    );
    let mut cmake = with_compilers(&sandbox, "cmake");
    let output = cmake
        .args(["-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"])
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        stdout.contains("The C compiler identification is Clang")
            && stdout.contains("The CXX compiler identification is Clang"),
        "{stdout}"
    );
    succeed(with_compilers(&sandbox, "cmake").args(["--build", "build"]));
    assert_eq!(sandbox.modules("build/app"), ["main.c.o", "archive.c.o"]);
    assert_eq!(sandbox.modules("build/liblibrary.so"), ["library.cpp.o"]);
    let result = sandbox.run("build/app");
    assert_eq!(
        (result.stdout.as_str(), result.paths.get("in_archive")),
        ("10\n", Some(&1))
    );
}

#[test]
fn autoconf_knows_the_compiler_and_builds_with_it() {
    let sandbox = sandbox();
    sandbox.write(
        "configure.ac",
        "AC_INIT([app],[1])\nAC_PROG_CC\nAC_PROG_CXX\nAC_PROG_RANLIB\nAC_CHECK_TOOL([AR],[ar])\n\
         AC_CHECK_FUNCS([printf no_such_function])\nAC_CHECK_LIB([m],[sin])\nAC_CHECK_SIZEOF([long])\n\
         AC_RUN_IFELSE([AC_LANG_PROGRAM([],[return 0;])],[],[AC_MSG_ERROR([does not run])])\n\
         AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
    );
    sandbox.write(
        "Makefile.in",
        "app: main.o library.o libarchive.a\n\t@CXX@ -o $@ main.o library.o -L. -larchive @LIBS@\n\
         libarchive.a: archive.o\n\t@AR@ rc $@ archive.o\n\t@RANLIB@ $@\n\
         %.o: %.c\n\t@CC@ @CFLAGS@ @DEFS@ -c $< -o $@\n%.o: %.cpp\n\t@CXX@ @CXXFLAGS@ -c $< -o $@\n",
    );
    succeed(with_compilers(&sandbox, "autoconf").arg("-Wno-all"));
    let output = with_compilers(&sandbox, "./configure").output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for check in [
        "supports GNU C... yes",
        "for no_such_function... no",
        "for printf... yes",
        "sin in -lm... yes",
        "size of long... 8",
        "cross compiling... no",
    ] {
        assert!(stdout.contains(check), "{check}: {stdout}");
    }
    succeed(&mut with_compilers(&sandbox, "make"));
    assert_eq!(sandbox.modules("app"), ["main.o", "library.o", "archive.o"]);
    let result = sandbox.run("app");
    assert_eq!(
        (result.stdout.as_str(), result.paths.get("in_archive")),
        ("10\n", Some(&1))
    );
}

#[test]
fn clang_makes_precompiled_headers_that_can_be_used() {
    let sandbox = sandbox();
    sandbox
        .write(
            "h.h",
            "static inline int twice(int x) { return x > 1 ? 2 * x : x; }",
        )
        .write("use.c", "int main(void) { return twice(0); }");
    sandbox.build("cc -Werror -O2 h.h -o other.gch");
    for language in ["c", "c++"] {
        sandbox.build(&format!(
            "cc -Werror -O2 -x {language}-header h.h -o h.h.gch"
        ));
        sandbox.build(&format!(
            "cc -Werror -O2 -include h.h -x {language} -c use.c -o use.o"
        ));
        sandbox.build("cc use.o -o use");
        assert_eq!(sandbox.modules("use"), ["use.o"], "{language}");
    }
}

#[test]
fn cmake_builds_with_a_precompiled_header() {
    let sandbox = sandbox();
    sandbox.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(app C CXX)\n\
         add_executable(app main.c archive.c library.cpp)\n\
         target_precompile_headers(app PRIVATE <stddef.h>)\n",
    );
    succeed(with_compilers(&sandbox, "cmake").args(["-S", ".", "-B", "made"]));
    succeed(with_compilers(&sandbox, "cmake").args(["--build", "made"]));
    assert_eq!(sandbox.run("made/app").stdout, "10\n");
}

#[test]
fn bitcode_options_embed_bitcode_once() {
    let sandbox = sandbox();
    sandbox.write("empty.c", "int main(void) { return 0; }");
    for flag in [
        "-fembed-bitcode",
        "-fembed-bitcode=marker",
        "-fembed-bitcode=all",
    ] {
        sandbox.build(&format!("cc -Werror {flag} empty.c -o empty"));
        assert_eq!(sandbox.modules("empty").len(), 1, "{flag}");
    }
}

#[test]
fn a_file_that_is_no_libllvm_is_refused_with_advice() {
    let sandbox = sandbox();
    sandbox.write("empty.c", "int main(void) { return 0; }");
    let mut command = with_compilers(&sandbox, env!("CARGO_BIN_EXE_holloway"));
    command
        .args(["cc", "empty.c"])
        .env("HOLLOWAY_LLVM", sandbox.path("empty.c"));
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(
        stderr.lines().count() == 1 && stderr.contains("or unset it"),
        "{stderr}"
    );
}
