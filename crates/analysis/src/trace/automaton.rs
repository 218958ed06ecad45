//! Automata of patterns: the places of a pattern as positions (Glushkov's construction), sets of positions as states, made when first met.
//!
//! A state is the set of places whose event may have been read last. Terminals that no place tells apart are one class, so a
//! step is a look-up in a table. Read backwards, what follows is what precedes, and first and last places change roles.
//!
//! Cost: states that are met × classes; a set of `n` places is `n / 64` words.

use rustc_hash::FxHashMap;

use super::pattern::{Node, Resolved};
use super::sweep::Machine;

/// A set of places.
type Places = Vec<u64>;

/// The state before anything was read.
pub(super) const BEGIN: u32 = 0;
/// States made before giving up.
const STATES: usize = 1 << 16;

/// How an automaton goes about matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hits {
    /// Each place where some match ends.
    Ends,
    /// The match that ends first; then on behind it, as if nothing stood before.
    Apart,
    /// Each end of a match that begins with the first event read.
    Anchored,
}

/// A pattern's places and how they follow one another.
struct Shape {
    first: Places,
    last: Places,
    nullable: bool,
}

/// What may follow each place.
struct Glushkov {
    words: usize,
    follow: Vec<Places>,
}

impl Glushkov {
    fn shape(&mut self, node: &Node) -> Shape {
        match node {
            Node::One(place) => {
                let mut one = vec![0; self.words];
                one[place / 64] |= 1 << (place % 64);
                Shape {
                    first: one.clone(),
                    last: one,
                    nullable: false,
                }
            }
            Node::Perhaps(node) => Shape {
                nullable: true,
                ..self.shape(node)
            },
            Node::Repeat { node, least } => {
                let shape = self.shape(node);
                self.link(&shape.last, &shape.first);
                Shape {
                    nullable: shape.nullable || *least == 0,
                    ..shape
                }
            }
            Node::Either(nodes) => {
                let mut all = self.nothing(false);
                for node in nodes {
                    let shape = self.shape(node);
                    unite(&mut all.first, &shape.first);
                    unite(&mut all.last, &shape.last);
                    all.nullable |= shape.nullable;
                }
                all
            }
            Node::Sequence(nodes) => {
                let mut all = self.nothing(true);
                for node in nodes {
                    let shape = self.shape(node);
                    self.link(&all.last, &shape.first);
                    if all.nullable {
                        unite(&mut all.first, &shape.first);
                    }
                    if shape.nullable {
                        unite(&mut all.last, &shape.last);
                    } else {
                        all.last = shape.last;
                    }
                    all.nullable &= shape.nullable;
                }
                all
            }
        }
    }

    fn nothing(&self, nullable: bool) -> Shape {
        Shape {
            first: vec![0; self.words],
            last: vec![0; self.words],
            nullable,
        }
    }

    fn link(&mut self, from: &Places, to: &Places) {
        for place in places(from) {
            unite(&mut self.follow[place], to);
        }
    }
}

fn places(set: &Places) -> impl Iterator<Item = usize> + '_ {
    let words = set.iter().enumerate();
    words.flat_map(|(word, &bits)| {
        (0..64)
            .filter(move |bit| bits >> bit & 1 == 1)
            .map(move |bit| word * 64 + bit)
    })
}

fn unite(set: &mut Places, other: &Places) {
    for (word, other) in set.iter_mut().zip(other) {
        *word |= other;
    }
}

fn meet(set: &Places, other: &Places) -> Places {
    set.iter().zip(other).map(|(a, b)| a & b).collect()
}

/// A deterministic automaton in the making.
pub(super) struct Automaton {
    hits: Hits,
    follow: Vec<Places>,
    first: Places,
    last: Places,
    nullable: bool,
    /// By terminal.
    classes: Vec<u32>,
    /// By class: the places it can stand at.
    fits: Vec<Places>,
    states: Vec<Places>,
    numbers: FxHashMap<Places, u32>,
    /// By state and class: 1 + twice the next state, + 1 if that is a hit; 0: not known yet.
    steps: Vec<u64>,
    overflown: bool,
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
        let (classes, fits) = classes(&pattern.sets, words);
        let mut automaton = Automaton {
            hits,
            follow: glushkov.follow,
            first: shape.first,
            last: shape.last,
            nullable: shape.nullable,
            classes,
            fits,
            states: Vec::new(),
            numbers: FxHashMap::default(),
            steps: Vec::new(),
            overflown: false,
        };
        automaton.add(vec![0; words]);
        if hits == Hits::Anchored {
            // Nothing read yet is not the same as nothing that fits.
            automaton.numbers.clear();
        }
        automaton
    }

    /// The automaton of the same pattern that reads backwards.
    pub(super) fn backwards(pattern: &Resolved, hits: Hits) -> Automaton {
        let mut automaton = Automaton::new(pattern, hits);
        let mut precede = vec![vec![0; automaton.first.len()]; automaton.follow.len()];
        for (from, follow) in automaton.follow.iter().enumerate() {
            for to in places(follow) {
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

    /// Whether there were too many states: then what it said is worth nothing.
    pub(super) fn is_overflown(&self) -> bool {
        self.overflown
    }

    fn add(&mut self, places: Places) -> u32 {
        if let Some(&known) = self.numbers.get(&places) {
            return known;
        }
        if self.states.len() == STATES {
            self.overflown = true;
            return BEGIN;
        }
        let number = self.states.len() as u32;
        self.numbers.insert(places.clone(), number);
        self.states.push(places);
        self.steps.resize(self.states.len() * self.fits.len(), 0);
        number
    }

    fn make(&mut self, state: u32, class: u32) -> (u32, bool) {
        let mut next = vec![0; self.first.len()];
        if self.hits != Hits::Anchored || state == BEGIN {
            unite(&mut next, &self.first);
        }
        for place in places(&self.states[state as usize]) {
            unite(&mut next, &self.follow[place]);
        }
        let next = meet(&next, &self.fits[class as usize]);
        let hit = meet(&next, &self.last).iter().any(|&word| word != 0);
        if hit && self.hits == Hits::Apart {
            return (BEGIN, true);
        }
        (self.add(next), hit)
    }
}

impl Machine for Automaton {
    fn step(&mut self, state: u32, terminal: u32) -> (u32, bool) {
        let class = self.classes[terminal as usize];
        let at = state as usize * self.fits.len() + class as usize;
        if self.steps[at] == 0 {
            let (next, hit) = self.make(state, class);
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

/// The class of each terminal, and of each class the places where its terminals can stand.
fn classes(sets: &[Vec<bool>], words: usize) -> (Vec<u32>, Vec<Places>) {
    let terminals = sets.first().map_or(0, Vec::len);
    let mut numbers: FxHashMap<Places, u32> = FxHashMap::default();
    let mut fits: Vec<Places> = Vec::new();
    let mut classes = Vec::with_capacity(terminals);
    for terminal in 0..terminals {
        let mut places = vec![0; words];
        for (place, set) in sets.iter().enumerate() {
            places[place / 64] |= u64::from(set[terminal]) << (place % 64);
        }
        let next = fits.len() as u32;
        let class = *numbers.entry(places).or_insert_with_key(|places| {
            fits.push(places.clone());
            next
        });
        classes.push(class);
    }
    (classes, fits)
}
