//! The screen after keys, without a terminal.

use holloway_analysis::RunProfile;
use holloway_format::{FunctionMap, Outcome};
use holloway_report::browse::Browser;
use holloway_report::{Colors, Options, Source};
use holloway_testkit::build::{
    SLIDE_FIRST, count_edges, function, image, module, path_number, profile, slide,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};

use super::app::{App, Wish};
use super::draw::draw;

struct Sources;

impl Source for Sources {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        let texts = [
            "int find(char *text)",
            "{",
            "\tfor (; *text; text++)",
            "\t\tif (wanted(*text))",
        ];
        let text = texts.get(line.checked_sub(1)? as usize)?;
        (file == "find.c").then(|| (*text).to_owned())
    }
}

/// A loop with a branch.
fn find() -> FunctionMap {
    function("find", "find.c", 1)
        .block(2, &[(0, 1)])
        .block(3, &[(0, 3)])
        .block(2, &[(0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::Return)
        .edge(2, 1, Outcome::True)
        .edge(2, 3, Outcome::False)
        .done()
}

fn run_with(find: FunctionMap, counters: &[(u64, u64)]) -> RunProfile {
    let image = image("app", vec![module("app.o", vec![slide(), find])]);
    let counts = profile(&image, 1, &[(0, 0, SLIDE_FIRST), (0, 1, counters)]);
    RunProfile::new(vec![(image, vec![counts])])
}

fn run() -> RunProfile {
    let find = find();
    let number = |blocks: &[u32]| path_number(&find, blocks);
    let mut counters = [
        (number(&[0, 1]), 2),
        (number(&[1, 2]), 0),
        (number(&[0, 1, 2]), 5_000),
    ];
    counters.sort_unstable();
    let counters: Vec<_> = counters
        .into_iter()
        .filter(|&(_, count)| count > 0)
        .collect();
    run_with(find, &counters)
}

/// A key for each character. `>`, `<`, `v`, and `^` are the arrows, and `!` is Enter.
fn key(letter: char) -> KeyEvent {
    let code = match letter {
        '>' => KeyCode::Right,
        '<' => KeyCode::Left,
        'v' => KeyCode::Down,
        '^' => KeyCode::Up,
        '!' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        letter => KeyCode::Char(letter),
    };
    KeyEvent::new(code, KeyModifiers::NONE)
}

/// The screen after some keys, and the last wish.
fn after(run: &RunProfile, keys: &str, (width, height): (u16, u16)) -> (Buffer, Option<Wish>) {
    let options = Options::new(&Sources);
    let browser = Browser::new(run, &options);
    let mut app = App::new(&browser);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a test terminal");
    let mut wish = None;
    for letter in keys.chars() {
        wish = app.press(key(letter));
    }
    let drawn = terminal.draw(|frame| draw(&mut app, Colors::Ansi256, frame));
    (drawn.expect("a test terminal").buffer.clone(), wish)
}

fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    let rows = rows.map(|row| {
        let row: String = row.iter().map(Cell::symbol).collect();
        row.trim_end().to_owned()
    });
    rows.collect::<Vec<_>>().join("\n")
}

fn screen(run: &RunProfile, keys: &str) -> String {
    text(&after(run, keys, (100, 20)).0)
}

#[test]
fn the_overview_lists_functions_and_paths() {
    let shown = screen(&run(), "");
    let expected = "app · 2 functions ran · 6 paths ran · ";
    assert!(shown.starts_with(expected), "{shown}");
    let row = shown.lines().find(|line| line.contains("find  find.c"));
    assert!(row.is_some_and(|row| row.contains("5,002")), "{shown}");
    // The hottest path is first, with its decisions.
    let paths = shown.split_once("Paths  6").expect("a list of paths").1;
    let first = paths.lines().nth(1).expect("a path");
    assert!(
        first.contains("5,000") && first.contains("find p"),
        "{shown}"
    );
    assert!(first.contains("3 → line 4"), "{shown}");
}

#[test]
fn search_filters_both_lists_and_enter_opens_the_first() {
    let run = run();
    let found = screen(&run, "/SLI");
    assert!(
        found.contains("Functions  1 of 2") && found.contains("Paths  4 of 6"),
        "{found}"
    );
    assert!(found.ends_with("/SLI█"), "{found}");
    let opened = screen(&run, "/sli!");
    assert!(
        opened.starts_with("slide  slide.c:1 · 270 calls · 4 of 6 paths ran"),
        "{opened}"
    );
    let nothing = screen(&run, "/nothing!");
    assert!(nothing.contains("Functions  0 of 2"), "{nothing}");
}

#[test]
fn arrows_step_along_the_path() {
    let run = run();
    let opened = screen(&run, "/find!");
    assert!(
        opened.contains("find  find.c:1 · 5,002 calls · 2 of "),
        "{opened}"
    );
    // A path opens at its first decision.
    assert!(
        opened.contains("step 2 of 3  find.c:3  → line 4"),
        "{opened}"
    );
    let row = |shown: &str, line: &str| {
        let row = shown.lines().find(|row| row.contains(line));
        row.unwrap_or_default().to_owned()
    };
    let current = row(&opened, "│     3 │");
    assert!(
        current.contains("▶") && current.contains("for (; *text; text++)"),
        "{opened}"
    );
    assert!(
        current.contains("10,002") && current.contains("→ line 4"),
        "{opened}"
    );
    assert!(row(&opened, "│     4 │").contains("┃"), "{opened}");
    assert!(!row(&opened, "│     2 │").contains("┃"), "{opened}");
    let next = screen(&run, "/find!>>>>");
    assert!(next.contains("step 3 of 3  find.c:4"), "{next}");
    let first = screen(&run, "/find!<<<<");
    assert!(first.contains("step 1 of 3  find.c:1"), "{first}");
}

#[test]
fn brackets_choose_a_path_and_c_copies_it() {
    let run = run();
    let copied = |keys: &str| match after(&run, keys, (100, 20)).1 {
        Some(Wish::Copy(text)) => text,
        other => panic!("no copy: {other:?}"),
    };
    let hottest = copied("/find!c");
    assert!(
        hottest.starts_with("find p") && hottest.contains("· 5,000 executions\n"),
        "{hottest}"
    );
    assert!(hottest.contains("\n  find.c:3  → line 4\n"), "{hottest}");
    let second = copied("/find!]c");
    assert!(second.contains("· 2 executions\n"), "{second}");
    assert_eq!(copied("/find!]]][c"), hottest);
    assert_eq!(copied("\tc"), hottest);
    assert!(screen(&run, "c").ends_with("choose a path to copy"));
}

#[test]
fn keys_are_listed_and_leave() {
    let run = run();
    assert!(screen(&run, "?").contains("step along the path"));
    assert!(!screen(&run, "?x").contains("step along the path"));
    assert_eq!(after(&run, "q", (80, 20)).1, Some(Wish::Quit));
    // In the search, letters are letters.
    assert_eq!(after(&run, "/q", (80, 20)).1, None);
    assert!(screen(&run, "/find!o").contains("Functions  1 of 2"));
}

#[test]
fn counts_have_the_color_of_their_heat() {
    let (buffer, _) = after(&run(), "/find!", (100, 20));
    let shown = text(&buffer);
    let y = shown
        .lines()
        .position(|row| row.contains("│     3 │"))
        .expect("a line");
    let row = shown.lines().nth(y).expect("a row");
    let x = row
        .chars()
        .position(|letter| letter == '1')
        .expect("a count");
    let cell = buffer.cell((x as u16, y as u16)).expect("a cell");
    assert_eq!((cell.symbol(), cell.fg), ("1", Color::Indexed(160)));
    // The chosen path is reversed.
    let reversed = buffer
        .content
        .iter()
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED));
    assert!(reversed.count() > 10);
}

#[test]
fn runs_of_edges_show_their_source() {
    let run = run_with(
        count_edges(&find(), &[]).expect("counters"),
        &[(0, 3), (1, 4)],
    );
    let shown = screen(&run, "/find!>>]c");
    assert!(
        shown.contains("no paths: edges of this function were recorded"),
        "{shown}"
    );
    assert!(shown.contains("int find(char *text)"), "{shown}");
}

#[test]
fn small_screens_do_not_panic() {
    let run = run();
    for size in [(1, 1), (3, 2), (20, 5), (60, 24), (300, 80)] {
        for keys in ["", "?", "/find!", "/x", "/find!>>]"] {
            after(&run, keys, size);
        }
    }
}
