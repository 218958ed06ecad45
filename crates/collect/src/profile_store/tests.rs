//! Tests of the store: each has a directory of its own.
#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use holloway_abi::Kind;
use holloway_format::samples::AddressSamples;
use holloway_format::{FunctionIndex, FunctionMap, ModuleMap, encode_image};
use holloway_testkit::build::{fact, module, slide};

const NOW: u64 = 2_000_000_000;

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A module with one function.
fn program(function: FunctionMap) -> ModuleMap {
    ModuleMap {
        counters_size: function.counters.size(),
        ..module("a", vec![function])
    }
}

/// Writes a run: samples of block 0 of the program's first function.
fn write_run(runs: &Path, name: &str, path: &str, map: &ModuleMap, samples: u64) -> PathBuf {
    let run = runs.join(name);
    std::fs::create_dir_all(&run).unwrap();
    let (encoded, id) = encode_image(Kind::Nothing, "app", &[(0, &map.encode())]);
    std::fs::write(run.join(map_name(&id)), pack_map(&encoded, &id)).unwrap();
    let record = SampleRecord {
        clock: SampleClock::CpuTime,
        state: MonitorState::Ended,
        frequency: 1000,
        duration_ns: 1,
        lost: 0,
        without_file: Count::ZERO,
        files: vec![MonitoredFile {
            path: path.to_owned(),
            build_id: vec![1],
            blocks: KnownBlocks::Known {
                map: id,
                left_out: 0,
            },
            addresses: vec![AddressSamples {
                address: 16,
                samples: Count(samples),
                block: Some((FunctionIndex::default(), 0)),
            }],
        }],
        programs: Vec::new(),
    };
    std::fs::write(run.join("1.hws"), record.encode()).unwrap();
    run
}

fn policy() -> Policy {
    Policy {
        patience: Duration::from_millis(200),
        ..Policy::default()
    }
}

#[test]
fn each_run_is_added_once_and_reports_read_the_sum() {
    let home = tempfile::tempdir().unwrap();
    let (store, runs) = (home.path().join("store"), home.path().join("runs"));
    let map = program(slide());
    write_run(&runs, "1", "/bin/app", &map, 2000);
    write_run(&runs, "2", "/bin/app", &map, 1000);
    let first = update(&store, std::slice::from_ref(&runs), policy(), at(NOW)).unwrap();
    assert_eq!((first.runs, first.samples), (2, Count(3000)));
    let again = update(&store, &[runs], policy(), at(NOW)).unwrap();
    assert_eq!((again.runs, again.samples), (0, Count(0)));
    let [app] = &again.programs[..] else {
        panic!("{again:?}");
    };
    assert_eq!((app.samples, app.runs, app.moved), (Count(3000), 2, None));
    let loaded = crate::samples::load(&store).unwrap();
    assert_eq!(loaded.damage, []);
    // 3 s of CPU time.
    assert_eq!(loaded.files[0].code[0].samples, Count(3072));
    assert!(loaded.files[0].map.is_some());
}

#[test]
fn samples_that_show_no_time_are_not_added() {
    let home = tempfile::tempdir().unwrap();
    let (store, runs) = (home.path().join("store"), home.path().join("runs"));
    // The counts of BOLT's text may have any size, and it has no times.
    let run = write_run(&runs, "1", "/bin/app", &program(slide()), u64::MAX);
    let file = run.join("1.hws");
    let record = SampleRecord::decode(&std::fs::read(&file).unwrap()).unwrap();
    for (clock, frequency) in [(SampleClock::Cycles, 0), (SampleClock::Other, 1000)] {
        let changed = SampleRecord {
            clock,
            frequency,
            ..record.clone()
        };
        std::fs::write(&file, changed.encode()).unwrap();
        let updated = update(&store, std::slice::from_ref(&runs), policy(), at(NOW)).unwrap();
        assert_eq!((updated.runs, updated.samples), (0, Count::ZERO));
        assert_eq!(updated.programs, []);
    }
}

/// The store keeps a deleted run's samples, and does not remember its name.
#[test]
fn deleted_runs_leave_no_trace_in_the_list_of_runs() {
    let home = tempfile::tempdir().unwrap();
    let (store, runs) = (home.path().join("store"), home.path().join("runs"));
    let map = program(slide());
    let added_runs = || {
        let database = Database::create(store.join(DATABASE)).unwrap();
        let transaction = redb::ReadableDatabase::begin_read(&database).unwrap();
        let table = transaction.open_table(RUNS).unwrap();
        redb::ReadableTableMetadata::len(&table).unwrap()
    };
    for round in 0..3 {
        let run = write_run(&runs, &round.to_string(), "/bin/app", &map, 1000);
        update(&store, std::slice::from_ref(&runs), policy(), at(NOW)).unwrap();
        assert_eq!(added_runs(), 1);
        std::fs::remove_dir_all(run).unwrap();
    }
    let updated = update(&store, &[home.path().join("elsewhere")], policy(), at(NOW)).unwrap();
    assert_eq!(
        (updated.programs[0].samples, added_runs()),
        (Count(3000), 1)
    );
    update(&store, &[runs], policy(), at(NOW)).unwrap();
    assert_eq!(added_runs(), 0);
}

#[test]
fn a_week_halves_old_times() {
    let home = tempfile::tempdir().unwrap();
    let (store, runs) = (home.path().join("store"), home.path().join("runs"));
    let run = write_run(&runs, "1", "/bin/app", &program(slide()), 2000);
    update(&store, &[run], policy(), at(NOW)).unwrap();
    for weeks in 1..3 {
        let week = 7 * 24 * 3600;
        update(&store, &[], policy(), at(NOW + weeks * week)).unwrap();
    }
    let loaded = crate::samples::load(&store).unwrap();
    assert_eq!(loaded.files[0].code[0].samples, Count(512));
}

#[test]
fn a_rebuild_keeps_what_did_not_change() {
    let home = tempfile::tempdir().unwrap();
    let (store, runs) = (home.path().join("store"), home.path().join("runs"));
    let run = write_run(&runs, "1", "/bin/app", &program(slide()), 2000);
    update(&store, &[run], policy(), at(NOW)).unwrap();
    let mut new = program(slide());
    new.name = "b".into();
    let run = write_run(&runs, "2", "/bin/app", &new, 1000);
    let rebuilt = update(&store, &[run], policy(), at(NOW)).unwrap();
    let [app] = &rebuilt.programs[..] else {
        panic!("{rebuilt:?}");
    };
    let over = app.carried_over.as_ref().unwrap();
    assert_eq!((over.kept, over.dropped), (1, 0));
    assert_eq!(
        (app.samples, app.runs, app.moved),
        (Count(3000), 1, Some(0.0))
    );
    let run = write_run(&runs, "3", "/bin/app", &program(fact().done()), 10);
    let rebuilt = update(&store, &[run], policy(), at(NOW)).unwrap();
    let over = rebuilt.programs[0].carried_over.as_ref().unwrap();
    assert_eq!((over.kept, over.dropped), (0, 1));
    assert_eq!(rebuilt.programs[0].moved, Some(1.0));
    let maps = files(&store).unwrap();
    let maps = maps.filter(|file| file.extension().is_some_and(|e| e == "hwm"));
    assert_eq!(maps.count(), 1, "maps of replaced builds are deleted");
}

#[test]
fn a_full_store_forgets_the_oldest_program() {
    let home = tempfile::tempdir().unwrap();
    let (store, runs) = (home.path().join("store"), home.path().join("runs"));
    let old = write_run(&runs, "1", "/bin/old", &program(slide()), 2000);
    update(&store, &[old], policy(), at(NOW)).unwrap();
    let new = write_run(&runs, "2", "/bin/new", &program(fact().done()), 10);
    let small = Policy {
        max_bytes: 700,
        ..policy()
    };
    let updated = update(&store, &[new], small, at(NOW + 1)).unwrap();
    assert_eq!(updated.forgotten, ["/bin/old"]);
    assert_eq!(updated.programs[0].path, "/bin/new");
}

#[test]
fn a_second_manager_waits_and_then_says_so() {
    let home = tempfile::tempdir().unwrap();
    update(home.path(), &[], policy(), at(NOW)).unwrap();
    let held = Database::create(home.path().join(DATABASE)).unwrap();
    let error = update(home.path(), &[], policy(), at(NOW)).unwrap_err();
    assert!(matches!(error, ProfileStoreError::InUse { .. }), "{error}");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            drop(held);
        });
        let patient = Policy::default();
        update(home.path(), &[], patient, at(NOW)).unwrap();
    });
}

#[test]
fn unreadable_and_unfinished_runs_are_listed() {
    let home = tempfile::tempdir().unwrap();
    let (store, runs) = (home.path().join("store"), home.path().join("runs"));
    let run = write_run(&runs, "1", "/bin/app", &program(slide()), 2000);
    let file = run.join("1.hws");
    let bytes = std::fs::read(&file).unwrap();
    for length in 0..bytes.len() {
        std::fs::write(&file, &bytes[..length]).unwrap();
        let updated = update(&store, std::slice::from_ref(&runs), policy(), at(NOW)).unwrap();
        assert_eq!((updated.runs, updated.damage.len()), (0, 1));
    }
    let mut record = SampleRecord::decode(&bytes).unwrap();
    record.state = MonitorState::Watching;
    std::fs::write(&file, record.encode()).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    let soon = update(
        &store,
        std::slice::from_ref(&runs),
        policy(),
        written + Duration::from_secs(1),
    );
    assert_eq!(soon.unwrap().unfinished, 1);
    let later = update(
        &store,
        &[runs],
        policy(),
        written + Duration::from_secs(100),
    );
    assert_eq!(later.unwrap().runs, 1);
}
