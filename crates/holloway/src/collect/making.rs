//! What is being made of the streams of one ring, by the worker that reads it.

use holloway_abi::Kind;
use holloway_analysis::loops::{self, LoopsBuilder};
use holloway_analysis::trace::{self, Recorded, TraceBuilder};
use holloway_analysis::variation::VariationBuilder;

use super::memory::Share;
use super::pool::locked;
use super::subject::Subject;
use super::traces::{self, ThreadStream};

/// Bytes of a node of a slab forest while it grows, with what is counted until it is made.
const NODE: u64 = 64;
/// Bytes of a symbol that a builder of traces remembers, where paths follow one another at random.
const SYMBOL: u64 = 64;

/// What is being made of the streams of one ring.
pub(crate) enum Making {
    /// Sequences of paths over iterations.
    Loops(Box<LoopsBuilder>, Share),
    /// All paths, in order.
    Trace {
        builder: Box<TraceBuilder>,
        stream: ThreadStream,
        share: Share,
    },
    /// Times of paths.
    Variation(Box<VariationBuilder>),
    /// There is no map, or nothing was fed since the last was handed over. `is_cut`: activations were open then.
    Nothing { is_cut: bool },
}

impl Making {
    /// Feeds words, the first at position `at`.
    pub(crate) fn feed(&mut self, subject: &Subject, at: u64, words: &[u32]) {
        if let Self::Nothing { is_cut } = *self {
            if is_cut && !words.is_empty() {
                subject.cut();
            }
            *self = subject.begin(0);
        }
        match self {
            Self::Loops(builder, share) => {
                builder.limit(subject.nodes(share.most(NODE)));
                builder.feed(at, words);
            }
            Self::Trace {
                builder,
                stream,
                share,
            } => {
                builder.limit(symbols(share.most(SYMBOL)));
                builder.feed(at, words);
                subject.record(builder.take(), stream);
            }
            Self::Variation(builder) => builder.feed(at, words),
            Self::Nothing { .. } => {}
        }
    }

    /// Hands over what was made so far. More words may follow.
    pub(crate) fn pause(&mut self, subject: &Subject) {
        match self {
            Self::Loops(builder, _) => {
                let is_cut = builder.open() > 0;
                let made = std::mem::replace(self, Self::Nothing { is_cut });
                if let Self::Loops(builder, _) = made {
                    let met = builder.met();
                    let limits = subject.nodes(subject.settings.memory.most(NODE));
                    locked(&subject.forests).add(builder.finish(), met, limits);
                }
            }
            Self::Trace {
                builder, stream, ..
            } => {
                subject.record(builder.flush(), stream);
                locked(&subject.traces).count(builder.counts());
            }
            Self::Variation(builder) => locked(&subject.timings).add(&builder.take()),
            Self::Nothing { .. } => {}
        }
    }
}

impl Subject {
    /// Begins the streams of a ring; what comes before another owner is said is `thread`'s.
    pub(crate) fn begin(&self, thread: u32) -> Making {
        let Some(words) = &self.words else {
            return Making::Nothing { is_cut: false };
        };
        if ![Kind::Loops, Kind::Trace].contains(&self.head.kind) {
            let bias = locked(&self.timings).bias();
            let builder = VariationBuilder::new(words.clone()).with_bias(bias);
            return Making::Variation(Box::new(builder));
        }
        let share = self.settings.memory.share();
        if self.head.kind == Kind::Loops {
            let limits = self.nodes(share.most(NODE));
            let builder = LoopsBuilder::new(words.clone(), self.k, limits);
            return Making::Loops(Box::new(builder), share);
        }
        let limits = symbols(share.most(SYMBOL));
        let stream = ThreadStream { thread, id: None };
        Making::Trace {
            builder: Box::new(TraceBuilder::new(words.clone(), limits)),
            stream,
            share,
        }
    }

    /// Nodes of a forest: as many as fit if memory was spoken of, else no more than is fast.
    fn nodes(&self, fitting: usize) -> loops::Limits {
        let usual = loops::Limits::default();
        let nodes = if self.settings.memory.is_asked_for() {
            fitting
        } else {
            fitting.min(usual.nodes)
        };
        loops::Limits { nodes }
    }

    fn record(&self, recorded: Vec<Recorded>, stream: &mut ThreadStream) {
        if !recorded.is_empty() {
            let head = traces::head(&self.head);
            locked(&self.traces).record(&self.profile, &head, recorded, stream);
        }
    }
}

/// Symbols that a builder of traces remembers: as many as fit, but no more than pay. Those of a block come to it before pieces are
/// forgotten, and some blocks are on their way to the file.
fn symbols(fitting: usize) -> trace::Limits {
    let usual = trace::Limits::default();
    let pieces = usual.pieces.min(fitting);
    trace::Limits {
        block: usual.block.min(pieces / 8),
        pieces,
    }
}
