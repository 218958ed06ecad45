//! Automata of patterns, by Glushkov's construction: each event of a pattern is a position, and a
//! state is a set of positions. States are built when the automaton first reaches them.
//!
//! A state is the set of positions that may have matched the last event. Terminals that match at
//! the same positions form a class, so a step is one table lookup. To read backwards, the automaton
//! uses the preceding positions instead of the following ones and swaps the first and last
//! positions.
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

/// The matches that an automaton hits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hits {
    /// Every position of the trace where a match ends.
    EveryEnd,
    /// The match that ends first, then the first match after it, and so on. Matches share no event.
    Disjoint,
    /// Every end of a match that begins with the first event read.
    Anchored,
}

/// The positions where a match of a pattern may begin and end.
struct Shape {
    first: Positions,
    last: Positions,
    nullable: bool,
}

/// The positions that may follow each position.
struct Glushkov {
    words: usize,
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
                    nullable: false,
                }
            }
            Node::Optional(node) => Shape {
                nullable: true,
                ..self.shape(node)
            },
            Node::Repeat { node, min_count } => {
                let shape = self.shape(node);
                self.link(&shape.last, &shape.first);
                Shape {
                    nullable: shape.nullable || *min_count == 0,
                    ..shape
                }
            }
            Node::Alternatives(nodes) => {
                let mut all = self.empty_shape();
                for node in nodes {
                    let shape = self.shape(node);
                    add_all(&mut all.first, &shape.first);
                    add_all(&mut all.last, &shape.last);
                    all.nullable |= shape.nullable;
                }
                all
            }
            Node::Sequence(nodes) => {
                let mut all = Shape {
                    nullable: true,
                    ..self.empty_shape()
                };
                for node in nodes {
                    let shape = self.shape(node);
                    self.link(&all.last, &shape.first);
                    if all.nullable {
                        add_all(&mut all.first, &shape.first);
                    }
                    if shape.nullable {
                        add_all(&mut all.last, &shape.last);
                    } else {
                        all.last = shape.last;
                    }
                    all.nullable &= shape.nullable;
                }
                all
            }
        }
    }

    fn empty_shape(&self) -> Shape {
        Shape {
            first: vec![0; self.words],
            last: vec![0; self.words],
            nullable: false,
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
    follow: Vec<Positions>,
    first: Positions,
    last: Positions,
    nullable: bool,
    /// By terminal.
    classes: Vec<u32>,
    /// By class: the positions where its terminals match.
    class_positions: Vec<Positions>,
    states: Vec<Positions>,
    numbers: FxHashMap<Positions, u32>,
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
            nullable: shape.nullable,
            classes,
            class_positions,
            states: Vec::new(),
            numbers: FxHashMap::default(),
            steps: Vec::new(),
            has_too_many_states: false,
        };
        automaton.state_of(vec![0; words]);
        if hits == Hits::Anchored {
            // The state `BEGIN` also has an empty set, but differs from the state in which no
            // position matches.
            automaton.numbers.clear();
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
    pub(super) fn is_nullable(&self) -> bool {
        self.nullable
    }

    /// Whether there were too many states. The results are then invalid.
    pub(super) fn has_too_many_states(&self) -> bool {
        self.has_too_many_states
    }

    /// The number of the state with these positions.
    fn state_of(&mut self, positions: Positions) -> u32 {
        if let Some(&known) = self.numbers.get(&positions) {
            return known;
        }
        if self.states.len() == MAX_STATES {
            self.has_too_many_states = true;
            return BEGIN;
        }
        let number = self.states.len() as u32;
        self.numbers.insert(positions.clone(), number);
        self.states.push(positions);
        self.steps
            .resize(self.states.len() * self.class_positions.len(), 0);
        number
    }

    /// Computes the step from a state with a terminal of a class.
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
        (self.state_of(next), hit)
    }
}

impl Machine for Automaton {
    fn step(&mut self, state: u32, terminal: u32) -> (u32, bool) {
        let class = self.classes[terminal as usize];
        let at = state as usize * self.class_positions.len() + class as usize;
        if self.steps[at] == 0 {
            let (next, hit) = self.build_step(state, class);
            self.steps[at] = 1 + 2 * u64::from(next) + u64::from(hit);
        }
        let step = self.steps[at] - 1;
        ((step / 2) as u32, step % 2 == 1)
    }

    fn is_dead(&self, state: u32) -> bool {
        let empty = || self.states[state as usize].iter().all(|&word| word == 0);
        self.hits == Hits::Anchored && state != BEGIN && empty()
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
