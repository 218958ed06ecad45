//! Builds the programs of the benchmarks, and keeps the builds for later runs.
//!
//! A program has a folder target/bench/programs/NAME with its sources, its inputs, and its builds.
//! Next to each executable there is a *stamp*: a hash of its sources, its entry in the suite's
//! table, and the compilers. The stamp of a woven program also covers holloway's executables. A
//! program with the right stamp is not built again.

use super::totals::Totals;
use crate::workspace::{BuildProfile, bench_folder, build_holloway};
use anyhow::{Context, Result, anyhow};
use holloway_tests::tool::{holloway, installed, run_ok, scratch};
use holloway_tests::workload::{Flavor, MICRO, SUITE, Scale, Source, Workload};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The builds of the programs, kept in a folder between calls.
#[derive(Debug)]
pub(crate) struct KeptBuilds {
    folder: PathBuf,
}

/// The tools that build the programs. All stamps depend on them.
#[derive(Debug)]
struct Tools {
    /// Hash of the compilers' versions.
    compilers: u64,
    /// Hash of holloway's executables.
    holloway: u64,
}

impl Tools {
    fn find() -> Result<Self> {
        let mut compilers = DefaultHasher::new();
        for command in [
            &mut Command::new(installed("clang-22")?),
            &mut Command::new("rustc"),
        ] {
            run_ok(command.arg("--version"))?
                .text()
                .hash(&mut compilers);
        }
        let mut executables = DefaultHasher::new();
        for exe in [
            holloway().to_owned(),
            holloway().with_file_name("cargo-holloway"),
        ] {
            std::fs::read(&exe)
                .with_context(|| format!("cannot read {}", exe.display()))?
                .hash(&mut executables);
        }
        Ok(Self {
            compilers: compilers.finish(),
            holloway: executables.finish(),
        })
    }
}

impl KeptBuilds {
    /// Opens the folder of kept builds in the target directory. The workloads find holloway by an
    /// environment variable. If the variable is not set, this builds holloway and restarts the
    /// command with the variable.
    ///
    /// # Errors
    /// If holloway cannot be built.
    pub(crate) fn open() -> Result<Self> {
        if std::env::var_os("HOLLOWAY_EXE").is_none() {
            return Err(restart_with(&build_holloway(BuildProfile::Release)?));
        }
        Ok(Self {
            folder: bench_folder()?.join("programs"),
        })
    }

    /// The executable of a program in a flavor.
    pub(crate) fn executable(&self, source: Source, flavor: Flavor) -> PathBuf {
        self.folder
            .join(source.name())
            .join("built")
            .join(flavor.name())
    }

    /// Returns the folder of a program's input files. Writes the files if they are missing.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub(crate) fn input(&self, workload: &Workload, scale: Scale) -> Result<PathBuf> {
        let inputs = self.folder.join(workload.source.name()).join("inputs");
        let set = match scale {
            Scale::Small | Scale::Quick | Scale::Full => "",
            Scale::Train => "train-",
        };
        let size = workload.size(scale);
        let folder = inputs.join(format!("{}-{set}{size}", workload.name));
        if !folder.exists() {
            let incomplete = inputs.join("half");
            if incomplete.exists() {
                std::fs::remove_dir_all(&incomplete)?;
            }
            workload.write_input(&incomplete, scale)?;
            std::fs::rename(&incomplete, &folder)?;
        }
        Ok(folder)
    }

    /// Builds the programs that do not have the right stamp, and writes the inputs.
    ///
    /// # Errors
    /// If a build fails.
    pub(crate) fn build(
        &self,
        workloads: impl Iterator<Item = &'static Workload>,
        flavors: &[Flavor],
        scale: Scale,
    ) -> Result<()> {
        let tools = Tools::find()?;
        let workloads: Vec<_> = workloads.collect();
        let mut sources: Vec<Source> = Vec::new();
        for workload in &workloads {
            if !sources.iter().any(|s| s.name() == workload.source.name()) {
                sources.push(workload.source);
            }
        }
        // Two builds run at the same time, because some programs consist of one large file.
        let queue = Mutex::new(sources.into_iter());
        let work = || -> Result<()> {
            while let Some(source) = {
                queue
                    .lock()
                    .map_err(|_| anyhow!("the other builder panicked"))?
                    .next()
            } {
                let key = self.renew(source, &tools)?;
                for flavor in flavors {
                    self.build_flavor(source, *flavor, key, &tools)?;
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(work);
            work().and(other.join().map_err(|_| anyhow!("a builder panicked"))?)
        })?;
        for workload in &workloads {
            self.input(workload, scale)?;
        }
        Ok(())
    }

    /// Replaces a program's sources if they changed, and returns their hash.
    fn renew(&self, source: Source, tools: &Tools) -> Result<u64> {
        let home = self.folder.join(source.name());
        let fresh = scratch("bench-sources")?;
        let mut hash = DefaultHasher::new();
        (format!("{source:?}"), tools.compilers).hash(&mut hash);
        let copied = source.prepare(fresh.path())?;
        for part in source.parts(&copied) {
            hash_tree(&part, &mut hash)?;
        }
        let (key, sources) = (hash.finish(), home.join(source.name()));
        if !is_stamped(&sources, key) {
            // Cargo determines which parts to compile again. A C program is compiled from scratch.
            if matches!(source, Source::C(_)) && home.exists() {
                std::fs::remove_dir_all(&home)?;
            }
            std::fs::create_dir_all(home.join("built"))?;
            source.prepare(&home)?;
            stamp(&sources, key)?;
        }
        Ok(key)
    }

    fn build_flavor(
        &self,
        source: Source,
        flavor: Flavor,
        sources: u64,
        tools: &Tools,
    ) -> Result<()> {
        let folder = self.folder.join(source.name()).join(source.name());
        let mut hash = DefaultHasher::new();
        sources.hash(&mut hash);
        if flavor.is_woven() {
            tools.holloway.hash(&mut hash);
        }
        let (key, to) = (hash.finish(), self.executable(source, flavor));
        if is_stamped(&to, key) {
            return Ok(());
        }
        if flavor == Flavor::Guided {
            self.build_flavor(source, Flavor::Paths, sources, tools)?;
            self.record_guide(source, &Flavor::guide(&folder))?;
        }
        let start = std::time::Instant::now();
        let built = source
            .build(&folder, flavor)
            .with_context(|| format!("{} {}", source.name(), flavor.name()))?;
        std::fs::copy(&built, &to)?;
        stamp(&to, key)?;
        eprintln!(
            "built {} {} in {:.1} s",
            source.name(),
            flavor.name(),
            start.elapsed().as_secs_f64()
        );
        Ok(())
    }

    /// Records a guide: runs the small input of the first program that is built from `source`.
    fn record_guide(&self, source: Source, data: &Path) -> Result<()> {
        if data.exists() {
            std::fs::remove_dir_all(data)?;
        }
        let mut all = SUITE.into_iter().chain(MICRO.iter());
        let workload = all
            .find(|w| w.source.name() == source.name())
            .context("every source is some program's")?;
        let input = self.input(workload, Scale::Small)?;
        workload.run(
            &self.executable(source, Flavor::Paths),
            &input,
            Scale::Small,
            Some(data),
        )?;
        // The report copies the program's map into the run's directory. So the run can be read even
        // after the program is built again.
        Totals::of_run(data)?;
        Ok(())
    }
}

/// Replaces this process by the same command with `HOLLOWAY_EXE` set, because changing the
/// environment of this process is unsafe. Returns only if the restart fails.
pub(crate) fn restart_with(exe: &Path) -> anyhow::Error {
    let restarted = std::env::current_exe().map(|xtask| {
        Command::new(xtask)
            .args(std::env::args_os().skip(1))
            .env("HOLLOWAY_EXE", exe)
            .exec()
    });
    let error = restarted.unwrap_or_else(|error| error);
    anyhow::Error::new(error).context("cannot start again")
}

/// The file next to `path` that holds its stamp.
fn stamp_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".stamp");
    PathBuf::from(name)
}

fn is_stamped(path: &Path, key: u64) -> bool {
    path.exists()
        && std::fs::read_to_string(stamp_of(path)).is_ok_and(|text| text == format!("{key:016x}\n"))
}

fn stamp(path: &Path, key: u64) -> Result<()> {
    Ok(std::fs::write(stamp_of(path), format!("{key:016x}\n"))?)
}

/// Hashes the name and the content of a file, or of all files in a folder, sorted by name.
fn hash_tree(path: &Path, hash: &mut DefaultHasher) -> Result<()> {
    path.file_name().hash(hash);
    if !path.is_dir() {
        std::fs::read(path)
            .with_context(|| format!("cannot read {}", path.display()))?
            .hash(hash);
        return Ok(());
    }
    let entries = std::fs::read_dir(path)?;
    let mut inside = entries.map(|e| Ok(e?.path())).collect::<Result<Vec<_>>>()?;
    inside.sort();
    inside.iter().try_for_each(|path| hash_tree(path, hash))
}
