//! The directories into which a call of cargo builds: `<build directory>/<triple>/<profile>`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::split::{cargo_value, has_short_option};

/// The directory of the profiles `dev` and `test`.
pub(crate) const DEBUG: &str = "debug";
/// The directory of the profiles `release` and `bench`.
pub(crate) const RELEASE: &str = "release";

/// The directories of a call, of which there is at least one. `default` is the directory of the
/// profile that cargo takes without an option. `targets` may be empty: cargo then builds for the
/// host.
pub(crate) fn profile_directories(
    build_directory: &Path,
    targets: &[String],
    host: &str,
    default: &str,
    cargo_options: &[OsString],
) -> Vec<PathBuf> {
    let profile = profile(default, cargo_options);
    let directory = |target: &str| {
        let name = match target {
            "host-tuple" => host.to_owned(),
            target => triple(target),
        };
        build_directory.join(name).join(profile)
    };
    match targets {
        [] => vec![directory(host)],
        targets => targets.iter().map(|target| directory(target)).collect(),
    }
}

/// The name of the directory of the profile that the options choose.
fn profile<'a>(default: &'a str, cargo_options: &'a [OsString]) -> &'a str {
    match cargo_value(cargo_options, "--profile", None) {
        Some("dev" | "test") => DEBUG,
        Some("release" | "bench") => RELEASE,
        Some(profile) => profile,
        None if cargo_options.iter().any(|option| option == "--release") => RELEASE,
        None if has_short_option(cargo_options, b'r') => RELEASE,
        None => default,
    }
}

/// The name of a target. A target may be given as the path of its specification.
pub(crate) fn triple(target: &str) -> String {
    let name = Path::new(target)
        .file_stem()
        .filter(|_| target.ends_with(".json"));
    name.map_or_else(
        || target.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_choose_the_directories() {
        let check = |options: &str, targets: &[&str], expected: &[&str]| {
            let options: Vec<OsString> = options.split_whitespace().map(OsString::from).collect();
            let targets: Vec<String> = targets.iter().map(|&target| target.to_owned()).collect();
            let found = profile_directories(Path::new("/t"), &targets, "host", DEBUG, &options);
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(found, expected, "{options:?}");
        };
        for options in ["--release", "-r", "-qr", "-vrj2", "--profile=bench"] {
            check(options, &[], &["/t/host/release"]);
        }
        for options in [
            "",
            "-p r",
            "-pr",
            "-qpr",
            "-jr",
            "--bin r",
            "--profile test",
        ] {
            check(options, &[], &["/t/host/debug"]);
        }
        check("--profile fast", &[], &["/t/host/fast"]);
        check("--release", &["host-tuple"], &["/t/host/release"]);
        check("", &["a", "x/my.json"], &["/t/a/debug", "/t/my/debug"]);
    }
}
