//! Links that rustc makes, with our linker named by hand: every crate is woven, build scripts and
//! proc macros are not.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::link_support::{Yard, succeed};

const HOST: &str = if cfg!(target_arch = "x86_64") {
    "x86_64-unknown-linux-gnu"
} else {
    "aarch64-unknown-linux-gnu"
};

/// A program of two crates, one of C, a proc macro and a build script; and a cdylib.
fn workspace() -> Yard {
    let yard = Yard::new();
    yard.write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"app\", \"part\", \"plugin\", \"derive\"]\nresolver = \"3\"\n\
         [profile.release]\ndebug = \"line-tables-only\"\n[profile.fat]\ninherits = \"release\"\nlto = \"fat\"\n[profile.thin]\ninherits = \"release\"\nlto = \"thin\"\n\
         [profile.abort]\ninherits = \"release\"\npanic = \"abort\"\n",
    );
    let package = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
    };
    yard.write(
        "app/Cargo.toml",
        &package(
            "my-app",
            "[dependencies]\npart.path = \"../part\"\nderive.path = \"../derive\"\n",
        ),
    );
    yard.write(
        "app/src/main.rs",
        r#"
        unsafe extern "C" { fn from_c(x: i32) -> i32; }
        #[derive(derive::Hello)] struct Greeter;
        #[inline(never)] fn own(x: u32) -> u32 { if x % 2 == 0 { part::exported(x) } else { x } }
        fn main() {
            let sum: u32 = (0..10).map(own).sum();
            println!("{sum} {} {} {}", unsafe { from_c(5) }, Greeter.hello(), env!("FROM_BUILD_SCRIPT"));
        }
        "#,
    );
    yard.write(
        "app/build.rs",
        r#"
        use std::process::Command;
        fn main() {
            let out = std::env::var("OUT_DIR").unwrap();
            let cc = std::env::var("CC").unwrap();
            let mut words = cc.split(' ');
            let run = |command: &mut Command| assert!(command.status().unwrap().success());
            run(Command::new(words.next().unwrap()).args(words).args(["-O1", "-fPIC", "-c", "c/x.c", "-o"]).arg(format!("{out}/x.o")));
            run(Command::new("ar").args(["rc", &format!("{out}/libx.a"), &format!("{out}/x.o")]));
            println!("cargo:rustc-link-search=native={out}");
            println!("cargo:rustc-link-lib=static=x");
            println!("cargo:rustc-env=FROM_BUILD_SCRIPT=built");
        }
        "#,
    );
    yard.write(
        "app/c/x.c",
        "int from_c(int x) { int s = 0; for (int i = 0; i < x; i++) if (i % 3) s += i; return s; }",
    );
    yard.write("part/Cargo.toml", &package("part", ""));
    yard.write(
        "part/src/lib.rs",
        "#[inline(never)] pub fn exported(x: u32) -> u32 { if x > 4 { x * 2 } else { x } }",
    );
    yard.write(
        "plugin/Cargo.toml",
        &package(
            "plugin",
            "[lib]\ncrate-type = [\"cdylib\"]\n[dependencies]\npart.path = \"../part\"\n",
        ),
    );
    yard.write(
        "plugin/src/lib.rs",
        "#[unsafe(no_mangle)] pub extern \"C\" fn plugin(x: u32) -> u32 { part::exported(x) }",
    );
    yard.write(
        "derive/Cargo.toml",
        &package("derive", "[lib]\nproc-macro = true\n"),
    );
    yard.write(
        "derive/src/lib.rs",
        "#[proc_macro_derive(Hello)] pub fn hello(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n\
         \"impl Greeter { fn hello(&self) -> &str { \\\"derived\\\" } }\".parse().unwrap() }",
    );
    symlink(env!("CARGO_BIN_EXE_holloway"), yard.path("holloway-cc")).unwrap();
    yard
}

/// `cargo build` with our linker. Returns the directory of the programs.
fn build(yard: &Yard, profile: &str, environment: &[(&str, &str)]) -> String {
    let mut cargo = yard.command("cargo");
    let linker = yard.path("holloway-cc");
    cargo.env(
        "RUSTFLAGS",
        format!(
            "-Clinker-plugin-lto -Ccodegen-units=1 -Clinker={}",
            linker.display()
        ),
    );
    // Counters of left paths say how often a call was reached, so they would add to the sums of
    // counters below.
    cargo
        .env("CC", format!("{} cc", env!("CARGO_BIN_EXE_holloway")))
        .env("HOLLOWAY_EXITS", "off")
        .envs(environment.iter().copied());
    succeed(cargo.args(["build", "--offline", "--profile", profile, "--target", HOST]));
    format!(
        "target/{HOST}/{}",
        if profile == "dev" { "debug" } else { profile }
    )
}

const SAID: &str = "59 7 derived built\n";

#[test]
fn every_profile_is_woven_and_counts() {
    let yard = workspace();
    for profile in ["release", "dev", "thin", "abort"] {
        let out = build(&yard, profile, &[]);
        let app = format!("{out}/my-app");
        let mut modules = yard.modules(&app);
        // rustc's allocator shim is a module with the program's name too.
        modules.dedup();
        assert_eq!(modules, ["my_app", "x.o", "part"], "{profile}");
        let ran = yard.run(&app);
        assert_eq!(
            (ran.stdout.as_str(), ran.code),
            (SAID, Some(0)),
            "{profile}"
        );
        let counts =
            ["own", "exported", "from_c"].map(|name| ran.paths.get(name).copied().unwrap_or(0));
        assert_eq!(counts[..2], [10, 5], "{profile}");
        assert!(counts[2] > 0, "{profile}");
        let mut modules = yard.modules(&format!("{out}/libplugin.so"));
        modules.dedup();
        assert_eq!(modules, ["plugin", "part"], "{profile}");
        assert!(
            yard.left_alone(&app)
                .iter()
                .any(|line| line.starts_with("libstd-") && line.ends_with("(--std instruments it)")),
            "{profile}"
        );
    }
    for file in unwoven(&yard) {
        assert!(
            yard.maybe_map(file.to_str().unwrap()).is_none(),
            "{}",
            file.display()
        );
    }
}

/// Build scripts and proc macros, which cargo builds for itself.
fn unwoven(yard: &Yard) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for dir in std::fs::read_dir(yard.path("target/release/build"))
        .unwrap()
        .flatten()
    {
        found.extend(Some(dir.path().join("build-script-build")).filter(|path| path.exists()));
    }
    let deps = std::fs::read_dir(yard.path("target/release/deps"))
        .unwrap()
        .flatten();
    found.extend(
        deps.map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "so")),
    );
    assert!(found.len() >= 2, "{found:?}");
    found
}

#[test]
fn fat_lto_is_one_module_and_std_stays_out() {
    let yard = workspace();
    let out = build(&yard, "fat", &[]);
    let app = format!("{out}/my-app");
    assert_eq!(yard.modules(&app), ["my_app", "x.o"]);
    let ran = yard.run(&app);
    assert_eq!(
        (ran.stdout.as_str(), ran.paths.get("exported")),
        (SAID, Some(&5))
    );
    let skipped = &yard.map(&app).modules[0].module.skipped;
    let std = skipped
        .iter()
        .filter(|skipped| skipped.reason.contains("standard library"));
    assert!(
        std.count() > 50,
        "std is in the module, and not instrumented"
    );
}

#[test]
fn std_is_woven_when_asked_for() {
    let yard = workspace();
    let app = format!(
        "{}/my-app",
        build(&yard, "release", &[("HOLLOWAY_STD", "1")])
    );
    let modules = yard.modules(&app);
    assert!(
        modules.iter().any(|name| name == "std") && modules.iter().any(|name| name == "core"),
        "{modules:?}"
    );
    let ran = yard.run(&app);
    assert_eq!((ran.stdout.as_str(), ran.code), (SAID, Some(0)));
    assert!(ran.paths.len() > 20, "{:?}", ran.paths);
}

#[test]
fn the_same_workspace_builds_the_same_program() {
    let yard = workspace();
    let app = format!("{}/my-app", build(&yard, "release", &[]));
    let first = std::fs::read(yard.path(&app)).unwrap();
    yard.tool("rm -r target/release/deps cache");
    std::fs::remove_dir_all(yard.path("target")).unwrap();
    build(&yard, "release", &[]);
    assert!(first == std::fs::read(yard.path(&app)).unwrap());
}

/// `rustc` in the yard with our linker.
fn rustc(yard: &Yard, words: &str) -> String {
    let mut rustc = yard.command("rustc");
    let linker = format!("-Clinker={}", yard.path("holloway-cc").display());
    rustc.args([
        "-Clinker-plugin-lto",
        "-Ccodegen-units=1",
        "-Cdebuginfo=line-tables-only",
        "--edition=2024",
        &linker,
    ]);
    succeed(rustc.args(words.split_whitespace()))
}

#[test]
fn rust_shared_libraries_and_their_users_are_woven() {
    let yard = Yard::new();
    symlink(env!("CARGO_BIN_EXE_holloway"), yard.path("holloway-cc")).unwrap();
    yard.write(
        "shared.rs",
        "#[inline(never)] pub fn twice(x: u32) -> u32 { if x > 3 { panic!(\"big {x}\") } x * 2 }",
    );
    yard.write(
        "user.rs",
        "fn main() { std::panic::set_hook(Box::new(|_| ())); let sum: u32 = (0..6).map(|x| std::panic::catch_unwind(|| \
         shared::twice(x)).unwrap_or(100)).sum(); println!(\"{sum}\"); }",
    );
    rustc(&yard, "-O -Cprefer-dynamic --crate-type=dylib shared.rs");
    rustc(
        &yard,
        "-O -Cprefer-dynamic -L. --extern shared -Crpath -Clink-arg=-Wl,-rpath,. user.rs",
    );
    assert_eq!(yard.modules("libshared.so"), ["shared"]);
    assert_eq!(yard.modules("user"), ["user"]);
    let ran = yard.run_in_library("user", "libshared.so");
    assert_eq!(
        (ran.stdout.as_str(), ran.paths.get("twice")),
        ("212\n", Some(&6))
    );
}

#[test]
fn a_raw_ld_line_from_rustc_is_understood() {
    let yard = Yard::new();
    symlink(env!("CARGO_BIN_EXE_holloway"), yard.path("holloway-cc")).unwrap();
    yard.write(
        "plain.rs",
        "#[unsafe(no_mangle)] pub extern \"C\" fn f(x: u32) -> u32 { if x > 3 { 1 } else { x } }",
    );
    yard.write(
        "main.c",
        "unsigned f(unsigned); int main(void) { return f(2) + f(9); }",
    );
    let output = yard
        .command("cc")
        .arg("-print-file-name=crtbeginS.o")
        .output()
        .unwrap()
        .stdout;
    let file = PathBuf::from(String::from_utf8(output).unwrap().trim_end());
    let (file, libraries) = (file.display(), file.parent().unwrap().display());
    let flags = format!(
        "-O -Clinker-flavor=ld -L{libraries} -Clink-args={file} -Clink-args={libraries}/crtendS.o --crate-type=cdylib -Cpanic=abort plain.rs"
    );
    rustc(&yard, &flags);
    assert!(
        yard.modules("libplain.so")
            .iter()
            .all(|name| name == "plain")
    );
    yard.tool("cc main.c ./libplain.so -o app");
    let ran = yard.run_in_library("app", "libplain.so");
    assert_eq!((ran.code, ran.paths.get("f")), (Some(3), Some(&2)));
}
