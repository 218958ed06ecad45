//! A program that carries its recipe: training it, and building it with a plan.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holloway_analysis::RunProfile;
use holloway_analysis::old_plans::function_code;
use holloway_collect::collector::{self, Measurement};
use holloway_collect::error::RunError;
use holloway_collect::run_directory;
use holloway_collect::settings::{MapDirectories, Settings};
use holloway_format::{Count, FunctionPlan, OperationSize, Plan, SiteValue, Text};
use holloway_link::relink::{CarriedProgram, Purpose};
use holloway_link::scratch::Scratch;

use super::names::FunctionNames;
use crate::failure::{Context, Failure, Result};
use crate::link_host::LinkHost;
use crate::output_file::{self, cannot_write};
use crate::{loading, notices, status};

/// A program with its unpacked recipe.
pub(crate) struct Carried {
    /// The program as the user named it.
    pub(crate) program: PathBuf,
    /// The same file by its absolute path: a name without a directory would be looked up in `PATH`.
    pub(super) executable: PathBuf,
    recipe: CarriedProgram,
    /// A directory for the program's files and builds.
    scratch: Scratch,
}

/// A run of one of the program's builds.
pub(super) struct Recorded {
    /// The directory of the run.
    pub(super) run: PathBuf,
    /// The build.
    pub(super) program: PathBuf,
}

impl Carried {
    /// Unpacks the recipe of a program.
    ///
    /// # Errors
    /// If the program carries none, or it cannot be unpacked.
    pub(crate) fn unpack(program: &Path) -> Result<Self> {
        let scratch = Scratch::new("holloway-optimize-")?;
        let recipe = CarriedProgram::unpack(program, &scratch.path().join("files"))?;
        let recipe = recipe.ok_or_else(|| {
            Failure::new(format_args!(
                "{} does not carry its bitcode: build it with `holloway cc --embed` (compile and link), or use `cargo holloway optimize`; shared libraries cannot be optimized",
                program.display()
            ))
        })?;
        let executable = std::path::absolute(program);
        Ok(Self {
            program: program.to_owned(),
            executable: executable.cannot(|| format!("find {}", program.display()))?,
            recipe,
            scratch,
        })
    }

    /// The size of the recipe in the program, in bytes.
    pub(crate) fn recipe_size(&self) -> usize {
        self.recipe.recipe_size
    }

    /// Builds the program for a purpose of training, and runs it. The program's stdout goes to
    /// `stdout`.
    ///
    /// # Errors
    /// If the program cannot be linked or run, or fails, or leaves no counts.
    pub(super) fn record(
        &self,
        purpose: Purpose<'_>,
        name: &str,
        args: &[OsString],
        stdout: Stdio,
    ) -> Result<Recorded> {
        let recorded = self.record_any(purpose, name, args, stdout, Settings::default())?;
        recorded.ok_or_else(|| {
            Failure::new(format_args!(
                "{} ran no code that can be counted in training: train it on a command that runs its own code",
                self.program.display()
            ))
        })
    }

    /// Builds the program for a purpose of training, and runs it. Returns `None` if the program ran
    /// no code that records.
    ///
    /// # Errors
    /// If the program cannot be linked or run, or fails.
    pub(super) fn record_any(
        &self,
        purpose: Purpose<'_>,
        name: &str,
        args: &[OsString],
        stdout: Stdio,
        settings: Settings,
    ) -> Result<Option<Recorded>> {
        let (program, _) = self.link(purpose, &[], name)?;
        let run = self.scratch.path().join(format!("{name}-run"));
        std::fs::create_dir(&run).cannot(|| format!("create {}", run.display()))?;
        let mut command = self.command(&program, args);
        command
            .env(run_directory::DATA, &run)
            .stdin(stdin())
            .stdout(stdout);
        let end = collector::run(
            &mut command,
            &run,
            settings,
            Measurement::Here,
            notices::warn,
        );
        let (end, collector) = end.map_err(|error| self.cannot_run(error))?;
        loading::catch_up(&collector);
        if !end.status.success() {
            return Err(Failure::new(format_args!(
                "{} failed in training ({}): train it on a command that succeeds",
                self.program.display(),
                end.status
            )));
        }
        let summary = loading::finish(&run, &MapDirectories::default())?;
        Ok((summary.profiles > 0).then_some(Recorded { run, program }))
    }

    /// Whether the program can be linked with an order of functions.
    pub(crate) fn takes_order(&self) -> bool {
        self.recipe.takes_order()
    }

    /// Builds the program with a plan, in the directory `name`. The functions of `order` come first
    /// ([`Self::link`]). Returns the optimized program, and the number of its functions that the
    /// plan knows.
    ///
    /// # Errors
    /// If the program cannot be linked, or the plan has no function of the program.
    pub(crate) fn apply(&self, plan: &Plan, order: &[Text], name: &str) -> Result<(PathBuf, u64)> {
        let (optimized, planned) = self.link(Purpose::Optimized(plan), order, name)?;
        if planned == 0 {
            return Err(self.no_function());
        }
        Ok((optimized, planned))
    }

    /// The failure of a plan without any function of the program.
    pub(super) fn no_function(&self) -> Failure {
        Failure::new(format_args!(
            "the plan has no function of {}: it is of another program or another build; train this one",
            self.program.display()
        ))
    }

    /// Builds the program for training, to find its functions.
    ///
    /// # Errors
    /// If the program cannot be linked.
    pub(super) fn for_training(&self) -> Result<PathBuf> {
        Ok(self.link(Purpose::Training, &[], "functions")?.0)
    }

    /// Links the program. The functions of `order`, given by their linkage names, come first; if it
    /// is empty, the linker decides about the order. Returns the number of functions that got
    /// counts of a plan, too.
    ///
    /// # Errors
    /// If the program cannot be linked.
    pub(super) fn link(
        &self,
        purpose: Purpose<'_>,
        order: &[Text],
        name: &str,
    ) -> Result<(PathBuf, u64)> {
        let file = self.program.file_name().unwrap_or(name.as_ref());
        self.link_as(purpose, order, name, file)
    }

    /// Links the program as a file with the name `file` in the directory `name`.
    pub(crate) fn link_as(
        &self,
        purpose: Purpose<'_>,
        order: &[Text],
        name: &str,
        file: &OsStr,
    ) -> Result<(PathBuf, u64)> {
        let directory = self.scratch.path().join(name);
        std::fs::create_dir_all(&directory).cannot(|| format!("create {}", directory.display()))?;
        let output = directory.join(file);
        let host = LinkHost::default();
        let planned = self
            .recipe
            .link(purpose, order, &output, &directory, &host)?;
        let planned = planned.ok_or_else(|| {
            Failure::new(format_args!(
                "the linker failed to link {} again: its message is above; are the libraries that the program was linked with still there?",
                self.program.display()
            ))
        })?;
        Ok((output, planned))
    }

    /// A call of one of the program's builds. The build finds the program's own name in its first
    /// argument.
    pub(super) fn command(&self, build: &Path, args: &[OsString]) -> Command {
        let mut command = Command::new(build);
        command.arg0(&self.program).args(args);
        command
    }

    /// A path for a file of this optimization.
    pub(super) fn scratch_file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The failure to run one of the program's builds.
    pub(super) fn cannot_run(&self, error: RunError) -> Failure {
        match error {
            RunError::Start(error) => Failure::cannot_run(self.program.as_os_str(), &error),
            RunError::Wait(_) => Failure::new(error),
        }
    }
}

/// Makes a plan of the counts of all functions, including those that never ran. Call targets are
/// counted by address: `names`, read from the program that ran, turns them into names.
pub(super) fn plan_of(run: &RunProfile, names: &FunctionNames) -> Plan {
    let functions = run.functions.iter().map(|function| {
        let flow = function.flow();
        let counts = function.map.edges.iter().zip(&flow.edges);
        let always_there = counts.filter(|(edge, _)| edge.is_always_there());
        let counts = always_there.map(|(_, &count)| Count(u64::try_from(count).unwrap_or(0)));
        let mut plan = FunctionPlan::new(flow.calls, counts);
        for &(value, count) in &function.values {
            match value {
                SiteValue::Target(target) => {
                    plan.add_target(target.site.into(), names.of(target), count);
                }
                SiteValue::Size(OperationSize { site, bytes }) => {
                    plan.add_size(site.into(), bytes, count);
                }
            }
        }
        plan.code = function_code(&function.map).filter(|_| plan.ran());
        let name = function.map.linkage_name.clone();
        (name, function.map.graph_hash(), plan)
    });
    functions.collect()
}

/// Checks, before any work is done, that an output can be written, and that it replaces no
/// input.
///
/// # Errors
/// If its directory does not exist, it is a directory, a device, or a link, or it is one of
/// `inputs`.
pub(crate) fn check_output<'p>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'p PathBuf>,
) -> Result<()> {
    let is_replaceable = match output.symlink_metadata() {
        Ok(metadata) => metadata.is_file(),
        Err(_) => directory_of(output).is_dir(),
    };
    if !is_replaceable {
        return Err(Failure::usage(format_args!(
            "cannot write {}: give a regular file in a directory that exists",
            output.display()
        )));
    }
    let same = |input: &&PathBuf| {
        let both = [output, input.as_path()].map(std::fs::canonicalize);
        matches!(both, [Ok(output), Ok(input)] if output == input)
    };
    match inputs.into_iter().find(same) {
        Some(input) => Err(Failure::usage(format_args!(
            "the output {} would replace the input {}: give another name",
            output.display(),
            input.display()
        ))),
        None => Ok(()),
    }
}

/// Writes a plan.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_plan(file: &Path, plan: &Plan) -> Result<()> {
    holloway_collect::files::write_atomically(file, plan.to_text().as_bytes())?;
    status::line("Wrote", &status::shown(file).to_string());
    Ok(())
}

/// Copies a program to `output`, in one step: no one sees half a program.
///
/// # Errors
/// If a file cannot be read or written.
pub(crate) fn copy_program(program: &Path, output: &Path) -> Result<()> {
    let copy = || -> std::io::Result<()> {
        output_file::check_folder(directory_of(output))?;
        let mut file = tempfile::NamedTempFile::new_in(directory_of(output))?;
        std::io::copy(&mut std::fs::File::open(program)?, &mut file)?;
        let mode = std::fs::metadata(program)?.permissions().mode();
        let permissions = std::fs::Permissions::from_mode(mode & 0o777);
        file.as_file().set_permissions(permissions)?;
        file.persist(output)?;
        Ok(())
    };
    copy().map_err(|error| cannot_write(output, &error))
}

fn directory_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The stdin of a run: holloway's own from its beginning, if it is a file, else nothing.
pub(super) fn stdin() -> Stdio {
    let is_file = std::fs::metadata("/dev/stdin").is_ok_and(|metadata| metadata.is_file());
    match std::fs::File::open("/dev/stdin") {
        Ok(file) if is_file => file.into(),
        _ => Stdio::null(),
    }
}
