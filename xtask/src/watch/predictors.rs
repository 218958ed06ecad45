//! The tables about branch predictors: the errors of estimated profiles beside those of Conte et
//! al. (1994), and the mispredictions of models of today's predictors.

use super::record::{Program, Scheme};

/// A benchmark of the paper with its trace selection errors at T = 0.1, 1, 3, and 5 %, in percent.
type Row = (&'static str, [f64; 4]);

/// Table 5 of the paper: two levels, dirty bit.
const TABLE_5: [Row; 12] = [
    ("espresso", [16.46, 2.31, 0.0, 0.0]),
    ("xlisp", [12.23, 5.69, 0.0, 0.0]),
    ("eqntott", [3.95, 3.64, 3.64, 0.0]),
    ("compress", [16.16, 15.31, 6.12, 6.12]),
    ("sc", [15.37, 7.36, 0.0, 0.0]),
    ("gcc", [9.09, 0.0, 0.0, 0.0]),
    ("doduc", [2.19, 0.0, 0.0, 0.0]),
    ("nasa7", [0.21, 0.0, 0.0, 0.0]),
    ("mdljdp2", [3.80, 2.93, 0.0, 0.0]),
    ("wave5", [5.60, 4.64, 0.0, 0.0]),
    ("tomcatv", [17.87, 17.87, 17.87, 17.87]),
    ("ora", [0.02, 0.0, 0.0, 0.0]),
];

/// Table 6: two levels, marker bit.
const TABLE_6: [Row; 12] = [
    ("espresso", [12.67, 2.31, 0.0, 0.0]),
    ("xlisp", [7.75, 3.39, 0.0, 0.0]),
    ("eqntott", [3.95, 3.64, 3.64, 0.0]),
    ("compress", [16.16, 15.31, 6.12, 6.12]),
    ("sc", [8.46, 6.40, 0.0, 0.0]),
    ("gcc", [2.39, 0.0, 0.0, 0.0]),
    ("doduc", [1.21, 0.0, 0.0, 0.0]),
    ("nasa7", [0.21, 0.0, 0.0, 0.0]),
    ("mdljdp2", [3.80, 2.93, 0.0, 0.0]),
    ("wave5", [2.32, 2.32, 0.0, 0.0]),
    ("tomcatv", [17.87, 17.87, 17.87, 17.87]),
    ("ora", [0.0, 0.0, 0.0, 0.0]),
];

/// Table 7: one level.
const TABLE_7: [Row; 12] = [
    ("espresso", [16.49, 5.51, 0.02, 0.0]),
    ("xlisp", [8.51, 2.30, 0.0, 0.0]),
    ("eqntott", [3.66, 3.64, 3.64, 0.0]),
    ("compress", [11.92, 10.59, 2.65, 2.65]),
    ("sc", [3.46, 1.14, 0.0, 0.0]),
    ("gcc", [5.99, 0.0, 0.0, 0.0]),
    ("doduc", [2.86, 0.14, 0.0, 0.0]),
    ("nasa7", [0.42, 0.12, 0.06, 0.0]),
    ("mdljdp2", [2.80, 2.20, 0.0, 0.0]),
    ("wave5", [7.03, 6.06, 0.07, 0.07]),
    ("tomcatv", [25.28, 25.19, 24.34, 24.34]),
    ("ora", [0.02, 0.0, 0.0, 0.0]),
];

/// Table 8: tomcatv, by scheme, with 4, 8, and 16 times the dumps.
const TABLE_8: [(&str, [[f64; 4]; 3]); 3] = [
    ("two_level_dirty_bit", [[17.87; 4], [17.87; 4], [0.0; 4]]),
    ("two_level_marker_bit", [[17.87; 4], [17.87; 4], [0.0; 4]]),
    (
        "one_level",
        [
            [24.53, 24.34, 24.34, 24.34],
            [19.85, 19.85, 17.90, 17.90],
            [13.22, 13.04, 13.04, 13.04],
        ],
    ),
];

/// The paper's tables of schemes: the key in the JSON document, the heading, and the rows.
const SCHEMES: [(&str, &str, &[Row]); 3] = [
    (
        "two_level_dirty_bit",
        "Table 5: two levels, dirty bit",
        &TABLE_5,
    ),
    (
        "two_level_marker_bit",
        "Table 6: two levels, marker bit",
        &TABLE_6,
    ),
    ("one_level", "Table 7: one level", &TABLE_7),
];

const HEAD: &str = "\
## Profiles from branch predictors

The errors of profiles that are estimated from a predictor's tables (Conte, Patel, and Cox 1994), in
percent, see [branch predictors](../predict.md). The tables are dumped every 1,000,000 instructions.
The paper dumps at context switches and system calls. The arc weight error is not in its tables. Its
slowdown of 0.4 to 4.6 % is that of hardware and of a kernel, and cannot be reproduced here.
";

/// Formats the tables about predictors.
pub(super) fn tables(programs: &[Program]) -> String {
    let mut text = HEAD.to_owned();
    for (key, heading, rows) in SCHEMES {
        text += &format!("\n### {heading}\n\n{}", errors(programs, key, rows));
    }
    text + "\n" + &sweep(programs) + "\n" + &mispredictions(programs)
}

fn cells(errors: &[f64; 4]) -> String {
    errors.map(|error| format!("{error:.2}")).join(" | ")
}

/// A scheme's errors, without a sweep.
fn errors(programs: &[Program], key: &str, rows: &[Row]) -> String {
    let mut text = "\
| program | T = 0.1 % | 1 % | 3 % | 5 % | arc weight error |
|---|--:|--:|--:|--:|--:|
"
    .to_owned();
    for program in programs {
        let mut schemes = program.predictions.schemes.iter();
        // The first has the longest interval.
        if let Some(scheme) = schemes.find(|scheme| scheme.name == key) {
            text += &format!(
                "| {} | {} | {:.2} |\n",
                program.workload.name,
                cells(&scheme.tse.percents()),
                100.0 * scheme.arc_weight_error
            );
        }
    }
    for (name, errors) in rows {
        text += &format!("| *{name} (paper)* | {} | |\n", cells(errors));
    }
    text
}

/// The means of the suite with more dumps.
fn sweep(programs: &[Program]) -> String {
    let mut text = "\
### Table 8: more dumps

The mean of the suite's trace selection errors, beside those of tomcatv in the paper.

| scheme | dumps | T = 0.1 % | 1 % | 3 % | 5 % | arc weight error |
|---|--:|--:|--:|--:|--:|--:|
"
    .to_owned();
    for (key, heading, _) in SCHEMES {
        let heading = heading.split_once(": ").map_or(heading, |parts| parts.1);
        for (number, times) in [1u64, 4, 8, 16].into_iter().enumerate() {
            let schemes: Vec<&Scheme> = programs
                .iter()
                .filter_map(|program| {
                    let schemes = program.predictions.schemes.iter();
                    schemes.filter(|scheme| scheme.name == key).nth(number)
                })
                .collect();
            let mean = |of: &dyn Fn(&Scheme) -> f64| {
                schemes.iter().map(|scheme| of(scheme)).sum::<f64>() / schemes.len().max(1) as f64
            };
            let errors = [0, 1, 2, 3].map(|index| mean(&|scheme| scheme.tse.percents()[index]));
            text += &format!(
                "| {heading} | {times}× | {} | {:.2} |\n",
                cells(&errors),
                mean(&|scheme| 100.0 * scheme.arc_weight_error)
            );
        }
        let paper = TABLE_8.iter().filter(|(name, _)| *name == key);
        for (_, rows) in paper {
            for (times, errors) in [4, 8, 16].into_iter().zip(rows) {
                text += &format!(
                    "| *{heading}, tomcatv (paper)* | {times}× | {} | |\n",
                    cells(errors)
                );
            }
        }
    }
    text
}

/// The mispredictions of models of today's predictors.
fn mispredictions(programs: &[Program]) -> String {
    let mut text = "\
## Mispredictions

Mispredictions per 1,000 instructions of [simulated predictors](../predict.md), and the share of
TAGE's mispredictions that a longer history would remove, or a `select` could.

| program | bimodal | gshare | TAGE | longer history | removed by longer history | by select |
|---|--:|--:|--:|--:|--:|--:|
"
    .to_owned();
    for program in programs {
        let predictions = &program.predictions;
        let rates = predictions.models.iter().map(|model| {
            let rate = model.mispredictions as f64 / predictions.instructions.max(1) as f64;
            format!("{:.2}", 1000.0 * rate)
        });
        let rates: Vec<String> = rates.collect();
        let tage = predictions.models.iter().find(|model| model.name == "tage");
        let tage = tage.map_or(1, |model| model.mispredictions.max(1));
        let share = |removed: u64| format!("{:.1} %", 100.0 * removed as f64 / tage as f64);
        text += &format!(
            "| {} | {} | {} | {} |\n",
            program.workload.name,
            rates.join(" | "),
            share(predictions.longer_history.mispredictions),
            share(predictions.select.mispredictions)
        );
    }
    text
}
