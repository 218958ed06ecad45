//! Puts the state of the terminal interface on the screen.
//!
//! Wide screens show two panes side by side, and narrow ones show them one above the other. Only
//! the visible rows of a list are made.

use holloway_format::Count;
use holloway_report::annotation::AnnotatedLine;
use holloway_report::browse::{PathEntry, Step, shortened};
use holloway_report::{Colors, grouped};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::app::{App, OpenFunction, Overview, Pane};
use super::list::visible;
use super::style::Styles;

/// Columns from which two panes stand side by side.
const WIDE: u16 = 110;
/// The most rows of a list of paths above the source.
const MAX_PATH_ROWS: u16 = 10;
/// Columns of a count.
const COUNT_WIDTH: usize = 13;

const OVERVIEW_KEYS: &str =
    "? keys  q leave  / search  Enter open  ↑↓ move  Tab other list  c copy";
const FUNCTION_KEYS: &str =
    "? keys  q leave  ←→ step  [ ] path  o overview  / search  PgUp PgDn scroll  c copy";

const HELP: [(&str, &str); 11] = [
    ("/", "search by the name of a function or file"),
    ("o, Esc", "overview"),
    ("←, →", "step along the path"),
    ("[, ]", "previous and next path of the list"),
    ("↑, ↓", "move in a list"),
    ("PgUp, PgDn", "move in a list; scroll the source"),
    ("Tab", "from the functions to the paths, and back"),
    ("Enter", "open"),
    ("c", "copy the path as text"),
    ("?", "list the keys"),
    ("q, Ctrl-C", "leave"),
];

/// Draws the state.
pub(super) fn draw(app: &mut App<'_, '_>, colors: Colors, frame: &mut Frame<'_>) {
    let styles = Styles::new(colors);
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let (title, keys) = match &app.open {
        Some(open) => (
            app.browser
                .facts_of(open.function, frame.area().width.into()),
            FUNCTION_KEYS,
        ),
        None => (app.browser.summary(), OVERVIEW_KEYS),
    };
    frame.render_widget(Span::styled(title, styles.strong()), head);
    match app.open.take() {
        Some(open) => {
            draw_function(app, &open, styles, frame, body);
            app.open = Some(open);
        }
        None => draw_overview(app, styles, frame, body),
    }
    let search = &app.overview;
    let foot_line = if search.is_searching {
        Line::from(vec![
            Span::styled("/", styles.strong()),
            Span::raw(search.search.clone()),
            Span::styled("█", styles.faint()),
        ])
    } else if app.message.is_empty() {
        Line::styled(keys, styles.faint())
    } else {
        Line::raw(app.message.clone())
    };
    frame.render_widget(foot_line, foot);
    if app.has_help {
        draw_help(styles, frame);
    }
}

fn draw_overview(app: &App<'_, '_>, styles: Styles, frame: &mut Frame<'_>, area: Rect) {
    let [functions, paths] = match area.width >= WIDE {
        true => Layout::horizontal([Constraint::Percentage(40), Constraint::Percentage(60)]),
        false => Layout::vertical([Constraint::Percentage(50), Constraint::Percentage(50)]),
    }
    .areas(area);
    let overview = &app.overview;
    draw_functions(overview, styles, frame, functions);
    let is_active = overview.pane == Pane::Paths;
    let title = match overview.found_paths.len() == overview.paths.len() {
        true => format!("Paths  {}", grouped(overview.paths.len() as u64)),
        false => format!(
            "Paths  {} of {}",
            grouped(overview.found_paths.len() as u64),
            grouped(overview.paths.len() as u64)
        ),
    };
    let inner = pane(&title, is_active, styles, frame, paths);
    if overview.paths.is_empty() {
        let text = "no paths: edges were recorded, or nothing ran";
        frame.render_widget(Span::styled(text, styles.faint()), inner);
    }
    let index = overview.path.index;
    let height = usize::from(inner.height);
    let rows = visible(index, overview.found_paths.len(), height).map(|row| {
        let entry = &overview.paths[overview.found_paths[row]];
        let name = app.browser.function_name(entry.function);
        let name = format!("{} ", shortened(&name, usize::from(inner.width) / 4));
        let mut line = path_row(app, entry, app.browser.instructions(), styles);
        line.spans.insert(2, Span::styled(name, styles.strong()));
        chosen_if(line, is_active && row == index, styles)
    });
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), inner);
}

fn draw_functions(overview: &Overview, styles: Styles, frame: &mut Frame<'_>, area: Rect) {
    let is_active = overview.pane == Pane::Functions;
    let (found, all) = (overview.found_functions.len(), overview.functions.len());
    let title = match found == all {
        true => format!("Functions  {}", grouped(all as u64)),
        false => format!(
            "Functions  {} of {}",
            grouped(found as u64),
            grouped(all as u64)
        ),
    };
    let inner = pane(&title, is_active, styles, frame, area);
    let index = overview.function.index;
    // The file of a function may be cut, but not the end of its name.
    let width = usize::from(inner.width).saturating_sub(COUNT_WIDTH + 10);
    let rows = visible(index, found, usize::from(inner.height)).map(|row| {
        let entry = &overview.functions[overview.found_functions[row]];
        let line = Line::from(vec![
            Span::raw(format!("{:>8}", entry.share)),
            Span::styled(
                format!("{:>COUNT_WIDTH$}  ", grouped(entry.calls)),
                styles.faint(),
            ),
            Span::styled(shortened(&entry.name, width), styles.strong()),
            Span::styled(format!("  {}", entry.file), styles.place()),
        ]);
        chosen_if(line, is_active && row == index, styles)
    });
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), inner);
}

/// The row of a path: its share, its count, its name, and the decisions on it.
fn path_row(app: &App<'_, '_>, entry: &PathEntry, all: Count, styles: Styles) -> Line<'static> {
    let share = holloway_report::share(entry.instructions, all);
    Line::from(vec![
        Span::raw(format!("{share:>8}")),
        Span::styled(
            format!("{:>COUNT_WIDTH$}  ", grouped(entry.count)),
            styles.faint(),
        ),
        Span::raw(app.browser.path_name(entry)),
        Span::styled(format!("  {}", app.browser.decisions(entry)), styles.path()),
    ])
}

fn draw_function(
    app: &mut App<'_, '_>,
    open: &OpenFunction,
    styles: Styles,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let rows = u16::try_from(open.paths.len()).unwrap_or(u16::MAX);
    let [paths, source, step] = match area.width >= WIDE {
        true => {
            let columns = [Constraint::Percentage(40), Constraint::Percentage(60)];
            let [paths, right] = Layout::horizontal(columns).areas(area);
            let rows = [Constraint::Min(3), Constraint::Length(2)];
            let [source, step] = Layout::vertical(rows).areas(right);
            [paths, source, step]
        }
        false => Layout::vertical([
            Constraint::Length(rows.clamp(1, MAX_PATH_ROWS) + 2),
            Constraint::Min(3),
            Constraint::Length(2),
        ])
        .areas(area),
    };
    draw_paths(app, open, styles, frame, paths);
    draw_source(app, open, styles, frame, source);
    draw_step(open, styles, frame, step);
}

fn draw_paths(
    app: &App<'_, '_>,
    open: &OpenFunction,
    styles: Styles,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let count = open.paths.len();
    let title = format!("Paths  {}", grouped(count as u64));
    let inner = pane(&title, true, styles, frame, area);
    if count == 0 {
        let text = "no paths: edges of this function were recorded";
        frame.render_widget(Span::styled(text, styles.faint()), inner);
        return;
    }
    let all = app.browser.instructions_of(open.function);
    let index = open.path.index;
    let rows = visible(index, count, usize::from(inner.height)).map(|row| {
        let line = path_row(app, &open.paths[row], all, styles);
        chosen_if(line, row == index, styles)
    });
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), inner);
}

fn draw_source(
    app: &mut App<'_, '_>,
    open: &OpenFunction,
    styles: Styles,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let step = open.steps.get(open.step);
    let (file, line) = match step {
        Some(step) => (step.file.clone(), step.line),
        None => {
            let (file, line) = app.browser.declaration(open.function);
            (file.to_owned(), line)
        }
    };
    let annotation = app.file(&file);
    let inner = pane(&annotation.short_file, false, styles, frame, area);
    let lines = &annotation.lines;
    let middle = lines.partition_point(|shown| shown.line < line);
    let middle = middle
        .saturating_add_signed(open.scroll)
        .min(lines.len().saturating_sub(1));
    let rows = visible(middle, lines.len(), usize::from(inner.height)).map(|row| {
        let shown = &lines[row];
        let is_step = |step: &&Step| step.file == file && step.line == shown.line;
        let decided: Vec<&str> = open
            .steps
            .iter()
            .filter(is_step)
            .map(|step| &*step.decided)
            .collect();
        let heat = shown
            .count
            .and_then(|(count, _)| annotation.scale.heat(count));
        let is_current = step.is_some_and(|step| step.line == shown.line);
        source_row(shown, styles.count(heat), &decided, is_current, styles)
    });
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), inner);
}

/// A row of the source. `decided` has the decisions of each step of the path on this line.
fn source_row(
    shown: &AnnotatedLine,
    count_style: ratatui::style::Style,
    decided: &[&str],
    is_current: bool,
    styles: Styles,
) -> Line<'static> {
    let count = shown
        .count
        .map_or_else(String::new, |(count, _)| grouped(count));
    let mark = match (is_current, decided.is_empty()) {
        (true, _) => "▶ ",
        (false, false) => "┃ ",
        (false, true) => "  ",
    };
    let text = shown.text.replace('\t', "    ");
    let text = text.replace(char::is_control, "·");
    let mut line = Line::from(vec![
        Span::styled(mark, styles.path()),
        Span::styled(format!("{count:>COUNT_WIDTH$}"), count_style),
        Span::styled(format!(" │{:>6} │ ", shown.line), styles.faint()),
        Span::styled(
            text,
            if is_current {
                styles.strong()
            } else {
                Default::default()
            },
        ),
    ]);
    let decided: Vec<&str> = decided
        .iter()
        .copied()
        .filter(|text| !text.is_empty())
        .collect();
    if !decided.is_empty() {
        line.push_span(Span::styled(
            format!("  {}", decided.join(", ")),
            styles.path(),
        ));
    }
    line
}

/// Draws the current step: its number, its place, and its decision.
fn draw_step(open: &OpenFunction, styles: Styles, frame: &mut Frame<'_>, area: Rect) {
    let Some(step) = open.steps.get(open.step) else {
        return;
    };
    let mut spans = vec![
        Span::raw(format!("step {} of {}  ", open.step + 1, open.steps.len())),
        Span::styled(step.place.clone(), styles.place()),
        Span::styled(format!("  {}", step.decided), styles.path()),
    ];
    if let Some(name) = &step.inlined {
        spans.push(Span::styled(
            format!("  in {name}, inlined"),
            styles.faint(),
        ));
    }
    let line = Paragraph::new(Line::from(spans)).wrap(Wrap { trim: true });
    frame.render_widget(line, area);
}

fn draw_help(styles: Styles, frame: &mut Frame<'_>) {
    let area = frame.area();
    let rows = HELP.map(|(keys, effect)| {
        Line::from(vec![
            Span::styled(format!(" {keys:<12}"), styles.strong()),
            Span::raw(effect),
        ])
    });
    let (width, height) = (60.min(area.width), (rows.len() as u16 + 2).min(area.height));
    let area = Rect {
        x: (area.width - width) / 2,
        y: (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, area);
    let inner = pane("Keys", true, styles, frame, area);
    frame.render_widget(Paragraph::new(rows.to_vec()), inner);
}

/// Draws the border of a pane with its title. Returns the area inside.
fn pane(title: &str, is_active: bool, styles: Styles, frame: &mut Frame<'_>, area: Rect) -> Rect {
    let style = if is_active {
        styles.strong()
    } else {
        styles.faint()
    };
    let block = Block::bordered()
        .border_style(style)
        .title(Span::styled(format!(" {title} "), style));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

fn chosen_if(line: Line<'static>, is_chosen: bool, styles: Styles) -> Line<'static> {
    match is_chosen {
        true => line.patch_style(styles.chosen()),
        false => line,
    }
}
