//! Writes each [`Note`] as a sentence. Notes report samples, losses, and damage of a run.
//!
//! Two kinds of sentences are not in this file. Sealed profiles contain facts as text, so this text
//! is part of the file format: `holloway_format::damage` has it. The errors of the parsers have
//! their own sentences.

use std::fmt::{self, Write as _};

use holloway_analysis::note::{Account, FileDamage, FunctionPlace, Origin, Unreadable};
use holloway_analysis::{Interrupt, Note};
use holloway_format::error::short_id;
use holloway_format::{Count, WriteFailure};
use serde::{Serialize, Serializer};

use crate::numbers::{grouped, is_or_are, plural};

/// The label in front of a note's sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// The counts or traces cover a sample.
    Sample,
    /// Data is lost or damaged.
    Damaged,
}

impl Label {
    pub(crate) fn for_note(note: &Note) -> Label {
        match note.sample() {
            Some(_) => Label::Sample,
            None => Label::Damaged,
        }
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Label::Sample => "sample",
            Label::Damaged => "damaged",
        }
    }
}

/// The sentence of a note, lower case and without a period.
pub fn sentence(note: &Note) -> String {
    Sentence(note).to_string()
}

/// The sentence about a run that a signal ended early.
pub fn interrupted(interrupt: Interrupt) -> String {
    let key = match interrupt {
        Interrupt::Int => " (Ctrl-C)",
        Interrupt::Quit => " (Ctrl-\\)",
        Interrupt::Hangup | Interrupt::Term => "",
    };
    format!(
        "by {}{key}: everything here is about the part that ran until then",
        interrupt.name()
    )
}

/// The sentence for the reason why a profile cannot be read.
pub fn unreadable(reason: &Unreadable) -> String {
    Reason(reason).to_string()
}

/// Writes why a profile could not be written, and what to do.
fn write_failure(f: &mut fmt::Formatter<'_>, failure: Option<WriteFailure>) -> fmt::Result {
    const ELSEWHERE: &str = "make room, or set HOLLOWAY_DATA to another directory";
    let remedy = match failure {
        None => {
            f.write_str("the profile could not be written (disk full, or a limit on file sizes)")?;
            ELSEWHERE
        }
        Some(failure) => {
            write!(f, "{failure}")?;
            match failure {
                WriteFailure::FileSystemFull | WriteFailure::QuotaExceeded => ELSEWHERE,
                WriteFailure::FileSizeLimit => "raise the limit",
                WriteFailure::NoMemory => "raise the limit on memory",
                WriteFailure::CollectorEnded => "let holloway run until the program ends",
                WriteFailure::Error { .. } => "set HOLLOWAY_DATA to another directory",
            }
        }
    };
    write!(f, "; {remedy}, and record it again")
}

/// Notes in a JSON document: a list of sentences.
#[derive(Clone, Copy)]
pub(crate) struct Sentences<'a>(pub(crate) &'a [Note]);

impl Serialize for Sentences<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(sentence))
    }
}

/// A note as text.
struct Sentence<'a>(&'a Note);

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Note::Map { image, damage } => write!(f, "{image}: {damage}"),
            Note::Profile { origin, damage } => {
                process(f, origin)?;
                write!(f, "{damage}")
            }
            Note::Streams { origin, fact } => {
                process(f, origin)?;
                write!(f, "{fact}")
            }
            Note::Trace(fact) => write!(f, "{fact}"),
            Note::LostThreads {
                origin,
                threads,
                failure,
            } => {
                process(f, origin)?;
                let threads = plural(*threads, "thread");
                write!(f, "what ran in {threads} or more is lost: ")?;
                write_failure(f, *failure)
            }
            Note::LeftOut { function, misfit } => {
                let FunctionPlace {
                    image,
                    module,
                    name,
                } = function;
                write!(f, "{image}: {name} in {module}: {misfit}; left out")
            }
            Note::NegativeEdges { function, edges } => {
                let FunctionPlace {
                    image,
                    module,
                    name,
                } = function;
                let noun = if *edges == 1 { "edge" } else { "edges" };
                write!(
                    f,
                    "{image}: killed in the middle of {name} in {module}: {edges} {noun} came out below 0, shown as 0"
                )
            }
            Note::DamagedRecords { file, records } => write!(
                f,
                "{}: {} {} left out",
                file.display(),
                plural(*records, "damaged record"),
                is_or_are(*records)
            ),
            Note::Unreadable { file, why } => write!(f, "{}: {}", file.display(), Reason(why)),
            Note::NoProfile { file, profile } => write!(
                f,
                "{}: its profile {profile} is missing, and the file can't be read without it: put the profile back, or record the run again",
                file.display()
            ),
            Note::MissingFile { file } => write!(
                f,
                "{} is missing, and so is its data: record the run again",
                file.display()
            ),
            Note::UnreadableFile { file, why } => {
                write!(f, "{} can't be read (", file.display())?;
                file_damage(f, why)?;
                f.write_str("), so its data is missing: record the run again")
            }
            Note::Account(account) => account_difference(f, account),
        }
    }
}

/// Writes the process that a note is about: `app, process 7: `.
fn process(f: &mut fmt::Formatter<'_>, origin: &Origin) -> fmt::Result {
    let Origin { image, process } = origin;
    write!(f, "{image}, process {process}: ")
}

/// The reason why a profile cannot be read, as text.
struct Reason<'a>(&'a Unreadable);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unreadable::System { message } => f.write_str(message),
            Unreadable::NoMapInProgram { message } => write!(
                f,
                "{message}; put the program back there as it was built, or record the run again"
            ),
            Unreadable::Format(error) => error.fmt(f),
            Unreadable::MapFile { file, message } => {
                write!(f, "cannot read {}: {message}", file.display())
            }
            Unreadable::MapFormat { file, error } => {
                write!(f, "cannot read {}: {error}", file.display())
            }
            Unreadable::MapOfOtherBuild { file, build_id } => {
                write!(f, "{} is of build {}", file.display(), short_id(build_id))
            }
            Unreadable::NoFunctions { file, fact } => write!(
                f,
                "no function of {} can be read: {fact}; delete it if the program is there as it was built, else record the run again",
                file.display()
            ),
            Unreadable::MapInProgram { file, error } => {
                write!(f, "cannot read the path map of {}: {error}", file.display())
            }
            Unreadable::Rebuilt {
                profile,
                image,
                file,
                program,
            } => write!(
                f,
                "the profile is of build {} of {image}, {} is build {} now; record it again",
                short_id(profile),
                file.display(),
                short_id(program)
            ),
        }
    }
}

fn file_damage(f: &mut fmt::Formatter<'_>, damage: &FileDamage) -> fmt::Result {
    match damage {
        FileDamage::System { message } => f.write_str(message),
        FileDamage::OtherProcess { file, profile } => {
            write!(f, "it is of process {file}, not {profile}")
        }
        FileDamage::OtherBuild => f.write_str("it is of another build"),
        FileDamage::OtherVersion => f.write_str("it is of another version of holloway"),
        FileDamage::Truncated => f.write_str("it is cut short"),
        FileDamage::Head => f.write_str("its head is damaged"),
    }
}

/// Writes the difference between a process's traces and the counts of its profile.
fn account_difference(f: &mut fmt::Formatter<'_>, account: &Account) -> fmt::Result {
    let &Account {
        ref image,
        process,
        counted: Count(counted),
        missing: Count(missing),
        surplus: Count(surplus),
    } = account;
    write!(f, "{image}, process {process}: ")?;
    let paths = plural(missing, "path");
    let mut lacking = match missing {
        0 => String::new(),
        _ if missing > 1 && missing == counted => format!("all {paths}"),
        _ => format!("{paths} of the {}", grouped(counted)),
    };
    if missing > 0 {
        let verb = is_or_are(missing);
        write!(
            lacking,
            " that its profile counted {verb} missing from its trace"
        )?;
    }
    let others = plural(surplus, "path");
    match (missing, surplus) {
        (0, 0) => return f.write_str("its trace has all paths that its profile counted"),
        (_, 0) => f.write_str(&lacking)?,
        (0, _) => write!(
            f,
            "its trace has {others} that its profile did not count: it is of another run, or was changed"
        )?,
        _ => write!(
            f,
            "{lacking}, which has {others} that were not counted: it is of another run, or was changed"
        )?,
    }
    f.write_str("; record it again")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use holloway_analysis::misfit::Misfit;
    use holloway_flow::{CfgError, EdgeId, NumberingError, TreeError};
    use holloway_format::damage::{
        Damage, DamagedFile, Fact, Index, MissingPart, MissingPaths, Percent, Sample, SpoolDamage,
    };
    use holloway_format::error::{AssembleError, FormatError};

    use super::*;

    fn check(note: &Note, label: Label, text: &str) {
        assert_eq!((Label::for_note(note), &*sentence(note)), (label, text));
    }

    fn damaged(note: &Note, text: &str) {
        check(note, Label::Damaged, text);
    }

    fn origin() -> Origin {
        Origin {
            image: "app".to_owned(),
            process: 7,
        }
    }

    fn slide() -> FunctionPlace {
        FunctionPlace {
            image: "app".to_owned(),
            module: "a".to_owned(),
            name: "slide".to_owned(),
        }
    }

    fn file() -> PathBuf {
        "runs/7-app.hwp".into()
    }

    #[test]
    fn damage_has_its_location() {
        let damage = Damage::of_file(DamagedFile::Map, 99, Fact::ModuleName);
        let image = "app".to_owned();
        damaged(
            &Note::Map {
                image: image.clone(),
                damage: damage.clone(),
            },
            "app: path map damaged at byte 99: the module's name is damaged",
        );
        damaged(
            &Note::Map {
                image,
                damage: damage.in_module(2),
            },
            "app: path map damaged at byte 99, module 2: the module's name is damaged",
        );
        let error = FormatError::Checksum { offset: 5 };
        let damage = Damage::of_file(DamagedFile::Profile, 5, error).of_function(3, "f");
        damaged(
            &Note::Profile {
                origin: origin(),
                damage: damage.in_module(0),
            },
            "app, process 7: profile damaged at byte 5, function 3 of module 0 (f): the checksum of the record at byte 5 is wrong",
        );
    }

    #[test]
    fn facts_of_files() {
        let error = || FormatError::Checksum { offset: 8 };
        let counted = "edge counter";
        let compressed = SpoolDamage::Compressed {
            message: "bad".to_owned(),
        };
        let lost_words = |why| Fact::LostWords {
            bytes: 8,
            thread: 3,
            why,
        };
        let table = [
            (
                Fact::Unreadable(error()),
                "the checksum of the record at byte 8 is wrong",
            ),
            (
                Fact::Truncated { bytes: 4096 },
                "the last 4096 bytes are missing",
            ),
            (
                Fact::Index(Index::Functions),
                "the index of functions is damaged; the functions were found without it",
            ),
            (
                Fact::Index(Index::Records),
                "the index of records is damaged; the records were found without it",
            ),
            (
                Fact::Index(Index::SealedRecords),
                "an index of records is damaged; the records were found without it",
            ),
            (Fact::ModuleName, "the module's name is damaged"),
            (Fact::ProducerName, "the producer's name is damaged"),
            (
                Fact::LostModule(error()),
                "the module is lost: the checksum of the record at byte 8 is wrong",
            ),
            (
                Fact::OverlappingModule,
                "the module is lost: its counters lie over those of another",
            ),
            (
                Fact::LostFunction(error()),
                "a function is lost: the checksum of the record at byte 8 is wrong",
            ),
            (
                Fact::LostEntry(error()),
                "a function that is not instrumented is left out of the list: the checksum of the record at byte 8 is wrong",
            ),
            (
                Fact::LostNote(error()),
                "a note of earlier damage is lost: the checksum of the record at byte 8 is wrong",
            ),
            (
                Fact::CountBeyond {
                    counted,
                    number: 9,
                    limit: 4,
                },
                "a count for edge counter 9, of 4",
            ),
            (
                Fact::CountOverflow { counted, number: 9 },
                "the counts of edge counter 9 pass 2^64",
            ),
            (
                Fact::MisplacedPath,
                "a path stands in a slot that is not its own",
            ),
            (
                Fact::StrayCounters { counters: 2 },
                "2 counters belong to no function that the path map has intact",
            ),
            (
                Fact::StraySegment,
                "a segment of counters belongs to no function that the path map has intact",
            ),
            (
                Fact::LostExtent { bytes: 4096 },
                "4096 bytes are lost: the head of an extent is damaged or cut off",
            ),
            (
                Fact::OverwrittenWords {
                    bytes: 8,
                    thread: 3,
                },
                "8 bytes of words of thread 3 were written over",
            ),
            (
                lost_words(compressed),
                "8 bytes of words of thread 3 are lost: bad",
            ),
            (
                lost_words(SpoolDamage::Short),
                "8 bytes of words of thread 3 are lost: their compressed form is cut short",
            ),
            (
                Fact::StreamsInParts { cuts: 1 },
                "the process outlived its run: its streams were taken in parts, no sequence spans where one ends (1 time)",
            ),
            (
                Fact::UncountedLeftFrames,
                "frames that were left early are not counted: that takes all words of a stream",
            ),
            (
                Fact::DamagedSamples { samples: Count(1) },
                "1 sample is damaged, and left out; record it again",
            ),
            (
                Fact::DamagedSamples {
                    samples: Count(2000),
                },
                "2,000 samples are damaged, and left out; record it again",
            ),
            (
                Fact::TraceBlock(error()),
                "the checksum of the record at byte 8 is wrong",
            ),
            (
                Fact::TraceGrammar(AssembleError::Rule { rule: 4 }),
                "rule 4 is used before it is known",
            ),
            (
                Fact::CutTraces {
                    process: 7,
                    why: FormatError::Truncated { offset: 8 },
                },
                "of process 7's traces the file ends at byte 8, before what it announces: paths after that byte are missing, of this thread or of others, and threads that began after it; record the run again",
            ),
            (
                Fact::UnfinishedTraces,
                "the trace was not ended: what its collector took last is not written, or lost with it",
            ),
            (
                Fact::Text("words of a sealed profile".to_owned()),
                "words of a sealed profile",
            ),
        ];
        for (fact, text) in table {
            damaged(&Note::Trace(fact.clone()), text);
            let origin = origin();
            let note = Note::Streams { origin, fact };
            damaged(&note, &format!("app, process 7: {text}"));
        }
    }

    #[test]
    fn samples_are_no_damage() {
        let table = [
            (
                Sample::Streams {
                    analyzed: Percent { tenths: 125 },
                },
                "this is a sample: 12.5 % of what ran was analysed (--sample), counts are of that part",
            ),
            (
                Sample::TimedPaths {
                    timed: Count(1),
                    executed: Count(12_345),
                },
                "this is a sample: counts are estimates, made from 1 timed path of 12,345 that ran",
            ),
        ];
        for (sample, text) in table {
            let fact = Fact::Sample(sample);
            check(&Note::Trace(fact.clone()), Label::Sample, text);
            let origin = origin();
            let note = Note::Streams { origin, fact };
            check(&note, Label::Sample, &format!("app, process 7: {text}"));
        }
    }

    #[test]
    fn missing_paths_are_named() {
        let part = |unwritten, dropped| MissingPart::Paths {
            thread: 7,
            unwritten_from: 999,
            unwritten,
            dropped_from: 1501,
            dropped,
        };
        let words = |thread, earlier_threads| MissingPart::Words {
            thread,
            earlier_threads,
            from: 1001,
            words: 2000,
        };
        let missing = |paths, parts: &[MissingPart], more_threads| {
            Note::Trace(Fact::MissingPaths(MissingPaths {
                paths,
                parts: parts.to_vec(),
                more_threads,
                failure: None,
            }))
        };
        let begin = "missing: not taken in time, or not written down by their collector";
        damaged(&missing(1, &[], 0), &format!("1 path is {begin}"));
        let check = |parts: &[MissingPart], more, text: &str| {
            let text = format!("2,000 paths are {begin}; {text}");
            damaged(&missing(2000, parts, more), &text);
        };
        check(&[part(1, 0)], 0, "of thread 7 its path 999");
        check(&[part(2, 0)], 0, "of thread 7 its paths 999 to 1,000");
        check(
            &[part(2, 1498)],
            0,
            "of thread 7 its paths 999 to 1,000, and all from 1,501 on (1,498)",
        );
        check(
            &[part(0, 1498)],
            1,
            "of thread 7 all its paths from 1,501 on (1,498); and some of 1 more thread",
        );
        check(
            &[words(7, 0), words(9, 3)],
            1000,
            "of thread 7 all 2,000 words from its word 1,001 on; of thread 9 and 3 before it all 2,000 words from their word 1,001 on; and some of 1,000 more threads",
        );
    }

    #[test]
    fn functions_that_do_not_fit_are_named() {
        let table = [
            (Misfit::NoBlock { block: 70 }, "no block b70 in its map"),
            (
                Misfit::ExitElsewhere { edge: 3 },
                "exit edge e3 of its map leads elsewhere",
            ),
            (
                Misfit::MisplacedDagEdge { edge: 2 },
                "edge d2 of its map does not join the blocks of the edge it represents",
            ),
            (
                Misfit::NoGraph(CfgError::EntersEntry(EdgeId(0))),
                "its map's graph is invalid: e0 enters the entry block; put an empty block before it",
            ),
            (
                Misfit::NoNumbering(NumberingError::Cycle),
                "its map's numbering is invalid: the edges that paths run along form a cycle",
            ),
            (
                Misfit::PathCount {
                    numbered: 6,
                    stated: 7,
                },
                "its map states 7 paths, but numbers 6",
            ),
            (
                Misfit::NoFlow(TreeError::Missing(EdgeId(0))),
                "the counts of its edges do not follow from its counters: e0 is neither counted nor does it follow",
            ),
            (
                Misfit::CountsBeyond {
                    counted: "path",
                    numbers: 2,
                    first: 6,
                    limit: 6,
                },
                "counts beyond its last path: 2, from number 6 on (it has 6)",
            ),
        ];
        for (misfit, text) in table {
            let function = slide();
            let note = Note::LeftOut { function, misfit };
            damaged(&note, &format!("app: slide in a: {text}; left out"));
        }
        let negative = |edges| Note::NegativeEdges {
            function: slide(),
            edges,
        };
        damaged(
            &negative(1),
            "app: killed in the middle of slide in a: 1 edge came out below 0, shown as 0",
        );
        damaged(
            &negative(2),
            "app: killed in the middle of slide in a: 2 edges came out below 0, shown as 0",
        );
    }

    #[test]
    fn files_that_cannot_be_read_are_named() {
        let build_id = [0xab; 16];
        let message = || "No such file or directory (os error 2)".to_owned();
        let table = [
            (
                Unreadable::System { message: message() },
                "No such file or directory (os error 2)",
            ),
            (
                Unreadable::Format(FormatError::Unfinished),
                "the process ended before it had written the head of its profile: record again",
            ),
            (
                Unreadable::MapFile {
                    file: "ab.hwm".into(),
                    message: message(),
                },
                "cannot read ab.hwm: No such file or directory (os error 2)",
            ),
            (
                Unreadable::MapFormat {
                    file: "ab.hwm".into(),
                    error: FormatError::Head { offset: 8 },
                },
                "cannot read ab.hwm: the head at byte 8 is damaged; record it again",
            ),
            (
                Unreadable::MapOfOtherBuild {
                    file: "ab.hwm".into(),
                    build_id,
                },
                "ab.hwm is of build abababababababab",
            ),
            (
                Unreadable::NoFunctions {
                    file: "ab.hwm".into(),
                    fact: Fact::ModuleName,
                },
                "no function of ab.hwm can be read: the module's name is damaged; delete it if the program is there as it was built, else record the run again",
            ),
            (
                Unreadable::NoMapInProgram {
                    message: "cannot find a path map in app".to_owned(),
                },
                "cannot find a path map in app; put the program back there as it was built, or record the run again",
            ),
            (
                Unreadable::MapInProgram {
                    file: "app".into(),
                    error: FormatError::NotAMap,
                },
                "cannot read the path map of app: not a path map; give a .hwm file, or weave the program again",
            ),
            (
                Unreadable::Rebuilt {
                    profile: build_id,
                    image: "app".to_owned(),
                    file: "bin/app".into(),
                    program: [0xcd; 16],
                },
                "the profile is of build abababababababab of app, bin/app is build cdcdcdcdcdcdcdcd now; record it again",
            ),
        ];
        for (why, text) in table {
            let file = file();
            let note = Note::Unreadable { file, why };
            damaged(&note, &format!("runs/7-app.hwp: {text}"));
        }
        let records = |records| Note::DamagedRecords {
            file: file(),
            records,
        };
        damaged(&records(1), "runs/7-app.hwp: 1 damaged record is left out");
        damaged(
            &records(2),
            "runs/7-app.hwp: 2 damaged records are left out",
        );
    }

    #[test]
    fn files_beside_profiles_are_named() {
        let file = || PathBuf::from("7-app.hwl");
        damaged(
            &Note::NoProfile {
                file: file(),
                profile: "7-app.hwp".to_owned(),
            },
            "7-app.hwl: its profile 7-app.hwp is missing, and the file can't be read without it: put the profile back, or record the run again",
        );
        damaged(
            &Note::MissingFile { file: file() },
            "7-app.hwl is missing, and so is its data: record the run again",
        );
        let message = "Permission denied (os error 13)".to_owned();
        let table = [
            (
                FileDamage::System { message },
                "Permission denied (os error 13)",
            ),
            (
                FileDamage::OtherProcess {
                    file: 8,
                    profile: 7,
                },
                "it is of process 8, not 7",
            ),
            (FileDamage::OtherBuild, "it is of another build"),
            (
                FileDamage::OtherVersion,
                "it is of another version of holloway",
            ),
            (FileDamage::Truncated, "it is cut short"),
            (FileDamage::Head, "its head is damaged"),
        ];
        for (why, text) in table {
            let file = file();
            let text = format!(
                "7-app.hwl can't be read ({text}), so its data is missing: record the run again"
            );
            damaged(&Note::UnreadableFile { file, why }, &text);
        }
        let lost = |failure| Note::LostThreads {
            origin: origin(),
            threads: 2,
            failure,
        };
        damaged(
            &lost(Some(WriteFailure::FileSystemFull)),
            "app, process 7: what ran in 2 threads or more is lost: the file system was full; make room, or set HOLLOWAY_DATA to another directory, and record it again",
        );
        damaged(
            &lost(Some(WriteFailure::FileSizeLimit)),
            "app, process 7: what ran in 2 threads or more is lost: the limit on file sizes was reached (ulimit -f); raise the limit, and record it again",
        );
        damaged(
            &lost(None),
            "app, process 7: what ran in 2 threads or more is lost: the profile could not be written (disk full, or a limit on file sizes); make room, or set HOLLOWAY_DATA to another directory, and record it again",
        );
    }

    #[test]
    fn traces_are_compared_with_counts() {
        let check = |missing, surplus, text: &str| {
            let account = Account {
                image: "app".to_owned(),
                process: 7,
                counted: Count(2000),
                missing: Count(missing),
                surplus: Count(surplus),
            };
            let text = format!("app, process 7: {text}; record it again");
            damaged(&Note::Account(account), &text);
        };
        check(
            1,
            0,
            "1 path of the 2,000 that its profile counted is missing from its trace",
        );
        check(
            2000,
            0,
            "all 2,000 paths that its profile counted are missing from its trace",
        );
        check(
            0,
            1,
            "its trace has 1 path that its profile did not count: it is of another run, or was changed",
        );
        check(
            2,
            3,
            "2 paths of the 2,000 that its profile counted are missing from its trace, which has 3 paths that were not counted: it is of another run, or was changed",
        );
    }
}
