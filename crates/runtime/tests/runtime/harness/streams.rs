//! Runs `streams.c`, takes words out of its rings, and reads the streams of its threads.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    reason = "shared by the tests of this target; a test may panic"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use holloway_abi::{CHUNK, FIRST_CELLS, OPERAND, WORD_CAUGHT, WORD_CONTROL, WORD_OWNER};
use holloway_format::RawProfile;
use holloway_format::raw::{Piece, RawHead};
use holloway_rings::{Opened, Ring, RingFile};

use super::program::{Libc, command, compile, test_directory};

/// A *series* is a sequence of consecutive words that the test program appends. It begins after a
/// multiple of this number.
pub const SERIES: u32 = 1 << 24;
/// Length of a long series.
pub const MANY: u32 = 2_500_000;

/// The words of one owner of a ring.
#[derive(Debug, Default)]
pub struct Stream {
    pub tid: u32,
    pub words: Vec<u32>,
    /// `WORD_CAUGHT` records, each as (number of words before it, position, catcher).
    pub caught: Vec<(usize, u64, u32)>,
    pub holes: usize,
}

/// The streams of one process.
#[derive(Debug)]
pub struct Run {
    pub head: RawHead,
    pub streams: Vec<Stream>,
    /// For each ring: the position of its first word, and the position from which words are
    /// missing.
    pub rings: Vec<(u64, Option<u64>)>,
    pub spools: usize,
    pub size: usize,
}

/// Compiles `streams.c` for one test.
pub fn program(libc: Libc, test: &str) -> PathBuf {
    compile(
        libc,
        &test_directory(libc, &format!("streams-{test}")),
        &["streams.c"],
        &[],
    )
}

/// The runs of the profiles in a directory, the parent's first.
pub fn runs(directory: &Path) -> Vec<Run> {
    let mut runs: Vec<Run> = paths(directory)
        .iter()
        .map(|path| read(&fs::read(path).unwrap(), &BTreeMap::new()))
        .collect();
    runs.sort_by_key(|run| run.head.profile.forked);
    runs
}

pub fn paths(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hwp"));
    paths.sort();
    paths
}

/// Reads a profile. `taken` contains the pieces that a collector took, by the offset of the ring.
pub fn read(bytes: &[u8], taken: &BTreeMap<u64, Vec<Piece>>) -> Run {
    let raw = RawProfile::parse(bytes).unwrap();
    assert_eq!(raw.damage(), []);
    let (mut streams, mut rings) = (Vec::new(), Vec::new());
    for words in raw.ring_words() {
        let ring = words.ring.as_ref().unwrap();
        let begins_small = raw.header().collector == 0;
        let first = if begins_small { CHUNK - FIRST_CELLS } else { 0 };
        assert_eq!(ring.origin % CHUNK, first);
        rings.push((ring.origin, ring.missing));
        let earlier = taken.get(&words.offset).cloned().unwrap_or_default();
        let pieces = earlier
            .into_iter()
            .chain(words.pieces().map(Result::unwrap));
        let (mut next, mut all) = (ring.origin, Vec::new());
        for piece in pieces.filter(|piece| !piece.words.is_empty()) {
            assert_eq!(piece.position, next, "a gap");
            next += 4 * piece.words.len() as u64;
            all.extend(piece.words);
        }
        assert_eq!(next, ring.end());
        streams.extend(split(&all));
    }
    Run {
        head: raw.header().clone(),
        streams,
        rings,
        spools: raw.spools().len(),
        size: bytes.len(),
    }
}

/// Splits a ring's words into a stream for each owner.
fn split(words: &[u32]) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    let mut rest = words.iter().copied();
    while let Some(word) = rest.next() {
        let mut operand = || {
            let word = rest.next().unwrap();
            assert!(word & OPERAND != 0 && word < WORD_CONTROL);
            word & !OPERAND
        };
        match word {
            WORD_OWNER => {
                let tid = operand();
                streams.push(Stream {
                    tid,
                    ..Stream::default()
                });
            }
            WORD_CAUGHT => {
                let position = 4 * (u64::from(operand()) | u64::from(operand()) << 31);
                let catcher = operand();
                let stream = streams.last_mut().unwrap();
                stream.caught.push((stream.words.len(), position, catcher));
            }
            0 => streams.last_mut().unwrap().holes += 1,
            word => streams.last_mut().unwrap().words.push(word),
        }
    }
    streams
}

/// Asserts that a stream consists of these series, interleaved in any order. A series (first,
/// length) is the words `first + 1` to `first + length`.
pub fn assert_series(stream: &Stream, series: &[(u32, u32)]) {
    assert_eq!(stream.holes, 0);
    let mut next: BTreeMap<u32, u32> = series.iter().map(|&(first, _)| (first, 1)).collect();
    for &word in &stream.words {
        let (first, expected) = next.range_mut(..word).next_back().unwrap();
        assert_eq!(word, first + *expected);
        *expected += 1;
    }
    for &(first, length) in series {
        assert_eq!(next[&first], length + 1, "series {first}");
    }
}

/// A collector for one process, which runs in the test.
#[derive(Default)]
pub struct Collector {
    file: Option<RingFile>,
    rings: Vec<Ring>,
    pub taken: BTreeMap<u64, Vec<Piece>>,
}

impl Collector {
    /// Opens a profile, if its head is complete.
    pub fn open(&mut self, path: &Path) {
        if let Opened::Streams(file) = RingFile::open(path).unwrap() {
            self.file = Some(file);
        }
    }

    /// Takes the present words of the rings. Returns whether there were words.
    pub fn take(&mut self, directory: &Path) -> bool {
        if self.file.is_none()
            && let Some(path) = paths(directory).first()
        {
            self.open(path);
        }
        let Some(file) = &mut self.file else {
            return false;
        };
        self.rings.extend(file.new_rings().unwrap());
        let mut took_words = false;
        for ring in &mut self.rings {
            let mut words = Vec::new();
            let batch = ring.take(1 << 20, &mut words);
            assert_eq!(batch.lost, 0);
            took_words |= !words.is_empty();
            let pieces = self.taken.entry(ring.offset()).or_default();
            pieces.push(Piece {
                position: batch.position,
                words,
            });
        }
        took_words
    }

    /// Collects until the program ends, with a pause after each call of [`Collector::take`].
    /// Returns the streams of the program.
    pub fn collect(mut self, child: Child, data: &Path, pause: Duration) -> Run {
        let bytes = self.collect_from(child, data, pause);
        read(&bytes, &self.taken)
    }

    /// Collects like [`Collector::collect`], but returns the bytes of the profile.
    pub fn collect_from(&mut self, mut child: Child, data: &Path, pause: Duration) -> Vec<u8> {
        loop {
            let ended = child.try_wait().unwrap();
            if let Some(status) = ended {
                assert!(status.success(), "{status}");
                break;
            }
            if !self.take(data) {
                std::thread::sleep(Duration::from_micros(200));
            }
            std::thread::sleep(pause);
        }
        fs::read(&paths(data)[0]).unwrap()
    }
}

/// A command that runs the program with this process as its collector.
pub fn collected(program: &Path, scenario: &str) -> (Command, PathBuf) {
    let (mut command, data) = command(program, &[scenario]);
    collect(&mut command, std::process::id(), &data);
    (command, data)
}

/// Sets the variable that names a process as the collector of a directory.
pub fn collect(command: &mut Command, collector: u32, data: &Path) {
    command.env(
        "HOLLOWAY_COLLECTOR",
        format!("{collector} {}", data.display()),
    );
}
