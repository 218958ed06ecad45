//! Writes what is common to reports on the branches of a thread.

use std::io::{self, Write};

use holloway_analysis::block_addresses::UnknownAddresses;
use holloway_analysis::branch_stream::{BranchSet, BranchStream};
use holloway_format::Count;

use super::paint::{Ink, Line, Page};
use super::sheet::{Sheet, TOP};
use crate::notes::{Label, interrupted, sentence};
use crate::numbers::{grouped, plural};
use crate::options::Options;
use crate::thread::Thread;
use crate::trace::LabeledStream;

/// Columns of a label.
pub(super) const LABEL_WIDTH: usize = 16;

/// The output.
pub(super) struct ThreadSheet<'a> {
    thread: Thread<'a>,
    pub(super) labeled: LabeledStream<'a>,
    pub(super) options: &'a Options<'a>,
    pub(super) page: Page<'a>,
}

impl<'a> ThreadSheet<'a> {
    /// Writes the run's CPU time.
    pub(super) fn begin(
        thread: Thread<'a>,
        options: &'a Options<'a>,
        out: &'a mut dyn Write,
    ) -> io::Result<ThreadSheet<'a>> {
        if let Some(profile) = thread.profile {
            super::cpu_time::write(&mut Sheet::new(profile, options, out))?;
        }
        Ok(ThreadSheet {
            thread,
            labeled: LabeledStream::new(thread.stream, options),
            options,
            page: Page::new(out, options),
        })
    }

    /// Maximum number of items of a list (`--top`).
    pub(super) fn top(&self) -> usize {
        self.options.top.unwrap_or(TOP)
    }

    fn alarm(&mut self, label: &str, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ")
            .left(Ink::Alarm, label, LABEL_WIDTH);
        self.page.wrapped(line, Ink::Plain, text)
    }

    /// Writes a line of a list of facts.
    pub(super) fn fact(&mut self, label: &str, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ")
            .left(Ink::Faint, label, LABEL_WIDTH);
        self.page.wrapped(line, Ink::Plain, text)
    }

    pub(super) fn heading(&mut self, title: &str, description: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Strong, title).put(Ink::Plain, "  ");
        self.page.wrapped(line, Ink::Faint, description)
    }

    /// Writes the thread, the damage, and what the branches cover. Returns whether there are
    /// branches.
    pub(super) fn head(
        &mut self,
        stream: &BranchStream<'_>,
        set: BranchSet,
        instructions: Count,
    ) -> io::Result<bool> {
        let thread = self.thread;
        let branch_count = branches(stream.len());
        let instructions = plural(instructions, "instruction");
        let text = format!("{branch_count}, {instructions}");
        self.heading(&thread.stream.title(), &text)?;
        if let Some(interrupt) = thread.profile.and_then(|profile| profile.interrupt) {
            self.alarm("interrupted", &interrupted(interrupt))?;
        }
        for note in thread.damage.iter().chain(thread.stream.damage) {
            self.alarm(Label::for_note(note).text(), &sentence(note))?;
        }
        if thread.other_streams > 0 {
            let others = plural(thread.other_streams as u64, "shorter trace");
            let text = format!("{others} not shown: choose with --thread, --process, --image");
            self.fact("threads", &text)?;
        }
        let kinds = match set {
            BranchSet::Choices => "conditions and switches",
            BranchSet::All => "conditions, switches, jumps, calls, and returns",
        };
        let sites = branches(stream.sites().len() as u64);
        let addresses = addresses(stream);
        let text = format!(
            "{kinds} of woven code only ({sites} of the program ran); {addresses}; instructions are LLVM's"
        );
        self.fact("branches", &text)?;
        if stream.is_empty() {
            let text = "no branches: the thread ran no woven code with a condition or a switch";
            self.page.wrapped(Line::new(), Ink::Alarm, text)?;
        }
        Ok(!stream.is_empty())
    }
}

/// How the addresses of branches were found, in words.
fn addresses(stream: &BranchStream<'_>) -> String {
    let (real, all) = (stream.real_addresses() as u64, stream.sites().len() as u64);
    let synthetic = "synthetic, in the order of the path map";
    match stream.unknown_addresses() {
        None if real == all => {
            "addresses are real: where the code of the branch's block starts".to_owned()
        }
        None => format!(
            "{} real addresses, where the code of the branch's block starts; the other {} are {synthetic}",
            grouped(real),
            grouped(all - real)
        ),
        Some(reason) => format!("addresses are {synthetic}, because {}", reason_of(reason)),
    }
}

/// The reason why addresses are synthetic.
fn reason_of(reason: UnknownAddresses) -> &'static str {
    match reason {
        UnknownAddresses::NotRead => "the program's file was not read",
        UnknownAddresses::NoFile => "the program's file is gone",
        UnknownAddresses::OtherBuild => "the program was built again",
        UnknownAddresses::NoProbes => "the program has no pseudo-probes",
        UnknownAddresses::NoSymbols => "the program's symbol table was stripped",
        UnknownAddresses::Damaged => "the program's file is damaged",
    }
}

/// A number of branches, in words.
pub(super) fn branches(count: u64) -> String {
    match count {
        1 => "1 branch".to_owned(),
        count => format!("{} branches", grouped(count)),
    }
}
