//! `holloway clean`: deletes holloway's builds below a target directory, and its caches in the
//! user's cache directory. Deletes recorded runs only with `--runs` or `--all`: also those in the
//! user's state directory, of programs in and below the current directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_abi::environment;
use holloway_collect::{run_directory, state_runs};

use crate::cli::CleanArgs;
use crate::failure::{Context, Failure, Result};
use crate::project::{HOLLOWAY_DIRECTORY, absolute};
use crate::status;
use holloway_link::tools::{cache_home, dead_tools, remove_tools};

/// The directory below `<target directory>/holloway` in which the cargo verbs keep woven modules.
pub(crate) const CACHE: &str = "cache";

/// A part of holloway's files that can be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Builds,
    Cache,
    Runs,
}

impl Part {
    fn from_entry(entry: &Path) -> Self {
        match entry.file_name().and_then(|name| name.to_str()) {
            Some(CACHE) => Self::Cache,
            Some(run_directory::RUNS) => Self::Runs,
            _ => Self::Builds,
        }
    }

    fn chosen(args: &CleanArgs) -> Vec<Self> {
        if args.all {
            return vec![Self::Builds, Self::Cache, Self::Runs];
        }
        match (args.runs, args.cache) {
            (false, false) => vec![Self::Builds, Self::Cache],
            (true, false) => vec![Self::Runs],
            (false, true) => vec![Self::Cache],
            (true, true) => vec![Self::Cache, Self::Runs],
        }
    }
}

/// A function that deletes a file or directory.
type Remove = fn(&Path) -> std::io::Result<()>;

/// Deletes the chosen parts. The cache includes the symlinks of uninstalled versions of holloway.
///
/// # Errors
/// If the named target directory has no files of holloway, or an entry cannot be deleted.
pub(crate) fn main(args: &CleanArgs) -> Result<ExitCode> {
    let chosen = Part::chosen(args);
    let mut entries = entries_to_delete(args, &chosen)?;
    entries.sort();
    let mut total = 0;
    let word = if args.dry_run {
        "Would delete"
    } else {
        "Deleted"
    };
    let tools = match chosen.contains(&Part::Cache) {
        true => dead_tools(),
        false => Vec::new(),
    };
    let entries = entries.iter().map(|entry| (entry, remove as Remove));
    let tools = tools.iter().map(|dir| (dir, remove_tools as Remove));
    let entries: Vec<_> = entries.chain(tools).collect();
    for &(entry, remove) in &entries {
        let size = size_of(entry);
        if !args.dry_run {
            remove(entry).cannot(|| format!("delete {}", entry.display()))?;
        }
        status::line(word, &format!("{} ({})", entry.display(), human(size)));
        total += size;
    }
    match entries.len() {
        0 => status::line("Clean", "nothing to delete"),
        _ => status::line(word, &format!("{} in all", human(total))),
    }
    Ok(ExitCode::SUCCESS)
}

/// The entries of the chosen parts: in the project's `target/holloway`, for the cache in the user's
/// cache directory too, and for runs in the user's state directory.
fn entries_to_delete(args: &CleanArgs, chosen: &[Part]) -> Result<Vec<PathBuf>> {
    let home = find_home(args.target_dir.as_deref())?;
    let mut entries: Vec<PathBuf> = Vec::new();
    if let Some(home) = &home {
        let in_home = fs::read_dir(home).cannot(|| format!("read {}", home.display()))?;
        entries.extend(in_home.filter_map(|entry| entry.ok().map(|entry| entry.path())));
        entries.retain(|entry| chosen.contains(&Part::from_entry(entry)));
    }
    if chosen.contains(&Part::Runs)
        && args.target_dir.is_none()
        && let Some(state_runs) = state_runs::state_runs()
    {
        let here = std::env::current_dir().cannot(|| "find the current directory".to_owned())?;
        entries.extend(state_runs::builds_in(&state_runs, &here));
    }
    if chosen.contains(&Part::Cache) {
        let is_named_by_user = std::env::var_os(environment::CACHE.name).is_some();
        match shared_cache().filter(|cache| cache.is_dir()) {
            Some(cache) if is_named_by_user => entries.extend(cache_entries(&cache)),
            cache => entries.extend(cache),
        }
    }
    Ok(entries)
}

/// Holloway's entries in a directory that `$HOLLOWAY_CACHE` names. The directory may contain other
/// files, which stay.
fn cache_entries(cache: &Path) -> Vec<PathBuf> {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| {
            let is_hash_prefix =
                name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hash_prefix || name == "pruned" || name.starts_with(".new-")
        })
    };
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(is_ours).collect()
}

/// The directory in which `holloway cc` keeps woven modules: `$HOLLOWAY_CACHE`, else a directory in
/// the user's cache directory.
pub(crate) fn shared_cache() -> Option<PathBuf> {
    match std::env::var_os(environment::CACHE.name) {
        Some(cache) => (!cache.is_empty()).then(|| cache.into()),
        None => cache_home().map(|home| home.join("woven")),
    }
}

/// The directory `<target directory>/holloway`; `None` if there is none. If the user names no
/// target directory, these are tried in order, and the first that contains `holloway` is taken:
///
/// 1. `$CARGO_TARGET_DIR`;
/// 2. `target` in the current directory, and in each directory above it;
/// 3. the target directory of the cargo project.
///
/// # Errors
/// If the target directory that the user names contains no `holloway`.
fn find_home(target_dir: Option<&Path>) -> Result<Option<PathBuf>> {
    if let Some(target) = target_dir {
        let home = absolute(target)?.join(HOLLOWAY_DIRECTORY);
        if !home.is_dir() {
            return Err(Failure::new(format_args!(
                "cannot clean {}: no such directory; name cargo's target directory",
                home.display()
            )));
        }
        return Ok(Some(home));
    }
    let current_dir = std::env::current_dir().cannot(|| "find the current directory".to_owned())?;
    let environment = std::env::var_os("CARGO_TARGET_DIR")
        .map(|target| current_dir.join(target).join(HOLLOWAY_DIRECTORY));
    let above = current_dir
        .ancestors()
        .map(|directory| directory.join("target").join(HOLLOWAY_DIRECTORY));
    let home = environment
        .into_iter()
        .chain(above)
        .find(|home| home.is_dir());
    Ok(home.or_else(|| {
        crate::project::Project::find(&[])
            .ok()
            .map(|project| project.home)
            .filter(|home| home.is_dir())
    }))
}

fn remove(entry: &Path) -> std::io::Result<()> {
    if entry.symlink_metadata()?.is_dir() {
        fs::remove_dir_all(entry)
    } else {
        fs::remove_file(entry)
    }
}

/// The size of a file in bytes, or of all files in a directory. Does not follow links.
fn size_of(path: &Path) -> u64 {
    let Ok(metadata) = path.symlink_metadata() else {
        return 0;
    };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size_of(&entry.path())).sum()
}

fn human(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.iter().find(|&&(_, unit)| bytes >= unit) {
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_holloways_entries_are_deleted_from_a_cache() {
        let cache = tempfile::tempdir().expect("a temporary directory");
        for name in ["0f", "pruned", ".new-7-0", "notes", "0g", "photos"] {
            fs::create_dir(cache.path().join(name)).expect("made");
        }
        let mut entries = cache_entries(cache.path());
        entries.sort();
        let expected = [".new-7-0", "0f", "pruned"].map(|name| cache.path().join(name));
        assert_eq!(entries, expected);
        assert!(cache_entries(&cache.path().join("missing")).is_empty());
    }
}
