//! `holloway phases`: finds the phases of a thread of a run that was recorded with
//! `--collect trace`. `report --phase` shows one of them.

use std::process::ExitCode;

use holloway_abi::Kind;
use holloway_analysis::RunProfile;
use holloway_analysis::branch_stream::BranchSet;
use holloway_analysis::phases::counts::run_of_paths;
use holloway_analysis::phases::parameters::{Index, Monitored, Targets};
use holloway_analysis::phases::{
    Answer, Parameters, PhaseId, Question, Sampling, TriggerParameters,
};
use holloway_collect::load::Loaded;
use holloway_collect::thread_traces::TraceSelection;
use holloway_report::grouped;
use holloway_report::phases::{Phases, phase_name};

use super::trace::{RunTraces, with_longest};
use crate::cli::OutputFormat;
use crate::cli::phases::{BranchesKey, DetectorArgs, PhasesArgs};
use crate::cli::trace::ChoiceArgs;
use crate::failure::{Failure, Result};
use crate::kinds;
use crate::printing::{source, unfiltered, write_out};
use crate::progress::Progress;

/// Shows the phases of the longest chosen trace.
///
/// # Errors
/// If there is no trace, the trace cannot be read, the parameters make no detector, or stdout
/// cannot be written.
pub(crate) fn main(args: &PhasesArgs) -> Result<ExitCode> {
    let parameters = parameters(&args.detector);
    parameters.check().map_err(Failure::usage)?;
    let question = Question {
        branches: match args.branches {
            BranchesKey::Conditional => BranchSet::Choices,
            BranchesKey::All => BranchSet::All,
        },
        parameters,
        sampling: Sampling {
            length: args.timeline.sample_length,
            threshold: args.timeline.sample_threshold,
            ..Sampling::default()
        },
        sample_period: args.timeline.sample_period,
        window: args.window,
        trigger: args.trigger.then(TriggerParameters::default),
    };
    with_longest(&args.answer, |thread| {
        let stream = thread.stream;
        let answer = {
            let _progress = Progress::start("Following", "the branches");
            Answer::new(stream.code, stream.trace, &question).map_err(Failure::usage)?
        };
        let phases = Phases {
            thread,
            question: &question,
            answer: &answer,
        };
        let source = source();
        let display = &args.answer.display;
        let options = unfiltered(display.top, display.style.color, &source);
        let write = match display.style.format {
            OutputFormat::Text => holloway_report::terminal::phases::write,
            OutputFormat::Json => holloway_report::json::phases::write,
        };
        write_out(|out| write(&phases, &options, out))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The counts of one phase of the longest trace of a run, and a sentence about them.
///
/// # Errors
/// If the run has no trace, or no such phase.
pub(crate) fn of_phase(loaded: Loaded, name: char) -> Result<(RunProfile, String)> {
    if !loaded.kinds.has(Kind::Trace) {
        let reason = kinds::no_data(&loaded.kinds, "traces", Kind::Trace);
        return Err(Failure::usage(format_args!("--phase: {reason}")));
    }
    let traces = RunTraces::new(loaded, TraceSelection::All);
    let codes = traces.codes_with_addresses();
    let chosen = traces.selected(&ChoiceArgs::default());
    let Some(longest) = traces.longest(&chosen, &codes) else {
        return Err(Failure::new("cannot find a trace: nothing ran"));
    };
    let stream = traces.stream(longest, &codes);
    let answer = {
        let _progress = Progress::start("Following", "the branches");
        Answer::new(stream.code, stream.trace, &Question::default()).map_err(Failure::usage)?
    };
    let phases = &answer.exact.phases;
    let number = (name as usize).checked_sub('A' as usize);
    let Some(phase) = number.and_then(|number| phases.get(number)) else {
        let known = match phases.len() {
            0 => "no phases".to_owned(),
            1 => "only phase A".to_owned(),
            count => format!("the phases A to {}", phase_name(PhaseId(count as u32 - 1))),
        };
        return Err(Failure::usage(format_args!(
            "there is no phase {name}: the trace has {known}"
        )));
    };
    let head = traces.head(longest).clone();
    let mut profile = run_of_paths(stream.code.map(), head, stream.trace, &phase.paths);
    profile.damage.extend(traces.all_damage(longest));
    profile.interrupt = traces.profile.interrupt;
    let text = format!(
        "phase {name} of thread {} only: {} of its {} instructions",
        stream.thread,
        grouped(phase.instructions),
        grouped(answer.instructions)
    );
    Ok((profile, text))
}

fn parameters(args: &DetectorArgs) -> Parameters {
    Parameters {
        entries: args.entries,
        ways: args.ways,
        counter_bits: args.counter_bits,
        candidate_threshold: args.candidate_threshold,
        refresh_interval: args.refresh_interval,
        clear_interval: args.clear_interval,
        detection_bits: args.detection_bits,
        detection_increment: args.detection_increment,
        detection_decrement: args.detection_decrement,
        monitor_bits: args.monitor_bits,
        monitor_increment: args.monitor_increment,
        monitor_decrement: args.monitor_decrement,
        index: if args.by_direction {
            Index::Direction
        } else {
            Index::Address
        },
        targets: if args.targets {
            Targets::Counted
        } else {
            Targets::Ignored
        },
        monitored: if args.ranges {
            Monitored::Ranges
        } else {
            Monitored::Branches
        },
    }
}
