//! The last lines of a document: one line for each part that the run has besides the counts.

use super::indices::FunctionIndices;
use super::phases::PhasesRecord;
use super::subject::Subject;
use super::trace::Traces;
use crate::options::Options;

/// By part that the run has: its name in the head, and its line.
///
/// # Errors
/// If a document is no JSON.
pub(super) fn lines(
    subject: &Subject<'_>,
    indices: &FunctionIndices<'_>,
    options: &Options<'_>,
) -> serde_json::Result<Vec<(&'static str, String)>> {
    let mut lines = Vec::new();
    if let Some(document) = &subject.loops {
        lines.push(("loops", indices.with_records(document)?));
    }
    if let Some(document) = &subject.variation {
        lines.push(("variation", indices.with_records(document)?));
    }
    if let Some(document) = &subject.samples {
        lines.push(("samples", indices.with_samples(document)?));
    }
    if !subject.traces.is_empty() {
        let traces = Traces::new(subject, indices, options);
        lines.push(("traces", serde_json::to_string(&traces)?));
    }
    if let Some(phases) = &subject.phases {
        let phases = PhasesRecord::new(phases, indices, options);
        lines.push(("phases", serde_json::to_string(&phases)?));
    }
    Ok(lines)
}
