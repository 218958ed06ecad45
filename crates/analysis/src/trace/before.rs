//! Whether P runs before Q (Larus 1999, section 3.3), where, and how often one follows the other. P and Q are sets of events: a path, a function.
//!
//! Each question is a small automaton on the grammar (`sweep`).
//!
//! Cost: linear in the symbols of the grammar.

use super::Grammar;
use super::sweep::{Machine, Passage, Sweep};

/// What there is to say of P and Q.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Order {
    /// Of P.
    pub p: Runs,
    /// Of Q.
    pub q: Runs,
    /// Times P ran with Q as the next event.
    pub at_once: u64,
    /// Times P ran and Q did before P ran again.
    pub next: u64,
    /// Times P ran and Q did later.
    pub later: u64,
    /// Times Q ran and P had run before.
    pub preceded: u64,
    /// When Q ran though P had not since the trace began or Q ran before.
    pub without: Runs,
    /// When P ran though Q did not before P ran again or the trace ended.
    pub unanswered: Runs,
}

/// When an event ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Runs {
    /// Times.
    pub count: u64,
    /// Positions of the first and of the last time.
    pub ends: Option<(u64, u64)>,
}

impl Order {
    /// Whether P ran before Q did for the first time; nothing where either never ran.
    pub fn p_is_first(&self) -> Option<bool> {
        Some(self.p.ends?.0 < self.q.ends?.0)
    }
}

/// Asks in which order events of two sets of terminals ran.
pub fn before(grammar: &Grammar, p: &[bool], q: &[bool]) -> Order {
    let run = |what: What| {
        let mut sweep: Sweep<'_, _, false> = Sweep::new(grammar, Pair { p, q, what });
        sweep.whole(0)
    };
    let until = |what: What, end: u64| {
        let mut sweep: Sweep<'_, _, false> = Sweep::new(grammar, Pair { p, q, what });
        sweep.before(end, 0).hits
    };
    let runs = |passage: Passage| Runs {
        count: passage.hits,
        ends: passage.ends,
    };
    let (of_p, of_q) = (runs(run(What::P)), runs(run(What::Q)));
    Order {
        p: of_p,
        q: of_q,
        at_once: run(What::AtOnce).hits,
        next: run(What::Next).hits,
        later: of_q.ends.map_or(0, |(_, last)| until(What::P, last)),
        without: runs(run(What::Without)),
        unanswered: unanswered(grammar, p, q),
        preceded: of_p
            .ends
            .map_or(0, |(first, _)| of_q.count - until(What::Q, first + 1)),
    }
}

/// P without Q behind it: Q without P before it, read backwards.
fn unanswered(grammar: &Grammar, p: &[bool], q: &[bool]) -> Runs {
    let machine = Pair {
        p: q,
        q: p,
        what: What::Without,
    };
    let mut sweep: Sweep<'_, _, true> = Sweep::new(grammar, machine);
    let found = sweep.whole(0);
    let forward = |place: u64| grammar.len() - 1 - place;
    Runs {
        count: found.hits,
        ends: found
            .ends
            .map(|(last, first)| (forward(first), forward(last))),
    }
}

/// What an automaton hits.
#[derive(Clone, Copy)]
enum What {
    P,
    Q,
    /// Q right behind P.
    AtOnce,
    /// The first Q behind P, unless P ran again.
    Next,
    /// Q, where P has not run since the last one.
    Without,
}

struct Pair<'a> {
    p: &'a [bool],
    q: &'a [bool],
    what: What,
}

impl Machine for Pair<'_> {
    /// State 1: P ran, and Q is waited for.
    fn step(&mut self, state: u32, terminal: u32) -> (u32, bool) {
        let (p, q) = (self.p[terminal as usize], self.q[terminal as usize]);
        match self.what {
            What::P => (0, p),
            What::Q => (0, q),
            What::AtOnce => (p.into(), state == 1 && q),
            What::Without => {
                let ran = p || state == 1 && !q;
                (ran.into(), state == 0 && q)
            }
            What::Next => {
                let waits = p || state == 1 && !q;
                (waits.into(), state == 1 && q)
            }
        }
    }
}
