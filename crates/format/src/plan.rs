//! An optimization plan: the executions of each function's edges, for a build that uses them.
//!
//! *Early* counts are those of code that no optimizer has seen. *Late* counts are those of the code
//! that the optimizer makes with the early counts: inlined copies of a function have counts of
//! their own.
//!
//! A plan is a text file, so that people can read, edit, and compare it. Training writes it, and
//! the weaver attaches its counts to the code as branch weights and entry counts.
//!
//! ```text
//! holloway plan 1
//! function 4f00c0a18b2d9e37 5 3 fib
//! 0 2
//! 2 3
//! target 0 4 compare
//! unpredictable 0 1
//! late
//! function 7c1e5b0f9a64d283 5 2 fib
//! 0 2
//! order
//! place main
//! place fib
//! prefetches
//! load 41 16 8 chase
//! end
//! ```
//! - The first line names the format and its version.
//! - `function HASH CALLS EDGES NAME` begins a function: the hash of its graph
//!   ([`FunctionMap::graph_hash`](crate::FunctionMap::graph_hash)) in 16 hexadecimal digits, its
//!   calls, the number of its edges, and its linkage name to the end of the line.
//! - `EDGE COUNT` follows for each edge that ran, ascending. Edges are numbered from 0, in the
//!   order of the map, and exit edges are left out
//!   ([`EdgeMap::is_always_there`](crate::EdgeMap::is_always_there)).
//! - `target SITE COUNT NAME` follows for each function that an indirect call has called: the number
//!   of the call among the function's indirect calls, from 0 in the order of the code, how often it
//!   has called the function, and the function's linkage name to the end of the line. Without a name,
//!   it has called functions whose names are unknown, for example of other images.
//! - `unpredictable EDGE COUNT` follows for each branch that a processor is expected to mispredict
//!   often: the smallest number of the branch's edges, and the expected mispredictions. The branch
//!   becomes a select if they are [a fifth](is_unpredictable) of its executions.
//! - The line `late` comes once, or never. The functions before it have early counts, and those after
//!   it have late counts.
//! - The line `order` comes once, or never. `place NAME` follows for each function, by linkage name, in
//!   the order in which the functions are to lie in the program.
//! - The line `prefetches` comes once, or never. `load LINE COLUMN TURNS NAME` follows for each load
//!   that is to be prefetched: its place in the source (column 0 stands for all loads of the line),
//!   how many turns of its loop ahead, and the linkage name of the function that contains it, which
//!   may be inlined code's caller.
//! - The line `end` comes last, so that a plan that was cut short is not taken for a whole one.
//! - Empty lines and lines that begin with `#` are ignored.
//!
//! Functions ascend by name and hash, so equal counts give equal files. A reader accepts any order.
//! A function whose code has changed has another hash. It gets no counts, rather than wrong ones.
//! Functions of several modules with equal names and graphs share one entry with the sums of their
//! counts. This is right for inline functions and generic functions, whose copies the linker
//! merges. The sum of several plans has the sums of executions and of mispredictions. So a branch that
//! is unpredictable in one plan is unpredictable in the sum, unless it ran much more often in plans
//! where it is predictable. The order of the first plan goes on with the functions that only later
//! plans have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::text::Text;
use crate::units::Count;

/// The first line of a plan.
const FIRST_LINE: &str = "holloway plan 1";
/// The line between early and late counts.
const LATE_LINE: &str = "late";
/// The line before the order of functions.
const ORDER_LINE: &str = "order";
/// The beginning of a function's line in the order.
const PLACE: &str = "place ";
/// The line before the loads to prefetch.
const PREFETCHES_LINE: &str = "prefetches";
/// The beginning of a load's line.
const LOAD: &str = "load ";
/// The last line of a plan.
const LAST_LINE: &str = "end";
/// The beginning of a call target's line.
const TARGET: &str = "target ";
/// The beginning of an unpredictable branch's line.
const UNPREDICTABLE: &str = "unpredictable ";

/// Mispredictions of an unpredictable branch, at least: one in so many executions.
///
/// A misprediction costs 15 to 20 cycles on current processors. One in five executions costs 3 to 4
/// cycles for each execution. A select costs about as much: it executes both sides, and its result
/// waits for the condition.
const EXECUTIONS_PER_MISPREDICTION: u64 = 5;

/// The counts of a build's functions. Its [`FromIterator`] adds up functions with equal names and
/// graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    functions: Functions,
    /// The late counts.
    late: Functions,
    /// The functions in the order in which they are to lie in the program, by linkage name.
    order: Vec<Text>,
    /// The loads to prefetch, by linkage name.
    prefetches: BTreeMap<Text, Vec<PrefetchPlan>>,
}

/// A load that is to be prefetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PrefetchPlan {
    /// The line of the load, in the innermost frame that it was inlined from.
    pub line: u32,
    /// The column. 0 stands for all loads of the line.
    pub column: u32,
    /// How many turns of the loop ahead, at least 1.
    pub turns: u32,
}

type Functions = BTreeMap<FunctionKey, FunctionPlan>;

/// Identifies a function: its linkage name, and the hash of its graph.
type FunctionKey = (Text, u64);

/// The counts of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionPlan {
    /// Executions of the function.
    pub calls: Count,
    /// The number of the function's edges, without exit edges.
    pub edge_count: usize,
    /// Executions of the edges that ran, by number.
    pub taken: BTreeMap<usize, Count>,
    /// How often an indirect call has called a function, by the number of the call and the linkage
    /// name of the function. The name is empty for functions whose names are unknown.
    pub targets: BTreeMap<(usize, Text), Count>,
    /// Expected mispredictions of the branches that are hard to predict. The key is the smallest
    /// number of the branch's edges.
    pub unpredictable: BTreeMap<usize, Count>,
}

impl FunctionPlan {
    /// The counts of a function. `edges` has the executions of each edge, except exit edges, in the
    /// order of the map.
    pub fn new(calls: Count, edges: impl IntoIterator<Item = Count>) -> Self {
        let mut edge_count = 0;
        let numbered = edges.into_iter().inspect(|_| edge_count += 1).enumerate();
        let taken = numbered.filter(|(_, count)| *count != Count::ZERO);
        let taken = taken.collect();
        Self {
            calls,
            edge_count,
            taken,
            ..Self::default()
        }
    }

    /// Adds calls of a function by the indirect call with this number. The name is empty if it is
    /// unknown.
    pub fn add_target(&mut self, site: usize, name: Text, calls: Count) {
        add_all(&mut self.targets, [((site, name), calls)].into());
    }

    /// Executions of an edge.
    pub fn count(&self, edge: usize) -> Count {
        self.taken.get(&edge).copied().unwrap_or_default()
    }

    /// Whether the function ran.
    pub fn ran(&self) -> bool {
        self.calls != Count::ZERO || !self.taken.is_empty()
    }

    /// Adds the counts of another run.
    fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.edge_count = self.edge_count.max(other.edge_count);
        add_all(&mut self.taken, other.taken);
        add_all(&mut self.targets, other.targets);
        add_all(&mut self.unpredictable, other.unpredictable);
    }
}

fn add_all<K: Ord>(sums: &mut BTreeMap<K, Count>, counts: BTreeMap<K, Count>) {
    for (key, count) in counts {
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }
}

/// Whether a branch with these counts is unpredictable: at least a fifth of its executions is
/// expected to be mispredicted.
pub fn is_unpredictable(mispredictions: Count, executions: Count) -> bool {
    let least = executions.0.div_ceil(EXECUTIONS_PER_MISPREDICTION);
    mispredictions.0 >= least.max(1)
}

/// A line of a plan that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The file is no plan, or a plan of another version.
    #[error("the first line is not `{FIRST_LINE}`: name a file that `holloway plan train` wrote")]
    FirstLine,
    /// The file has no last line, or lines after it.
    #[error(
        "the last line is not `{LAST_LINE}`: the file was cut short or damaged; write the plan again"
    )]
    LastLine,
    /// The file is not UTF-8.
    #[error("line {line}: not UTF-8")]
    NotUtf8 {
        /// The number of the line, from 1.
        line: usize,
    },
    /// A line has no known form.
    #[error(
        "line {line}: not `function HASH CALLS EDGES NAME`, `EDGE COUNT`, `target SITE COUNT NAME`, `unpredictable EDGE COUNT`, `late`, `order`, `place NAME`, `prefetches`, or `load LINE COLUMN TURNS NAME`"
    )]
    Form {
        /// The number of the line, from 1.
        line: usize,
    },
    /// An edge's number is not below the function's number of edges, or does not ascend.
    #[error("line {line}: edge {edge} is out of range or out of order")]
    Edge {
        /// The number of the line, from 1.
        line: usize,
        /// The edge.
        edge: usize,
    },
    /// The targets of a function do not ascend by number and name.
    #[error("line {line}: the target is out of order: sort targets by number, then by name")]
    Target {
        /// The number of the line, from 1.
        line: usize,
    },
}

impl FromIterator<(Text, u64, FunctionPlan)> for Plan {
    fn from_iter<I: IntoIterator<Item = (Text, u64, FunctionPlan)>>(functions: I) -> Self {
        let mut plan = Self::default();
        for (name, hash, function) in functions {
            plan.add(name, hash, function);
        }
        plan
    }
}

impl Plan {
    /// Adds a function's early counts to the plan.
    pub fn add(&mut self, name: Text, hash: u64, function: FunctionPlan) {
        add_function(&mut self.functions, (name, hash), function);
    }

    /// Adds all counts of another plan.
    pub fn add_plan(&mut self, other: Self) {
        for (key, function) in other.functions {
            add_function(&mut self.functions, key, function);
        }
        for (key, function) in other.late {
            add_function(&mut self.late, key, function);
        }
        let known: BTreeSet<Text> = self.order.iter().cloned().collect();
        let new = other.order.into_iter();
        self.order.extend(new.filter(|name| !known.contains(name)));
        for (name, loads) in other.prefetches {
            for load in loads {
                self.add_prefetch(name.clone(), load);
            }
        }
    }

    /// The functions in the order in which they are to lie in the program, by linkage name. Empty
    /// if the linker is to decide.
    pub fn order(&self) -> &[Text] {
        &self.order
    }

    /// Sets the order of functions.
    pub fn set_order(&mut self, order: Vec<Text>) {
        self.order = order;
    }

    /// Adds a load to prefetch. A load that the plan has already keeps its distance.
    pub fn add_prefetch(&mut self, name: Text, load: PrefetchPlan) {
        let loads = self.prefetches.entry(name).or_default();
        let place = |load: &PrefetchPlan| (load.line, load.column);
        if let Err(index) = loads.binary_search_by_key(&place(&load), place) {
            loads.insert(index, load);
        }
    }

    /// The loads to prefetch in the function with this linkage name, by place.
    pub fn prefetches(&self, name: &str) -> &[PrefetchPlan] {
        self.prefetches.get(name).map_or(&[], Vec::as_slice)
    }

    /// The number of loads to prefetch.
    pub fn prefetch_count(&self) -> usize {
        self.prefetches.values().map(Vec::len).sum()
    }

    /// The same plan, without loads to prefetch.
    #[must_use]
    pub fn without_prefetches(&self) -> Self {
        Self {
            prefetches: BTreeMap::new(),
            ..self.clone()
        }
    }

    /// The same plan, with the loads to prefetch of another one.
    #[must_use]
    pub fn with_prefetches_of(&self, other: &Self) -> Self {
        Self {
            prefetches: other.prefetches.clone(),
            ..self.clone()
        }
    }

    /// Adds late counts: those of the functions of `late`.
    pub fn add_late(&mut self, late: Self) {
        for (key, function) in late.functions {
            add_function(&mut self.late, key, function);
        }
    }

    /// The number of functions with late counts.
    pub fn late_functions(&self) -> usize {
        self.late.len()
    }

    /// The late counts of the function with this linkage name and graph.
    pub fn find_late(&self, name: &str, hash: u64) -> Option<&FunctionPlan> {
        self.late.get(&(name.into(), hash))
    }

    /// The same plan, without late counts.
    #[must_use]
    pub fn without_late_counts(&self) -> Self {
        Self {
            late: Functions::default(),
            ..self.clone()
        }
    }

    /// The early counts of the function with this linkage name and graph.
    pub fn find(&self, name: &str, hash: u64) -> Option<&FunctionPlan> {
        self.functions.get(&(name.into(), hash))
    }

    /// Adds expected mispredictions to the branch with this first edge. Returns whether the plan has
    /// such a function and edge.
    pub fn mark_unpredictable(
        &mut self,
        name: &Text,
        hash: u64,
        edge: usize,
        mispredictions: Count,
    ) -> bool {
        let function = self.functions.get_mut(&(name.clone(), hash));
        match function.filter(|function| edge < function.edge_count) {
            Some(function) => {
                add_all(&mut function.unpredictable, [(edge, mispredictions)].into());
                true
            }
            None => false,
        }
    }

    /// The number of branches that are marked as unpredictable.
    pub fn unpredictable_branches(&self) -> usize {
        let functions = self.functions.values();
        functions.map(|function| function.unpredictable.len()).sum()
    }

    /// The same counts, without unpredictable branches.
    pub fn without_unpredictable(&self) -> Self {
        let mut plan = self.clone();
        for function in plan.functions.values_mut() {
            function.unpredictable.clear();
        }
        plan
    }

    /// All functions with early counts, ascending by name and hash.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = (&Text, u64, &FunctionPlan)> {
        let functions = self.functions.iter();
        functions.map(|((name, hash), function)| (name, *hash, function))
    }

    /// Writes the plan as text. Control characters and backslashes in names are escaped.
    pub fn to_text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        write_functions(&self.functions, &mut text);
        if !self.late.is_empty() {
            let _ = writeln!(text, "{LATE_LINE}");
            write_functions(&self.late, &mut text);
        }
        if !self.order.is_empty() {
            let _ = writeln!(text, "{ORDER_LINE}");
        }
        for name in &self.order {
            let _ = writeln!(text, "{PLACE}{}", escape(name));
        }
        if !self.prefetches.is_empty() {
            let _ = writeln!(text, "{PREFETCHES_LINE}");
        }
        for (name, loads) in &self.prefetches {
            for PrefetchPlan {
                line,
                column,
                turns,
            } in loads
            {
                let _ = writeln!(text, "{LOAD}{line} {column} {turns} {}", escape(name));
            }
        }
        text + LAST_LINE + "\n"
    }

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
        if lines.next().is_none_or(|(first, _)| first != FIRST_LINE) {
            return Err(PlanError::FirstLine);
        }
        let mut plan = Self::default();
        let mut current: Option<(FunctionKey, FunctionPlan)> = None;
        let mut is_late = false;
        let (mut has_order, mut has_prefetches) = (false, false);
        let mut has_ended = false;
        for (content, line) in lines {
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            if has_ended {
                return Err(PlanError::LastLine);
            }
            if content == LAST_LINE {
                has_ended = true;
                continue;
            }
            if content == ORDER_LINE && !has_order && !has_prefetches {
                plan.extend(current.take(), is_late);
                has_order = true;
                continue;
            }
            if content == PREFETCHES_LINE && !has_prefetches {
                plan.extend(current.take(), is_late);
                has_prefetches = true;
                continue;
            }
            if has_prefetches {
                let load = content.strip_prefix(LOAD).and_then(load_line);
                let (name, load) = load.ok_or(PlanError::Form { line })?;
                plan.add_prefetch(name, load);
                continue;
            }
            if has_order {
                let name = content.strip_prefix(PLACE).and_then(unescape);
                plan.order
                    .push(name.ok_or(PlanError::Form { line })?.into());
                continue;
            }
            if let Some(header) = content.strip_prefix("function ") {
                let next = function_line(header).ok_or(PlanError::Form { line })?;
                plan.extend(current.replace(next), is_late);
                continue;
            }
            if content == LATE_LINE && !is_late {
                plan.extend(current.take(), is_late);
                is_late = true;
                continue;
            }
            let (_, function) = current.as_mut().ok_or(PlanError::Form { line })?;
            if let Some(content) = content.strip_prefix(TARGET) {
                let (target, count) = target_line(content).ok_or(PlanError::Form { line })?;
                let last = function.targets.last_key_value();
                if last.is_some_and(|(last, _)| *last >= target) {
                    return Err(PlanError::Target { line });
                }
                if count != Count::ZERO {
                    function.targets.insert(target, count);
                }
                continue;
            }
            let (counts, content) = match content.strip_prefix(UNPREDICTABLE) {
                Some(content) => (&mut function.unpredictable, content),
                None => (&mut function.taken, content),
            };
            let (edge, count) = edge_line(content).ok_or(PlanError::Form { line })?;
            let last = counts.last_key_value();
            let ascends = last.is_none_or(|(&last, _)| last < edge);
            if !ascends || edge >= function.edge_count {
                return Err(PlanError::Edge { line, edge });
            }
            if count != Count::ZERO {
                counts.insert(edge, count);
            }
        }
        plan.extend(current, is_late);
        match has_ended {
            true => Ok(plan),
            false => Err(PlanError::LastLine),
        }
    }

    fn extend(&mut self, function: Option<(FunctionKey, FunctionPlan)>, is_late: bool) {
        if let Some((key, function)) = function {
            let functions = match is_late {
                true => &mut self.late,
                false => &mut self.functions,
            };
            add_function(functions, key, function);
        }
    }
}

fn write_functions(functions: &Functions, text: &mut String) {
    for ((name, hash), function) in functions {
        let name = escape(name);
        let (calls, edges) = (function.calls, function.edge_count);
        let _ = writeln!(text, "function {hash:016x} {calls} {edges} {name}");
        for (edge, count) in &function.taken {
            let _ = writeln!(text, "{edge} {count}");
        }
        for ((site, name), count) in &function.targets {
            let separator = if name.is_empty() { "" } else { " " };
            let name = escape(name);
            let _ = writeln!(text, "{TARGET}{site} {count}{separator}{name}");
        }
        for (edge, count) in &function.unpredictable {
            let _ = writeln!(text, "{UNPREDICTABLE}{edge} {count}");
        }
    }
}

fn add_function(functions: &mut Functions, key: FunctionKey, function: FunctionPlan) {
    functions.entry(key).or_default().add(function);
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

/// Writes control characters as `\u{…}`, so that a name stays on its line.
fn escape(name: &str) -> String {
    let is_plain = |c: char| !c.is_control() && c != '\\';
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        match is_plain(c) {
            true => escaped.push(c),
            false => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    escaped
}

/// The inverse of [`escape`]. `None` if a backslash begins no escape.
fn unescape(text: &str) -> Option<String> {
    let mut parts = text.split('\\');
    let mut name = parts.next()?.to_owned();
    for part in parts {
        let (digits, rest) = part.strip_prefix("u{")?.split_once('}')?;
        name.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
        name.push_str(rest);
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(calls: u64, edges: &[u64]) -> FunctionPlan {
        FunctionPlan::new(Count(calls), edges.iter().copied().map(Count))
    }

    const TEXT: &str = "\
holloway plan 1
function 4f00c0a18b2d9e37 5 3 fib
0 2
2 3
target 0 1
target 0 4 compare
unpredictable 0 1
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
        expect.targets.insert((0, "".into()), Count(1));
        expect.targets.insert((0, "compare".into()), Count(4));
        assert_eq!(fib, Some(&expect));
        assert_eq!(plan.unpredictable_branches(), 1);
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
    fn a_fifth_of_the_executions_is_unpredictable() {
        let check = |mispredictions, executions, expect| {
            let is = is_unpredictable(Count(mispredictions), Count(executions));
            assert_eq!(is, expect, "{mispredictions} of {executions}");
        };
        check(0, 0, false);
        check(0, 4, false);
        check(1, 5, true);
        check(1, 6, false);
        check(500, 1000, true);
        check(199, 1000, false);
        check(u64::MAX, u64::MAX, true);
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
    fn loads_to_prefetch_have_a_place_a_distance_and_a_name() {
        for load in ["load 1 2 0 f", "load 1 2 f", "load 1 2 3", "0 2", "late"] {
            let text = format!("{FIRST_LINE}\nprefetches\n{load}\nend\n");
            let error = Plan::parse(text.as_bytes());
            assert_eq!(error, Err(PlanError::Form { line: 3 }), "{load}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        let check = |text: &str, expect: PlanError| {
            let text = text.replace("FIRST", FIRST_LINE);
            assert_eq!(Plan::parse(text.as_bytes()), Err(expect), "{text}");
        };
        check("", PlanError::FirstLine);
        check("holloway plan 2\n", PlanError::FirstLine);
        check("FIRST\n", PlanError::LastLine);
        check("FIRST\nend\nend\n", PlanError::LastLine);
        check("FIRST\n0 1\n", PlanError::Form { line: 2 });
        check("FIRST\nlate\nlate\nend\n", PlanError::Form { line: 3 });
        check("FIRST\nlate\n0 1\nend\n", PlanError::Form { line: 3 });
        // No graph has so many edges.
        check(
            "FIRST\nfunction 0000000000000001 1 18446744073709551615 f\n",
            PlanError::Form { line: 2 },
        );
        check("FIRST\nfunction 12 1 1 f\n", PlanError::Form { line: 2 });
        check(
            "FIRST\nfunction 0000000000000001 1 1\n",
            PlanError::Form { line: 2 },
        );
        let function = "FIRST\n\nfunction 0000000000000001 1 2 f\n";
        let check_edges = |lines: &str, expect| check(&format!("{function}{lines}"), expect);
        check_edges("0 x\n", PlanError::Form { line: 4 });
        check_edges("2 1\n", PlanError::Edge { line: 4, edge: 2 });
        check_edges("1 1\n1 1\n", PlanError::Edge { line: 5, edge: 1 });
        check_edges("unpredictable 1\n", PlanError::Form { line: 4 });
        let out_of_range = PlanError::Edge { line: 4, edge: 2 };
        check_edges("unpredictable 2 1\n", out_of_range);
        let twice = PlanError::Edge { line: 5, edge: 1 };
        check_edges("unpredictable 1 1\nunpredictable 1 1\n", twice);
        check("FIRST\nunpredictable 1 1\n", PlanError::Form { line: 2 });
        check_edges("target 1\n", PlanError::Form { line: 4 });
        let unsorted = PlanError::Target { line: 5 };
        check_edges("target 1 1 f\ntarget 1 1 f\n", unsorted);
        check_edges("target 1 1 f\ntarget 1 1\n", unsorted);
        check_edges("target 1 1 f\ntarget 0 1 g\n", unsorted);
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
