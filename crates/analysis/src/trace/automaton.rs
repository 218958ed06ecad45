//! Deterministic automata that find the matches of patterns in traces (Glushkov's construction).
//!
//! Each event in the text of a pattern is a *position*. For example, the pattern `f (g|h)* f` has
//! four positions. A state of the automaton is the set of positions that may have matched the last
//! event of the trace. States are built when the automaton first reaches them. Terminals that match
//! at the same positions form a *class*, so a step is one table lookup. An automaton that reads
//! backwards uses the preceding positions instead of the following positions, and swaps the first
//! and last positions.
//!
//! Cost: states reached × classes. A set of `n` positions takes `n / 64` words.

use rustc_hash::FxHashMap;

use super::pattern::{Node, Resolved};
use super::sweep::Machine;

/// A set of positions in a pattern.
type Positions = Vec<u64>;

/// The state before the first event.
pub(super) const BEGIN: u32 = 0;
/// Maximum number of states.
const MAX_STATES: usize = 1 << 16;

/// The events that are hits of an automaton ([`Machine`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hits {
    /// Every event at which a match ends.
    EveryEnd,
    /// The end of the match that ends first, then the end of the first match after it, and so on.
    /// These matches share no event.
    Disjoint,
    /// Every event at which a match ends that begins with the first event read.
    Anchored,
}

/// The positions where a match of a pattern may begin and end.
struct Shape {
    first: Positions,
    last: Positions,
    /// Whether the empty sequence is a match.
    matches_empty: bool,
}

/// The positions that may follow each position, while a pattern is read.
struct Glushkov {
    /// Number of words in a set of positions.
    words: usize,
    /// By position: the positions that may follow it.
    follow: Vec<Positions>,
}

impl Glushkov {
    /// Links the positions of a node, and returns its first and last positions.
    fn shape(&mut self, node: &Node) -> Shape {
        match node {
            Node::Event(position) => {
                let mut positions = vec![0; self.words];
                positions[position / 64] |= 1 << (position % 64);
                Shape {
                    first: positions.clone(),
                    last: positions,
                    matches_empty: false,
                }
            }
            Node::Optional(node) => Shape {
                matches_empty: true,
                ..self.shape(node)
            },
            Node::Repeat { node, min_count } => {
                let shape = self.shape(node);
                self.link(&shape.last, &shape.first);
                Shape {
                    matches_empty: shape.matches_empty || *min_count == 0,
                    ..shape
                }
            }
            Node::Alternatives(nodes) => {
                let mut all = self.empty_shape();
                for node in nodes {
                    let shape = self.shape(node);
                    add_all(&mut all.first, &shape.first);
                    add_all(&mut all.last, &shape.last);
                    all.matches_empty |= shape.matches_empty;
                }
                all
            }
            Node::Sequence(nodes) => {
                let mut all = Shape {
                    matches_empty: true,
                    ..self.empty_shape()
                };
                for node in nodes {
                    let shape = self.shape(node);
                    self.link(&all.last, &shape.first);
                    if all.matches_empty {
                        add_all(&mut all.first, &shape.first);
                    }
                    if shape.matches_empty {
                        add_all(&mut all.last, &shape.last);
                    } else {
                        all.last = shape.last;
                    }
                    all.matches_empty &= shape.matches_empty;
                }
                all
            }
        }
    }

    fn empty_shape(&self) -> Shape {
        Shape {
            first: vec![0; self.words],
            last: vec![0; self.words],
            matches_empty: false,
        }
    }

    /// Lets the positions `to` follow the positions `from`.
    fn link(&mut self, from: &Positions, to: &Positions) {
        for position in positions(from) {
            add_all(&mut self.follow[position], to);
        }
    }
}

fn positions(set: &Positions) -> impl Iterator<Item = usize> + '_ {
    let words = set.iter().enumerate();
    words.flat_map(|(word, &bits)| {
        (0..64)
            .filter(move |bit| bits >> bit & 1 == 1)
            .map(move |bit| word * 64 + bit)
    })
}

fn add_all(set: &mut Positions, other: &Positions) {
    for (word, other) in set.iter_mut().zip(other) {
        *word |= other;
    }
}

fn intersection(set: &Positions, other: &Positions) -> Positions {
    set.iter().zip(other).map(|(a, b)| a & b).collect()
}

/// A deterministic automaton, built state by state.
pub(super) struct Automaton {
    hits: Hits,
    /// By position: the positions that may follow it.
    follow: Vec<Positions>,
    /// The positions where a match may begin and end.
    first: Positions,
    last: Positions,
    matches_empty: bool,
    /// By terminal: its class.
    classes: Vec<u32>,
    /// By class: the positions where its terminals match.
    class_positions: Vec<Positions>,
    /// By state: its positions.
    states: Vec<Positions>,
    /// The state with these positions.
    state_numbers: FxHashMap<Positions, u32>,
    /// By state and class: 1 + twice the next state, + 1 if the step is a hit; 0: not computed yet.
    steps: Vec<u64>,
    has_too_many_states: bool,
}

impl Automaton {
    pub(super) fn new(pattern: &Resolved, hits: Hits) -> Automaton {
        let count = pattern.sets.len();
        let words = count.div_ceil(64);
        let mut glushkov = Glushkov {
            words,
            follow: vec![vec![0; words]; count],
        };
        let shape = glushkov.shape(&pattern.node);
        let (classes, class_positions) = classes(&pattern.sets, words);
        let mut automaton = Automaton {
            hits,
            follow: glushkov.follow,
            first: shape.first,
            last: shape.last,
            matches_empty: shape.matches_empty,
            classes,
            class_positions,
            states: Vec::new(),
            state_numbers: FxHashMap::default(),
            steps: Vec::new(),
            has_too_many_states: false,
        };
        automaton.state_with(vec![0; words]);
        if hits == Hits::Anchored {
            // The state `BEGIN` has no positions. The dead state has no positions either, but must
            // get its own number.
            automaton.state_numbers.clear();
        }
        automaton
    }

    /// The automaton that reads the same pattern backwards.
    pub(super) fn backwards(pattern: &Resolved, hits: Hits) -> Automaton {
        let mut automaton = Automaton::new(pattern, hits);
        let mut precede = vec![vec![0; automaton.first.len()]; automaton.follow.len()];
        for (from, follow) in automaton.follow.iter().enumerate() {
            for to in positions(follow) {
                precede[to][from / 64] |= 1 << (from % 64);
            }
        }
        automaton.follow = precede;
        std::mem::swap(&mut automaton.first, &mut automaton.last);
        automaton
    }

    /// Whether the pattern matches the empty sequence.
    pub(super) fn matches_empty(&self) -> bool {
        self.matches_empty
    }

    /// Whether there were too many states. The results are then invalid.
    pub(super) fn has_too_many_states(&self) -> bool {
        self.has_too_many_states
    }

    /// The number of the state with these positions. Builds the state if it is new.
    fn state_with(&mut self, positions: Positions) -> u32 {
        if let Some(&known) = self.state_numbers.get(&positions) {
            return known;
        }
        if self.states.len() == MAX_STATES {
            self.has_too_many_states = true;
            return BEGIN;
        }
        let number = self.states.len() as u32;
        self.state_numbers.insert(positions.clone(), number);
        self.states.push(positions);
        self.steps
            .resize(self.states.len() * self.class_positions.len(), 0);
        number
    }

    /// Computes the step from a state with a terminal of a class: the next state, and whether the
    /// terminal is a hit.
    fn build_step(&mut self, state: u32, class: u32) -> (u32, bool) {
        let mut next = vec![0; self.first.len()];
        if self.hits != Hits::Anchored || state == BEGIN {
            add_all(&mut next, &self.first);
        }
        for position in positions(&self.states[state as usize]) {
            add_all(&mut next, &self.follow[position]);
        }
        let next = intersection(&next, &self.class_positions[class as usize]);
        let hit = intersection(&next, &self.last)
            .iter()
            .any(|&word| word != 0);
        if hit && self.hits == Hits::Disjoint {
            return (BEGIN, true);
        }
        (self.state_with(next), hit)
    }
}

impl Machine for Automaton {
    fn step(&mut self, state: u32, terminal: u32) -> (u32, bool) {
        let class = self.classes[terminal as usize];
        let index = state as usize * self.class_positions.len() + class as usize;
        if self.steps[index] == 0 {
            let (next, hit) = self.build_step(state, class);
            self.steps[index] = 1 + 2 * u64::from(next) + u64::from(hit);
        }
        let step = self.steps[index] - 1;
        ((step / 2) as u32, step % 2 == 1)
    }

    fn is_dead(&self, state: u32) -> bool {
        let has_no_position = || self.states[state as usize].iter().all(|&word| word == 0);
        self.hits == Hits::Anchored && state != BEGIN && has_no_position()
    }
}

/// The class of each terminal, and the positions at which each class matches.
fn classes(sets: &[Vec<bool>], words: usize) -> (Vec<u32>, Vec<Positions>) {
    let terminals = sets.first().map_or(0, Vec::len);
    let mut numbers: FxHashMap<Positions, u32> = FxHashMap::default();
    let mut class_positions: Vec<Positions> = Vec::new();
    let mut classes = Vec::with_capacity(terminals);
    for terminal in 0..terminals {
        let mut positions = vec![0; words];
        for (position, set) in sets.iter().enumerate() {
            positions[position / 64] |= u64::from(set[terminal]) << (position % 64);
        }
        let next = class_positions.len() as u32;
        let class = *numbers.entry(positions).or_insert_with_key(|positions| {
            class_positions.push(positions.clone());
            next
        });
        classes.push(class);
    }
    (classes, class_positions)
}
