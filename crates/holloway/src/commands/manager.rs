//! `holloway manager [RUN]...`: keeps the profiles of watched programs in a store, once or again
//! and again.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use holloway_analysis::block_times::{Combination, StoreUpdate};
use holloway_collect::profile_store::{self, Policy};
use holloway_collect::run_directory::DEFAULT_RUNS;
use holloway_collect::state_runs::state_runs;
use holloway_report::Files;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::{Combine, ManagerArgs, OutputFormat};
use crate::failure::{Context as _, Failure, Result};
use crate::printing::{unfiltered, write_out};
use crate::status;

/// The directory of the store, beside the directory of runs in the user's state directory.
const PROFILES: &str = "profiles";
/// Time between two looks at Ctrl-C.
const TICK: Duration = Duration::from_millis(100);

/// Updates the store, and lists its programs.
///
/// # Errors
/// If the store cannot be used. A manager that runs for long warns instead, and tries again.
pub(crate) fn main(args: &ManagerArgs) -> Result<ExitCode> {
    let store = match &args.store {
        Some(store) => store.clone(),
        None => default_store()?,
    };
    let runs = match args.runs.is_empty() {
        true => vec![PathBuf::from(DEFAULT_RUNS)],
        false => args.runs.clone(),
    };
    if let Some(run) = args.runs.iter().find(|run| !run.is_dir()) {
        return Err(Failure::usage(format_args!(
            "{} is no directory of runs",
            run.display()
        )));
    }
    let Some(every) = args.every else {
        let update = update(&store, &runs, args)?;
        print(&store, &update, args)?;
        return Ok(ExitCode::SUCCESS);
    };
    let is_interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&is_interrupted))
            .cannot(|| "prepare for Ctrl-C".to_owned())?;
    }
    while !is_interrupted.load(Ordering::Acquire) {
        let start = Instant::now();
        match update(&store, &runs, args) {
            Ok(update) => print(&store, &update, args)?,
            Err(failure) => status::warn(&failure.message),
        }
        while start.elapsed() < every && !is_interrupted.load(Ordering::Acquire) {
            std::thread::sleep(TICK);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn default_store() -> Result<PathBuf> {
    let runs = state_runs();
    let state = runs.as_deref().and_then(Path::parent);
    let state = state.ok_or_else(|| {
        Failure::new("there is no state directory: set HOME, or name the store (--store DIR)")
    })?;
    Ok(state.join(PROFILES))
}

fn update(store: &Path, runs: &[PathBuf], args: &ManagerArgs) -> Result<StoreUpdate> {
    let policy = Policy {
        combination: match args.combine {
            Combine::Sum => Combination::Sum,
            Combine::Normalized => Combination::Normalized,
            Combine::Poll => Combination::Poll,
        },
        half_life: args.half_life,
        max_bytes: args.max_size.get().saturating_mul(1 << 20),
        ..Policy::default()
    };
    profile_store::update(store, runs, policy, SystemTime::now()).map_err(Failure::new)
}

fn print(store: &Path, update: &StoreUpdate, args: &ManagerArgs) -> Result<()> {
    let source = Files::new(None);
    let options = unfiltered(None, args.style.color, &source);
    write_out(|out| match args.style.format {
        OutputFormat::Text => holloway_report::terminal::manager::write(
            update,
            &store.to_string_lossy(),
            &options,
            out,
        ),
        OutputFormat::Json => holloway_report::json::manager::write(update, out),
    })
}
