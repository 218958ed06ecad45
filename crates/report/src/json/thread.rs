//! Records that are common to reports on the branches of a thread.

use holloway_analysis::branch_stream::{AddressKind, BranchKind, BranchSite, BranchStream};
use holloway_analysis::interrupt::Interrupt;
use serde::Serialize;

use super::cpu_time::CpuTimeRecord;
use crate::notes::Sentences;
use crate::places::branch_place;
use crate::thread::Thread;
use crate::trace::LabeledStream;

/// A thread, and the damage of its run.
#[derive(Serialize)]
pub(super) struct ThreadRecord<'a> {
    image: &'a str,
    process: u32,
    thread: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    nth: Option<u32>,
    other_streams: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<CpuTimeRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<&'static str>,
    damage: Sentences<'a>,
    stream_damage: Sentences<'a>,
}

impl<'a> ThreadRecord<'a> {
    pub(super) fn new(thread: Thread<'a>) -> ThreadRecord<'a> {
        let stream = thread.stream;
        let interrupt = thread.profile.and_then(|profile| profile.interrupt);
        ThreadRecord {
            image: stream.image,
            process: stream.process,
            thread: stream.thread,
            nth: stream.nth,
            other_streams: thread.other_streams,
            cpu_time: thread.profile.and_then(CpuTimeRecord::new),
            interrupted: interrupt.map(Interrupt::name),
            damage: Sentences(thread.damage),
            stream_damage: Sentences(stream.damage),
        }
    }
}

/// How the addresses of the executed branches were found.
pub(super) fn addresses(stream: &BranchStream<'_>) -> &'static str {
    match stream.real_addresses() {
        0 => "synthetic",
        real if real == stream.sites().len() => "real",
        _ => "mixed",
    }
}

/// A branch of the program.
#[derive(Serialize)]
pub(super) struct SiteRecord<'a> {
    function: String,
    block: u32,
    file: &'a str,
    line: u32,
    address: u64,
    has_real_address: bool,
    kind: &'static str,
}

impl<'a> SiteRecord<'a> {
    pub(super) fn new(labeled: &LabeledStream<'a>, site: &BranchSite) -> SiteRecord<'a> {
        let map = labeled.stream.code.function(site.function);
        let place = map.and_then(|map| branch_place(map, site.block));
        let (file, line) = place.unwrap_or_default();
        SiteRecord {
            function: labeled.function(site.function).to_string(),
            block: site.block,
            file,
            line,
            address: site.address,
            has_real_address: site.address_kind == AddressKind::Real,
            kind: match site.kind {
                BranchKind::Conditional => "conditional",
                BranchKind::Indirect => "indirect",
                BranchKind::Jump => "jump",
                BranchKind::Call => "call",
                BranchKind::Return => "return",
            },
        }
    }
}
