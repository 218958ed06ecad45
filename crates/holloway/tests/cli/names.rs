//! Short names of paths: the same in all kinds, and accepted wherever a path is asked for.

use std::collections::BTreeMap;

use crate::cli_support::{Project, holloway_in};

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

    // A budget limits one path.
    let limit = |digits: &str| {
        let function = format!("function = \"kind#{digits}\"");
        let budget = format!(
            "[[limit]]\nmeasure = \"path-executions\"\n{function}\nmin = {count}\nmax = {count}\n"
        );
        std::fs::write(project.path().join("budget.toml"), budget).unwrap();
        project.holloway("check budget.toml paths.run")
    };
    limit(&name[..5])
        .ok()
        .says(&format!("path executions of kind#{}", &name[..5]));
    limit("zz")
        .exits(2)
        .fails_with("#zz is no short name of a path");
    holloway("report paths.run --function", "kind#zz")
        .exits(2)
        .complains("#zz is no short name of a path");
    holloway("graph --path 3", &short_name)
        .arg("paths.run")
        .exits(2)
        .complains("names a path already");

    let unknown = "no path `kind#0000` ran; these ran: #";
    holloway("report paths.run --function", "kind#0000")
        .exits(2)
        .complains(unknown);
}

/// `--file` and `--crate` choose one of several static functions with the same name.
#[test]
fn equal_names_are_chosen_by_file_or_crate() {
    let function = |calls: &str| {
        format!(
            "static __attribute__((noinline)) int f(int x) {{ return x > 3 ? x * 2 : {calls}; }}\n"
        )
    };
    let one = function("x") + "int one(int x) { return f(x) + 1; }\n";
    let two = function("7") + "int two(int x) { return f(x) + 1; }\n";
    let main = "int one(int), two(int);
int main(void) { int s = 0; for (int i = 0; i < 9; i++) s += one(i) + two(i) + two(i); return s == 0; }
";
    let project = Project::new(&[("one.c", &one), ("sub/two.c", &two), ("main.c", main)]);
    project
        .holloway("cc -O1 -g one.c sub/two.c main.c -o app")
        .ok();
    project.holloway("run --no-report -o run -- ./app").ok();
    let several = "f (one.c:1 in one.o), f (sub/two.c:1 in two.o); choose one by its file, as in --file one.c";
    project.holloway("graph f run").exits(2).complains(several);
    project
        .holloway("export --format dot --function ^f$ run")
        .exits(2)
        .complains(several);
    for (choice, calls) in [
        ("--file one.c", "calls         9 "),
        ("--crate two.o", "calls         18 "),
    ] {
        project
            .holloway(&format!("graph f run {choice}"))
            .ok()
            .says(calls);
        project
            .holloway(&format!("export --format dot --function ^f$ run {choice}"))
            .ok()
            .says("digraph \"f\"");
    }
    let annotated = project.holloway("annotate f run --file sub/two.c").ok();
    assert!(
        annotated.stdout.starts_with("f  sub/two.c:1"),
        "{}",
        annotated.stdout
    );
    assert!(!annotated.stdout.contains("one.c"), "{}", annotated.stdout);

    // A file may be named from another folder.
    let in_sub = |words: &str| holloway_in(&project.path().join("sub"), words);
    for name in ["../one.c", "./../one.c"] {
        let annotated = in_sub(&format!("annotate {name} ../run")).ok();
        assert!(
            annotated.stdout.contains("int one(int x)"),
            "{}",
            annotated.stdout
        );
    }
    in_sub("graph f ../run --file ../one.c")
        .ok()
        .says("calls         9 ");
    in_sub("annotate ./two.c ../run")
        .ok()
        .says("int two(int x)");
    in_sub("annotate ../on.c ../run")
        .exits(2)
        .complains("no function and no file of this program matches ../on.c: `");
    in_sub("annotate two.c ../run --crate two.o")
        .exits(2)
        .complains("is a file");
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
