//! The JSON report (schema 1) as the tests read it.
//!
//! The tests follow docs/json.md, like any other reader, and share no code with the product.

use crate::tool::{holloway_command, run_ok};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;

/// A whole report.
#[derive(Debug)]
pub struct Report {
    /// Functions with their paths and edges.
    pub functions: Vec<Function>,
    /// Functions that are not instrumented, with the reason.
    pub skipped: Vec<(String, String)>,
    /// The complete JSON.
    pub json: Value,
}

/// One function of a report.
#[derive(Debug)]
pub struct Function {
    /// Name in the source.
    pub name: String,
    /// Name in the object.
    pub linkage_name: String,
    /// File it is defined in.
    pub file: String,
    /// Number of paths of its graph.
    pub possible_paths: u64,
    /// Paths that ran.
    pub paths: Vec<ExecutedPath>,
    /// Left paths whose call came back more often than it was reached.
    pub reentries: Vec<ExecutedPath>,
    /// Edges as (from, to, count). Block -1 is outside the function.
    pub edges: Vec<(i64, i64, u64)>,
    /// Exit edges as (block, net count): frames left there minus frames entered again.
    pub left: Vec<(i64, i64)>,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

/// One block.
#[derive(Debug)]
pub struct Block {
    /// The block's number.
    pub id: i64,
    /// Times it ran.
    pub count: u64,
    /// `file:line:column` of its source, in order.
    pub places: Vec<String>,
}

/// One executed path.
#[derive(Debug)]
pub struct ExecutedPath {
    /// Times it ran.
    pub count: u64,
    /// The blocks of the path, in order.
    pub blocks: Vec<i64>,
    /// `entry` or `loop`.
    pub start: String,
    /// `exit`, `back`, `cut` or `left`.
    pub end: String,
    /// `file:line:column` of the places it runs through, in order.
    pub places: Vec<String>,
}

impl Report {
    /// Runs `holloway report DIRECTORY --format json --all-code`.
    ///
    /// # Errors
    /// If the command fails, or what it prints is not schema 1.
    pub fn of_run(directory: &Path) -> Result<Self> {
        let words = ["report", "--format", "json", "--all-code"];
        let output = run_ok(holloway_command(words).arg(directory))?;
        Self::parse(&output.text())
            .with_context(|| format!("the report of {}", directory.display()))
    }

    /// Reads the JSON text.
    ///
    /// # Errors
    /// If the text is not JSON, has another schema, or lacks a field.
    pub fn parse(text: &str) -> Result<Self> {
        let json: Value = serde_json::from_str(text).context("not JSON")?;
        ensure!(json["schema"] == 1, "schema is {}, not 1", json["schema"]);
        let functions = list(&json, "functions")?
            .iter()
            .map(function)
            .collect::<Result<_>>()?;
        let skipped = list(&json, "skipped")?
            .iter()
            .map(|s| Ok((word(s, "name")?, word(s, "reason")?)))
            .collect::<Result<_>>()?;
        Ok(Self {
            functions,
            skipped,
            json,
        })
    }

    /// Returns the functions with a name: in the source, in the object, or the last part of
    /// `a::b::name`.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Function> {
        self.functions.iter().filter(move |f| f.answers_to(name))
    }

    /// Calls of all functions with this name.
    #[must_use]
    pub fn calls(&self, name: &str) -> u64 {
        self.named(name).map(Function::calls).sum()
    }

    /// Sum of all path counts.
    #[must_use]
    pub fn path_executions(&self) -> u64 {
        self.functions.iter().map(Function::total).sum()
    }

    /// Returns a number of the totals.
    ///
    /// # Errors
    /// If there is no such number.
    pub fn total(&self, name: &str) -> Result<u64> {
        self.json["totals"][name]
            .as_u64()
            .with_context(|| format!("no totals.{name} in {}", self.json["totals"]))
    }
}

impl Function {
    /// Identifies the function across builds: its symbol and its file's name.
    #[must_use]
    pub fn key(&self) -> (String, String) {
        // Each kind is built in a different folder.
        let file = self.file.rsplit('/').next().unwrap_or_default();
        (self.linkage_name.clone(), file.to_owned())
    }

    /// Calls: the count of the edge from outside to the entry.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.edges.iter().filter(|e| e.0 == -1).map(|e| e.2).sum()
    }

    /// Whether the function has frames that were left or entered again.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.left.iter().any(|(_, count)| *count != 0)
    }

    /// Sum of its path counts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.paths.iter().map(|p| p.count).sum()
    }

    /// Whether a name refers to the function.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        let plain = without_brackets(&self.name);
        self.name == name
            || self.linkage_name == name
            || plain == name
            || plain
                .strip_suffix(name)
                .is_some_and(|before| before.ends_with("::"))
    }
}

/// Removes generic arguments and parameters: `<A<B> as C>::d(e)` becomes `::d`.
fn without_brackets(name: &str) -> String {
    let mut depth = 0u32;
    let mut plain = String::new();
    for c in name.chars() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain.trim_end_matches(" const").to_owned()
}

fn function(json: &Value) -> Result<Function> {
    let name = word(json, "name")?;
    let inner = || -> Result<Function> {
        let (left, edges) = list(json, "edges")?
            .iter()
            .partition::<Vec<&Value>, _>(|e| e["left"] == true);
        let reentries = json["reentries"].as_array();
        Ok(Function {
            name: name.clone(),
            linkage_name: word(json, "linkage_name")?,
            file: json["file"].as_str().unwrap_or_default().to_owned(),
            possible_paths: number(json, "possible_paths")?,
            paths: list(json, "paths")?
                .iter()
                .map(path)
                .collect::<Result<_>>()?,
            reentries: reentries
                .into_iter()
                .flatten()
                .map(path)
                .collect::<Result<_>>()?,
            edges: edges.into_iter().map(edge).collect::<Result<_>>()?,
            left: left.into_iter().map(exit_edge).collect::<Result<_>>()?,
            blocks: list(json, "blocks")?
                .iter()
                .map(block)
                .collect::<Result<_>>()?,
        })
    };
    inner().with_context(|| format!("function {name}"))
}

fn path(json: &Value) -> Result<ExecutedPath> {
    let blocks = list(json, "blocks")?
        .iter()
        .map(|b| b.as_i64().context("a block is a number"))
        .collect::<Result<_>>()?;
    Ok(ExecutedPath {
        count: number(json, "count")?,
        blocks,
        start: word(json, "start")?,
        end: word(json, "end")?,
        places: places(json)?,
    })
}

fn block(json: &Value) -> Result<Block> {
    Ok(Block {
        id: signed(json, "id")?,
        count: number(json, "count")?,
        places: places(json)?,
    })
}

fn places(json: &Value) -> Result<Vec<String>> {
    list(json, "places")?
        .iter()
        .map(|p| Ok(p.as_str().context("a place is a text")?.to_owned()))
        .collect()
}

fn edge(json: &Value) -> Result<(i64, i64, u64)> {
    Ok((
        signed(json, "from")?,
        signed(json, "to")?,
        number(json, "count")?,
    ))
}

fn exit_edge(json: &Value) -> Result<(i64, i64)> {
    Ok((signed(json, "from")?, signed(json, "count")?))
}

pub(crate) fn list<'a>(json: &'a Value, name: &str) -> Result<&'a Vec<Value>> {
    json[name]
        .as_array()
        .with_context(|| format!("no list {name:?}"))
}

pub(crate) fn number(json: &Value, name: &str) -> Result<u64> {
    json[name]
        .as_u64()
        .with_context(|| format!("no number {name:?} in {json}"))
}

fn signed(json: &Value, name: &str) -> Result<i64> {
    json[name]
        .as_i64()
        .with_context(|| format!("no number {name:?} in {json}"))
}

fn word(json: &Value, name: &str) -> Result<String> {
    Ok(json[name]
        .as_str()
        .with_context(|| format!("no text {name:?}"))?
        .to_owned())
}
