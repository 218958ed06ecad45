//! The last lines of a document: one line for each part that the run has besides the counts.

use holloway_analysis::FunctionId;

use super::baseline::Compared;
use super::indices::FunctionIndices;
use super::phases::{ComparedPhases, PhasesRecord};
use super::subject::Subject;
use super::trace::Traces;
use crate::options::Options;

/// Writes a document with the indices of the functions of its records.
type Write = fn(&FunctionIndices<'_>, &str) -> serde_json::Result<String>;

/// By part that the run has: its name in the head, and its line. `ids` are the functions of the
/// page.
///
/// # Errors
/// If a document is no JSON.
pub(super) fn lines(
    subject: &Subject<'_>,
    ids: &[FunctionId],
    indices: &FunctionIndices<'_>,
    compared: Option<&Compared<'_>>,
    options: &Options<'_>,
) -> serde_json::Result<Vec<(&'static str, String)>> {
    let mut lines = Vec::new();
    let before = compared.map(|compared| &compared.baseline);
    let before_indices = compared.map(|compared| compared.indices(ids));
    let documents: [(_, _, _, Write); 3] = [
        (
            "loops",
            subject.loops.as_deref(),
            before.and_then(|before| before.loops),
            |indices, document| indices.with_records(document),
        ),
        (
            "variation",
            subject.variation.as_deref(),
            before.and_then(|before| before.variation),
            |indices, document| indices.with_records(document),
        ),
        (
            "samples",
            subject.samples.as_deref(),
            before.and_then(|before| before.samples),
            |indices, document| indices.with_samples(document),
        ),
    ];
    for (name, document, before, write) in documents {
        let Some(document) = document else {
            continue;
        };
        let now = write(indices, document)?;
        let before = match (before, &before_indices) {
            (Some(before), Some(indices)) => write(indices, before)?,
            (None, _) | (_, None) => "null".to_owned(),
        };
        lines.push((name, format!("{{\"now\":{now},\"before\":{before}}}")));
    }
    let before_indices = compared.map(|compared| compared.indices_of_totals(ids));
    if !subject.traces.is_empty() {
        let traces = Traces::new(subject, indices, before_indices.as_ref(), options);
        lines.push(("traces", serde_json::to_string(&traces)?));
    }
    if let Some(phases) = &subject.phases {
        let before = before.and_then(|before| before.phases.as_ref());
        let before = before.zip(before_indices.as_ref());
        let phases = ComparedPhases {
            now: PhasesRecord::new(phases, indices, options),
            before: before.map(|(phases, indices)| PhasesRecord::new(phases, indices, options)),
        };
        lines.push(("phases", serde_json::to_string(&phases)?));
    }
    Ok(lines)
}
