//! `cargo holloway build|test|bench|run`: calls cargo with holloway's rustc wrapper, in a separate
//! build directory.
//!
//! 1. separate holloway's options from cargo's (`split.rs`);
//! 2. find the project (`project.rs`);
//! 3. have cargo link again what was linked with other settings (`holloway_link::build_settings`);
//! 4. call cargo with the environment that the rustc wrapper and the link step read;
//! 5. finish the run's directory and report.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use clap::Parser as _;
use holloway_abi::environment::internal::PER_TEST;
use holloway_abi::environment::{self, Flag};
use holloway_collect::burst::Burst;
use holloway_collect::child::ProgramEnd;
use holloway_collect::collector::Measurement;
use holloway_collect::error::RunError;
use holloway_collect::settings::MapDirectories;
use holloway_collect::{Collector, child, collector, run_directory};
use holloway_link::build_settings::{self, BuildSettings};
use holloway_link::collect_options::{CollectOptions, GraphStage};
use holloway_link::llvm::named_llvm;
use holloway_link::program::find_program;
use holloway_link::records::{LinkRecords, RECORDS};
use holloway_link::rustc;
use holloway_link::tools::{RUST_LINKER, RUSTC, tools_dir};
use holloway_llvm::Library;
use holloway_weave::Pattern;

use crate::cli::{CargoArgs, CargoCommand, CargoHolloway, OutputFormat, StreamArgs};
use crate::commands::{clean, report, runner};
use crate::failure::{Context, Failure, Result};
use crate::profile_directory::{DEBUG, RELEASE, profile_directories};
use crate::progress::{self, WeavingWatch};
use crate::project::Project;
use crate::split::{Positional, Split, split};
use crate::{guide, kinds, link_host, loading, missing_profile, notices, status};

/// The directory below holloway's for builds with `--graph source`, whose crates are compiled with
/// other options.
const SOURCE_BUILD: &str = "source";

/// A verb of cargo that `cargo holloway` supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Build,
    Run,
    Test,
    Bench,
}

impl Verb {
    /// The verb with this name or with this one-letter alias of cargo's.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "build" | "b" => Some(Self::Build),
            "run" | "r" => Some(Self::Run),
            "test" | "t" => Some(Self::Test),
            "bench" => Some(Self::Bench),
            _ => None,
        }
    }

    fn positional(self) -> Positional {
        match self {
            Self::Run => Positional::Program,
            Self::Build | Self::Test | Self::Bench => Positional::Cargo,
        }
    }

    /// The directory of the profile that cargo takes for this verb, without an option.
    fn profile_directory(self) -> &'static str {
        match self {
            Self::Build | Self::Run | Self::Test => DEBUG,
            Self::Bench => RELEASE,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Run => "run",
            Self::Test => "test",
            Self::Bench => "bench",
        }
    }
}

/// Runs `cargo holloway VERB ARGS`.
///
/// # Errors
/// If there is no project, a directory cannot be written, cargo cannot be run, or nothing can be
/// reported.
pub(crate) fn main(verb: Verb, args: &[OsString]) -> Result<ExitCode> {
    let split = split::<CargoArgs>(args, verb.positional());
    let holloway_args = parse_holloway_args(verb, &split.holloway);
    let only_builds = verb == Verb::Build || split.cargo.iter().any(|arg| arg == "--no-run");
    let call = CargoCall::plan(verb, split, &holloway_args)?;
    if only_builds {
        call.build()
    } else {
        call.run(&holloway_args)
    }
}

/// Parses holloway's options of a verb. If they ask for help or are wrong, prints help or a usage
/// error and exits.
fn parse_holloway_args(verb: Verb, args: &[OsString]) -> CargoArgs {
    let words = ["cargo-holloway", verb.name()].map(OsString::from);
    let parsed = CargoHolloway::parse_from(words.iter().chain(args));
    match parsed.command {
        CargoCommand::Build(args)
        | CargoCommand::Run(args)
        | CargoCommand::Test(args)
        | CargoCommand::Bench(args) => args,
        CargoCommand::Runs(_)
        | CargoCommand::Optimize(_)
        | CargoCommand::Doctor
        | CargoCommand::Clean(_) => {
            unreachable!("the words begin with the name of a verb")
        }
    }
}

/// A prepared call of cargo, without the run's directory.
pub(crate) struct CargoCall {
    project: Project,
    command: Command,
    records: LinkRecords,
    /// The patterns of `--only` and `--skip`, as options.
    patterns: Vec<String>,
    split: Split,
    verb: Verb,
    measurement: Measurement,
}

impl CargoCall {
    /// Prepares the project's build directory and cargo's command line and environment.
    ///
    /// # Errors
    /// If there is no project, or its build directory cannot be written.
    pub(crate) fn plan(verb: Verb, split: Split, holloway_args: &CargoArgs) -> Result<Self> {
        if holloway_args.per_test && split.program.iter().any(|word| word == "--list") {
            return Err(Failure::usage(
                "--list lists the tests and runs none, so nothing would be recorded: leave out --per-test or --list",
            ));
        }
        let mut project = Project::find(&split.cargo)?;
        let targets = project.chosen_targets(&split.cargo)?;
        check_tools(&project)?;
        let settings = weave_settings(holloway_args, &project.home)?;
        if settings.options.graph == Some(GraphStage::Source) {
            project.build.push(SOURCE_BUILD);
        }
        let profiles = profile_directories(
            &project.build,
            &targets,
            &project.host,
            verb.profile_directory(),
            &split.cargo,
        );
        for directory in &profiles {
            build_settings::apply(directory, &settings)?;
        }
        let mut command = Command::new(&project.cargo);
        command
            .arg(verb.name())
            .args(without_target_dir(&split.cargo));
        command.arg("--target-dir").arg(&project.build);
        if targets.is_empty() {
            command.args(["--target", &project.host]);
        }
        let target = targets
            .first()
            .map_or(project.host.as_str(), String::as_str);
        set_environment(&mut command, &project, &settings, target, verb)?;
        let measurement = runner::install(&mut command, &project, target, &split.cargo)?;
        match (holloway_args.per_test, verb, measurement) {
            (false, ..) => {
                command.env_remove(PER_TEST);
            }
            (true, Verb::Test, Measurement::InRunner) => {
                command.env(PER_TEST, "1");
            }
            (true, Verb::Test, Measurement::Here) => {
                return Err(Failure::usage(
                    "--per-test needs cargo's runner, which --config may set: leave --config out",
                ));
            }
            (true, Verb::Build | Verb::Run | Verb::Bench, _) => {
                return Err(Failure::usage(
                    "--per-test goes with `cargo holloway test` only",
                ));
            }
        }
        let records = LinkRecords::new(&profiles[0])?;
        command.env(RECORDS, records.directory());
        Ok(Self {
            project,
            command,
            records,
            patterns: settings.patterns(),
            split,
            verb,
            measurement,
        })
    }

    fn append_program_args(&mut self) {
        if !self.split.program.is_empty() {
            self.command.arg("--").args(&self.split.program);
        }
    }

    fn is_quiet(&self) -> bool {
        self.split
            .cargo
            .iter()
            .any(|arg| arg == "-q" || arg == "--quiet")
    }

    /// `build`, or `test --no-run`: builds, and prints the paths of the programs.
    fn build(mut self) -> Result<ExitCode> {
        let has_message_format = self
            .split
            .cargo
            .iter()
            .any(|arg| arg.as_encoded_bytes().starts_with(b"--message-format"));
        if has_message_format || self.is_quiet() {
            self.append_program_args();
            let status = self.spawn()?;
            self.repeat_messages(status);
            return Ok(ExitCode::from(child::exit_code(status)));
        }
        // Cargo still renders diagnostics on stderr. The JSON on stdout names the programs.
        self.command
            .arg("--message-format=json-render-diagnostics")
            .stdout(Stdio::piped());
        self.append_program_args();
        let _weaving = self.show_weaving();
        let output = self
            .command
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| Failure::cannot_run(&self.project.cargo, &error))?;
        self.repeat_messages(output.status);
        if output.status.success() {
            print_programs(&executables(&output.stdout));
        }
        Ok(ExitCode::from(child::exit_code(output.status)))
    }

    /// `run`, `test`, `bench`: records, finishes the run's directory, reports.
    fn run(mut self, holloway_args: &CargoArgs) -> Result<ExitCode> {
        let name = self.project.run_name(&self.split.cargo, self.verb.name());
        let directory = run_directory::create(
            holloway_args.output.output.as_deref(),
            &self.project.runs(),
            &name,
        )?;
        let (end, _collector) = self.run_with_collector(
            &directory,
            &holloway_args.stream,
            holloway_args.view.list.style.format,
        )?;
        let status = end.status;
        self.repeat_messages(status);
        let summary = loading::finish(&directory, &self.maps())?;
        if summary.profiles == 0 {
            // If there are patterns, they are the likelier reason. The message names them.
            let maps = match &self.patterns[..] {
                [] => self.records.maps(),
                _ => Vec::new(),
            };
            let reason = missing_profile::uninstrumented(&name, &maps)
                .or_else(|| missing_profile::surroundings(&directory, &self.project.runs()))
                .unwrap_or_else(|| self.nothing_woven());
            run_directory::discard_if_empty(&directory);
            if status.success() {
                status::warn(&format!("no profile was written: {reason}"));
            }
            return Ok(ExitCode::from(child::exit_code(status)));
        }
        if !self.is_quiet() {
            status::line("Recorded", &status::shown(&directory).to_string());
        }
        if !status.success() && holloway_args.view.uncovered {
            status::warn(
                "cargo reports a failure, so code that did not run because of it is listed below, too; cargo stops after the first test program that fails unless you add --no-fail-fast",
            );
        }
        if !holloway_args.output.no_report {
            report::print(&directory, &holloway_args.view)?;
        }
        Ok(ExitCode::from(child::exit_code(status)))
    }

    fn maps(&self) -> MapDirectories {
        MapDirectories {
            linked: Some(self.records.directory().to_owned()),
            store: run_directory::map_store(&self.project.runs()),
        }
    }

    /// Possible reasons for a missing profile.
    fn nothing_woven(&self) -> String {
        let reason = "nothing that ran was woven (only code built for the target is; proc macros and build scripts are not), or it entered no instrumented function";
        match &self.patterns[..] {
            [] => reason.to_owned(),
            patterns => format!("{reason}; look at {} too", patterns.join(" ")),
        }
    }

    /// Prints the messages of the links again. If a link failed, rustc has shown them.
    fn repeat_messages(&self, status: ExitStatus) {
        if !status.success() {
            return;
        }
        for warning in self.records.warnings() {
            status::warn(&warning);
        }
        self.records
            .pattern_warnings()
            .iter()
            .for_each(link_host::print);
        if !self.is_quiet() {
            self.records.guide().iter().for_each(link_host::print);
        }
    }

    /// Shows the modules that the links weave, as long as the returned value exists.
    fn show_weaving(&self) -> Option<WeavingWatch> {
        (!self.is_quiet() && progress::wants_progress())
            .then(|| WeavingWatch::start(self.records.weaving_reader()))
    }

    fn spawn(&mut self) -> Result<ExitStatus> {
        let _weaving = self.show_weaving();
        let end = child::run(&mut self.command);
        end.map(|end| end.status)
            .map_err(|error| self.run_failure(error))
    }

    /// Runs the planned call. The program records into the given directory. Prints no message.
    ///
    /// # Errors
    /// If cargo cannot be run.
    pub(crate) fn record_into(mut self, directory: &Path) -> Result<ExitStatus> {
        let format = OutputFormat::Text;
        let spawned = self.run_with_collector(directory, &StreamArgs::default(), format);
        spawned.map(|(end, _)| end.status)
    }

    /// Runs the planned call. The program records into the given directory; its streams are
    /// collected.
    fn run_with_collector(
        &mut self,
        directory: &Path,
        stream: &StreamArgs,
        format: OutputFormat,
    ) -> Result<(ProgramEnd, Collector)> {
        self.command.env(run_directory::DATA, directory);
        self.append_program_args();
        let settings = stream.settings(&self.maps(), notices::phases(format));
        let _weaving = self.show_weaving();
        let (end, collector) = collector::run(
            &mut self.command,
            directory,
            settings,
            self.measurement,
            notices::warn,
        )
        .map_err(|error| self.run_failure(error))?;
        loading::catch_up(&collector);
        Ok((end, collector))
    }

    fn run_failure(&self, error: RunError) -> Failure {
        match error {
            RunError::Start(error) => Failure::cannot_run(&self.project.cargo, &error),
            RunError::Wait(_) => Failure::new(error),
        }
    }
}

/// Checks that libLLVM and a linker exist, which every link needs. So the user learns before the
/// compilation, and in one line, that one of them is missing.
pub(crate) fn check_tools(project: &Project) -> Result<()> {
    let non_empty = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    Library::find(named_llvm().as_deref(), Some(&project.sysroot)).map_err(|error| {
        Failure::new(format_args!(
            "{error}; `holloway doctor` says what was found"
        ))
    })?;
    let linker = non_empty(environment::LINKER.name).unwrap_or_else(|| "cc".into());
    if find_program(&linker).is_none() {
        return Err(Failure::new(format_args!(
            "cannot link: no {} found; install a C compiler, which links for rustc too (Debian: apt install gcc)",
            linker.display()
        )));
    }
    Ok(())
}

/// The settings from the options, or from the environment for options that are not given. Makes the
/// guide, once for all links.
fn weave_settings(holloway_args: &CargoArgs, home: &Path) -> Result<BuildSettings> {
    let weave = &holloway_args.weave;
    let mut options = CollectOptions {
        guide: weave.guide.clone(),
        ..weave.count.options()
    }
    .or_environment()?;
    // Only `cargo holloway optimize` builds programs without probes.
    options.embed = false;
    kinds::check(
        options.kind(),
        &holloway_args.stream,
        Some(&holloway_args.view),
    )?;
    Burst::check_environment()?;
    let mut guide_hash = String::new();
    if let Some(guide_or_run) = &options.guide {
        let (file, hash) = guide::write_for_build(guide_or_run, home)?;
        (options.guide, guide_hash) = (Some(file), hash);
    }
    Ok(BuildSettings {
        options,
        guide_hash,
        std: weave.std
            || std::env::var_os(environment::STD.name).is_some_and(|value| {
                environment::STD.parse(value.as_encoded_bytes()) == Ok(Flag::Set)
            }),
        only: patterns(&weave.only, environment::ONLY.name)?,
        skip: patterns(&weave.skip, environment::SKIP.name)?,
    })
}

/// The patterns of an option, or of its variable if the option is not given. Checks them, so the
/// user learns of a bad pattern before the compilation.
fn patterns(from_option: &[String], variable: &str) -> Result<Vec<String>> {
    if !from_option.is_empty() {
        return Ok(from_option.to_vec());
    }
    let lines = std::env::var(variable).unwrap_or_default();
    let patterns = Pattern::parse_lines(&lines);
    let patterns =
        patterns.map_err(|reason| Failure::usage(format_args!("{variable}: {reason}")))?;
    Ok(patterns
        .iter()
        .map(|pattern| pattern.text().to_owned())
        .collect())
}

/// Cargo's options without `--target-dir`. Holloway names another target directory.
pub(crate) fn without_target_dir(cargo: &[OsString]) -> Vec<&OsString> {
    let mut others = Vec::new();
    let mut remaining = cargo.iter();
    while let Some(arg) = remaining.next() {
        if arg == "--target-dir" {
            remaining.next();
        } else if !arg.as_encoded_bytes().starts_with(b"--target-dir=") {
            others.push(arg);
        }
    }
    others
}

/// Sets the variables for the rustc wrapper, the link step, and rustdoc.
pub(crate) fn set_environment(
    command: &mut Command,
    project: &Project,
    settings: &BuildSettings,
    target: &str,
    verb: Verb,
) -> Result<()> {
    let tools = tools_dir()?;
    command.env("RUSTC_WRAPPER", tools.join(RUSTC));
    match users_wrapper(project) {
        Some(wrapper) => command.env(rustc::INNER_WRAPPER, wrapper),
        None => command.env_remove(rustc::INNER_WRAPPER),
    };
    command
        .env_remove(environment::STD.name)
        .env_remove(environment::EMBED.name)
        .envs(settings.environment());
    command.env(environment::SYSROOT.name, &project.sysroot);
    command.env(environment::RUNS.name, project.runs());
    if std::env::var_os(environment::CACHE.name).is_none() {
        command.env(environment::CACHE.name, project.home.join(clean::CACHE));
    }
    let linker = project
        .config
        .linker(target)
        .cannot(|| format!("read cargo's linker setting for {target}"))?;
    if let Some(linker) = linker {
        command.env(environment::LINKER.name, linker);
    }
    if project.config.build.build_dir.is_some() {
        // The user's own build directory would mix woven crates with plain crates.
        command.env("CARGO_BUILD_BUILD_DIR", &project.build);
    }
    if verb == Verb::Test {
        command.env(
            "CARGO_ENCODED_RUSTDOCFLAGS",
            rustdoc_flags(project, target, &tools, settings.options.graph)?,
        );
    }
    Ok(())
}

/// The rustc wrapper that the user has set; `None` if it is holloway's (from `holloway show-env`).
fn users_wrapper(project: &Project) -> Option<PathBuf> {
    let wrapper = project.config.build.rustc_wrapper.clone()?;
    let is_ours = wrapper.file_name().is_some_and(|name| name == RUSTC);
    Some(wrapper).filter(|wrapper| !is_ours && !wrapper.as_os_str().is_empty())
}

/// The user's rustdoc flags and holloway's. Rustdoc compiles doctests itself, without the rustc
/// wrapper.
fn rustdoc_flags(
    project: &Project,
    target: &str,
    tools: &Path,
    graph: Option<GraphStage>,
) -> Result<String> {
    let configured = project
        .config
        .rustdocflags(target)
        .cannot(|| format!("read cargo's rustdocflags for {target}"))?;
    let mut flags = configured.unwrap_or_default();
    for option in rustc::woven_options(&tools.join(RUST_LINKER), graph.unwrap_or_default()) {
        let option = option.into_string().map_err(|option| {
            Failure::new(format_args!(
                "cannot weave doctests: {} is not UTF-8; set XDG_CACHE_HOME to another directory",
                option.display()
            ))
        })?;
        flags.push(option);
    }
    flags.push("-Cdebuginfo=line-tables-only");
    flags.encode().cannot(|| "hand on rustdocflags".to_owned())
}

/// Paths of the programs in cargo's JSON messages.
pub(crate) fn executables(messages: &[u8]) -> Vec<PathBuf> {
    let messages = cargo_metadata::Message::parse_stream(messages);
    let programs = messages.filter_map(|message| match message.ok()? {
        cargo_metadata::Message::CompilerArtifact(artifact) => artifact.executable,
        _ => None,
    });
    programs
        .map(cargo_metadata::camino::Utf8PathBuf::into_std_path_buf)
        .collect()
}

fn print_programs(programs: &[PathBuf]) {
    for program in programs {
        status::line("Woven", &status::shown(program).to_string());
    }
    if let Some(program) = programs.first() {
        status::line(
            "Next",
            &format!("holloway run -- {}", status::shown(program)),
        );
    }
}
