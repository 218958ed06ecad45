//! The kinds of collection on the host, a file for each: how their streams are analyzed, stored,
//! and read back.

mod edges;
mod loops;
mod paths;
mod single_file;
pub(crate) mod stream_kind;
mod timings;
mod trace;
mod trace_writer;

use holloway_abi::Kind;

use stream_kind::{CounterKind, StreamKind};

/// How the host handles a kind.
#[derive(Clone, Copy)]
pub(crate) enum HostKind {
    /// The profile holds everything.
    Counters(&'static dyn CounterKind),
    /// Streams are analyzed.
    Streams(&'static dyn StreamKind),
}

/// The one list of kinds on the host.
pub(crate) fn host_kind(kind: Kind) -> HostKind {
    match kind {
        Kind::Paths => HostKind::Counters(&paths::PATHS),
        Kind::Edges => HostKind::Counters(&edges::EDGES),
        Kind::Loops => HostKind::Streams(&loops::LOOPS),
        Kind::Trace => HostKind::Streams(&trace::TRACE),
        Kind::Variation | Kind::Times => HostKind::Streams(&timings::TIMINGS),
    }
}

/// The streams of a kind, if it has any.
pub(crate) fn stream_kind_of(kind: Kind) -> Option<&'static dyn StreamKind> {
    match host_kind(kind) {
        HostKind::Counters(_) => None,
        HostKind::Streams(streams) => Some(streams),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_handled_as_its_traits_say() {
        for kind in Kind::ALL {
            let extension = kind.traits().stream_file.map(|file| file.extension);
            let files = stream_kind_of(kind).map(StreamKind::files);
            assert_eq!(files.map(|files| files.extension), extension, "{kind}");
        }
    }
}
