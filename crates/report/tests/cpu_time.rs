//! Golden files of the CPU time at the head of reports.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_analysis::RunProfile;
use holloway_format::{
    Count, CpuRecord, FunctionSamples, ProgramSamples, SampledFile, Samples, Sampling,
    UnusedLibrary,
};
use holloway_report::{Options, Source, View, json, terminal};
use holloway_testkit::build::{SLIDE_FIRST, image, module, profile, slide};
use insta::assert_snapshot;

/// No source text.
struct NoSource;

impl Source for NoSource {
    fn line(&self, _: &str, _: u32) -> Option<String> {
        None
    }
}

fn run_with(sampling: Sampling) -> RunProfile {
    let image = image("app", vec![module("part.o", vec![slide()])]);
    let counts = profile(&image, 1, &[(0, 0, SLIDE_FIRST)]);
    let mut run = RunProfile::new(vec![(image, vec![counts])]);
    let record = CpuRecord {
        user_ns: 1_920_000_000,
        system_ns: 110_000_000,
        sampling,
    };
    run.add_cpu_time(&[record]);
    run
}

fn samples() -> Samples {
    let function = |name: &str, samples| FunctionSamples {
        linkage_names: vec![name.to_owned()],
        samples: Count(samples),
    };
    Samples {
        period_ns: 999_983,
        files: vec![
            SampledFile {
                path: "/home/me/app".to_owned(),
                build_id: Some([0xab; 16]),
                without_function: Count(20),
                functions: vec![
                    function("slide", 1_200),
                    function("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", 60),
                    function("_ZN5alloc3fmt6format17h0123456789abcdefE", 40),
                    function("libdeflate_deflate_compress", 80),
                ],
            },
            SampledFile {
                path: "/usr/lib/libbz2.so.1.0.4".to_owned(),
                without_function: Count(600),
                ..SampledFile::default()
            },
        ],
        ..Samples::default()
    }
}

/// The part of the text report above the coverage.
fn head(run: &RunProfile) -> String {
    let mut out = Vec::new();
    terminal::write(run, &Options::new(&NoSource), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let (head, _) = text.split_once("\n\nCoverage\n").unwrap();
    head.to_owned()
}

fn cpu_time_in_json(run: &RunProfile) -> serde_json::Value {
    let mut out = Vec::new();
    json::write(run, &Options::new(&NoSource), &mut out).unwrap();
    let mut value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    value["cpu_time"].take()
}

#[test]
fn the_unwoven_code_is_named() {
    assert_snapshot!(head(&run_with(Sampling::Sampled(samples()))));
}

/// The functions view has the time of each function, and ranks by it on request.
#[test]
fn functions_have_their_samples() {
    let run = run_with(Sampling::Sampled(samples()));
    let functions = |by_time| {
        let options = Options {
            view: Some(View::Functions),
            by_time,
            ..Options::new(&NoSource)
        };
        let mut out = Vec::new();
        terminal::write(&run, &options, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.split_once("Hottest functions").unwrap().1.to_owned()
    };
    assert_snapshot!(functions(false));
    // 1,200 of 2,000 samples are in the function.
    let by_time = functions(true);
    assert!(
        by_time.contains("by share of 2,000 samples of CPU time"),
        "{by_time}"
    );
    assert!(by_time.contains("60.0 %"), "{by_time}");
    let mut out = Vec::new();
    json::write(&run, &Options::new(&NoSource), &mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["functions"][0]["samples"], 1_200);
}

/// A run that spent much of its time in the kernel says so.
#[test]
fn a_large_system_time_is_explained() {
    let mut run = run_with(Sampling::Sampled(samples()));
    assert!(!head(&run).contains("kernel"));
    run.cpu_time.as_mut().unwrap().system_ns = 640_000_000;
    let head = head(&run);
    assert!(
        head.contains("25.0 % of the CPU time went to system calls"),
        "{head}"
    );
}

#[test]
fn an_unused_library_and_other_programs_are_named() {
    let run = run_with(Sampling::Sampled(Samples {
        other_programs: vec![ProgramSamples {
            path: "/usr/bin/cargo".to_owned(),
            samples: Count(50),
        }],
        unused_libraries: vec![UnusedLibrary {
            loaded: "/usr/lib/libbz2.so.1.0.4".to_owned(),
            woven: "/home/me/libbz2.so.1.0".to_owned(),
        }],
        lost: 3,
        ..samples()
    }));
    assert_snapshot!(head(&run));
    assert_snapshot!(serde_json::to_string_pretty(&cpu_time_in_json(&run)).unwrap());
}

#[test]
fn a_refusal_is_explained() {
    let run = run_with(Sampling::Refused { errno: 13 });
    assert_snapshot!(head(&run));
    let json = cpu_time_in_json(&run);
    assert_eq!(
        (&json["sampling"], &json["errno"]),
        (&"refused".into(), &13.into())
    );
    assert!(json.get("samples").is_none(), "{json}");
}

#[test]
fn a_run_without_samples_has_no_share() {
    let run = run_with(Sampling::Sampled(Samples::default()));
    assert_snapshot!(head(&run));
    assert!(cpu_time_in_json(&run)["woven_share"].is_null());
}

/// Without the records of the program's files, no sample is known to be of woven code. That says
/// nothing about the program.
#[test]
fn dropped_records_are_the_reason_of_an_unknown_share() {
    let run = run_with(Sampling::Sampled(Samples {
        lost: 3,
        other_programs: vec![ProgramSamples {
            path: "[vdso]".to_owned(),
            samples: Count(216),
        }],
        ..Samples::default()
    }));
    let sentence = "unknown: the kernel dropped 3 records of this run; record it again, on a less busy machine";
    assert!(head(&run).contains(sentence), "{}", head(&run));
}
