//! `holloway predict` on a program whose branches are known.

use serde_json::Value;

use crate::cli_support::Project;

/// A loop with a condition that holds at random, and one that holds in every second turn.
const PROGRAM: &str = "\
static volatile unsigned long sum;
#define HERE(n) __asm__ volatile(\"# here %0\" : : \"i\"(n))
__attribute__((noinline)) void dice(int n) {
  unsigned state = 1;
  for (int i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    if (state >> 31) { HERE(0); sum += i; }
    else { HERE(1); sum ^= n; }
    if (i & 1) { HERE(2); sum -= i; }
    else { HERE(3); sum |= n; }
  }
}
int main(void) {
  dice(50000);
  return 0;
}
";

fn recorded(options: &str) -> Project {
    let project = Project::new(&[("app.c", PROGRAM)]);
    project
        .holloway(&format!("cc {options} -g -O1 app.c -o app"))
        .ok();
    project.holloway("run -o run --no-report -- ./app").ok();
    project
}

#[test]
fn random_conditions_are_mispredicted() {
    let project = recorded("--collect trace");
    let text = project.holloway("predict run").ok();
    text.says("Mispredictions")
        .says("TAGE")
        .says("app.c:7")
        .says("dice");
    assert!(!text.stdout.contains("Profiles from predictors"));
    let json: Value = project.holloway("predict run --format json").ok().json().0;
    assert_eq!(json["schema"], 1);
    assert_eq!(json["covers"], "woven");
    let die = &json["branches"][0];
    assert_eq!(
        (&die["line"], &die["executions"]),
        (&7.into(), &50_000.into())
    );
    let missed = |branch: &Value, model: &str| branch["mispredictions"][model].as_u64().unwrap();
    for model in ["bimodal", "gshare", "tage", "longer_history"] {
        let missed = missed(die, model);
        assert!((20_000..30_000).contains(&missed), "{model}: {missed}");
    }
    // Whether i is odd, the history knows.
    let others = json["branches"].as_array().unwrap().iter().skip(1);
    for branch in others {
        assert!(missed(branch, "tage") < 5000, "{branch}");
    }
    assert_eq!(json.get("schemes"), None);
}

#[test]
fn estimated_profiles_are_shown_on_request() {
    let project = recorded("--collect trace");
    let text = project.holloway("predict run --estimates").ok();
    text.says("Profiles from predictors")
        .says("two levels, marker bit");
    let words = "predict run --estimates --format json";
    let json: Value = project.holloway(words).ok().json().0;
    let schemes = json["schemes"].as_array().unwrap();
    let names: Vec<&str> = schemes
        .iter()
        .map(|scheme| scheme["name"].as_str().unwrap())
        .collect();
    let all = ["two_level_dirty_bit", "two_level_marker_bit", "one_level"];
    assert_eq!(names, all);
    for scheme in schemes {
        for threshold in ["0.1", "1", "3", "5"] {
            let error = scheme["tse"][threshold].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&error), "{scheme}");
        }
        assert!(scheme["arc_weight_error"].as_f64().unwrap() < 0.5);
    }
    let sweep = "predict run --estimates --sweep --dump-interval 1600 --top 1 --format json";
    let json: Value = project.holloway(sweep).ok().json().0;
    let intervals = json["schemes"].as_array().unwrap().iter();
    let intervals: Vec<u64> = intervals
        .map(|scheme| scheme["dump_interval"].as_u64().unwrap())
        .collect();
    let swept = [1600, 400, 200, 100].map(|interval| [interval; 3]);
    assert_eq!(intervals, swept.concat());
    assert_eq!(json["branches"].as_array().unwrap().len(), 1);
}

#[test]
fn runs_without_traces_are_refused() {
    let project = recorded("--collect paths");
    let text = project.holloway("predict run").exits(2);
    text.fails_with("run: no traces were recorded: build with --collect trace");
    let estimates = "predict run --estimates";
    project
        .holloway(&format!("{estimates} --dump-interval 0"))
        .exits(2);
    // These options change only the estimates.
    for option in ["--sweep", "--dump-interval 1000"] {
        let text = project.holloway(&format!("predict run {option}")).exits(2);
        text.complains("--estimates");
    }
}
