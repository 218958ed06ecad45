//! `--guide RUN`: what an earlier run measured, turned into what the weaver reads (`holloway_format::guide`).
//!
//! A guide holds the counts of every edge of every function that ran, exit edges left out, whether the run counted edges or
//! paths. The weaver takes them for the weights of the spanning tree, for the order in which paths are numbered, and
//! for where paths are cut. What ran but once tells nothing wrong: a guide changes costs, never counts.
//!
//! `cargo holloway` makes it once for all links of a build ([`keep`]), any other link for itself ([`read`]): a run as large
//! as ripgrep's takes some hundredths of a second.

use std::path::{Path, PathBuf};

use holloway_analysis::RunProfile;
use holloway_collect::files::{read_regular, write_atomically};
use holloway_collect::load::profile_files;
use holloway_collect::run_directory::LATEST;
use holloway_format::guide::GUIDE_MAGIC;
use holloway_format::{Guide, GuideFunction};
use holloway_link::guide::hash;
use holloway_link::records::leave_warning;
use holloway_report::notes::sentence;

use crate::failure::{Context, Failure, Result};
use crate::{latest, loading, status};

/// File in holloway's build directory: the guide of the last build.
const FILE: &str = ".holloway-guide";

/// Looks whether there is anything of that name, where reading it would be too early.
///
/// # Errors
/// There is not.
pub(crate) fn check(named: &Path) -> Result<()> {
    if named == Path::new(LATEST) {
        return Ok(());
    }
    profile_files(named)
        .map(drop)
        .map_err(|failure| unusable(named, failure))
}

/// Looks whether it can be read, where a link is going to. What the link warns of is left to it.
///
/// # Errors
/// As [`read`].
pub(crate) fn check_whole(named: &Path) -> Result<()> {
    open(named).map(drop)
}

/// Reads what `--guide` names: a run's directory, one profile, `latest`, or a file that [`keep`] wrote.
///
/// # Errors
/// There is none, or nothing of it can be read. Where only a part can't, that is warned of.
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
        leave_warning(&warning);
    }
    Ok(of(&profile))
}

/// What `--guide` names.
enum Source {
    /// A file that [`keep`] wrote.
    Kept(Guide),
    /// A run, and where it is.
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

/// Reads what `--guide` names and writes the guide made of it into `home`, for the links of a build. Gives its path and
/// a hash of it.
///
/// # Errors
/// As [`read`], or it cannot be written.
pub(crate) fn keep(named: &Path, home: &Path) -> Result<(PathBuf, String)> {
    let bytes = read(named)?.encode();
    let file = home.join(FILE);
    // The first build of all has no directory yet.
    std::fs::create_dir_all(home).cannot(|| format!("create {}", home.display()))?;
    write_atomically(&file, &bytes)?;
    Ok((file, hash(&bytes)))
}

/// The counts of all functions that ran.
fn of(run: &RunProfile) -> Guide {
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
