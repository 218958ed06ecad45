//! The commands around profiling: demo, doctor, show-env, clean, completions, man, help.

use crate::cli_support;
use crate::cli_support::Project;
use serde_json::Value;

#[test]
fn the_demo_builds_profiles_and_reports() {
    let place = Project::new(&[]);
    let done = place.holloway("demo --keep here --format json").ok();
    done.says("104 tokens, 69 instructions")
        .complains("Kept here");
    let report = done.json();
    assert!(
        !report.functions("sift").is_empty() || !report.functions("sort").is_empty(),
        "{done}"
    );
    assert!(
        place
            .path()
            .join("here/target/holloway/runs/latest")
            .exists()
    );
    // Again in the same place; never in someone else's.
    place
        .holloway("demo --keep here --top 3")
        .ok()
        .says("machine.rs");
    place.write("taken/Cargo.toml", "[package]\n");
    place
        .holloway("demo --keep taken")
        .exits(125)
        .fails_with("another project is there");
}

#[test]
fn the_demo_shows_its_text_report_and_leaves_nothing_behind() {
    let place = Project::new(&[]);
    let temporary = place.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let done = place
        .holloway("demo --top 5")
        .env("TMPDIR", &temporary)
        .ok();
    done.says("the commonest").says("machine.rs");
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
}

#[test]
fn doctor_says_what_is_there_and_what_is_missing() {
    let place = Project::new(&[]);
    let done = place.holloway("doctor").ok();
    for text in ["rustc 1.", "libLLVM", "linker", "can be profiled here"] {
        done.says(text);
    }
    let empty = place.path().join("empty");
    let done = place
        .holloway("doctor")
        .env("PATH", &empty)
        .env("RUSTC", "/nowhere/rustc")
        .exits(125);
    done.says("install rustup")
        .says("apt install gcc")
        .says("no cargo-holloway in PATH")
        .says("cannot be profiled here yet");
    let done = place
        .holloway("doctor")
        .env("HOLLOWAY_LLVM", "/nowhere/libLLVM.so")
        .exits(125);
    done.says("/nowhere/libLLVM.so")
        .says("HOLLOWAY_LLVM names it")
        .says("which of them fits depends on the libLLVM");
    let done = place
        .holloway("doctor")
        .env("HOLLOWAY_CLANG", "clang-none")
        .ok();
    done.says("HOLLOWAY_CLANG names it");
    let done = place
        .holloway("doctor")
        .env("HOLLOWAY_LLVM", "/usr/lib/llvm-19/lib/libLLVM.so")
        .ok();
    done.says("(/usr/bin/clang-19); also ").says(", too new");
}

#[test]
fn show_env_speaks_shell_and_json() {
    let place = Project::new(&[]);
    let done = place.holloway("show-env").env("HOLLOWAY_ONLY", "it's").ok();
    done.says("export CC='")
        .says(" cc'  # this holloway")
        .says(r"export HOLLOWAY_ONLY='it'\''s'  # environment")
        .says("# HOLLOWAY_SKIP is not set");
    let script = format!("{}\nprintf '%s' \"$HOLLOWAY_ONLY\"", done.stdout);
    let shell = std::process::Command::new("sh")
        .args(["-c", &script])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&shell.stdout), "it's");
    let json: Value =
        serde_json::from_str(&place.holloway("show-env --format json").ok().stdout).unwrap();
    assert_eq!(json["HOLLOWAY_COLLECT"]["value"], "paths");
    assert!(
        json["RUSTC_WRAPPER"]["value"]
            .as_str()
            .unwrap()
            .ends_with("/holloway-rustc")
    );
}

#[test]
fn a_compiler_may_be_one_word() {
    let place = Project::new(&[
        ("c.c", "#ifdef __clang__\nis clang\n#endif\n"),
        (
            "a.cpp",
            "#include <string>\nint main() { return std::string(\"abc\").size(); }\n",
        ),
    ]);
    // As the crate cc asks CC="holloway cc" for its family.
    place.holloway("-E c.c").ok().says("is clang");
    let json: Value =
        serde_json::from_str(&place.holloway("show-env --format json").ok().stdout).unwrap();
    let compiler = json["HOLLOWAY_CXX"]["value"].as_str().unwrap();
    assert!(compiler.ends_with("/holloway-clang++"), "{compiler}");
    let mut build = place.program(compiler);
    build.command.args(["a.cpp", "-o", "app"]);
    build.ok();
    place.holloway("run -- ./app").exits(3);
}

#[test]
fn the_environment_shown_weaves_a_plain_cargo_build() {
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
fn clean_deletes_runs_only_by_name() {
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
    let there = |path: &str| project.path().join(path).exists();
    // Names of a holloway that is there, and of one that is gone.
    let cache = project.path().join("user-cache/holloway");
    for (names, executable) in [("bin-0", "app"), ("bin-1", "gone")] {
        std::fs::create_dir_all(cache.join(names)).unwrap();
        let executable = project.path().join("target/debug").join(executable);
        std::os::unix::fs::symlink(executable, cache.join(names).join("holloway-cc")).unwrap();
    }
    // The user's own cache is out of the way.
    let clean = |words: &str| {
        project
            .holloway(words)
            .env("XDG_CACHE_HOME", project.path().join("user-cache"))
            .ok()
    };
    clean("clean --dry-run")
        .complains("Would delete")
        .complains("holloway/cache");
    assert!(there("target/holloway/cache/ab/module"));
    clean("clean --cache").complains("Deleted");
    assert!(!cache.join("bin-1").exists() && cache.join("bin-0").is_dir());
    assert!(!there("target/holloway/cache") && there("target/holloway/x86_64-unknown-linux-gnu"));
    clean("clean");
    assert!(
        !there("target/holloway/x86_64-unknown-linux-gnu")
            && there("target/holloway/runs/20260102-030405-app/1-app.hwp")
    );
    clean("clean --runs").complains("runs");
    assert!(!there("target/holloway/runs") && there("target/debug/app"));
    clean("clean --all").complains("nothing to delete");
    project
        .holloway("clean --target-dir nowhere")
        .exits(125)
        .fails_with("nowhere/holloway");
}

#[test]
fn completions_and_man_pages_name_the_commands() {
    let place = Project::new(&[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        place
            .holloway(&format!("completions {shell}"))
            .ok()
            .says("show-env")
            .says("no-report");
    }
    place.holloway("completions nonsense").exits(2);
    place.holloway("man").ok().says(".TH holloway 1");
    place.holloway("man pages").ok();
    for page in [
        "holloway.1",
        "holloway-report.1",
        "cargo-holloway.1",
        "cargo-holloway-run.1",
    ] {
        let text = std::fs::read_to_string(place.path().join("pages").join(page)).unwrap();
        assert!(text.starts_with(".ie"), "{page}");
    }
}

#[test]
fn help_is_there_for_every_command_and_gives_examples() {
    let place = Project::new(&[]);
    for command in [
        "run",
        "report",
        "demo",
        "doctor",
        "show-env",
        "clean",
        "completions",
        "man",
    ] {
        place
            .holloway(&format!("{command} --help"))
            .ok()
            .says("Usage: holloway");
    }
    place
        .holloway("--help")
        .ok()
        .says("Examples:")
        .says("Exit codes:")
        .says("125");
    place
        .cargo_holloway("--help")
        .ok()
        .says("cargo holloway run --release")
        .says("--features");
    for verb in ["build", "run", "test", "bench"] {
        place
            .cargo_holloway(&format!("{verb} --help"))
            .ok()
            .says("[CARGO OPTIONS]")
            .says("--collect")
            .says("--skip");
    }
    place.holloway("").exits(2).complains("Usage:");
    place.holloway("--version").ok().says("holloway 0.");
}
