//! Links by rustc, with `-Clinker` set to holloway: every crate is woven, but not build scripts and
//! proc macros.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::link_support::{Sandbox, succeed};

const HOST: &str = if cfg!(target_arch = "x86_64") {
    "x86_64-unknown-linux-gnu"
} else {
    "aarch64-unknown-linux-gnu"
};

/// A workspace with a program and a cdylib. The program consists of two crates, a C library, a proc
/// macro, and a build script.
fn workspace() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"app\", \"part\", \"plugin\", \"derive\"]\nresolver = \"3\"\n\
         [profile.release]\ndebug = \"line-tables-only\"\n[profile.fat]\ninherits = \"release\"\nlto = \"fat\"\n[profile.thin]\ninherits = \"release\"\nlto = \"thin\"\n\
         [profile.abort]\ninherits = \"release\"\npanic = \"abort\"\n",
    );
    let package = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
    };
    sandbox.write(
        "app/Cargo.toml",
        &package(
            "my-app",
            "[dependencies]\npart.path = \"../part\"\nderive.path = \"../derive\"\n",
        ),
    );
    sandbox.write(
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
    sandbox.write(
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
    sandbox.write(
        "app/c/x.c",
        "int from_c(int x) { int s = 0; for (int i = 0; i < x; i++) if (i % 3) s += i; return s; }",
    );
    sandbox.write("part/Cargo.toml", &package("part", ""));
    sandbox.write(
        "part/src/lib.rs",
        "#[inline(never)] pub fn exported(x: u32) -> u32 { if x > 4 { x * 2 } else { x } }",
    );
    sandbox.write(
        "plugin/Cargo.toml",
        &package(
            "plugin",
            "[lib]\ncrate-type = [\"cdylib\"]\n[dependencies]\npart.path = \"../part\"\n",
        ),
    );
    sandbox.write(
        "plugin/src/lib.rs",
        "#[unsafe(no_mangle)] pub extern \"C\" fn plugin(x: u32) -> u32 { part::exported(x) }",
    );
    sandbox.write(
        "derive/Cargo.toml",
        &package("derive", "[lib]\nproc-macro = true\n"),
    );
    sandbox.write(
        "derive/src/lib.rs",
        "#[proc_macro_derive(Hello)] pub fn hello(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n\
         \"impl Greeter { fn hello(&self) -> &str { \\\"derived\\\" } }\".parse().unwrap() }",
    );
    symlink(env!("CARGO_BIN_EXE_holloway"), sandbox.path("holloway-cc")).unwrap();
    sandbox
}

/// Runs `cargo build` with holloway as the linker. Returns the directory of the programs.
fn build(sandbox: &Sandbox, profile: &str, environment: &[(&str, &str)]) -> String {
    let mut cargo = sandbox.command("cargo");
    let linker = sandbox.path("holloway-cc");
    cargo.env(
        "RUSTFLAGS",
        format!(
            "-Clinker-plugin-lto -Ccodegen-units=1 -Clinker={}",
            linker.display()
        ),
    );
    // With exits, counters of left paths would add the number of times that calls were reached to
    // the sums of counters below.
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

/// The output of the program.
const STDOUT: &str = "59 7 derived built\n";

#[test]
fn every_profile_is_woven_and_counts() {
    let sandbox = workspace();
    for profile in ["release", "dev", "thin", "abort"] {
        let out = build(&sandbox, profile, &[]);
        let app = format!("{out}/my-app");
        let mut modules = sandbox.modules(&app);
        // rustc's allocator shim is a module with the program's name too.
        modules.dedup();
        assert_eq!(modules, ["my_app", "x.o", "part"], "{profile}");
        let result = sandbox.run(&app);
        assert_eq!(
            (result.stdout.as_str(), result.code),
            (STDOUT, Some(0)),
            "{profile}"
        );
        let counts =
            ["own", "exported", "from_c"].map(|name| result.paths.get(name).copied().unwrap_or(0));
        assert_eq!(counts[..2], [10, 5], "{profile}");
        assert!(counts[2] > 0, "{profile}");
        let mut modules = sandbox.modules(&format!("{out}/libplugin.so"));
        modules.dedup();
        assert_eq!(modules, ["plugin", "part"], "{profile}");
        assert!(
            sandbox.linked_as_is(&app)
                .iter()
                .any(|line| line.starts_with("libstd-") && line.ends_with("(--std instruments it)")),
            "{profile}"
        );
    }
    for file in unwoven(&sandbox) {
        assert!(
            sandbox.find_map(file.to_str().unwrap()).is_none(),
            "{}",
            file.display()
        );
    }
}

/// The build scripts and proc macros that cargo built. They run during the build.
fn unwoven(sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for dir in std::fs::read_dir(sandbox.path("target/release/build"))
        .unwrap()
        .flatten()
    {
        files.extend(Some(dir.path().join("build-script-build")).filter(|path| path.exists()));
    }
    let deps = std::fs::read_dir(sandbox.path("target/release/deps"))
        .unwrap()
        .flatten();
    files.extend(
        deps.map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "so")),
    );
    assert!(files.len() >= 2, "{files:?}");
    files
}

#[test]
fn fat_lto_is_one_module_and_std_is_not_instrumented() {
    let sandbox = workspace();
    let out = build(&sandbox, "fat", &[]);
    let app = format!("{out}/my-app");
    assert_eq!(sandbox.modules(&app), ["my_app", "x.o"]);
    let result = sandbox.run(&app);
    assert_eq!(
        (result.stdout.as_str(), result.paths.get("exported")),
        (STDOUT, Some(&5))
    );
    let skipped = &sandbox.map(&app).modules[0].module.skipped;
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
    let sandbox = workspace();
    let app = format!(
        "{}/my-app",
        build(&sandbox, "release", &[("HOLLOWAY_STD", "1")])
    );
    let modules = sandbox.modules(&app);
    assert!(
        modules.iter().any(|name| name == "std") && modules.iter().any(|name| name == "core"),
        "{modules:?}"
    );
    let result = sandbox.run(&app);
    assert_eq!((result.stdout.as_str(), result.code), (STDOUT, Some(0)));
    assert!(result.paths.len() > 20, "{:?}", result.paths);
}

#[test]
fn the_same_workspace_builds_the_same_program() {
    let sandbox = workspace();
    let app = format!("{}/my-app", build(&sandbox, "release", &[]));
    let first = std::fs::read(sandbox.path(&app)).unwrap();
    sandbox.tool("rm -r target/release/deps cache");
    std::fs::remove_dir_all(sandbox.path("target")).unwrap();
    build(&sandbox, "release", &[]);
    assert!(first == std::fs::read(sandbox.path(&app)).unwrap());
}

/// Runs `rustc` in the sandbox with holloway as the linker.
fn rustc(sandbox: &Sandbox, words: &str) -> String {
    let mut rustc = sandbox.command("rustc");
    let linker = format!("-Clinker={}", sandbox.path("holloway-cc").display());
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
    let sandbox = Sandbox::new();
    symlink(env!("CARGO_BIN_EXE_holloway"), sandbox.path("holloway-cc")).unwrap();
    sandbox.write(
        "shared.rs",
        "#[inline(never)] pub fn twice(x: u32) -> u32 { if x > 3 { panic!(\"big {x}\") } x * 2 }",
    );
    sandbox.write(
        "user.rs",
        "fn main() { std::panic::set_hook(Box::new(|_| ())); let sum: u32 = (0..6).map(|x| std::panic::catch_unwind(|| \
         shared::twice(x)).unwrap_or(100)).sum(); println!(\"{sum}\"); }",
    );
    rustc(&sandbox, "-O -Cprefer-dynamic --crate-type=dylib shared.rs");
    rustc(
        &sandbox,
        "-O -Cprefer-dynamic -L. --extern shared -Crpath -Clink-arg=-Wl,-rpath,. user.rs",
    );
    assert_eq!(sandbox.modules("libshared.so"), ["shared"]);
    assert_eq!(sandbox.modules("user"), ["user"]);
    let result = sandbox.run_in_library("user", "libshared.so");
    assert_eq!(
        (result.stdout.as_str(), result.paths.get("twice")),
        ("212\n", Some(&6))
    );
}

#[test]
fn a_raw_ld_line_from_rustc_is_understood() {
    let sandbox = Sandbox::new();
    symlink(env!("CARGO_BIN_EXE_holloway"), sandbox.path("holloway-cc")).unwrap();
    sandbox.write(
        "plain.rs",
        "#[unsafe(no_mangle)] pub extern \"C\" fn f(x: u32) -> u32 { if x > 3 { 1 } else { x } }",
    );
    sandbox.write(
        "main.c",
        "unsigned f(unsigned); int main(void) { return f(2) + f(9); }",
    );
    let output = sandbox
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
    rustc(&sandbox, &flags);
    assert!(
        sandbox
            .modules("libplain.so")
            .iter()
            .all(|name| name == "plain")
    );
    sandbox.tool("cc main.c ./libplain.so -o app");
    let result = sandbox.run_in_library("app", "libplain.so");
    assert_eq!((result.code, result.paths.get("f")), (Some(3), Some(&2)));
}
