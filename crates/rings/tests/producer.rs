//! Tests the reader of rings with a simulated program, which appends words by the rules of
//! `holloway_abi` with writes to the file. The writes and the reader's mapping share their pages.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use holloway_abi::{CHUNK, EXTENT_MAGIC, EXTENT_RING, Kind, PAGE};
use holloway_format::ProfileHead;
use holloway_rings::{Batch, Opened, Ring, RingFile};
use holloway_testkit::raw::RawWriter;

const SIZE: u64 = 8 * CHUNK;
const CURSOR: u64 = 64;
const START: u64 = 88;
const TAKEN: u64 = 128;
const WAITING: u64 = 136;
const MISSING: u64 = 144;
const LEFT_OUT: u64 = 160;
const HOLES: u64 = 168;
const WORDS: u64 = PAGE;

/// A raw profile with rings.
struct Program {
    directory: tempfile::TempDir,
    file: File,
    end: u64,
}

/// The position of a ring's extent, and the ring's cursor.
struct Thread {
    extent: u64,
    cursor: u64,
}

impl Program {
    fn new(kind: Kind) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let head = ProfileHead {
            kind,
            pid: 42,
            ..ProfileHead::default()
        };
        let bytes = RawWriter::new(head, PAGE - 64).finish();
        let path = directory.path().join("42-app.hwp");
        std::fs::write(&path, &bytes).unwrap();
        let file = File::options().read(true).write(true).open(path).unwrap();
        let end = bytes.len() as u64;
        Self {
            directory,
            file,
            end,
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("42-app.hwp")
    }

    fn extent(&mut self, kind: u32, size: u64, ring_size: u64) -> u64 {
        let extent = self.end;
        self.file.set_len(extent + size).unwrap();
        self.file.write_all_at(&EXTENT_MAGIC, extent).unwrap();
        let ids = [kind.to_le_bytes(), 7u32.to_le_bytes()].concat();
        self.file.write_all_at(&ids, extent + 8).unwrap();
        self.put(extent + 16, size);
        self.put(extent + 32, ring_size);
        self.end += size;
        self.put(40, self.end);
        extent
    }

    fn thread(&mut self, origin: u64) -> Thread {
        let before = self.end;
        let words = [
            (CURSOR, origin),
            (CURSOR + 8, origin),
            (CURSOR + 16, SIZE),
            (TAKEN, origin),
            (MISSING, u64::MAX),
        ];
        self.file.set_len(before + PAGE + SIZE).unwrap();
        for (offset, value) in words {
            self.put(before + offset, value);
        }
        let extent = self.extent(EXTENT_RING, PAGE + SIZE, SIZE);
        Thread {
            extent,
            cursor: origin,
        }
    }

    fn put(&self, offset: u64, value: u64) {
        self.file
            .write_all_at(&value.to_le_bytes(), offset)
            .unwrap();
    }

    fn u64(&self, offset: u64) -> u64 {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, offset).unwrap();
        u64::from_le_bytes(bytes)
    }

    fn rings(&self) -> Vec<Ring> {
        self.opened().new_rings().unwrap()
    }

    fn opened(&self) -> RingFile {
        match RingFile::open(&self.path()).unwrap() {
            Opened::Streams(file) => file,
            other => panic!("{other:?}"),
        }
    }

    /// Reserves cells and writes the words that are not 0.
    fn append(&self, thread: &mut Thread, words: impl IntoIterator<Item = u32>) {
        for word in words {
            let cell = thread.extent + WORDS + (thread.cursor & (SIZE - 1));
            thread.cursor += 4;
            self.put(thread.extent + CURSOR, thread.cursor);
            if word != 0 {
                self.file.write_all_at(&word.to_le_bytes(), cell).unwrap();
            }
        }
    }

    /// The number of cells of a ring that are not 0.
    fn used(&self, thread: &Thread) -> usize {
        let mut bytes = vec![0; SIZE as usize];
        self.file
            .read_exact_at(&mut bytes, thread.extent + WORDS)
            .unwrap();
        bytes.chunks(4).filter(|cell| *cell != [0; 4]).count()
    }
}

fn take(ring: &mut Ring, limit: u64) -> (Batch, Vec<u32>) {
    let mut words = Vec::new();
    let batch = ring.take(limit, &mut words);
    (batch, words)
}

#[test]
fn words_come_out_once_in_order_and_leave_zeroes() {
    let mut program = Program::new(Kind::Loops);
    let mut thread = program.thread(0);
    let mut rings = program.rings();
    let ring = &mut rings[0];
    assert_eq!((ring.tid(), ring.size(), ring.origin()), (7, SIZE, 0));
    assert_eq!(take(ring, 100), (Batch::default(), vec![]));
    program.append(&mut thread, 1..=10);
    assert_eq!(ring.waiting_bytes(), 40);
    assert_eq!(take(ring, 16), (Batch::default(), vec![1, 2, 3, 4]));
    assert_eq!(
        take(ring, 100),
        (
            Batch {
                position: 16,
                lost: 0
            },
            vec![5, 6, 7, 8, 9, 10]
        )
    );
    assert_eq!(program.u64(thread.extent + TAKEN), 40);
    assert_eq!(program.used(&thread), 0);
}

#[test]
fn positions_wrap_around() {
    let mut program = Program::new(Kind::Loops);
    // As in the child of a fork, the ring continues at the parent's position.
    let mut thread = program.thread(9 * CHUNK);
    let mut rings = program.rings();
    let mut expect = 1..;
    let mut sent = 1..;
    let mut words = Vec::new();
    for step in 0..40u64 {
        let room = (SIZE - rings[0].waiting_bytes()) / 4;
        let count = room.min(1000 + 977 * step) as usize;
        program.append(&mut thread, sent.by_ref().take(count));
        words.clear();
        rings[0].take(2500 * (step % 13), &mut words);
        for &word in &words {
            assert_eq!(Some(word), expect.next());
        }
    }
    words.clear();
    rings[0].take_rest(u64::MAX, &mut words);
    assert!(words.iter().all(|&word| Some(word) == expect.next()));
    assert_eq!(sent.next(), expect.next());
    assert!(
        thread.cursor > 11 * CHUNK + SIZE,
        "the cursor wrapped around"
    );
    assert_eq!(program.used(&thread), 0);
}

#[test]
fn the_reader_waits_for_a_hole_unless_nobody_will_fill_it() {
    let mut program = Program::new(Kind::Loops);
    let mut thread = program.thread(0);
    let mut rings = program.rings();
    program.append(&mut thread, [1, 0, 3, 0, 5]);
    assert_eq!(take(&mut rings[0], 100), (Batch::default(), vec![1]));
    assert_eq!(take(&mut rings[0], 100).1, vec![]);
    // The owner may not have been woken yet.
    program.put(thread.extent + WAITING, 1);
    assert_eq!(take(&mut rings[0], 100).1, vec![]);
    // The owner waits until the reader takes the hole at `taken`. The next hole stays in the ring.
    let room = 5 * CHUNK / 4 - 5;
    program.append(&mut thread, (0..room as u32).map(|_| 9));
    program.append(&mut thread, [11]);
    assert_eq!(
        take(&mut rings[0], 100),
        (
            Batch {
                position: 4,
                lost: 0
            },
            vec![0, 3]
        )
    );
    program.put(thread.extent + WAITING, 0);
    assert_eq!(take(&mut rings[0], 100).1, vec![]);
    // Another thread owns the ring.
    program.put(thread.extent + START, 20);
    assert_eq!(take(&mut rings[0], 8).1, vec![0, 5]);
    take(&mut rings[0], 4 * room);
    program.append(&mut thread, [0, 7]);
    assert_eq!(take(&mut rings[0], 100).1, vec![11]);
    assert_eq!(take(&mut rings[0], 100).1, vec![]);
    let mut words = Vec::new();
    rings[0].take_rest(100, &mut words);
    assert_eq!(words, [0, 7], "the process is gone");
    let counts = [HOLES, LEFT_OUT].map(|offset| program.u64(thread.extent + offset));
    assert_eq!(
        counts,
        [3, 0],
        "later readers of the file know the number of holes"
    );
    rings[0].leave_out(5);
    rings[0].leave_out(2);
    assert_eq!(program.u64(thread.extent + LEFT_OUT), 7);
}

#[test]
fn dropped_and_overwritten_words_are_not_read() {
    let mut program = Program::new(Kind::Loops);
    let mut thread = program.thread(0);
    let mut rings = program.rings();
    program.append(&mut thread, 1..=5);
    program.put(thread.extent + MISSING, 12);
    assert_eq!(rings[0].missing(), Some(12));
    assert_eq!(take(&mut rings[0], 100).1, vec![1, 2, 3]);

    let mut overwriting = program.thread(0);
    overwriting.cursor = SIZE;
    program.append(&mut overwriting, [7, 8]);
    let mut ring = program.rings().pop().unwrap();
    let mut words = Vec::new();
    let batch = ring.take_rest(u64::MAX, &mut words);
    assert_eq!(
        batch,
        Batch {
            position: 8,
            lost: 8
        }
    );
    assert_eq!(words.len() as u64, SIZE / 4);
    assert_eq!(words[words.len() - 2..], [7, 8]);
}

/// Invalid positions in a ring make the reader take at most a ring of words, and only give wrong
/// words.
#[test]
fn invalid_positions_are_harmless() {
    let positions = [0, 1, 3, SIZE + 1, u64::MAX - SIZE, u64::MAX - 3, u64::MAX];
    for taken in positions {
        for cursor in positions {
            let mut program = Program::new(Kind::Loops);
            let thread = program.thread(0);
            let mut ring = program.rings().remove(0);
            program.put(thread.extent + TAKEN, taken);
            program.put(thread.extent + CURSOR, cursor);
            program.put(thread.extent + WAITING, 1);
            assert!(take(&mut ring, u64::MAX).1.len() as u64 <= SIZE / 4);
            let mut words = Vec::new();
            ring.take_rest(u64::MAX, &mut words);
            assert!(words.len() as u64 <= SIZE / 4);
        }
    }
}

#[test]
fn new_rings_are_found() {
    let mut program = Program::new(Kind::Loops);
    let mut file = program.opened();
    assert_eq!(file.head().profile.pid, 42);
    assert!(file.new_rings().unwrap().is_empty());
    program.thread(0);
    assert_eq!(file.new_rings().unwrap().len(), 1);
    program.extent(4, PAGE, 0);
    let invalid = program.extent(EXTENT_RING, PAGE, 3);
    program.put(invalid + 16, 5);
    let third = program.thread(0);
    let rings = file.new_rings().unwrap();
    assert_eq!(rings.len(), 1);
    assert_eq!(rings[0].offset(), third.extent);
    assert!(file.new_rings().unwrap().is_empty());
}

#[test]
fn every_kind_of_stream_has_rings() {
    for kind in [Kind::Loops, Kind::Trace, Kind::Variation, Kind::Times] {
        let mut program = Program::new(kind);
        program.thread(0);
        assert_eq!(program.opened().new_rings().unwrap().len(), 1);
    }
}

#[test]
fn other_profiles_have_no_rings() {
    let program = Program::new(Kind::Paths);
    let opened = RingFile::open(&program.path()).unwrap();
    assert!(matches!(opened, Opened::Other), "{opened:?}");
    let path = program.directory.path().join("torn");
    for incomplete in [&b""[..], b"HLWRAW", &[0; 4096]] {
        std::fs::write(&path, incomplete).unwrap();
        let opened = RingFile::open(&path).unwrap();
        assert!(matches!(opened, Opened::Unfinished), "{opened:?}");
    }
    // A length that the file does not have.
    let mut program = Program::new(Kind::Loops);
    let thread = program.thread(0);
    program.file.set_len(thread.extent + 2 * PAGE).unwrap();
    let mut file = program.opened();
    assert!(file.new_rings().is_err());
}
