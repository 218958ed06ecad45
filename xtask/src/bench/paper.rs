//! Formats the table "PP Overhead" of the path paper (Ball, Larus 1996) for the suite, with the
//! averages of the paper: the overheads of paths and edges, their increments, the share of hashed
//! paths, and the length of paths.

use super::results::Results;
use super::rounds::Row;
use crate::slides::{OVERHEADS, Programs, overhead};
use holloway_tests::workload::Flavor;

/// The minimum overhead for a quotient, in percent. Smaller overheads are mostly noise.
const MIN_OVERHEAD: f64 = 1.0;

/// Formats our table and the paper's averages as Markdown.
pub(crate) fn table(results: &Results) -> String {
    let mut text = String::from(
        "\n## The path paper's table\n\n\
         Overhead of paths (theirs: PP) and of edges (theirs: QPT2), and what paths cost over edges where\n\
         both overheads are at least 1 %. Path increments: one for each path that ran, and another one where\n\
         a path goes on behind a call that may not come back. Edge increments: those of an edge profile's\n\
         counters, as a multiple of the path increments. Then the share of paths counted in hash tables, and\n\
         their average length, theirs in machine instructions, ours in LLVM's. Averages are arithmetic, over\n\
         programs, as theirs. So that of paths / edges is an average of quotients (theirs are from -5.6 to\n\
         14.5). [The slides' other tables](studies/paths.md) are counts alone.\n\n\
         | program | paths % | edges % | paths / edges | path increments (million) | edge increments (× path) | hashed % | instructions a path |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let one_thread = results.suite.iter().filter(|r| r.workload.threads == 1);
    let rows: Vec<Figures> = one_thread.map(Figures::of).collect();
    rows.iter().for_each(|f| text += &f.line());
    text += &average(&rows).line();
    Programs::EACH
        .into_iter()
        .for_each(|programs| text += &Figures::of_slides(programs).line());
    text
}

/// A row of the table, with overheads in percent. A figure is `None` if it was not measured, or if
/// it would be mostly noise.
struct Figures {
    name: String,
    paths: Option<f64>,
    edges: Option<f64>,
    quotient: Option<f64>,
    million: Option<f64>,
    edge_increments: Option<f64>,
    hashed: Option<f64>,
    length: Option<f64>,
}

impl Figures {
    fn of(row: &Row) -> Self {
        let percent = |flavor| row.slowdown_of(flavor).map(|s| (s - 1.0) * 100.0);
        let (paths, edges) = (percent(Flavor::Paths), percent(Flavor::Edges));
        let both = paths.zip(edges);
        Self {
            name: row.workload.name.to_owned(),
            paths,
            edges,
            quotient: both
                .filter(|(p, e)| *p >= MIN_OVERHEAD && *e >= MIN_OVERHEAD)
                .map(|(p, e)| p / e),
            million: row.totals.map(|t| t.increments as f64 / 1e6),
            edge_increments: row
                .edge_totals
                .zip(row.totals)
                .map(|(edges, paths)| edges.increments_over(&paths)),
            hashed: row.totals.map(|t| t.hashed_share() * 100.0),
            length: row.totals.map(|t| t.length()),
        }
    }

    fn of_slides(programs: Programs) -> Self {
        let average = |column| Some(OVERHEADS.average(programs, column));
        Self {
            name: format!("*{}*", programs.name()),
            paths: average(overhead::PATHS),
            edges: average(overhead::EDGES),
            quotient: average(overhead::QUOTIENT),
            million: average(overhead::MILLION),
            edge_increments: average(overhead::EDGE_INCREMENTS),
            hashed: average(overhead::HASHED),
            length: average(overhead::LENGTH),
        }
    }

    fn line(&self) -> String {
        let figures = [
            self.paths,
            self.edges,
            self.quotient,
            self.million,
            self.edge_increments,
            self.hashed,
            self.length,
        ];
        let shown = figures.map(|f| f.map_or_else(String::new, |f| format!("{f:.1}")));
        format!("| {} | {} |\n", self.name, shown.join(" | "))
    }
}

/// The mean of each column over the rows that have it.
fn average(rows: &[Figures]) -> Figures {
    let of = |figure: &dyn Fn(&Figures) -> Option<f64>| {
        let all: Vec<f64> = rows.iter().filter_map(figure).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    Figures {
        name: "**the suite**".to_owned(),
        paths: of(&|f| f.paths),
        edges: of(&|f| f.edges),
        quotient: of(&|f| f.quotient),
        million: of(&|f| f.million),
        edge_increments: of(&|f| f.edge_increments),
        hashed: of(&|f| f.hashed),
        length: of(&|f| f.length),
    }
}
