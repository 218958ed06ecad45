//! Records the streams of a program. The program runs without a collector, so its threads spool
//! their words into the profile.

use crate::bench::Shelf;
use anyhow::{Context, Result, ensure};
use holloway_abi::MAP_SECTION;
use holloway_analysis::stream::{Activations, EndedPath, Listener, Words};
use holloway_format::raw::{Piece, RawProfile};
use holloway_format::{ImageMap, decode_image};
use holloway_tests::tool::scratch;
use holloway_tests::workload::{Flavor, Scale, Workload};
use object::{Object, ObjectSection};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The recorded streams of a program.
pub(super) struct Stored {
    /// The program's functions and paths.
    pub(super) map: Arc<ImageMap>,
    /// By ring: the pieces of its stream. Each piece has the position of its first word.
    pub(super) streams: Vec<Vec<Piece>>,
}

impl Stored {
    /// The number of words in all streams.
    pub(super) fn words(&self) -> u64 {
        let pieces = self.streams.iter().flatten();
        pieces.map(|piece| piece.words.len() as u64).sum()
    }

    /// Returns the first words of the streams, at most `max_words` in total.
    pub(super) fn first(&self, max_words: u64) -> Stored {
        let mut remaining = max_words;
        let mut piece = |piece: &Piece| {
            let count = remaining.min(piece.words.len() as u64);
            remaining -= count;
            let words = piece.words[..count as usize].to_vec();
            (count > 0).then_some(Piece {
                position: piece.position,
                words,
            })
        };
        let streams = self.streams.iter();
        let streams = streams.map(|stream| stream.iter().map_while(&mut piece).collect());
        Stored {
            map: Arc::clone(&self.map),
            streams: streams
                .filter(|stream: &Vec<Piece>| !stream.is_empty())
                .collect(),
        }
    }

    /// The words of paths in each stream, without control words.
    pub(super) fn paths(&self) -> Vec<Vec<u32>> {
        let mut words = Words::new(&self.map);
        let streams = self.streams.iter().map(|pieces| {
            let (mut activations, mut paths) = (Activations::default(), Paths::default());
            for piece in pieces {
                activations.feed(&mut words, &mut paths, piece.position, &piece.words);
            }
            paths.0
        });
        streams.collect()
    }
}

/// A listener that collects the words of paths.
#[derive(Default)]
struct Paths(Vec<u32>);

impl Listener for Paths {
    type State = ();

    fn path_ended(&mut self, path: EndedPath, (): &mut ()) {
        self.0.push(path.word);
    }
}

/// Runs a program without a collector and reads at most this many words of its streams.
///
/// # Errors
/// If the run fails, or if its profiles cannot be read.
pub(super) fn record(
    shelf: &Shelf,
    workload: &Workload,
    flavor: Flavor,
    scale: Scale,
    max_words: u64,
) -> Result<Stored> {
    let scratch = scratch(&format!("study-{}", workload.name))?;
    let executable = shelf.executable(workload.source, flavor);
    let input = shelf.input(workload, scale)?;
    workload.run(&executable, &input, scale, Some(scratch.path()))?;
    let mut stored = Stored {
        map: Arc::new(map(&executable)?),
        streams: Vec::new(),
    };
    let mut remaining = max_words;
    for profile in profiles(scratch.path())? {
        let name = profile.display();
        let bytes = std::fs::read(&profile).with_context(|| format!("cannot read {name}"))?;
        read(&bytes, &mut remaining, &mut stored.streams).with_context(|| format!("{name}"))?;
    }
    ensure!(stored.words() > 0, "{flavor:?}: no path was recorded");
    Ok(stored)
}

/// The profiles of a run, oldest first.
fn profiles(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut profiles = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let (path, modified) = entry.and_then(|e| Ok((e.path(), e.metadata()?.modified()?)))?;
        if path.extension().is_some_and(|extension| extension == "hwp") {
            profiles.push((modified, path));
        }
    }
    profiles.sort();
    Ok(profiles.into_iter().map(|(_, path)| path).collect())
}

/// Reads at most `remaining` words of the streams of a profile, and subtracts them from
/// `remaining`.
fn read(bytes: &[u8], remaining: &mut u64, streams: &mut Vec<Vec<Piece>>) -> Result<()> {
    let profile = RawProfile::parse(bytes)?;
    for ring in profile.ring_words() {
        let mut stream = Vec::new();
        let mut pieces = ring.pieces();
        while *remaining > 0
            && let Some(piece) = pieces.next()
        {
            let mut piece = piece.map_err(|damage| anyhow::anyhow!("{damage}"))?;
            let count = (*remaining).min(piece.words.len() as u64);
            *remaining -= count;
            piece.words.truncate(count as usize);
            stream.push(piece);
        }
        if !stream.is_empty() {
            streams.push(stream);
        }
    }
    Ok(())
}

/// Reads the path map in a woven program.
fn map(executable: &Path) -> Result<ImageMap> {
    let name = executable.display();
    let bytes = std::fs::read(executable).with_context(|| format!("cannot read {name}"))?;
    let file = object::File::parse(&*bytes).with_context(|| format!("cannot read {name}"))?;
    let section = file.section_by_name(MAP_SECTION);
    let section = section.with_context(|| format!("no path map in {name}"))?;
    Ok(decode_image(&section.uncompressed_data()?)?)
}
