//! `holloway phases` on a program with two loops that run one after the other.

use serde_json::Value;

use crate::cli_support::Project;

const PROGRAM: &str = "\
static volatile unsigned long sum;
#define HERE(n) __asm__ volatile(\"# here %0\" : : \"i\"(n))
__attribute__((noinline)) void first(int n) {
  for (int i = 0; i < n; i++) {
    if (i % 3) { HERE(0); sum += i; }
    else { HERE(1); sum ^= n; }
  }
}
__attribute__((noinline)) void second(int n) {
  for (int i = 0; i < n; i++) {
    if (i % 5) { HERE(2); sum -= i; }
    else { HERE(3); sum |= n; }
  }
}
int main(void) {
  first(50000);
  second(50000);
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
fn the_hot_spots_are_the_loops() {
    let project = recorded("--collect trace");
    let text = project.holloway("phases run").ok();
    text.says("2 hot spots")
        .says("first")
        .says("second")
        .says("app.c:");
    let json: Value = project.holloway("phases run --format json").ok().json().0;
    assert_eq!(json["schema"], 1);
    // The loops, and a test of n before each of them.
    assert_eq!(json["branches"], 200_002);
    let hot_spots = json["hot_spots"].as_array().unwrap();
    let detected = hot_spots
        .iter()
        .map(|spot| spot["detected_at"].as_u64().unwrap());
    // Two branches in turn are found after 15 × 2 + 8,191 branches, and the second pair after the
    // monitor counter's 4,095 more. The tests of n add a few branches.
    let detected: Vec<u64> = detected.collect();
    assert!((8221..8230).contains(&detected[0]), "{detected:?}");
    let second = 100_000 + 4095 + 8221;
    assert!((second..second + 10).contains(&detected[1]), "{detected:?}");
    let function = |spot: &Value| spot["branches"][0]["function"].as_str().unwrap().to_owned();
    let functions: Vec<String> = hot_spots.iter().map(function).collect();
    assert_eq!(functions, ["first", "second"]);
    let phases = json["phases"].as_array().unwrap();
    let functions: Vec<&Value> = phases
        .iter()
        .map(|phase| &phase["functions"][0]["function"])
        .collect();
    assert_eq!(functions, ["first", "second"]);
    let text = project.holloway("phases run --window 10").exits(2);
    text.fails_with("windows of 10 branches are too small");
    let all: Value = project
        .holloway(
            "phases run --format json --branches all --by-direction --ranges --targets --trigger",
        )
        .ok()
        .json()
        .0;
    let detectors = all["detectors"].as_array().unwrap().iter();
    let detectors: Vec<&Value> = detectors.map(|detector| &detector["detector"]).collect();
    assert_eq!(
        detectors,
        [
            "hot_spots_left",
            "hot_spot_detected",
            "hot_spot_entered",
            "trigger"
        ]
    );
    assert!(all["branches"].as_u64() > json["branches"].as_u64());
}

#[test]
fn impossible_parameters_and_other_runs_are_refused() {
    let project = recorded("--collect paths");
    let refused = project.holloway("phases run").exits(2);
    refused.fails_with("--collect trace");
    let refused = project.holloway("phases run --entries 2047").exits(2);
    refused.fails_with("2047 entries do not make sets of 2 ways");
}

#[test]
fn views_show_one_phase() {
    let project = recorded("--collect trace");
    let functions = |phase: &str| -> Vec<(String, u64)> {
        let words = format!("report run --format json {phase}");
        let json: Value = project.holloway(&words).ok().json().0;
        let functions = json["functions"].as_array().unwrap().iter();
        let ran = functions.filter_map(|function| {
            let paths = function["paths"].as_array()?;
            let counts = paths.iter().map(|path| path["count"].as_u64().unwrap());
            let count = counts.sum::<u64>();
            (count > 0).then(|| (function["name"].as_str().unwrap().to_owned(), count))
        });
        ran.collect()
    };
    let sum = |functions: &[(String, u64)]| functions.iter().map(|(_, count)| count).sum::<u64>();
    let (all, first, second) = (
        functions(""),
        functions("--phase A"),
        functions("--phase B"),
    );
    assert_eq!(sum(&first) + sum(&second), sum(&all));
    let count = |functions: &[(String, u64)], name: &str| {
        let function = functions.iter().find(|function| function.0 == name);
        function.map_or(0, |function| function.1)
    };
    assert!(count(&first, "first") > 49_990 && count(&first, "second") < 10);
    assert!(count(&second, "second") > 49_990 && count(&second, "first") < 10);
    let text = project.holloway("report run --phase B --view lines").ok();
    text.says("app.c").complains("phase B of thread");
    let refused = project.holloway("report run --phase C").exits(2);
    refused.fails_with("there is no phase C: the trace has the phases A to B");
    assert_eq!(functions("--phase b"), second);
    for wrong in ["AB", "1"] {
        let refused = project
            .holloway(&format!("report run --phase {wrong}"))
            .exits(2);
        assert!(
            refused
                .stderr
                .contains("give the letter of a phase, as in C")
        );
    }
    let refused = project
        .holloway("report run --phase A --uncovered")
        .exits(2);
    refused.fails_with("--phase shows counts");
}
