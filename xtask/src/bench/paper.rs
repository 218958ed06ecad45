//! The path paper's table (Ball, Larus 1996, "PP Overhead") beside ours: what paths and edges cost, how much was hashed,
//! how long paths are.

use super::Results;
use super::rounds::Row;
use holloway_tests::workload::Flavour;

/// The paper's averages: rows, overhead of PP and of QPT2 in per cent, share hashed in per cent, instructions a path.
const PAPERS: [(&str, f64, f64, f64, f64); 3] = [
    ("SPEC95 integer, 1996", 44.8, 30.8, 12.2, 21.4),
    ("SPEC95 floating point, 1996", 19.8, 4.3, 41.3, 142.1),
    ("SPEC95, 1996", 30.9, 16.1, 28.4, 88.4),
];

/// Ours and the paper's, as Markdown.
pub(crate) fn table(results: &Results) -> String {
    let mut text = String::from(
        "\n## The path paper's table\n\nOverhead of paths (theirs: PP) and of edges (theirs: QPT2), what paths cost over edges, paths run, the share of them counted in hash tables, and \
         their average length, theirs in machine instructions, ours in LLVM's. Averages are arithmetic, as theirs.\n\n\
         | program | paths % | edges % | paths / edges | paths (million) | hashed % | instructions a path |\n|---|---|---|---|---|---|---|\n",
    );
    let rows: Vec<Figures> = results
        .suite
        .iter()
        .filter(|r| r.workload.threads == 1)
        .map(Figures::of)
        .collect();
    rows.iter().for_each(|f| text += &f.line());
    text += &average(&rows).line();
    for (name, paths, edges, hashed, length) in PAPERS {
        let name = format!("*{name}*");
        text += &Figures {
            name,
            paths: Some(paths),
            edges: Some(edges),
            million: None,
            hashed,
            length,
        }
        .line();
    }
    text
}

/// A line of the table; overheads in per cent.
struct Figures {
    name: String,
    paths: Option<f64>,
    edges: Option<f64>,
    million: Option<f64>,
    hashed: f64,
    length: f64,
}

impl Figures {
    fn of(row: &Row) -> Self {
        let percent = |flavour| row.slowdown_of(flavour).map(|s| (s - 1.0) * 100.0);
        Self {
            name: row.workload.name.to_owned(),
            paths: percent(Flavour::Paths),
            edges: percent(Flavour::Edges),
            million: row.totals.map(|t| t.paths as f64 / 1e6),
            hashed: row.totals.map_or(f64::NAN, |t| t.hashed_share() * 100.0),
            length: row.totals.map_or(f64::NAN, |t| t.length()),
        }
    }

    fn line(&self) -> String {
        let shown = |figure: Option<f64>| figure.map_or_else(String::new, |f| format!("{f:.1}"));
        // Below one per cent a quotient of overheads is a quotient of noise.
        let both = self
            .paths
            .zip(self.edges)
            .filter(|(p, e)| *p >= 1.0 && *e >= 1.0);
        format!(
            "| {} | {} | {} | {} | {} | {:.1} | {:.1} |\n",
            self.name,
            shown(self.paths),
            shown(self.edges),
            shown(both.map(|(p, e)| p / e)),
            shown(self.million),
            self.hashed,
            self.length
        )
    }
}

fn average(rows: &[Figures]) -> Figures {
    let mean = |figures: Vec<f64>| figures.iter().sum::<f64>() / figures.len() as f64;
    let of = |figure: &dyn Fn(&Figures) -> Option<f64>| {
        let all: Vec<f64> = rows.iter().filter_map(figure).collect();
        (!all.is_empty()).then(|| mean(all))
    };
    Figures {
        name: "**the suite**".to_owned(),
        paths: of(&|f| f.paths),
        edges: of(&|f| f.edges),
        million: of(&|f| f.million),
        hashed: of(&|f| Some(f.hashed)).unwrap_or(f64::NAN),
        length: of(&|f| Some(f.length)).unwrap_or(f64::NAN),
    }
}
