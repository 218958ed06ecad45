//! `holloway manager` on a program that is watched, rebuilt, and watched again.

use serde_json::Value;

use crate::cli_support::Project;

const PROGRAM: &str = "\
static volatile unsigned long sum;
__attribute__((noinline)) void same(unsigned n) {
  for (unsigned i = 0; i < n; i++) sum += i;
}
__attribute__((noinline)) void changes(unsigned n) {
  for (unsigned i = 0; i < n; i++) sum ^= i;
}
int main(void) {
  same(150000000);
  changes(50000000);
  return 0;
}
";

fn watch(project: &Project, run: &str) {
    project
        .holloway("cc --collect none -g -O1 app.c -o app")
        .ok();
    project
        .holloway(&format!("monitor -o runs/{run} --no-report -- ./app"))
        .ok();
}

fn json(project: &Project) -> Value {
    let output = project.holloway("manager --store store runs --format json");
    output.ok().json().0
}

#[test]
fn profiles_survive_a_rebuild() {
    let project = Project::new(&[("app.c", PROGRAM)]);
    watch(&project, "1");
    project
        .holloway("manager --store store runs")
        .ok()
        .says("1 run with")
        .says("app.c".strip_suffix(".c").unwrap());
    let first = json(&project);
    assert_eq!(
        (&first["schema"], &first["basis"]),
        (&1.into(), &"time".into())
    );
    assert_eq!(first["added_runs"], 0, "the run was added before");
    let app = &first["programs"][0];
    assert_eq!((&app["runs"], &app["moved"]), (&1.into(), &Value::Null));
    assert!(app["code_bytes"].as_u64().unwrap() > 100, "{app}");

    // `changes` gets another graph.
    let changed = PROGRAM.replace("sum ^= i;", "{ if (sum == 1234567) return; sum ^= i; }");
    project.write("app.c", &changed);
    watch(&project, "2");
    let second = json(&project);
    assert_eq!(second["added_runs"], 1);
    let [app] = &second["programs"].as_array().unwrap()[..] else {
        panic!("{second}");
    };
    let over = &app["carried_over"];
    assert_eq!(over["dropped"], 1, "{app}");
    let dropped = over["dropped_share"].as_f64().unwrap();
    assert!(0.05 < dropped && dropped < 0.6, "{app}");
    let moved = app["moved"].as_f64().unwrap();
    assert!(0.02 < moved && moved < 0.7, "{app}");

    for command in ["report --view edges store", "overlap store runs/2"] {
        project.holloway(command).ok().says("time-based");
    }
    project
        .holloway("cc --guide store -O1 app.c -o guided")
        .ok()
        .complains("time-based");
}

#[test]
fn wrong_options_are_usage_errors() {
    let project = Project::new(&[]);
    for (command, text) in [
        ("manager --every 0s", "not a time such as 10m"),
        ("manager --half-life soon", "not a time such as 10m"),
        ("manager nosuch", "nosuch is no directory of runs"),
    ] {
        project.holloway(command).exits(2).complains(text);
    }
    project.write("file", "");
    project
        .holloway("manager --store file")
        .exits(125)
        .complains("file");
}
