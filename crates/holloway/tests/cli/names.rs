//! Short names of paths: the same in all kinds, and accepted wherever a path is asked for.

use std::collections::BTreeMap;

use crate::cli_support::Project;

/// `kind` makes no calls, so its paths are the same in a trace. Three cases are on one line.
const PROGRAM: &str = "\
#include <stdlib.h>
static volatile int sum;
__attribute__((noinline)) int kind(int c) {
  int found = 0;
  for (int i = 0; i < 3; i++) {
    switch (c) { case 1: sum += 7; break; case 5: sum ^= i; break; case 900: found = sum; break; default: sum--; }
    if (sum & 1)
      sum += c;
  }
  return found;
}
int main(int count, char **words) {
  int numbers[] = {1, 5, 900, 3};
  for (int i = 0; i < atoi(words[1]); i++)
    sum += kind(numbers[i % 4]);
  return 0;
}
";

/// The executions of each path of a function, by its name.
fn counts(project: &Project, run: &str, function: &str) -> BTreeMap<String, u64> {
    let words = format!("report {run} --view functions --format json");
    let report = project.holloway(&words).ok().json().0;
    let functions = report["functions"].as_array().unwrap().iter();
    let mut functions = functions.filter(|record| record["name"] == function);
    let paths = functions.next().unwrap()["paths"]
        .as_array()
        .unwrap()
        .clone();
    let named = paths.iter().map(|path| {
        let name = path["path_name"].as_str().unwrap().to_owned();
        (name, path["count"].as_u64().unwrap())
    });
    let names: BTreeMap<String, u64> = named.collect();
    assert_eq!(names.len(), paths.len());
    names
}

#[test]
fn a_path_has_one_name_in_all_kinds() {
    let project = Project::new(&[("app.c", PROGRAM)]);
    for kind in ["paths", "loops", "trace", "times"] {
        let build = format!("cc --collect {kind} -O1 -g app.c -o {kind}");
        project.holloway(&build).ok();
        let run = format!("run -o {kind}.run --no-report -- ./{kind} 40");
        project.holloway(&run).ok();
    }
    let [paths, loops, trace, times] = ["paths", "loops", "trace", "times"]
        .map(|kind| counts(&project, &format!("{kind}.run"), "kind"));
    assert!(paths.len() >= 8, "{paths:?}");
    assert_eq!(paths, loops);
    assert_eq!(paths, trace);
    assert_eq!(paths, times);

    // The paths of `main` contain calls, so only those of a trace differ.
    let main = counts(&project, "paths.run", "main");
    assert_eq!(main, counts(&project, "loops.run", "main"));
    assert_ne!(main, counts(&project, "trace.run", "main"));

    let (name, count) = paths.iter().max_by_key(|(_, count)| **count).unwrap();
    let short_name = format!("kind#{}", &name[..8]);
    let shown = format!("kind#{}", &name[..4]);
    let holloway = |words: &str, pattern: &str| project.holloway(words).arg(pattern);
    holloway("report paths.run --function", &short_name)
        .ok()
        .says("1 of 1 path,")
        .says(&shown);
    holloway("report loops.run --function", &short_name)
        .ok()
        .says("Loops  1 of 1 loop");
    let ran = format!("ran           {count} times");
    project
        .holloway("trace freq")
        .arg(&short_name)
        .arg("trace.run")
        .ok()
        .says(&ran);
    holloway("overlap paths.run loops.run --function", &short_name)
        .ok()
        .says(&format!("{short_name} has the same share"));

    let unknown = "no path `kind#0000` ran; these ran: #";
    holloway("report paths.run --function", "kind#0000")
        .exits(2)
        .complains(unknown);
}

#[test]
fn rows_of_traces_say_which_case_was_taken() {
    let project = Project::new(&[("app.c", PROGRAM)]);
    project
        .holloway("cc --collect trace -O1 -g app.c -o app")
        .ok();
    project.holloway("run -o run --no-report -- ./app 40").ok();
    let text = project.holloway("trace cat run").ok().stdout;
    for case in ["case 1", "case 5", "case 900"] {
        assert!(text.contains(&format!("6 → {case}")), "{case}: {text}");
    }
}
