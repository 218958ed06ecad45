//! The kinds of profile, as the collector and the loader handle them. Each kind has a file. It
//! implements how the kind's counters are read, or how its streams are analyzed, stored, and read.

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

/// How holloway, outside of the woven program, handles the profiles of a kind.
#[derive(Clone, Copy)]
pub(crate) enum KindImplementation {
    /// Woven code counts in counters. The profile contains all counts.
    Counters(&'static dyn CounterKind),
    /// Woven code appends to streams. Holloway analyzes the streams.
    Streams(&'static dyn StreamKind),
}

/// Returns the implementation of a kind.
pub(crate) fn implementation_of(kind: Kind) -> KindImplementation {
    match kind {
        // Woven code writes no profile of the kind none. A file with this kind has counts of paths.
        Kind::Paths | Kind::Nothing => KindImplementation::Counters(&paths::PATHS),
        Kind::Edges => KindImplementation::Counters(&edges::EDGES),
        Kind::Loops => KindImplementation::Streams(&loops::LOOPS),
        Kind::Trace => KindImplementation::Streams(&trace::TRACE),
        Kind::Variation | Kind::Times => KindImplementation::Streams(&timings::TIMINGS),
    }
}

/// Returns the implementation of a kind, if woven code of this kind appends to streams.
pub(crate) fn stream_kind_of(kind: Kind) -> Option<&'static dyn StreamKind> {
    match implementation_of(kind) {
        KindImplementation::Counters(_) => None,
        KindImplementation::Streams(streams) => Some(streams),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implementations_agree_with_the_traits_of_kinds() {
        for kind in Kind::ALL {
            let extension = kind.traits().stream_file.map(|file| file.extension);
            let files = stream_kind_of(kind).map(StreamKind::files);
            assert_eq!(files.map(|files| files.extension), extension, "{kind}");
        }
    }
}
