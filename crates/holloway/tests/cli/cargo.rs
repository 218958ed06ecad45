//! `cargo holloway build|run|test|bench` on real cargo projects: which code is woven, and that the
//! user's settings stay in force.

use crate::cli_support;
use crate::cli_support::{Project, package};

const LOOPING: &str = r#"
#[inline(never)]
fn classify(n: u64) -> u64 {
    if std::hint::black_box(n) % 3 == 0 { 1 } else { 2 }
}
fn main() {
    let rounds: u64 = std::env::args().nth(1).map_or(30, |text| text.parse().unwrap());
    let sum: u64 = (0..rounds).map(classify).sum();
    println!("sum {sum}");
}
"#;

#[test]
fn a_binary_is_built_run_and_reported() {
    let project = Project::binary("", LOOPING);
    let result = project.cargo_holloway("run --release -- 300").ok();
    result
        .says("sum 500")
        .says("classify")
        .complains("Recorded")
        .complains("Running");
    assert_eq!(project.runs().len(), 1);
    let name = project.runs()[0]
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    assert!(name.ends_with("-app"), "{name}");
    let report = project.holloway("report --format json").ok().json();
    assert_eq!(report.calls("classify"), 300);
    // A second run gets another directory. A program that is started without cargo records in
    // target/holloway/runs, too.
    project
        .cargo_holloway("run --release --no-report -- 12")
        .ok()
        .says("sum 20");
    assert_eq!(project.runs().len(), 2);
    assert_eq!(
        project
            .holloway("report --format json")
            .ok()
            .json()
            .calls("classify"),
        12
    );
    let without_cargo = std::process::Command::new(project.built("release", "app"))
        .arg("9")
        .current_dir("/")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&without_cargo.stdout), "sum 15\n");
    assert_eq!(project.runs().len(), 3);
    assert_eq!(
        project
            .holloway("report --format json")
            .ok()
            .json()
            .calls("classify"),
        9
    );
    // The build is not in the directory of plain builds.
    assert!(!project.path().join("target/release").exists());
}

#[test]
fn exit_codes_come_from_the_program_or_from_cargo() {
    let project = Project::binary(
        "",
        "fn main() { std::process::exit(std::env::args().count() as i32 + 40) }",
    );
    project.cargo_holloway("run --no-report -- a b").exits(43);
    project.cargo_holloway("run --no-report a --top").exits(43);
    project.write("src/main.rs", "fn main() { std::process::abort() }");
    project.cargo_holloway("run --no-report").exits(134);
    project.write("src/main.rs", "fn main() { panic!(\"out\") }");
    project
        .cargo_holloway("run --no-report")
        .exits(101)
        .complains("out");
    assert_eq!(project.runs().len(), 4);
    project.write("src/main.rs", "fn main() { nonsense }");
    project
        .cargo_holloway("run")
        .exits(101)
        .complains("cannot find value");
    assert_eq!(project.runs().len(), 4, "a failed build records nothing");
    project
        .cargo_holloway("run --collect nonsense")
        .exits(2)
        .complains("paths");
    project
        .cargo_holloway("run --manifest-path nowhere/Cargo.toml")
        .exits(125)
        .fails_with("nowhere/Cargo.toml");
}

#[test]
fn missing_link_tools_are_reported_before_the_build() {
    let project = Project::binary("", LOOPING);
    let result = project
        .cargo_holloway("build")
        .env("HOLLOWAY_LLVM", "/nowhere/libLLVM.so")
        .exits(125);
    result
        .fails_with("/nowhere/libLLVM.so")
        .complains("holloway doctor");
    let result = project
        .cargo_holloway("build")
        .env("HOLLOWAY_LINKER", "no-such-cc")
        .exits(125);
    result.fails_with("no-such-cc").complains("apt install gcc");
}

#[test]
fn warnings_of_links_are_printed_once() {
    let project = Project::binary("", LOOPING);
    project.write("src/bin/other.rs", LOOPING);
    let result = project
        .cargo_holloway("build")
        .env("HOLLOWAY_CACHE", "/proc/nowhere")
        .ok();
    let warning = "holloway: warning: cannot write the cache /proc/nowhere";
    assert_eq!(result.stderr.matches(warning).count(), 1, "{result}");
}

#[test]
fn build_prints_the_paths_of_the_programs() {
    let project = Project::binary("", LOOPING);
    let result = project.cargo_holloway("build").ok();
    result
        .complains("Woven target/holloway/")
        .complains("holloway run -- target/holloway/");
    assert!(result.stdout.is_empty(), "{result}");
    let program = project.built("debug", "app");
    let result = project
        .holloway("run --format json --")
        .arg(&program)
        .arg("6")
        .ok();
    assert_eq!(result.json().calls("classify"), 6);
    let quiet = project.cargo_holloway("build -q").ok();
    assert!(quiet.stderr.is_empty(), "{quiet}");
    let messages = project.cargo_holloway("build --message-format=json").ok();
    messages.says("\"reason\":\"build-finished\"");
}

#[test]
fn other_patterns_link_again() {
    let project = Project::binary("", LOOPING);
    let calls = |words: &str| {
        project
            .cargo_holloway(&format!("run --format json {words}"))
            .ok()
            .json()
    };
    assert_eq!(calls("-- 6").calls("classify"), 6);
    let skipped = calls("--skip classify -- 6");
    assert_eq!(skipped.calls("classify"), 0);
    assert_eq!(calls("--only classify -- 6").calls("classify"), 6);
    let fresh = project
        .cargo_holloway("run --only classify --no-report -- 6")
        .ok();
    assert!(!fresh.stderr.contains("Compiling"), "{fresh}");
    assert_eq!(calls("-- 7").calls("classify"), 7);
}

#[test]
fn a_build_with_other_settings_keeps_the_programs_of_earlier_builds() {
    let project = Project::binary("", LOOPING);
    let run = |words: &str| {
        let call = project.cargo_holloway(&format!("run --format json {words}"));
        call.ok()
    };
    run("--release --collect edges -- 6");
    let program = project.built("release", "app");
    let kept = std::fs::read(&program).unwrap();
    // Another profile, and a build that does not make the program.
    for words in ["test --no-report", "test --release --no-report"] {
        project.cargo_holloway(words).result();
        assert_eq!(std::fs::read(&program).unwrap(), kept, "{words}");
    }
    // The release build of the test had other settings, so the program is linked again.
    let edges = run("--release --collect edges -- 7");
    edges.complains("Compiling app");
    assert_eq!(edges.json().calls("classify"), 7);
    // The dev build had other settings too, but is in another directory.
    project.cargo_holloway("run --no-report -- 8").ok();
    let fresh = run("--release --collect edges -- 9");
    assert!(!fresh.stderr.contains("Compiling"), "{fresh}");
    assert_eq!(fresh.json().calls("classify"), 9);
}

#[test]
fn code_that_build_scripts_and_proc_macros_make_is_woven() {
    let project = Project::new(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"app\", \"made\"]\nresolver = \"3\"\n",
        ),
        (
            "made/Cargo.toml",
            "[package]\nname = \"made\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n",
        ),
        (
            "made/src/lib.rs",
            "#[proc_macro]\npub fn doubler(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n    \
             \"fn double(n: u64) -> u64 { n * 2 }\".parse().unwrap()\n}\n",
        ),
        (
            "app/Cargo.toml",
            "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\nmade = { path = \"../made\" }\n",
        ),
        (
            "app/build.rs",
            "fn main() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
             std::fs::write(format!(\"{out}/number.rs\"), \"const NUMBER: u64 = 21;\").unwrap();\n}\n",
        ),
        (
            "app/src/main.rs",
            "include!(concat!(env!(\"OUT_DIR\"), \"/number.rs\"));\nmade::doubler!();\nfn main() { println!(\"{}\", double(NUMBER)); }\n",
        ),
    ]);
    let result = project.cargo_holloway("run -p app --format json").ok();
    result.says("42");
    assert_eq!(result.json().calls("double"), 1);
    let runs = project.runs();
    let profiles = std::fs::read_dir(&runs[0]).unwrap().filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .path()
            .extension()
            .is_some_and(|e| e == "hwp")
    });
    assert_eq!(
        profiles.count(),
        1,
        "neither the build script nor the macro writes a profile"
    );
}

#[test]
fn the_users_flags_linker_and_wrapper_stay_in_force() {
    let project = Project::binary(
        "",
        "fn main() { println!(\"{}\", if cfg!(chosen) { \"chosen\" } else { \"lost\" }); }",
    );
    let linker = project.script(
        "linker.sh",
        "#!/bin/sh\necho linked >> \"$(dirname \"$0\")/linker.log\"\nexec cc \"$@\"\n",
    );
    let wrapper = project.script(
        "wrapper.sh",
        "#!/bin/sh\necho wrapped >> \"$(dirname \"$0\")/wrapper.log\"\nexec \"$@\"\n",
    );
    let workspace = project.script(
        "workspace.sh",
        "#!/bin/sh\necho wrapped >> \"$(dirname \"$0\")/workspace.log\"\nexec \"$@\"\n",
    );
    let config = format!(
        "[build]\nrustc-wrapper = {wrapper:?}\nrustc-workspace-wrapper = {workspace:?}\n\
         [target.{}]\nlinker = {linker:?}\nrustflags = [\"--cfg\", \"chosen\"]\n",
        cli_support::host()
    );
    project.write(".cargo/config.toml", &config);
    project
        .cargo_holloway("run")
        .ok()
        .says("chosen")
        .says("main");
    for log in ["linker.log", "wrapper.log", "workspace.log"] {
        assert!(project.path().join(log).exists(), "{log}");
        std::fs::remove_file(project.path().join(log)).unwrap();
    }
    // RUSTFLAGS replaces the flags of the configuration file, as in cargo.
    project.write(
        "src/main.rs",
        "fn main() { println!(\"{} {}\", cfg!(chosen), cfg!(set)); }",
    );
    project
        .cargo_holloway("run")
        .env("RUSTFLAGS", "--cfg set")
        .env("RUSTC_WRAPPER", "")
        .ok()
        .says("false true")
        .says("main");
    assert!(project.path().join("linker.log").exists());
    assert!(!project.path().join("wrapper.log").exists());
}

/// Passes where the kernel refuses to sample, too.
#[test]
fn the_cpu_time_is_that_of_the_programs_without_the_build() {
    let project = Project::binary("", LOOPING);
    let text = project.cargo_holloway("run -- 30").ok().stdout;
    assert!(text.starts_with("sum 50\nCPU time\n"), "{text}");
    assert!(!text.contains("outside"), "{text}");
    let report = project.holloway("report --format json").ok().json();
    let time = &report.0["cpu_time"];
    assert!(time["user_seconds"].is_number(), "{time}");
    if time["sampling"] == "sampled" {
        assert_eq!(
            time["other_programs"].as_array().unwrap().len(),
            0,
            "{time}"
        );
    }
}

#[test]
fn the_users_runner_stays_in_force_and_programs_see_only_it() {
    const VARIABLES: &str = r#"
fn main() {
    let names = std::env::vars().filter(|(name, _)| name.ends_with("_RUNNER"));
    println!("{:?}", names.collect::<Vec<_>>());
    std::process::exit(std::env::args().count() as i32);
}
"#;
    let project = Project::binary("", VARIABLES);
    project.script(
        "own runner.sh",
        "#!/bin/sh\necho \"runner [$1]\"\nshift\nexec \"$@\"\n",
    );
    project.write(
        ".cargo/config.toml",
        "[target.'cfg(unix)']\nrunner = [\"./own runner.sh\", \"a b\"]\n",
    );
    let from_file = project.cargo_holloway("run -- x y").exits(3);
    assert!(
        from_file.stdout.starts_with("runner [a b]\n[]\n"),
        "{}",
        from_file.stdout
    );
    let triple = cli_support::host().to_uppercase().replace('-', "_");
    let variable = format!("CARGO_TARGET_{triple}_RUNNER");
    let call = project.cargo_holloway("run").env(&variable, "env A=1");
    let from_variable = call.exits(1);
    let expect = format!("[({variable:?}, \"env A=1\")]\n");
    assert!(
        from_variable.stdout.starts_with(&expect),
        "{}",
        from_variable.stdout
    );
    // Cargo prefers this runner to the variable that holloway sets. The build is then measured,
    // too.
    let option = format!("--config target.{}.runner='env'", cli_support::host());
    let call = project.cargo_holloway(&format!("run {option}"));
    call.exits(1).says("CPU time\n  total  ");
}

#[test]
fn target_directories_of_options_variables_and_configuration_are_used() {
    let project = Project::binary("", LOOPING);
    project.write(
        ".cargo/config.toml",
        "[build]\ntarget-dir = \"elsewhere\"\n",
    );
    project.cargo_holloway("run --no-report").ok();
    assert!(
        project
            .path()
            .join("elsewhere/holloway/runs/latest")
            .exists()
    );
    project
        .cargo_holloway("run --no-report --target-dir named")
        .ok();
    assert!(project.path().join("named/holloway/runs/latest").exists());
    project
        .cargo_holloway("run --no-report")
        .env("CARGO_TARGET_DIR", project.path().join("environment"))
        .ok();
    assert!(
        project
            .path()
            .join("environment/holloway/runs/latest")
            .exists()
    );
    assert!(!project.path().join("target").exists());
}

const LIBRARY: &str = r#"
//! ```
//! assert_eq!(app::three_times(2), 6);
//! assert!(cfg!(chosen), "the user's rustdoc flags are lost");
//! ```
#[inline(never)]
pub fn three_times(n: u64) -> u64 { n * 3 }
#[cfg(test)]
mod tests {
    #[test]
    fn unit() { assert_eq!(super::three_times(1), 3); }
}
"#;

#[test]
fn tests_doctests_examples_and_benches_are_woven() {
    let project = Project::new(&[
        (
            "Cargo.toml",
            &format!(
                "{}[[bench]]\nname = \"speed\"\nharness = false\n",
                package("app")
            ),
        ),
        ("src/lib.rs", LIBRARY),
        (
            "tests/outside.rs",
            "#[test]\nfn outside() { assert_eq!(app::three_times(5), 15); }\n",
        ),
        (
            "benches/speed.rs",
            "fn main() { println!(\"bench {}\", app::three_times(4)); }\n",
        ),
        (
            "examples/shown.rs",
            "fn main() { println!(\"example {}\", app::three_times(7)); }\n",
        ),
    ]);
    let result = project
        .cargo_holloway("test --format json")
        .env("RUSTDOCFLAGS", "--cfg chosen")
        .ok();
    // One call in the unit test, one in the integration test, and one in the doctest.
    assert_eq!(result.json().calls("three_times"), 3, "{result}");
    assert!(project.runs()[0].to_string_lossy().ends_with("-app-test"));
    project
        .cargo_holloway("test --no-run")
        .ok()
        .complains("Woven");
    assert_eq!(project.runs().len(), 1);
    let result = project.cargo_holloway("bench --format json").ok();
    result.says("bench 12");
    assert_eq!(result.json().calls("three_times"), 1);
    let result = project
        .cargo_holloway("run --example shown --format json")
        .ok();
    result.says("example 21");
    assert_eq!(result.json().calls("three_times"), 1);
}

/// The unit tests call `odd(1)`, and the test program calls `odd(2)`. No test calls `unused`.
#[test]
fn code_that_no_test_ran_is_merged_over_test_programs() {
    let library = "\
pub fn odd(n: u64) -> &'static str {
    if n % 2 == 1 {
        return \"odd\";
    }
    \"even\"
}
pub fn unused(n: u64) -> u64 {
    n + 1
}
#[cfg(test)]
mod tests {
    #[test]
    fn unit() { assert_eq!(super::odd(1), \"odd\"); }
}
";
    let outside = "#[test]\nfn outside() { assert_eq!(app::odd(2), \"even\"); }\n";
    let project = Project::new(&[
        ("Cargo.toml", &package("app")),
        ("src/lib.rs", library),
        ("tests/outside.rs", outside),
    ]);
    let result = project.cargo_holloway("test --uncovered").ok();
    result
        .says("2 processes of 2 programs merged")
        .says("src/lib.rs:7  app::unused");
    assert_eq!(result.stdout.matches("app::unused").count(), 1, "{result}");
    assert!(
        !result.stdout.contains("src/lib.rs:2 "),
        "both ways were taken\n{result}"
    );
    let report = |options: &str| {
        let result = project
            .holloway(&format!("report --uncovered --format json {options}"))
            .ok();
        let document: serde_json::Value = serde_json::from_str(&result.stdout).unwrap();
        document["uncovered"].clone()
    };
    let merged = report("");
    let functions = merged["functions"].as_array().unwrap();
    assert_eq!(functions.len(), 1, "{merged}");
    assert_eq!(
        (&functions[0]["name"], &functions[0]["line"]),
        (&"app::unused".into(), &7.into())
    );
    assert_eq!(merged["totals"]["branches"]["never_ran"], 0, "{merged}");
    let odd = report("--function ^app::odd$");
    assert_eq!(odd["totals"]["lines"]["never_ran"], 0, "{odd}");
    // No test calls this function with both numbers in one program, but both paths ran.
    assert_eq!(odd["totals"]["paths"]["never_ran"], 0, "{odd}");
    let of_test = report("--file tests/outside.rs");
    assert_eq!(
        of_test["functions"].as_array().unwrap().len(),
        0,
        "{of_test}"
    );
    project
        .holloway("report --uncovered --view lines")
        .exits(2)
        .complains("cannot be used with");
}

#[test]
fn a_failing_test_fails_and_is_still_reported() {
    let project = Project::new(&[
        ("Cargo.toml", &package("app")),
        ("src/lib.rs", "#[test]\nfn fails() { assert_eq!(1, 2); }\n"),
    ]);
    project
        .cargo_holloway("test")
        .exits(101)
        .says("FAILED")
        .says("fails");
}

#[test]
fn settings_of_cargo_profiles_work() {
    for (settings, rounds) in [
        ("lto = \"fat\"", 30),
        ("lto = \"thin\"\ncodegen-units = 16", 31),
        ("lto = \"off\"", 32),
        ("panic = \"abort\"\nopt-level = \"s\"", 33),
        ("strip = true\ndebug = 2\nsplit-debuginfo = \"packed\"", 34),
        ("debug = 0\nstrip = \"debuginfo\"", 35),
        ("incremental = true", 36),
    ] {
        let project = Project::binary(&format!("[profile.release]\n{settings}\n"), LOOPING);
        let result = project
            .cargo_holloway(&format!("run --release --format json -- {rounds}"))
            .ok();
        let report = result.json();
        assert_eq!(report.calls("classify"), rounds, "{settings}\n{result}");
        let file = report.functions("classify")[0]["file"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(file.ends_with("src/main.rs"), "{settings}: {file}");
    }
}

#[test]
fn shared_objects_of_the_project_are_profiled_with_the_program() {
    let project = Project::new(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"app\", \"plug\"]\nresolver = \"3\"\n",
        ),
        (
            "plug/Cargo.toml",
            "[package]\nname = \"plug\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n",
        ),
        (
            "plug/src/lib.rs",
            "#[unsafe(no_mangle)]\npub extern \"C\" fn plugged(n: i32) -> i32 { if n > 3 { n } else { 0 } }\n",
        ),
        (
            "app/Cargo.toml",
            "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        ),
        (
            "app/src/main.rs",
            r#"
use std::ffi::{CString, c_char, c_int, c_void};
unsafe extern "C" { fn dlopen(f: *const c_char, flags: c_int) -> *mut c_void; fn dlsym(h: *mut c_void, n: *const c_char) -> *mut c_void; }
fn main() {
    let file = CString::new(std::env::args().nth(1).unwrap()).unwrap();
    let plugged: extern "C" fn(i32) -> i32 = unsafe {
        let handle = dlopen(file.as_ptr(), 2);
        assert!(!handle.is_null());
        std::mem::transmute(dlsym(handle, c"plugged".as_ptr()))
    };
    println!("{}", (0..6).map(|n| plugged(n)).sum::<i32>());
}
"#,
        ),
    ]);
    project.cargo_holloway("build --workspace").ok();
    let result = project
        .holloway("run --format json --")
        .arg(project.built("debug", "app"))
        .arg(project.built("debug", "libplug.so"))
        .ok();
    result.says("9");
    let report = result.json();
    assert_eq!(
        (report.calls("plugged"), report.calls("app::main")),
        (6, 1),
        "{result}"
    );
    let text = project.holloway("report").ok();
    text.says("libplug.so").says("app");
}

#[test]
fn patterns_that_match_nothing_are_reported_once_for_all_links() {
    let project = Project::binary("", LOOPING);
    project.write("src/bin/other.rs", "fn main() { println!(\"other\"); }");
    let warnings = |words: &str| -> Vec<String> {
        let result = project.cargo_holloway(words).ok();
        let warnings = result
            .stderr
            .lines()
            .filter(|line| line.contains("warning"));
        warnings.map(str::to_owned).collect()
    };
    // `classify` is in one of two programs, `other::main` in the other.
    let words = "build --release --only classify --only ^other::main --only nosuch --skip ^nobody";
    let nothing = |given: &str| {
        format!(
            "holloway: warning: {given} fits no function that can be woven here (functions of the standard library only with --std): give a crate's name, a function's, or a regular expression over demangled names"
        )
    };
    let expected = ["--only nosuch", "--skip ^nobody"].map(nothing);
    assert_eq!(warnings(words), expected);
    assert_eq!(warnings(words), expected, "nothing is linked");
    project.write("src/bin/other.rs", "fn main() { println!(\"another\"); }");
    assert_eq!(warnings(words), expected, "one of the programs is linked");
    assert_eq!(warnings("build --release --only classify"), [""; 0]);
    for _ in 0..2 {
        let result = project
            .cargo_holloway("run --release --bin other --only nosuch")
            .ok();
        let warnings = result
            .stderr
            .lines()
            .filter(|line| line.contains("warning"));
        let no_profile = "holloway: warning: no profile was written: nothing that ran was woven (only code built for the target is; proc macros and build scripts are not), or it entered no instrumented function; look at --only nosuch too";
        assert_eq!(
            warnings.collect::<Vec<_>>(),
            [&nothing("--only nosuch"), no_profile]
        );
    }
    project
        .cargo_holloway("build")
        .env("HOLLOWAY_SKIP", "a\n[")
        .exits(2)
        .fails_with("holloway: HOLLOWAY_SKIP: \"[\" is neither");
}
