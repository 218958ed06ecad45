//! `--guide RUN`: turns the counts of an earlier run into a guide for the weaver
//! (`holloway_format::guide`).
//!
//! A guide holds the counts of all edges, except exit edges, of every function that ran. The run
//! may have counted edges or paths. The weaver uses the counts as weights of the spanning tree, for
//! the order in which paths are numbered, and to choose where paths are cut. A guide from an
//! unrepresentative run does no harm to counts: a guide changes costs, never counts.
//!
//! `cargo holloway` makes the guide once for all links of a build ([`keep`]). Any other link makes
//! its own ([`read`]). Cost: some hundredths of a second for a run as large as ripgrep's.

use std::path::{Path, PathBuf};

use holloway_analysis::RunProfile;
use holloway_collect::files::{read_regular, write_atomically};
use holloway_collect::load::profile_files;
use holloway_collect::run_directory::LATEST;
use holloway_format::guide::GUIDE_MAGIC;
use holloway_format::{Guide, GuideFunction};
use holloway_link::guide::hash;
use holloway_link::records::record_warning;
use holloway_report::notes::sentence;

use crate::failure::{Context, Failure, Result};
use crate::{latest, loading, status};

/// File in holloway's build directory: the guide of the last build.
const FILE: &str = ".holloway-guide";

/// Checks only that what `--guide` names exists. Compilations call this, because they do not read
/// the guide.
///
/// # Errors
/// No run, profile, or guide has this name.
pub(crate) fn check(named: &Path) -> Result<()> {
    if named == Path::new(LATEST) {
        return Ok(());
    }
    profile_files(named)
        .map(drop)
        .map_err(|failure| unusable(named, failure))
}

/// Checks that the guide can be read. Gives no warnings of damage, because the link that reads the
/// guide gives them.
///
/// # Errors
/// As [`read`].
pub(crate) fn check_whole(named: &Path) -> Result<()> {
    open(named).map(drop)
}

/// Reads what `--guide` names: a run's directory, one profile, `latest`, or a file that [`keep`]
/// wrote.
///
/// # Errors
/// No run has this name, or no part of it can be read. Damage of a part is only a warning.
pub(crate) fn read(named: &Path) -> Result<Guide> {
    let (run, profile) = match open(named)? {
        Source::Kept(guide) => return Ok(guide),
        Source::Run(run, profile) => (run, profile),
    };
    if let [first, others @ ..] = profile.damage.as_slice() {
        let more = match others.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let warning = format!(
            "the guide {} is damaged, the rest of it is used: {}{more}",
            run.display(),
            sentence(first)
        );
        status::warn(&warning);
        record_warning(&warning);
    }
    Ok(guide_of(&profile))
}

/// The file or run that `--guide` names.
enum Source {
    /// A file that [`keep`] wrote.
    Kept(Guide),
    /// A run: its location and its profile.
    Run(PathBuf, RunProfile),
}

fn open(named: &Path) -> Result<Source> {
    let is_file = std::fs::metadata(named).is_ok_and(|metadata| metadata.is_file());
    if is_file
        && let Ok(bytes) = read_regular(named)
        && bytes.starts_with(&GUIDE_MAGIC)
    {
        return Guide::decode(&bytes)
            .map(Source::Kept)
            .map_err(|error| unusable(named, error));
    }
    let run = latest::named(named)?;
    let profile = loading::load(&run).map_err(|failure| unusable(&run, failure))?;
    Ok(Source::Run(run, profile))
}

/// Reads what `--guide` names and writes the guide into `home`, for the links of a build. Returns
/// the path and the hash of the guide.
///
/// # Errors
/// As [`read`], or the guide cannot be written.
pub(crate) fn keep(named: &Path, home: &Path) -> Result<(PathBuf, String)> {
    let bytes = read(named)?.encode();
    let file = home.join(FILE);
    // The directory does not exist before the first build.
    std::fs::create_dir_all(home).cannot(|| format!("create {}", home.display()))?;
    write_atomically(&file, &bytes)?;
    Ok((file, hash(&bytes)))
}

/// The counts of all functions that ran.
fn guide_of(run: &RunProfile) -> Guide {
    let ran = run.functions.iter().filter(|function| function.ran());
    ran.map(|function| {
        let counts = function.map.edges.iter().zip(&function.flow().edges);
        let plain = counts.filter(|(edge, _)| edge.is_always_there());
        GuideFunction {
            linkage_name: function.map.linkage_name.clone(),
            graph_hash: function.map.graph_hash(),
            edges: plain
                .map(|(_, &count)| u64::try_from(count).unwrap_or(0))
                .collect(),
        }
    })
    .collect()
}

fn unusable(named: &Path, why: impl std::fmt::Display) -> Failure {
    let shown = named.display();
    let why = why.to_string();
    let why = why.trim_start_matches("cannot read the run ");
    let why = why.strip_prefix(&format!("{shown}: ")).unwrap_or(why);
    Failure::new(format_args!("cannot take {shown} for a guide: {why}"))
}
