//! `holloway __weave-module`: weaves one module in a process of its own, for the link step (`link/farm.rs`).
//!
//! Not for users: the options are the link step's, and the result is a cache entry (`holloway_weave::cache`). The
//! name of the function being worked on is kept in a file, for the message when LLVM kills this process.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | the result is written |
//! | [`NOT_KEPT`] | the result is written; it must not be cached |
//! | [`ERROR`] | an error; the last line on stderr says which |
//! | [`REFUSED`] | the module cannot be woven, nor compiled alone; it can be linked as it is |
//! | [`UNFIT`] | the module cannot be woven; it can be compiled without probes |
//! | [`INTERNAL`] | a bug of the weaver; the module can be compiled without probes |
//! | other | a crash |

use std::ffi::OsString;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::ExitCode;

use holloway_llvm::Library;
use holloway_weave::{
    Filter, Instead, LinkKind, ModuleOptions, OptLevel, WeaveError, WovenModule, cache,
    weave_module,
};

use crate::failure::{Context, Failure, Result};
use crate::guide;
use crate::link::level;
use crate::wanted::Wanted;

/// The hidden subcommand.
pub(crate) const COMMAND: &str = "__weave-module";
/// The module or the request is wrong.
pub(crate) const ERROR: u8 = 3;
/// The module is sound, but can only be linked as it is.
pub(crate) const REFUSED: u8 = 4;
/// Weaving broke one of its own rules: the module can be compiled without probes.
pub(crate) const INTERNAL: u8 = 5;

/// The module is woven, of files its assembly includes too: another time it may come out otherwise.
pub(crate) const NOT_KEPT: u8 = 6;
/// The module is sound, and can be compiled without probes.
pub(crate) const UNFIT: u8 = 7;

/// Runs the worker; `args` are the words after [`COMMAND`].
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    match Request::parse(args).and_then(|request| request.serve()) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(ERROR)
        }
    }
}

#[derive(Debug, Default)]
struct Request {
    llvm: PathBuf,
    file: PathBuf,
    range: Range<u64>,
    name: String,
    out: PathBuf,
    at: PathBuf,
    wanted: Wanted,
    only: String,
    skip: String,
    opt: Option<OptLevel>,
    shared: bool,
    std: bool,
    fat: bool,
    machine_code: bool,
    function_sections: bool,
    no_probes: bool,
}

impl Request {
    fn parse(args: Vec<OsString>) -> Result<Self> {
        let mut request = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let name = arg.to_string_lossy().into_owned();
            if let Some(flag) = request.flag(&name) {
                *flag = true;
                continue;
            }
            let value = args
                .next()
                .ok_or_else(|| Failure::usage(format_args!("{name} wants a value")))?;
            request.option(&name, value)?;
        }
        Ok(request)
    }

    fn flag(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "--shared" => &mut self.shared,
            "--std" => &mut self.std,
            "--fat" => &mut self.fat,
            "--machine-code" => &mut self.machine_code,
            "--function-sections" => &mut self.function_sections,
            "--no-probes" => &mut self.no_probes,
            _ => return None,
        })
    }

    fn option(&mut self, name: &str, value: OsString) -> Result<()> {
        let text = || value.to_string_lossy().into_owned();
        match name {
            "--llvm" => self.llvm = value.into(),
            "--file" => self.file = value.into(),
            "--out" => self.out = value.into(),
            "--at" => self.at = value.into(),
            "--name" => self.name = text(),
            "--collect" | "--exits" | "--guide" => {
                self.wanted.set(name, &value).map_err(Failure::usage)?;
            }
            "--only" => self.only = text(),
            "--skip" => self.skip = text(),
            "--opt" => self.opt = level(&text()),
            "--range" => self.range = parse_range(&text())?,
            _ => return Err(Failure::usage(format_args!("unknown option {name}"))),
        }
        Ok(())
    }

    fn serve(&self) -> Result<u8> {
        no_core_files();
        let bitcode = self.read()?;
        let options = self.options()?;
        let llvm = Library::open(&self.llvm).map_err(Failure::new)?;
        let at = File::create(&self.at).cannot(|| format!("write {}", self.at.display()))?;
        let mut progress = |name: &str| {
            // In place and then cut: cheap, and nobody reads it while this process lives.
            let _ = at
                .write_all_at(name.as_bytes(), 0)
                .and_then(|()| at.set_len(name.len() as u64));
        };
        match weave_module(&llvm, &bitcode, &options, &mut progress) {
            Ok(woven) => self.write(&woven),
            Err(error) => Ok(report(&error)),
        }
    }

    fn read(&self) -> Result<Vec<u8>> {
        let shown = self.file.display();
        let length = usize::try_from(self.range.end.saturating_sub(self.range.start))
            .cannot(|| format!("read {shown}"))?;
        let mut bitcode = vec![0; length];
        let file = File::open(&self.file).cannot(|| format!("read {shown}"))?;
        file.read_exact_at(&mut bitcode, self.range.start)
            .cannot(|| format!("read {shown}"))?;
        Ok(bitcode)
    }

    fn options(&self) -> Result<ModuleOptions> {
        let filter = Filter::parse(&self.only, &self.skip).map_err(Failure::usage)?;
        let kind = if self.shared {
            LinkKind::SharedObject
        } else {
            LinkKind::Executable
        };
        let mut options = ModuleOptions::new(&self.name, kind, self.wanted.kind());
        options.exits = self.wanted.counts_exits();
        options.guide = self.wanted.guide.as_deref().map(guide::read).transpose()?;
        options.opt = self.opt;
        options.filter = filter;
        options.std = self.std;
        options.fat = self.fat;
        options.machine_code = self.machine_code;
        options.function_sections = self.function_sections;
        options.probes = !self.no_probes;
        Ok(options)
    }

    fn write(&self, woven: &WovenModule) -> Result<u8> {
        std::fs::write(&self.out, cache::encode(woven))
            .cannot(|| format!("write {}", self.out.display()))?;
        Ok(if woven.reads_files { NOT_KEPT } else { 0 })
    }
}

fn parse_range(text: &str) -> Result<Range<u64>> {
    let range = text
        .split_once("..")
        .and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    range.ok_or_else(|| Failure::usage(format_args!("--range {text}: not of the form START..END")))
}

/// A worker that LLVM kills is expected now and then; its core file would only surprise.
fn no_core_files() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    );
}

/// Says on stderr why the module is not woven, without its name, which the link step knows better; the exit code tells
/// what can still be done.
fn report(error: &WeaveError) -> u8 {
    let (message, code) = match error {
        WeaveError::Refused {
            reason, instead, ..
        } => {
            let code = match instead {
                Instead::AsItIs => REFUSED,
                Instead::Compiled => UNFIT,
            };
            (Failure::new(reason), code)
        }
        WeaveError::Internal { .. } | WeaveError::InternalModule(_) => {
            (Failure::new(error), INTERNAL)
        }
        WeaveError::Llvm(why) if error.is_refusal() => (Failure::new(why.reason()), REFUSED),
        WeaveError::Llvm(why) => (Failure::new(why.reason()), ERROR),
        _ => (Failure::new(error), ERROR),
    };
    eprintln!("{message}");
    code
}
