//! Tests of the report of an optimization.

use std::io::{self, Write};

use holloway_analysis::old_plans::Summary;
use holloway_analysis::paired::{Gain, Instructions, Verdict};
use holloway_format::Count;

use super::*;
use crate::plan::matched;

fn gain(median: f64, low: f64, high: f64) -> Gain {
    Gain { median, low, high }
}

fn example(verdict: Verdict) -> Optimization {
    let early = Measurement {
        gain: gain(0.0625, 0.05, 0.07),
        verdict,
    };
    Optimization {
        program: "./app".into(),
        output: "app.fast".into(),
        source: PlanSource::Training,
        functions: 120,
        functions_that_ran: 75,
        planned_functions: 118,
        recipe_size: 168_697,
        pairs: 10,
        noise: gain(0.001, -0.002, 0.004),
        early,
        selects: None,
        late: None,
        paths: PathsStep::NotWanted,
        prefetch: PrefetchStep::NoLoads,
        order: OrderStep::NoOrder,
        blamed: Vec::new(),
        kept: verdict.keeps().then_some(early.gain),
        instructions: Some(Instructions {
            plain: 1000,
            other: 950,
        }),
        late_instructions: None,
        unpredictable_branches: 0,
        late_functions: 0,
        tails: 0,
        prefetches: 0,
    }
}

fn with_selects(early: Verdict, selects: Verdict) -> Optimization {
    let example = example(early);
    let kept = match selects.keeps() {
        true => Some(gain(0.25, 0.24, 0.26)),
        false => example.kept,
    };
    Optimization {
        unpredictable_branches: 2,
        selects: Some(Measurement {
            gain: gain(0.5, 0.48, 0.52),
            verdict: selects,
        }),
        kept,
        ..example
    }
}

fn with_late_counts(early: Verdict, late: Verdict) -> Optimization {
    let example = example(early);
    let kept = match late.keeps() {
        true => Some(gain(0.075, 0.0625, 0.08)),
        false => example.kept,
    };
    Optimization {
        late: Some(Measurement {
            gain: gain(0.0125, 0.01, 0.015),
            verdict: late,
        }),
        late_instructions: Some(Instructions {
            plain: 950,
            other: 931,
        }),
        late_functions: 90,
        kept,
        ..example
    }
}

fn written(write: impl Fn(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("written");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn the_text_says_what_was_kept_and_why() {
    let text = written(|out| write(&example(Verdict::Faster), out));
    let expect = "\
plan          120 functions from training: 75 ran, 118 in the program's modules
recipe        168,697 bytes of ./app
noise         +0.10 % saved (95 %: -0.20 to +0.40) (10 pairs, ./app with itself)
CPU time      +6.25 % saved (95 %: +5.00 to +7.00) (10 pairs)
instructions  +5.00 % saved (1,000 -> 950, callgrind)
selects       none: no branch is unpredictable, so there is nothing to measure
late counts   none: the plan has no late counts
prefetches    none: no load that waits for memory has a predictable address
order         none: the plan has no order of functions
early counts  kept: the program is faster
app.fast is optimized
";
    assert_eq!(text, expect);
}

#[test]
fn given_plans_say_how_much_was_matched() {
    let summary = Summary {
        unchanged: 30,
        changed: 8,
        gone: 4,
        changed_executions: Count(1000),
        changed_matched: Count(920),
        executions: Count(10_000),
        matched: Count(9_700),
    };
    let optimization = Optimization {
        source: PlanSource::Given {
            plans: 2,
            profiles: 0,
            summary,
        },
        ..example(Verdict::Faster)
    };
    let text = written(|out| write(&optimization, out));
    let mut lines = text.lines();
    let expect = [
        "plan          120 functions from 2 plans: 75 ran, 118 in the program's modules",
        "matched       42 functions: 30 unchanged, 8 changed (92.0 % of their counts), 4 gone; 97.0 % of all counts",
    ];
    assert_eq!([lines.next(), lines.next()], expect.map(Some));
    let text = written(|out| json(&optimization, out));
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let expect = serde_json::json!({
        "unchanged": 30, "changed": 8, "gone": 4, "changed_executions": 1000,
        "changed_matched": 920, "executions": 10_000, "matched": 9_700,
    });
    assert_eq!(document["matched"], expect);
    let text = written(|out| json(&example(Verdict::Faster), out));
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(
        document
            .as_object()
            .expect("an object")
            .contains_key("matched")
    );
    assert_eq!(document["matched"], serde_json::Value::Null);
}

#[test]
fn a_plan_that_fits_is_unchanged() {
    let summary = Summary {
        unchanged: 1,
        executions: Count(7),
        matched: Count(7),
        ..Summary::default()
    };
    assert_eq!(matched(&summary), "1 function: 1 unchanged");
}

#[test]
fn selects_have_a_gain_and_a_verdict_of_their_own() {
    let check = |early, selects, expect: &str| {
        let text = written(|out| write(&with_selects(early, selects), out));
        let (_, end) = text.split_once("callgrind)\n").expect("the measurements");
        assert_eq!(end, expect);
    };
    let gains = "\
selects       +50.00 % saved (95 %: +48.00 to +52.00) (10 pairs, 2 unpredictable branches)
late counts   none: the plan has no late counts
prefetches    none: no load that waits for memory has a predictable address
order         none: the plan has no order of functions
";
    check(
        Verdict::NoDifference,
        Verdict::Faster,
        &format!(
            "{gains}\
kept steps    +25.00 % saved (95 %: +24.00 to +26.00) (10 pairs)
early counts  dropped: the gain cannot be told from noise
selects       kept: the program is faster (with early counts)
app.fast is optimized
"
        ),
    );
    check(
            Verdict::FewerInstructions,
            Verdict::TooNoisy,
            &format!(
                "{gains}\
early counts  kept: the program executes fewer instructions (times are too noisy to decide)
selects       dropped: the machine is too noisy, and instructions do not show how long the processor waits
app.fast is optimized
"
            ),
        );
    let same = Optimization {
        unpredictable_branches: 1,
        ..example(Verdict::Slower)
    };
    let text = written(|out| write(&same, out));
    assert!(text.contains(
            "selects       none: 1 unpredictable branch marked, but the compiler makes the same program\n"
        ));
}

#[test]
fn late_counts_have_a_gain_and_a_verdict_of_their_own() {
    let check = |early, late, expect: &str| {
        let text = written(|out| write(&with_late_counts(early, late), out));
        let (_, end) = text.split_once("to measure\n").expect("the measurements");
        assert_eq!(end, expect);
    };
    let gains = "\
late counts   +1.25 % saved (95 %: +1.00 to +1.50) (10 pairs, 90 functions)
instructions  +2.00 % saved (950 -> 931, callgrind)
prefetches    none: no load that waits for memory has a predictable address
order         none: the plan has no order of functions
";
    check(
        Verdict::Faster,
        Verdict::Faster,
        &format!(
            "{gains}\
kept steps    +7.50 % saved (95 %: +6.25 to +8.00) (10 pairs)
early counts  kept: the program is faster
late counts   kept: the program is faster
app.fast is optimized
"
        ),
    );
    check(
        Verdict::Faster,
        Verdict::Slower,
        &format!(
            "{gains}\
early counts  kept: the program is faster
late counts   dropped: the program is slower
app.fast is optimized
"
        ),
    );
    let same = Optimization {
        late_functions: 90,
        ..example(Verdict::Faster)
    };
    let text = written(|out| write(&same, out));
    assert!(text.contains("late counts   none: the compiler makes the same program\n"));
}

#[test]
fn the_order_is_measured_or_has_a_reason() {
    let with = |order| Optimization {
        order,
        ..example(Verdict::Faster)
    };
    let line = |order| {
        let text = written(|out| write(&with(order), out));
        let (_, line) = text.split_once("\norder         ").expect("a line");
        line.lines().next().map(str::to_owned)
    };
    let expect = |text: &str| Some(text.to_owned());
    assert_eq!(
        line(OrderStep::FitsInCache { bytes: 9872 }),
        expect("none: the functions that ran have 9,872 bytes, which fit in the instruction cache")
    );
    assert_eq!(
        line(OrderStep::LinkerTakesNone),
        expect("none: the linker takes no order of functions (GNU ld and lld do)")
    );
    assert_eq!(
        line(OrderStep::NotMeasured),
        expect("none: it could not be measured")
    );
    let measured = |verdict| OrderStep::Measured {
        step: Measurement {
            gain: gain(0.01, 0.005, 0.02),
            verdict,
        },
        noise: gain(0.001, -0.002, 0.004),
    };
    assert_eq!(
        line(measured(Verdict::Faster)),
        expect("+1.00 % saved (95 %: +0.50 to +2.00) (10 pairs, noise +0.10 %)")
    );
    for (verdict, list) in [(Verdict::Faster, "kept"), (Verdict::Slower, "dropped")] {
        let text = written(|out| write(&with(measured(verdict)), out));
        assert!(
            text.contains(&format!("\norder         {list}: ")),
            "{text}"
        );
        let text = written(|out| json(&with(measured(verdict)), out));
        let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let steps = document[list].as_array().expect("a list");
        assert!(steps.contains(&Step::Order.name().into()), "{text}");
        assert_eq!(document["order"]["gain_percent"], 1.0, "{text}");
    }
}

#[test]
fn the_json_lists_kept_and_dropped_steps() {
    let check = |verdict, expect: &str| {
        let text = written(|out| json(&example(verdict), out));
        assert!(
                text.starts_with(&format!(
                    "{{\"schema\":1,\"gain_percent\":6.25,\"low\":5.0,\"high\":7.000000000000001,{expect}"
                )),
                "{text}"
            );
    };
    check(Verdict::Faster, "\"kept\":[\"early\"],\"dropped\":[],");
    check(Verdict::TooNoisy, "\"kept\":[],\"dropped\":[\"early\"],");
}

#[test]
fn the_json_has_the_gain_of_each_step() {
    let check = |early, selects, expect: &str| {
        let text = written(|out| json(&with_selects(early, selects), out));
        assert!(text.starts_with(expect), "{text}");
        assert!(
                text.contains("\"unpredictable_branches\":2,\"late_functions\":0,\"early\":{\"gain_percent\":6.25,"),
                "{text}"
            );
        let own = "\"selects\":{\"gain_percent\":50.0,\"low\":48.0,\"high\":52.0},\"late\":null,\"tails\":0,\"paths\":null,\"prefetches\":0,\"prefetch\":null,\"order\":null}\n";
        assert!(text.ends_with(own), "{text}");
    };
    check(
        Verdict::NoDifference,
        Verdict::Faster,
        "{\"schema\":1,\"gain_percent\":25.0,\"low\":24.0,\"high\":26.0,\"kept\":[\"early\",\"selects\"],\"dropped\":[],",
    );
    check(
        Verdict::Faster,
        Verdict::Slower,
        "{\"schema\":1,\"gain_percent\":6.25,\"low\":5.0,\"high\":7.000000000000001,\"kept\":[\"early\"],\"dropped\":[\"selects\"],",
    );
    let text = written(|out| json(&example(Verdict::Faster), out));
    assert!(
        text.ends_with(
            "\"selects\":null,\"late\":null,\"tails\":0,\"paths\":null,\"prefetches\":0,\"prefetch\":null,\"order\":null}\n"
        ),
        "{text}"
    );
    let text = written(|out| json(&with_late_counts(Verdict::Faster, Verdict::Faster), out));
    assert!(
            text.starts_with(
                "{\"schema\":1,\"gain_percent\":7.5,\"low\":6.25,\"high\":8.0,\"kept\":[\"early\",\"late\"],\"dropped\":[],"
            ),
            "{text}"
        );
    assert!(
        text.contains("\"instructions\":{\"plain\":1000,\"optimized\":950,\"late\":931}"),
        "{text}"
    );
}

#[test]
fn a_function_can_be_left_out_of_a_step() {
    let mut example = with_selects(Verdict::Faster, Verdict::Slower);
    example.blamed = vec![BlamedFunction {
        step: Step::Selects,
        function: "_ZN3app6lookup17h0123456789abcdefE".into(),
        gain: gain(0.125, 0.11, 0.14),
    }];
    example.kept = Some(gain(0.1875, 0.18, 0.19));
    let text = written(|out| write(&example, out));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[5],
        "selects       +50.00 % saved (95 %: +48.00 to +52.00) (10 pairs, 2 unpredictable branches)"
    );
    let end = "\
selects       +12.50 % saved (95 %: +11.00 to +14.00) without app::lookup
kept steps    +18.75 % saved (95 %: +18.00 to +19.00) (10 pairs)
early counts  kept: the program is faster
selects       kept without app::lookup: the program is faster
app.fast is optimized";
    assert_eq!(lines[lines.len() - 5..].join("\n"), end);

    let json: serde_json::Value =
        serde_json::from_str(&written(|out| json(&example, out))).expect("JSON");
    assert_eq!(json["kept"], serde_json::json!(["early", "selects"]));
    assert_eq!(json["dropped"], serde_json::json!([]));
    let blamed = serde_json::json!([{
        "step": "selects",
        "function": "app::lookup",
        "linkage_name": "_ZN3app6lookup17h0123456789abcdefE",
        "gain_percent": 12.5,
        "low": 11.0,
        "high": 14.000000000000002,
    }]);
    assert_eq!(json["blamed"], blamed);
}
