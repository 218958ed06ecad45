//! The cargo project that contains the current directory: its cargo, rustc, target directory, and
//! configuration.
//!
//! All answers come from `cargo metadata` and from cargo's configuration (crate `cargo-config2`).
//! So `CARGO_TARGET_DIR`, `build.target-dir`, `build.target`, wrappers, linkers, and `+toolchain`
//! have the same meaning as for cargo.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Metadata, Package};

use crate::failure::{Context, Failure, Result};
use crate::split::{cargo_value, cargo_values};
use holloway_link::toolchain::Rustc;

/// Directory of woven builds, cache, and runs, below cargo's target directory.
pub(crate) const HOLLOWAY_DIRECTORY: &str = "holloway";

/// A cargo project, as cargo sees it.
pub(crate) struct Project {
    /// The cargo that called holloway, or the cargo in `PATH`.
    pub(crate) cargo: OsString,
    /// Cargo's configuration, including the environment.
    pub(crate) config: cargo_config2::Config,
    /// Host triple of the rustc in use.
    pub(crate) host: String,
    /// Sysroot of the rustc in use.
    pub(crate) sysroot: PathBuf,
    /// `<target directory>/holloway`. Holloway puts cache and runs there.
    pub(crate) home: PathBuf,
    /// The directory that holloway gives to cargo as the target directory: [`home`](Self::home), or
    /// a directory in it for builds whose crates are compiled with other options.
    pub(crate) build: PathBuf,
    metadata: Metadata,
    /// The manifest that `--manifest-path` names.
    manifest: Option<PathBuf>,
}

impl Project {
    /// Finds the project that `cargo_options` (cargo's part of the command line) choose.
    ///
    /// # Errors
    /// If cargo cannot be run, there is no project, or its configuration cannot be read.
    pub(crate) fn find(cargo_options: &[OsString]) -> Result<Self> {
        let cargo = cargo_program();
        let manifest = cargo_value(cargo_options, "--manifest-path", None).map(PathBuf::from);
        let metadata = metadata(
            &cargo,
            manifest.as_deref(),
            &cargo_values(cargo_options, "--config", None),
        )?;
        let config =
            cargo_config2::Config::load().cannot(|| "read cargo's configuration".to_owned())?;
        let rustc: Command = config.rustc().into();
        let Rustc { host, sysroot, .. } = Rustc::ask(&rustc)?;
        let target_dir = match cargo_value(cargo_options, "--target-dir", None) {
            Some(directory) => absolute(Path::new(directory))?,
            None => metadata.target_directory.clone().into_std_path_buf(),
        };
        let home = target_dir.join(HOLLOWAY_DIRECTORY);
        Ok(Self {
            cargo,
            config,
            host,
            sysroot,
            build: home.clone(),
            home,
            metadata,
            manifest,
        })
    }

    /// The target triples that cargo builds for: those of `--target`, else of `build.target` in its
    /// configuration. The list is empty if cargo builds for the host.
    pub(crate) fn chosen_targets(&self, cargo_options: &[OsString]) -> Result<Vec<String>> {
        let from_option = cargo_values(cargo_options, "--target", None);
        self.config
            .build_target_for_cli(from_option)
            .cannot(|| "read build.target of cargo's configuration".to_owned())
    }

    /// The directory of runs.
    pub(crate) fn runs(&self) -> PathBuf {
        self.home.join(holloway_collect::run_directory::RUNS)
    }

    /// A name for a run of this project. It is the chosen binary, example, test, or bench, else the
    /// package, else the workspace's directory, else `verb`. For verbs other than `run`, the verb
    /// follows the name.
    pub(crate) fn run_name(&self, cargo_options: &[OsString], verb: &str) -> String {
        let target = ["--bin", "--example", "--test", "--bench"]
            .iter()
            .find_map(|option| cargo_value(cargo_options, option, None));
        let package = cargo_value(cargo_options, "--package", Some("-p"))
            .map(|spec| spec.rsplit(['/', '#']).next().unwrap_or(spec));
        let name = target
            .or(package)
            .map(str::to_owned)
            .or_else(|| self.current_package().map(default_name))
            .or_else(|| self.metadata.workspace_root.file_name().map(str::to_owned))
            .unwrap_or_else(|| verb.to_owned());
        if verb == "run" {
            name
        } else {
            format!("{name}-{verb}")
        }
    }

    /// The package with the manifest that the user names, else with the nearest manifest in or
    /// above the current directory.
    fn current_package(&self) -> Option<&Package> {
        let manifest = match &self.manifest {
            Some(manifest) => absolute(manifest).ok()?,
            None => {
                let current_dir = std::env::current_dir().ok()?;
                current_dir
                    .ancestors()
                    .map(|directory| directory.join("Cargo.toml"))
                    .find(|path| path.is_file())?
            }
        };
        let manifest = manifest.canonicalize().ok()?;
        let packages = self.metadata.packages.iter();
        let package = packages
            .clone()
            .find(|package| package.manifest_path.as_std_path() == manifest);
        package.or_else(|| {
            packages
                .clone()
                .next()
                .filter(|_| self.metadata.packages.len() == 1)
        })
    }
}

/// The name of the program that `cargo run` would choose: `default-run`, else the package's only
/// binary, else the package's name.
fn default_name(package: &Package) -> String {
    let mut binaries = package.targets.iter().filter(|target| target.is_bin());
    let only_binary = match (binaries.next(), binaries.next()) {
        (Some(target), None) => Some(target.name.clone()),
        _ => None,
    };
    package
        .default_run
        .clone()
        .or(only_binary)
        .unwrap_or_else(|| package.name.to_string())
}

/// The target directory that the environment or the cargo configuration names; `None` if neither
/// names one. Runs no program. Ignores an unreadable configuration, because cargo reports it.
pub(crate) fn configured_target(current_dir: &Path) -> Option<PathBuf> {
    let from_environment = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"]
        .iter()
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty());
    if let Some(target) = from_environment {
        return Some(current_dir.join(target));
    }
    if !in_project(current_dir) {
        return None;
    }
    cargo_config2::Config::load().ok()?.build.target_dir
}

/// The default target directory of the workspace that contains a directory. Costs 20 ms.
pub(crate) fn workspace_target(current_dir: &Path) -> Option<PathBuf> {
    if !in_project(current_dir) {
        return None;
    }
    let output = Command::new(cargo_program())
        .args(["locate-project", "--workspace", "--message-format=plain"])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let manifest = String::from_utf8(output.stdout).ok()?;
    Some(Path::new(manifest.trim_end()).parent()?.join("target"))
}

fn in_project(current_dir: &Path) -> bool {
    current_dir
        .ancestors()
        .any(|directory| directory.join("Cargo.toml").is_file())
}

/// The cargo to call: the cargo that called holloway (`$CARGO`), else the cargo in `PATH`.
pub(crate) fn cargo_program() -> OsString {
    std::env::var_os("CARGO")
        .filter(|cargo| !cargo.is_empty())
        .unwrap_or_else(|| "cargo".into())
}

fn metadata(cargo: &OsStr, manifest: Option<&Path>, config: &[&str]) -> Result<Metadata> {
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--no-deps"]);
    if let Some(manifest) = manifest {
        command.arg("--manifest-path").arg(manifest);
    }
    for value in config {
        command.args(["--config", value]);
    }
    let output = command
        .output()
        .cannot(|| format!("run {}", cargo.display()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let cause = text.trim().trim_start_matches("error: ");
        return Err(Failure::new(format_args!(
            "cannot find the cargo project: {cause}"
        )));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let json = text
        .lines()
        .find(|line| line.starts_with('{'))
        .unwrap_or_default();
    cargo_metadata::MetadataCommand::parse(json)
        .cannot(|| "read the output of cargo metadata".to_owned())
}

/// The absolute form of `path`. Does not read the file system.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).cannot(|| format!("make {} absolute", path.display()))
}
