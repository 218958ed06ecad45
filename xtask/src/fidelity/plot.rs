//! Draws panels of lines side by side, as SVG: a share from 0 to 1 over a number of samples. The
//! colors follow the reader's light or dark scheme.

use std::fmt::Write as _;

/// A panel: a thin line for each program, and a thick line for their mean.
pub(super) struct Panel {
    pub(super) title: &'static str,
    pub(super) lines: Vec<Line>,
    pub(super) mean: Line,
}

/// A line through points: number of samples, and share.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// Size of a panel's area, and the space around it.
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 32.0;
const BOTTOM: f64 = 48.0;
const GAP: f64 = 24.0;
/// The numbers of samples at the edges of a panel.
const SAMPLES: [f64; 2] = [100.0, 10_000.0];

const STYLE: &str = "\
<style>
  text { font: 12px sans-serif; fill: #24292f; }
  .title { font-weight: bold; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .program { stroke: #8c959f; stroke-width: 1; fill: none; opacity: 0.7; }
  .mean { stroke: #0969da; stroke-width: 3; fill: none; }
  .value { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .grid { stroke: #30363d; }
    .program { stroke: #7d8590; }
    .mean { stroke: #58a6ff; }
    .value { fill: #58a6ff; }
  }
</style>
";

/// Draws the panels.
pub(super) fn plot(panels: &[Panel]) -> String {
    let step = LEFT + WIDTH + GAP;
    let (width, height) = (step * panels.len() as f64, TOP + HEIGHT + BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n{STYLE}"
    );
    for (number, panel) in panels.iter().enumerate() {
        let left = number as f64 * step + LEFT;
        svg += &format!("<g transform=\"translate({left} {TOP})\">\n");
        svg += &grid(panel.title);
        for line in &panel.lines {
            svg += &polyline(line, "program");
        }
        svg += &polyline(&panel.mean, "mean");
        for &(samples, share) in &panel.mean.points {
            let (x, y) = (x(samples), y(share) - 8.0);
            svg += &text((x, y), "middle", "value", &format!("{share:.2}"));
        }
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

fn grid(title: &str) -> String {
    let mut svg = text((0.0, -12.0), "start", "title", title);
    for tenth in (0..=10).step_by(2) {
        let share = f64::from(tenth) / 10.0;
        let y = y(share);
        svg += &format!("<path class=\"grid\" d=\"M0 {y:.1}H{WIDTH}\"/>\n");
        svg += &text((-8.0, y + 4.0), "end", "label", &format!("{share:.1}"));
    }
    for samples in [100, 300, 1000, 3000, 10_000] {
        let x = x(f64::from(samples));
        svg += &format!("<path class=\"grid\" d=\"M{x:.1} 0V{HEIGHT}\"/>\n");
        svg += &text((x, HEIGHT + 18.0), "middle", "label", &samples.to_string());
    }
    svg + &text((WIDTH / 2.0, HEIGHT + 38.0), "middle", "label", "samples")
}

fn polyline(line: &Line, class: &str) -> String {
    let mut points = String::new();
    for &(samples, share) in &line.points {
        let (x, y) = (x(samples), y(share));
        write!(points, "{x:.1},{y:.1} ").expect("a string takes all text");
    }
    let (points, name) = (points.trim_end(), &line.name);
    format!("<polyline class=\"{class}\" points=\"{points}\"><title>{name}</title></polyline>\n")
}

fn text((x, y): (f64, f64), anchor: &str, class: &str, content: &str) -> String {
    format!(
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>\n"
    )
}

/// The number of samples has a logarithmic scale.
fn x(samples: f64) -> f64 {
    let [first, last] = SAMPLES;
    WIDTH * (samples / first).ln() / (last / first).ln()
}

fn y(share: f64) -> f64 {
    HEIGHT * (1.0 - share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_a_line_for_each_program_and_one_for_the_mean() {
        let line = |name: &str, share| Line {
            name: name.to_owned(),
            points: vec![(100.0, share), (10_000.0, 1.0)],
        };
        let svg = plot(&[Panel {
            title: "Blocks",
            lines: vec![line("a", 0.25), line("b", 0.5)],
            mean: line("mean", 0.5),
        }]);
        assert_eq!(svg.matches("<polyline class=\"program\"").count(), 2);
        assert!(
            svg.contains("points=\"0.0,180.0 320.0,0.0\"><title>a"),
            "{svg}"
        );
        assert!(svg.contains("<polyline class=\"mean\" points=\"0.0,120.0 320.0,0.0\""));
        assert!(svg.contains("prefers-color-scheme: dark"));
    }
}
