//! Builds a program of tests/programs. Plain programs are built in one step. Woven programs are
//! linked from objects that all kinds of profile share.

use super::catalog::{Language, Program};
use super::variant::{Libc, Variant};
use crate::files::copy_tree;
use crate::kind::Weaving;
use crate::tool::{
    self, cargo_holloway, clean, holloway_command, installed, libllvm_19, run_ok, shown,
};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

impl Program {
    /// Builds the program in `folder` and returns the path of the executable. The program is woven
    /// if a weaving is given.
    ///
    /// # Errors
    /// If the build fails.
    pub fn build(
        &self,
        variant: &Variant,
        folder: &Path,
        woven: Option<&Weaving>,
    ) -> Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        match self.language {
            Language::C | Language::Cpp => self.build_c(variant, folder, woven),
            Language::Rust | Language::Cargo => self.build_rust(variant, folder, woven),
        }
    }

    /// Builds for a kind of profile, in a folder below `scratch`. C and C++ are compiled once for
    /// all kinds, because the kinds differ only in the link.
    pub(super) fn weave(
        &self,
        variant: &Variant,
        scratch: &Path,
        weaving: &Weaving,
    ) -> Result<PathBuf> {
        let folder = scratch.join(weaving.kind.name());
        if matches!(self.language, Language::Rust | Language::Cargo) {
            return self.build(variant, &folder, Some(weaving));
        }
        let objects = scratch.join("objects");
        if !objects.is_dir() {
            self.compile_c(variant, &objects, weaving)?;
        }
        std::fs::create_dir_all(&folder)?;
        self.link_c(variant, &folder, Some(weaving), &|file| {
            objects.join(file).with_extension("o")
        })
    }

    /// Builds a C or C++ program that carries its bitcode. Its shared objects are plain. The
    /// program must be built for this machine and glibc.
    ///
    /// # Errors
    /// If the build fails.
    pub fn build_embedded(&self, variant: &Variant, folder: &Path) -> Result<PathBuf> {
        let executable = self.build(variant, folder, None)?;
        let mut command = embedding_compiler(self.language, variant)?;
        command
            .current_dir(folder)
            .arg(self.folder.join(self.main_c()))
            .arg("-o")
            .arg(&executable);
        let in_folder = |file: &str| self.folder.join(file);
        self.add_words(&mut command, &self.directives.build, &in_folder);
        run_ok(&mut command)?;
        Ok(executable)
    }

    fn compile_c(&self, variant: &Variant, objects: &Path, weaving: &Weaving) -> Result<()> {
        std::fs::create_dir_all(objects)?;
        let is_file = |word: &&str| self.folder.join(word).is_file();
        let words = || self.directives.build.iter().map(String::as_str);
        for file in std::iter::once(self.main_c()).chain(words().filter(is_file)) {
            let mut command = compiler(self.language, variant, Some(weaving))?;
            command.current_dir(objects).arg("-c");
            command.arg(self.folder.join(file)).arg("-o");
            command.arg(Path::new(file).with_extension("o"));
            run_ok(command.args(words().filter(|word| !is_file(word))))?;
        }
        Ok(())
    }

    fn main_c(&self) -> &'static str {
        match self.language {
            Language::C => "main.c",
            _ => "main.cpp",
        }
    }

    fn build_c(
        &self,
        variant: &Variant,
        folder: &Path,
        woven: Option<&Weaving>,
    ) -> Result<PathBuf> {
        self.link_c(variant, folder, woven, &|file| self.folder.join(file))
    }

    /// Builds the shared objects, and links the program from the `input` of each file.
    fn link_c(
        &self,
        variant: &Variant,
        folder: &Path,
        woven: Option<&Weaving>,
        input: &dyn Fn(&str) -> PathBuf,
    ) -> Result<PathBuf> {
        for (name, words) in &self.directives.shared {
            let mut command = compiler(self.language, variant, woven)?;
            command
                .current_dir(folder)
                .args(["-shared", "-fPIC", "-o", name]);
            self.add_words(&mut command, words, &|file| self.folder.join(file));
            run_ok(&mut command)?;
        }
        let mut command = compiler(self.language, variant, woven)?;
        command
            .current_dir(folder)
            .arg(input(self.main_c()))
            .args(["-o", "program"]);
        self.add_words(&mut command, &self.directives.build, input);
        run_ok(&mut command)?;
        Ok(folder.join("program"))
    }

    /// Adds the words of a directive. A word that names a file of the program's folder becomes the
    /// `input` of this file.
    pub(super) fn add_words(
        &self,
        command: &mut Command,
        words: &[String],
        input: &dyn Fn(&str) -> PathBuf,
    ) {
        for word in words {
            if self.folder.join(word).is_file() {
                command.arg(input(word))
            } else {
                command.arg(word)
            };
        }
    }

    fn build_rust(
        &self,
        variant: &Variant,
        folder: &Path,
        woven: Option<&Weaving>,
    ) -> Result<PathBuf> {
        let name = self.name.replace('_', "-");
        if self.language == Language::Cargo {
            copy_tree(&self.folder, folder)?;
        } else {
            std::fs::create_dir_all(folder.join("src"))?;
            std::fs::copy(self.folder.join("main.rs"), folder.join("src/main.rs"))?;
            let profile = self.directives.profile.join("\n");
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
                 [profile.release]\n{profile}\n[profile.dev]\n{profile}\n"
            );
            std::fs::write(folder.join("Cargo.toml"), manifest)?;
        }
        let target = (variant.libc == Libc::MuslStatic).then_some(RUST_MUSL);
        build_cargo(folder, &name, &variant.level, target, woven)
    }
}

/// Returns the command of the compiler for C and C++, with the options up to the level: clang, or
/// `holloway cc` with the same clang.
///
/// # Errors
/// If a tool is not installed.
pub fn compiler(language: Language, variant: &Variant, woven: Option<&Weaving>) -> Result<Command> {
    let cpp = language == Language::Cpp;
    let clang = installed(&format!(
        "{}-{}",
        if cpp { "clang++" } else { "clang" },
        variant.clang
    ))?;
    let mut command = if let Some(weaving) = woven {
        let mut command = holloway_command([if cpp { "c++" } else { "cc" }]);
        weaving.by_environment(&mut command);
        command.env("HOLLOWAY_CLANG", clang);
        if variant.clang == 19 {
            command.env("HOLLOWAY_LLVM", libllvm_19()?);
        }
        command
    } else {
        let mut command = Command::new(clang);
        clean(&mut command);
        command
    };
    add_options(&mut command, variant);
    Ok(command)
}

/// Returns the command of `holloway cc --embed`, with the options up to the level.
fn embedding_compiler(language: Language, variant: &Variant) -> Result<Command> {
    let (verb, clang) = match language {
        Language::Cpp => ("c++", "clang++"),
        _ => ("cc", "clang"),
    };
    let mut command = holloway_command([verb, "--embed"]);
    let clang = installed(&format!("{clang}-{}", variant.clang))?;
    command.env("HOLLOWAY_CLANG", clang);
    add_options(&mut command, variant);
    Ok(command)
}

fn add_options(command: &mut Command, variant: &Variant) {
    command
        .args(["-g", "-Wno-unused-command-line-argument", "-pthread"])
        .arg(format!("-{}", variant.level));
    variant.machine.set_target(command);
    command
        .arg("-I")
        .arg(tool::tests_directory().join("programs/include"));
    if variant.lld {
        command.arg("-fuse-ld=lld");
    }
    command.args(musl_words(variant.libc));
}

/// The options that make Debian's clang link with Debian's musl.
fn musl_words(libc: Libc) -> &'static [&'static str] {
    const WORDS: [&str; 7] = [
        "--target=x86_64-linux-musl",
        "-nostdlibinc",
        "-isystem/usr/include/x86_64-linux-musl",
        "-B/usr/lib/x86_64-linux-musl",
        "-L/usr/lib/x86_64-linux-musl",
        "-static-libgcc",
        "-static",
    ];
    match libc {
        Libc::Glibc => &[],
        Libc::Musl => &WORDS[..6],
        Libc::MuslStatic => &WORDS,
    }
}

/// rustc's target for programs that are linked with musl.
const RUST_MUSL: &str = "x86_64-unknown-linux-musl";

/// Builds a Cargo project, plain or woven, and returns the path of the executable. Without a target
/// it builds for the host.
///
/// # Errors
/// If the build fails, or leaves no executable of that name.
pub fn build_cargo(
    folder: &Path,
    binary: &str,
    profile: &str,
    target: Option<&str>,
    woven: Option<&Weaving>,
) -> Result<PathBuf> {
    let mut command = match woven {
        Some(weaving) => {
            let mut command = cargo_holloway(["build"]);
            weaving.by_options(&mut command);
            command
        }
        None => {
            let mut command = Command::new("cargo");
            command.arg("build");
            clean(&mut command);
            command
        }
    };
    command.current_dir(folder).args(["--profile", profile]);
    if let Some(target) = target {
        command.args(["--target", target]);
    }
    command.env("CARGO_TARGET_DIR", folder.join("target"));
    run_ok(&mut command)?;
    find_executable(&folder.join("target"), binary)
        .with_context(|| format!("after {}", shown(&command)))
}

/// Finds the executable `name` below a target directory: in the directory of a profile, not among
/// the dependencies.
///
/// # Errors
/// If there is none.
pub fn find_executable(target: &Path, name: &str) -> Result<PathBuf> {
    let mut folders = vec![target.to_owned()];
    while let Some(folder) = folders.pop() {
        let file = folder.join(name);
        if file.is_file() {
            return Ok(file);
        }
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let skip = [
                "deps",
                "build",
                "incremental",
                ".fingerprint",
                "runs",
                "bin",
            ]
            .iter()
            .any(|n| path.ends_with(n));
            if path.is_dir() && !path.is_symlink() && !skip {
                folders.push(path);
            }
        }
    }
    bail!("no executable {name} below {}", target.display())
}
