//! The commands demo, doctor, show-env, clean, completions, man, and help.

use crate::cli_support;
use crate::cli_support::Project;
use serde_json::Value;

#[test]
fn the_demo_builds_profiles_and_reports() {
    let project = Project::new(&[]);
    let result = project.holloway("demo --keep here --format json").ok();
    result
        .says("104 tokens, 69 instructions")
        .complains("Kept here");
    let report = result.json();
    assert!(
        !report.functions("sift").is_empty() || !report.functions("sort").is_empty(),
        "{result}"
    );
    assert!(
        project
            .path()
            .join("here/target/holloway/runs/latest")
            .exists()
    );
    // The demo may use the directory again, but not the directory of another project.
    project
        .holloway("demo --keep here --top 3")
        .ok()
        .says("machine.rs");
    project.write("other/Cargo.toml", "[package]\n");
    project
        .holloway("demo --keep other")
        .exits(125)
        .fails_with("another project is there");
}

#[test]
fn the_demo_shows_its_text_report_and_leaves_nothing_behind() {
    let project = Project::new(&[]);
    let temporary = project.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let result = project
        .holloway("demo --top 5")
        .env("TMPDIR", &temporary)
        .ok();
    result.says("the commonest").says("machine.rs");
    let suggestion = "cargo holloway run --release -- ARGS";
    assert!(result.stderr.contains(suggestion), "{result}");
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
}

#[test]
fn doctor_lists_found_and_missing_tools() {
    let project = Project::new(&[]);
    let result = project.holloway("doctor").ok();
    for text in ["rustc 1.", "libLLVM", "linker", "can be profiled here"] {
        result.says(text);
    }
    let empty = project.path().join("empty");
    let result = project
        .holloway("doctor")
        .env("PATH", &empty)
        .env("RUSTC", "/nowhere/rustc")
        .exits(125);
    result
        .says("install rustup")
        .says("apt install gcc")
        .says("no cargo-holloway in PATH")
        .says("cannot be profiled here yet");
    let result = project
        .holloway("doctor")
        .env("HOLLOWAY_LLVM", "/nowhere/libLLVM.so")
        .exits(125);
    result
        .says("/nowhere/libLLVM.so")
        .says("HOLLOWAY_LLVM names it")
        .says("which of them fits depends on the libLLVM");
    let result = project
        .holloway("doctor")
        .env("HOLLOWAY_CLANG", "clang-none")
        .ok();
    result.says("HOLLOWAY_CLANG names it");
    let result = project
        .holloway("doctor")
        .env("HOLLOWAY_LLVM", "/usr/lib/llvm-19/lib/libLLVM.so")
        .ok();
    result.says("(/usr/bin/clang-19); also ").says(", too new");
}

#[test]
fn show_env_prints_shell_and_json() {
    let project = Project::new(&[]);
    let result = project
        .holloway("show-env")
        .env("HOLLOWAY_ONLY", "it's")
        .ok();
    result
        .says("export CC='")
        .says(" cc'  # this holloway")
        .says(r"export HOLLOWAY_ONLY='it'\''s'  # environment")
        .says("# HOLLOWAY_SKIP is not set");
    let script = format!("{}\nprintf '%s' \"$HOLLOWAY_ONLY\"", result.stdout);
    let shell = std::process::Command::new("sh")
        .args(["-c", &script])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&shell.stdout), "it's");
    let json: Value =
        serde_json::from_str(&project.holloway("show-env --format json").ok().stdout).unwrap();
    assert_eq!(json["HOLLOWAY_COLLECT"]["value"], "paths");
    assert!(
        json["RUSTC_WRAPPER"]["value"]
            .as_str()
            .unwrap()
            .ends_with("/holloway-rustc")
    );
}

#[test]
fn compilers_may_be_named_by_one_word() {
    let project = Project::new(&[
        ("c.c", "#ifdef __clang__\nis clang\n#endif\n"),
        (
            "a.cpp",
            "#include <string>\nint main() { return std::string(\"abc\").size(); }\n",
        ),
    ]);
    // The crate `cc` runs this command to learn the compiler family of CC="holloway cc".
    project.holloway("-E c.c").ok().says("is clang");
    let json: Value =
        serde_json::from_str(&project.holloway("show-env --format json").ok().stdout).unwrap();
    let compiler = json["HOLLOWAY_CXX"]["value"].as_str().unwrap();
    assert!(compiler.ends_with("/holloway-clang++"), "{compiler}");
    let mut build = project.program(compiler);
    build.command.args(["a.cpp", "-o", "app"]);
    build.ok();
    project.holloway("run -- ./app").exits(3);
}

#[test]
fn the_environment_of_show_env_weaves_a_plain_cargo_build() {
    let project = Project::binary(
        "",
        "#[inline(never)]\nfn worked() -> i32 { 3 }\nfn main() { println!(\"{}\", worked()); }",
    );
    let json: Value =
        serde_json::from_str(&project.holloway("show-env --format json").ok().stdout).unwrap();
    let mut call = project.holloway("run --format json -- cargo run");
    call.command.args(["--target", &cli_support::host()]);
    for (name, setting) in json.as_object().unwrap() {
        if let (true, Some(value)) = (name != "CC" && name != "CXX", setting["value"].as_str()) {
            call.command.env(name, value);
        }
    }
    assert_eq!(call.ok().json().calls("worked"), 1);
}

#[test]
fn clean_deletes_runs_only_when_asked() {
    let project = Project::new(&[
        (
            "target/holloway/x86_64-unknown-linux-gnu/debug/app",
            "program",
        ),
        ("target/holloway/cache/ab/module", "woven"),
        (
            "target/holloway/runs/20260102-030405-app/1-app.hwp",
            "profile",
        ),
        ("target/debug/app", "cargo's own"),
    ]);
    let exists = |path: &str| project.path().join(path).exists();
    // The symlinks of an installed holloway, and of a holloway that is no longer installed.
    let cache = project.path().join("user-cache/holloway");
    for (names, executable) in [("bin-0", "app"), ("bin-1", "gone")] {
        std::fs::create_dir_all(cache.join(names)).unwrap();
        let executable = project.path().join("target/debug").join(executable);
        std::os::unix::fs::symlink(executable, cache.join(names).join("holloway-cc")).unwrap();
    }
    // The test must not delete the cache of the user.
    let clean = |words: &str| {
        project
            .holloway(words)
            .env("XDG_CACHE_HOME", project.path().join("user-cache"))
            .ok()
    };
    clean("clean --dry-run")
        .complains("Would delete")
        .complains("holloway/cache");
    assert!(exists("target/holloway/cache/ab/module"));
    clean("clean --cache").complains("Deleted");
    assert!(!cache.join("bin-1").exists() && cache.join("bin-0").is_dir());
    assert!(!exists("target/holloway/cache") && exists("target/holloway/x86_64-unknown-linux-gnu"));
    clean("clean");
    assert!(
        !exists("target/holloway/x86_64-unknown-linux-gnu")
            && exists("target/holloway/runs/20260102-030405-app/1-app.hwp")
    );
    clean("clean --runs").complains("runs");
    assert!(!exists("target/holloway/runs") && exists("target/debug/app"));
    clean("clean --all").complains("nothing to delete");
    project
        .holloway("clean --target-dir nowhere")
        .exits(125)
        .fails_with("nowhere/holloway");
}

#[test]
fn completions_and_man_pages_name_the_commands() {
    let project = Project::new(&[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        project
            .holloway(&format!("completions {shell}"))
            .ok()
            .says("show-env")
            .says("no-report");
    }
    project.holloway("completions nonsense").exits(2);
    project.holloway("man").ok().says(".TH holloway 1");
    project.holloway("man pages").ok();
    for page in [
        "holloway.1",
        "holloway-report.1",
        "cargo-holloway.1",
        "cargo-holloway-run.1",
    ] {
        let text = std::fs::read_to_string(project.path().join("pages").join(page)).unwrap();
        assert!(text.starts_with(".ie"), "{page}");
    }
}

#[test]
fn every_command_has_help() {
    let project = Project::new(&[]);
    for command in [
        "run",
        "report",
        "phases",
        "predict",
        "demo",
        "doctor",
        "show-env",
        "clean",
        "completions",
        "man",
    ] {
        project
            .holloway(&format!("{command} --help"))
            .ok()
            .says("Usage: holloway");
    }
    project
        .holloway("--help")
        .ok()
        .says("Examples:")
        .says("Exit codes:")
        .says("125");
    project
        .cargo_holloway("--help")
        .ok()
        .says("cargo holloway run --release")
        .says("--features");
    for verb in ["build", "run", "test", "bench"] {
        project
            .cargo_holloway(&format!("{verb} --help"))
            .ok()
            .says("[CARGO OPTIONS]")
            .says("--collect")
            .says("--skip");
    }
    project.holloway("").exits(2).complains("Usage:");
    project.holloway("--version").ok().says("holloway 0.");
}
