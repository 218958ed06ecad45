//! Reads plans, line by line.

use std::collections::BTreeMap;

use crate::plan::code::{CODE, FunctionCode};
use crate::plan::counts::{FunctionKey, Plan, PrefetchPlan, add_function};
use crate::plan::error::PlanError;
use crate::plan::function::FunctionPlan;
use crate::plan::lines::{
    EARLIER_FIRST_LINE, EDGE_FORM, FIRST_LINE, FUNCTION, FUNCTION_FORM, LAST_LINE, LATE_LINE, LOAD,
    LOAD_FORM, ORDER_LINE, PLACE, PLACE_FORM, PREFETCHES_LINE, SIZE, SIZE_FORM, TAIL, TAIL_FORM,
    TARGET, TARGET_FORM, UNPREDICTABLE, UNPREDICTABLE_FORM, unescape,
};
use crate::text::Text;
use crate::units::Count;

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// If the bytes are no plan. The error names the first line that cannot be read.
    pub fn parse(bytes: &[u8]) -> Result<Self, PlanError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let valid = &bytes[..error.valid_up_to()];
            let line = 1 + valid.iter().filter(|&&byte| byte == b'\n').count();
            PlanError::NotUtf8 { line }
        })?;
        let mut lines = text.lines().zip(1..);
        let is_first = |line: &str| line == FIRST_LINE || line == EARLIER_FIRST_LINE;
        if !lines.next().is_some_and(|(first, _)| is_first(first)) {
            return Err(PlanError::FirstLine);
        }
        let mut reader = Reader::default();
        for (content, line) in lines {
            if !content.is_empty() && !content.starts_with('#') {
                reader.read(content, line)?;
            }
        }
        match reader.part {
            Part::Ended => Ok(reader.plan),
            Part::Early | Part::Late | Part::Order | Part::Prefetches => Err(PlanError::LastLine),
        }
    }
}

/// The part of a plan that a line belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    #[default]
    Early,
    Late,
    Order,
    Prefetches,
    Ended,
}

#[derive(Default)]
struct Reader {
    plan: Plan,
    part: Part,
    /// The function whose lines are read.
    current: Option<(FunctionKey, FunctionPlan)>,
}

impl Reader {
    fn read(&mut self, content: &str, line: usize) -> Result<(), PlanError> {
        let next = match content {
            LATE_LINE => Some(Part::Late),
            ORDER_LINE => Some(Part::Order),
            PREFETCHES_LINE => Some(Part::Prefetches),
            LAST_LINE => Some(Part::Ended),
            _ => None,
        };
        if self.part == Part::Ended {
            return Err(PlanError::LastLine);
        }
        if let Some(next) = next.filter(|next| *next > self.part) {
            self.finish_function();
            self.part = next;
            return Ok(());
        }
        if self.part == Part::Prefetches {
            let load = content.strip_prefix(LOAD).and_then(load_line);
            let (name, load) = load.ok_or(form(line, LOAD_FORM))?;
            self.plan.add_prefetch(name, load);
            return Ok(());
        }
        if self.part == Part::Order {
            let name = content.strip_prefix(PLACE).and_then(unescape);
            let name = name.ok_or(form(line, PLACE_FORM))?;
            self.plan.order.push(name.into());
            return Ok(());
        }
        if let Some(header) = content.strip_prefix(FUNCTION) {
            let next = function_line(header).ok_or(form(line, FUNCTION_FORM))?;
            self.finish_function();
            self.current = Some(next);
            return Ok(());
        }
        let (_, function) = self.current.as_mut().ok_or(form(line, FUNCTION_FORM))?;
        match early_word(content) {
            Some(word) if self.part > Part::Early => Err(PlanError::Late { line, word }),
            Some(_) | None => read_counts(function, content, line),
        }
    }

    /// Adds the function that was read to the plan.
    fn finish_function(&mut self) {
        let Some((key, function)) = self.current.take() else {
            return;
        };
        let functions = match self.part {
            Part::Early => &mut self.plan.functions,
            Part::Late | Part::Order | Part::Prefetches | Part::Ended => &mut self.plan.late,
        };
        add_function(functions, key, function);
    }
}

/// Reads a line of a function, after its first line.
fn read_counts(function: &mut FunctionPlan, content: &str, line: usize) -> Result<(), PlanError> {
    if let Some(content) = content.strip_prefix(CODE) {
        let code = FunctionCode::parse(content)
            .filter(|code| function.code.is_none() && code.edges.len() == function.edge_count);
        function.code = Some(code.ok_or(PlanError::Code { line })?);
        return Ok(());
    }
    if let Some(content) = content.strip_prefix(TARGET) {
        let (target, count) = target_line(content).ok_or(form(line, TARGET_FORM))?;
        let last = function.targets.last_key_value();
        if last.is_some_and(|(last, _)| *last >= target) {
            return Err(PlanError::Target { line });
        }
        if count != Count::ZERO {
            function.targets.insert(target, count);
        }
        return Ok(());
    }
    if let Some(content) = content.strip_prefix(SIZE) {
        let (size, count) = size_line(content).ok_or(form(line, SIZE_FORM))?;
        let last = function.sizes.last_key_value();
        if last.is_some_and(|(last, _)| *last >= size) {
            return Err(PlanError::Size { line });
        }
        if count != Count::ZERO {
            function.sizes.insert(size, count);
        }
        return Ok(());
    }
    let edges = function.edge_count;
    if let Some(content) = content.strip_prefix(TAIL) {
        let (tail, count) = tail_line(content).ok_or(form(line, TAIL_FORM))?;
        let last = function.tails.last_key_value();
        let ascends = last.is_none_or(|(last, _)| *last < tail);
        if !ascends || tail.len() < 2 || tail.iter().any(|&edge| edge >= edges) {
            return Err(PlanError::Tail { line });
        }
        if count != Count::ZERO {
            function.tails.insert(tail, count);
        }
        return Ok(());
    }
    match content.strip_prefix(UNPREDICTABLE) {
        Some(content) => {
            let read = edge_line(content).ok_or(form(line, UNPREDICTABLE_FORM))?;
            add_edge(&mut function.unpredictable, edges, read, line)
        }
        None => {
            let read = edge_line(content).ok_or(form(line, EDGE_FORM))?;
            add_edge(&mut function.taken, edges, read, line)
        }
    }
}

/// The error of a line that has not this form.
fn form(line: usize, form: &'static str) -> PlanError {
    PlanError::Form { line, form }
}

/// The first word of a line that only early counts have.
fn early_word(content: &str) -> Option<&'static str> {
    let mut words = [CODE, TARGET, SIZE, UNPREDICTABLE, TAIL].into_iter();
    let word = words.find(|word| content.starts_with(word))?;
    Some(word.trim_end())
}

/// Adds the count of an edge of a function with so many edges.
fn add_edge(
    counts: &mut BTreeMap<usize, Count>,
    edges: usize,
    (edge, count): (usize, Count),
    line: usize,
) -> Result<(), PlanError> {
    let last = counts.last_key_value();
    let ascends = last.is_none_or(|(&last, _)| last < edge);
    if !ascends || edge >= edges {
        return Err(PlanError::Edge { line, edge });
    }
    if count != Count::ZERO {
        counts.insert(edge, count);
    }
    Ok(())
}

/// Reads the line of a function, after the word `function`.
fn function_line(header: &str) -> Option<(FunctionKey, FunctionPlan)> {
    let mut words = header.splitn(4, ' ');
    let hash = words.next().filter(|word| word.len() == 16)?;
    let hash = u64::from_str_radix(hash, 16).ok()?;
    let calls = Count(words.next()?.parse().ok()?);
    // Graphs have fewer edges than 2^32, so sums of numbers of edges do not overflow.
    let edge_count: u32 = words.next()?.parse().ok()?;
    let edge_count = usize::try_from(edge_count).ok()?;
    let name = unescape(words.next()?)?;
    let function = FunctionPlan {
        calls,
        edge_count,
        ..FunctionPlan::default()
    };
    Some(((name.into(), hash), function))
}

/// Reads the line of a target, after the word `target`.
fn target_line(content: &str) -> Option<((usize, Text), Count)> {
    let mut words = content.splitn(3, ' ');
    let site = words.next()?.parse().ok()?;
    let count = Count(words.next()?.parse().ok()?);
    let name = unescape(words.next().unwrap_or_default())?;
    Some(((site, name.into()), count))
}

/// Reads the line of a memory operation's size, after the word `size`.
fn size_line(content: &str) -> Option<((usize, u64), Count)> {
    let mut words = content.splitn(3, ' ');
    let site = words.next()?.parse().ok()?;
    let count = Count(words.next()?.parse().ok()?);
    let bytes = words.next()?.parse().ok()?;
    Some(((site, bytes), count))
}

/// Reads the line of a path whose blocks are copied, after the word `tail`.
fn tail_line(content: &str) -> Option<(Vec<usize>, Count)> {
    let (count, edges) = content.split_once(' ')?;
    let edges: Result<Vec<usize>, _> = edges.split('-').map(str::parse).collect();
    Some((edges.ok()?, Count(count.parse().ok()?)))
}

/// Reads the line of a load, after the word `load`.
fn load_line(content: &str) -> Option<(Text, PrefetchPlan)> {
    let mut words = content.splitn(4, ' ');
    let mut number = || words.next()?.parse().ok();
    let load = PrefetchPlan {
        line: number()?,
        column: number()?,
        turns: number().filter(|&turns| turns > 0)?,
    };
    Some((unescape(words.next()?)?.into(), load))
}

fn edge_line(content: &str) -> Option<(usize, Count)> {
    let (edge, count) = content.split_once(' ')?;
    Some((edge.parse().ok()?, Count(count.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::code::BlockCode;

    fn function(calls: u64, edges: &[u64]) -> FunctionPlan {
        FunctionPlan::new(Count(calls), edges.iter().copied().map(Count))
    }

    const TEXT: &str = "\
holloway plan 2
function 4f00c0a18b2d9e37 5 3 fib
code 5e91c07a 1f3a9c02 77aa8812+9c0d1e2f 00000000 | 0-1 0-2 1-2
0 2
2 3
target 0 1
target 0 4 compare
size 0 2 16
unpredictable 0 1
tail 1 2-0
function 0000000000000001 0 0 main
late
function 7c1e5b0f9a64d283 5 2 fib
0 2
order
place main
place fib
prefetches
load 41 0 8 fib
load 41 16 2 fib
end
";

    #[test]
    fn the_example_is_read_and_written() {
        let plan = Plan::parse(TEXT.as_bytes()).expect("a plan");
        let fib = plan.find("fib", 0x4f00_c0a1_8b2d_9e37);
        let mut expect = function(5, &[2, 0, 3]);
        expect.unpredictable.insert(0, Count(1));
        expect.tails.insert(vec![2, 0], Count(1));
        let block = |hash, callees: &[u32]| BlockCode {
            hash,
            callees: callees.to_vec(),
        };
        expect.code = Some(FunctionCode {
            places: 0x5e91_c07a,
            blocks: vec![
                block(0x1f3a_9c02, &[]),
                block(0x77aa_8812, &[0x9c0d_1e2f]),
                block(0, &[]),
            ],
            edges: vec![(0, 1), (0, 2), (1, 2)],
        });
        expect.targets.insert((0, "".into()), Count(1));
        expect.targets.insert((0, "compare".into()), Count(4));
        expect.sizes.insert((0, 16), Count(2));
        assert_eq!(fib, Some(&expect));
        assert_eq!(plan.unpredictable_branches(), 1);
        assert_eq!(plan.tail_count(), 1);
        assert_eq!(plan.without_tails().tail_count(), 0);
        assert_eq!(plan.without_tails().with_tails_of(&plan), plan);
        assert_eq!(plan.find("fib", 1), None);
        assert_eq!(plan.functions().len(), 2);
        let late = plan.find_late("fib", 0x7c1e_5b0f_9a64_d283);
        assert_eq!(late, Some(&function(5, &[2, 0])));
        assert_eq!(plan.find("fib", 0x7c1e_5b0f_9a64_d283), None);
        assert_eq!(plan.late_functions(), 1);
        let load = |column, turns| PrefetchPlan {
            line: 41,
            column,
            turns,
        };
        assert_eq!(plan.prefetches("fib"), [load(0, 8), load(16, 2)]);
        assert_eq!(plan.prefetches("main"), []);
        assert_eq!(plan.prefetch_count(), 2);
        assert_eq!(plan.order(), ["main", "fib"].map(Text::from));
        assert_eq!(plan.to_text(), TEXT);
        let bare = plan.without_prefetches();
        assert_eq!(bare.prefetch_count(), 0);
        assert_eq!(bare.with_prefetches_of(&plan), plan);
        let mut sum = bare;
        sum.add_prefetch("fib".into(), load(16, 3));
        sum.set_order(vec!["fib".into(), "other".into()]);
        sum.add_plan(plan.clone());
        assert_eq!(sum.order(), ["fib", "other", "main"].map(Text::from));
        assert_eq!(sum.prefetches("fib"), [load(0, 8), load(16, 3)]);
        let without = plan.without_late_counts();
        assert_eq!(
            (without.late_functions(), without.functions().len()),
            (0, 2)
        );
    }

    #[test]
    fn functions_with_equal_names_and_graphs_are_added_up() {
        let twice: Plan = [("f", &[1, 2][..]), ("f", &[10, 20])]
            .into_iter()
            .map(|(name, edges)| (name.into(), 7, function(3, edges)))
            .collect();
        assert_eq!(twice.find("f", 7), Some(&function(6, &[11, 22])));
        let most = function(u64::MAX, &[u64::MAX]);
        let sum: Plan = [most.clone(), most.clone()]
            .map(|function| ("f".into(), 7, function))
            .into_iter()
            .collect();
        assert_eq!(sum.find("f", 7), Some(&most));
    }

    #[test]
    fn mispredictions_are_added_up_and_can_be_left_out() {
        let marked = |mispredictions| {
            let plan = [("f".into(), 7, function(3, &[100, 100]))];
            let mut plan: Plan = plan.into_iter().collect();
            assert!(plan.mark_unpredictable(&"f".into(), 7, 1, Count(mispredictions)));
            plan
        };
        let mut sum = marked(90);
        let other = marked(30);
        sum.add_plan(other);
        let expect = BTreeMap::from([(1, Count(120))]);
        assert_eq!(sum.find("f", 7).expect("f").unpredictable, expect);
        let without = sum.without_unpredictable();
        assert_eq!(without.find("f", 7), Some(&function(6, &[200, 200])));
        assert_eq!(without.unpredictable_branches(), 0);
        assert!(!sum.mark_unpredictable(&"f".into(), 7, 2, Count(1)));
        assert!(!sum.mark_unpredictable(&"f".into(), 8, 1, Count(1)));
    }

    #[test]
    fn late_counts_are_added_up() {
        let late: Plan = [("f".into(), 7, function(3, &[1, 2]))]
            .into_iter()
            .collect();
        let mut plan = Plan::default();
        plan.add_late(late);
        let mut sum = plan.clone();
        sum.add_plan(plan);
        assert_eq!(sum.find_late("f", 7), Some(&function(6, &[2, 4])));
        assert_eq!(sum.functions().len(), 0);
    }

    #[test]
    fn any_name_survives_the_text() {
        for name in [
            "_ZN3fooE",
            "a b",
            "",
            "\u{1}raw",
            "line\nbreak",
            "\\u{41}",
            "ä",
        ] {
            let plan: Plan = [(name.into(), 3, function(1, &[0, 4]))]
                .into_iter()
                .collect();
            let text = plan.to_text();
            assert_eq!(text.lines().count(), 4, "{text}");
            assert_eq!(Plan::parse(text.as_bytes()), Ok(plan), "{text}");
        }
    }

    #[test]
    fn comments_and_empty_lines_are_ignored() {
        let text = TEXT.replace("0 2\n", "# the recursion\n\n0 2\n");
        assert_eq!(Plan::parse(text.as_bytes()), Plan::parse(TEXT.as_bytes()));
    }

    #[test]
    fn plans_of_the_earlier_version_are_read() {
        let lines = TEXT.lines().filter(|line| !line.starts_with("code"));
        let without_code: String = lines.map(|line| format!("{line}\n")).collect();
        let earlier = without_code.replace(FIRST_LINE, EARLIER_FIRST_LINE);
        let plan = Plan::parse(earlier.as_bytes()).expect("a plan");
        assert_eq!(plan.to_text(), without_code);
    }

    #[test]
    fn loads_to_prefetch_have_a_place_a_distance_and_a_name() {
        for load in ["load 1 2 0 f", "load 1 2 f", "load 1 2 3", "0 2", "late"] {
            let text = format!("{FIRST_LINE}\nprefetches\n{load}\nend\n");
            let error = Plan::parse(text.as_bytes());
            assert_eq!(error, Err(form(3, LOAD_FORM)), "{load}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        let check = |text: &str, expect: PlanError| {
            let text = text.replace("FIRST", FIRST_LINE);
            assert_eq!(Plan::parse(text.as_bytes()), Err(expect), "{text}");
        };
        check("", PlanError::FirstLine);
        check("holloway plan 3\n", PlanError::FirstLine);
        check("FIRST\n", PlanError::LastLine);
        check("FIRST\nend\nend\n", PlanError::LastLine);
        check("FIRST\n0 1\n", form(2, FUNCTION_FORM));
        check("FIRST\nlate\nlate\nend\n", form(3, FUNCTION_FORM));
        check("FIRST\nlate\n0 1\nend\n", form(3, FUNCTION_FORM));
        // No graph has so many edges.
        check(
            "FIRST\nfunction 0000000000000001 1 18446744073709551615 f\n",
            form(2, FUNCTION_FORM),
        );
        check("FIRST\nfunction 12 1 1 f\n", form(2, FUNCTION_FORM));
        check(
            "FIRST\nfunction 0000000000000001 1 1\n",
            form(2, FUNCTION_FORM),
        );
        let function = "FIRST\n\nfunction 0000000000000001 1 2 f\n";
        let check_edges = |lines: &str, expect| check(&format!("{function}{lines}"), expect);
        check_edges("0 x\n", form(4, EDGE_FORM));
        check_edges("2 1\n", PlanError::Edge { line: 4, edge: 2 });
        check_edges("1 1\n1 1\n", PlanError::Edge { line: 5, edge: 1 });
        check_edges("unpredictable 1\n", form(4, UNPREDICTABLE_FORM));
        let out_of_range = PlanError::Edge { line: 4, edge: 2 };
        check_edges("unpredictable 2 1\n", out_of_range);
        let twice = PlanError::Edge { line: 5, edge: 1 };
        check_edges("unpredictable 1 1\nunpredictable 1 1\n", twice);
        check("FIRST\nunpredictable 1 1\n", form(2, FUNCTION_FORM));
        check_edges("size 0 1\n", form(4, SIZE_FORM));
        check_edges("size 0 1 8\nsize 0 1 8\n", PlanError::Size { line: 5 });
        check_edges("tail 1\n", form(4, TAIL_FORM));
        check_edges("tail 1 0-\n", form(4, TAIL_FORM));
        check_edges("tail 1 0\n", PlanError::Tail { line: 4 });
        check_edges("tail 1 0-2\n", PlanError::Tail { line: 4 });
        check_edges("tail 1 0-1\ntail 1 0-0\n", PlanError::Tail { line: 5 });
        let code = "code 00000001 00000001 00000000 | 0-1 0-1\n";
        check_edges(&code.repeat(2), PlanError::Code { line: 5 });
        let fewer = "code 00000001 00000001 00000000 | 0-1\n";
        check_edges(fewer, PlanError::Code { line: 4 });
        check_edges("target 1\n", form(4, TARGET_FORM));
        let unsorted = PlanError::Target { line: 5 };
        check_edges("target 1 1 f\ntarget 1 1 f\n", unsorted);
        check_edges("target 1 1 f\ntarget 1 1\n", unsorted);
        check_edges("target 1 1 f\ntarget 0 1 g\n", unsorted);
        let late = function.replace("FIRST\n", "FIRST\nlate");
        for word in ["code", "target", "size", "unpredictable", "tail"] {
            let error = PlanError::Late { line: 4, word };
            check(&format!("{late}{word} 1 2 3\n"), error);
        }
        let bytes = [FIRST_LINE.as_bytes(), b"\n\xff"].concat();
        assert_eq!(Plan::parse(&bytes), Err(PlanError::NotUtf8 { line: 2 }));
    }

    #[test]
    fn no_part_of_a_plan_is_taken_for_a_plan() {
        let whole = TEXT.trim_end();
        for length in 0..whole.len() {
            assert!(
                Plan::parse(&whole.as_bytes()[..length]).is_err(),
                "{length}"
            );
        }
    }

    #[test]
    fn every_damaged_byte_gives_a_plan_or_an_error() {
        for index in 0..TEXT.len() {
            for value in 0..=255 {
                let mut bytes = TEXT.as_bytes().to_vec();
                bytes[index] = value;
                if let Ok(plan) = Plan::parse(&bytes) {
                    assert_eq!(Plan::parse(plan.to_text().as_bytes()), Ok(plan));
                }
            }
        }
    }
}
