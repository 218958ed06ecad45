//! Reads a thread's stream of words as activations of functions, and the paths that each activation
//! runs.
//!
//! No words mark the entry and exit of functions. A path that starts at its function's entry opens
//! an activation. A path that ends at the exit closes it. Activations nest. If a frame is left in
//! another way, the stack here is corrected:
//!
//! - `WORD_CAUGHT` gives the position `P` of the stream at which the catching function was entered.
//!   All activations opened from there on are gone, except the catcher's own activation: the lowest
//!   activation of its function among them. If the stream's paths run through calls, the catcher
//!   may not have ended a path yet, and then the lowest activation belongs to another call of the
//!   same function. So the lowest activation is kept *in doubt*; if there is none, one is made up.
//!   The catcher's next word runs a landing pad. If this word also starts at the entry, its
//!   activation replaces the one in doubt. No other word of the function can do both, because each
//!   frame that catches writes `WORD_CAUGHT` first. If paths end at calls, the catcher's activation
//!   is the lowest of all. If the lowest belongs to another function, the catcher's first word is
//!   missing.
//! - A word may continue an activation of a function that is not on top. Then the activations above
//!   it were left, past code that is not woven. If the function has no open activation, its
//!   activation is older than the stream (the child of a fork, or missing words). Then it is older
//!   than all open activations. They are gone, and a new activation is created for the function.
//!
//! Switched stacks (coroutines on one thread) look like frames that were left: their activations
//! appear in parts.
//!
//! Example: f calls g twice, and the second g throws; f's loop catches. `f:entry→back  g:entry→exit
//! g:entry→back CAUGHT(P of f, f)  f:loop→exit` gives an activation of f and a complete activation
//! of g. The second g is left, and f continues.
//!
//! Cost: a word that continues the function on top takes one load and three predictable branches,
//! and writes no memory.

pub(super) mod effects;

use holloway_abi::{Kind, OPERAND, WORD_CAUGHT, WORD_OWNER};
use holloway_format::Count;

use super::words::{CATCHES, CLOSES, FLAGS, OPENS, Words};

/// A path that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndedPath {
    /// Its word.
    pub word: u32,
    /// The function, as an index into [`Words::functions`].
    pub function: u32,
    /// Whether this is the first path of its activation in the stream.
    pub is_first: bool,
    /// Whether the path starts at the entry. A first path that does not belongs to an activation
    /// older than the stream.
    pub starts_at_entry: bool,
    /// Whether the path ends its activation.
    pub closes: bool,
}

/// Receives the contents of a stream.
pub trait Listener {
    /// The state of an open activation. A new activation has the default state.
    type State: Copy + Default;

    /// A path ended. `state` is the state of its activation.
    fn path(&mut self, path: EndedPath, state: &mut Self::State);

    /// Offers the words after a path of an open activation. `is_next` tells whether a word
    /// continues that activation. The listener may consume as many such words as it likes, and
    /// returns their number.
    #[inline]
    fn run(
        &mut self,
        _words: &[u32],
        _is_next: impl Fn(u32) -> bool,
        _state: &mut Self::State,
    ) -> usize {
        0
    }

    /// An activation ended without a path that closes it.
    fn gone(&mut self, _state: &mut Self::State) {}

    /// The innermost activations were left. `activations` counts only activations with a path in
    /// the stream.
    fn left(&mut self, _activations: u64) {}

    /// Words are missing here. `activations` is the number of open activations with a path in the
    /// stream.
    fn gap(&mut self, _activations: u64) {}

    /// Another thread's stream begins. `activations` is the number of open activations with a path
    /// in the stream.
    fn owner(&mut self, _thread: u32, _activations: u64) {}
}

/// Numbers of paths and of other events in a stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamCounts {
    /// Words that ended a path.
    pub paths: Count,
    /// Places that were never written, by threads that are dead.
    pub holes: u64,
    /// Words that stand for no path of the image, and control words at the wrong place.
    pub strangers: u64,
    /// Number of times that words were missing.
    pub gaps: u64,
    /// Number of frames that caught an exception or a jump.
    pub caught: Count,
}

/// Mark of an activation in doubt: it may or may not be the catcher's.
const IN_DOUBT: u32 = 1 << 31;
/// Mark of an activation made up for a catcher: no path of it is in the stream.
const UNSEEN: u32 = 1 << 30;
const FUNCTION: u32 = UNSEEN - 1;

#[derive(Clone, Copy, Debug)]
struct Activation<S> {
    /// Position of the activation's first word; if the activation is made up, the position at which
    /// its function was entered.
    at: u64,
    /// The function's index + 1, and marks; 0 is the bottom of the stack.
    function: u32,
    state: S,
}

/// A control word whose operands are incomplete.
#[derive(Clone, Copy, Default, Debug)]
struct Control {
    word: u32,
    operands: [u32; 3],
    have: usize,
    /// The position at which the next operand must be.
    next: u64,
}

/// The open activations of a stream, and the state between two batches of words.
#[derive(Debug)]
pub struct Activations<S> {
    top: Activation<S>,
    below: Vec<Activation<S>>,
    /// Position after the last word.
    next: Option<u64>,
    control: Control,
    counts: StreamCounts,
}

impl<S: Copy + Default> Default for Activations<S> {
    fn default() -> Self {
        Self {
            top: bottom(),
            below: Vec::new(),
            next: None,
            control: Control::default(),
            counts: StreamCounts::default(),
        }
    }
}

fn bottom<S: Default>() -> Activation<S> {
    Activation {
        at: 0,
        function: 0,
        state: S::default(),
    }
}

impl<S: Copy + Default> Activations<S> {
    /// Numbers of paths and of other events so far.
    pub fn stream_counts(&self) -> StreamCounts {
        self.counts
    }

    /// Number of open activations with a path in the stream.
    pub fn open(&self) -> u64 {
        self.all().filter(|activation| activation.is_seen()).count() as u64
    }

    /// The states of all open activations, in no particular order.
    pub fn states(&mut self) -> impl Iterator<Item = &mut S> {
        let all = self.below.iter_mut().chain([&mut self.top]);
        all.map(|activation| &mut activation.state)
    }

    fn all(&self) -> impl Iterator<Item = &Activation<S>> {
        self.below.iter().chain([&self.top])
    }

    /// Reads a batch of words. The first word is at position `at` (in bytes). If the batch does not
    /// begin where the last batch ended, words are missing in between.
    pub fn feed<L: Listener<State = S>>(
        &mut self,
        words: &mut Words,
        listener: &mut L,
        at: u64,
        batch: &[u32],
    ) {
        if self.next.is_some_and(|next| next != at) {
            self.gap(listener);
        }
        self.next = Some(at.wrapping_add(4 * batch.len() as u64));
        let mut paths = 0u64;
        let mut top = self.top;
        let mut index = 0;
        while let Some(&word) = batch.get(index) {
            let mut entry = words.cached_entry(word);
            let place = index as u64;
            let position = || at.wrapping_add(4 * place);
            index += 1;
            if entry >> FLAGS == 0 {
                self.top = top;
                entry = self.special_word(words, listener, position(), word);
                top = self.top;
                if entry >> FLAGS == 0 {
                    continue;
                }
            }
            let function = entry >> FLAGS;
            let mut path = EndedPath {
                word,
                function: function - 1,
                is_first: entry & OPENS != 0,
                starts_at_entry: entry & OPENS != 0,
                closes: entry & CLOSES != 0,
            };
            paths += 1;
            if entry & OPENS != 0 {
                if top.function & IN_DOUBT != 0 && entry & CATCHES != 0 {
                    top = self.resolve_doubt(listener, top, function);
                }
                if entry & CLOSES != 0 {
                    listener.path(path, &mut S::default());
                    continue;
                }
                self.below.push(top);
                top = Activation {
                    at: position(),
                    function,
                    state: S::default(),
                };
            } else if function != top.function {
                self.top = top;
                path.is_first = self.bring_to_top(listener, position(), function);
                top = self.top;
            }
            listener.path(path, &mut top.state);
            if entry & CLOSES != 0 {
                top = self.below.pop().unwrap_or_else(bottom);
            } else {
                let goes_on = function << FLAGS;
                let is_next = |word| words.cached_entry(word) == goes_on;
                let more = listener.run(&batch[index..], is_next, &mut top.state);
                index += more;
                paths += more as u64;
            }
        }
        self.top = top;
        self.counts.paths += Count(paths);
    }

    /// Words are missing: discards all activations.
    pub fn gap<L: Listener<State = S>>(&mut self, listener: &mut L) {
        self.counts.gaps += 1;
        listener.gap(self.open());
        self.forget(listener);
    }

    fn forget<L: Listener<State = S>>(&mut self, listener: &mut L) {
        while self.top.function != 0 {
            listener.gone(&mut self.top.state);
            self.top = self.below.pop().unwrap_or_else(bottom);
        }
        self.below.clear();
        self.control = Control::default();
        self.next = None;
    }

    /// Handles a word that is not in the table: looks it up, or treats it as a hole, a control
    /// word, or an operand. Returns the word's entry if it ends a path.
    #[cold]
    fn special_word<L: Listener<State = S>>(
        &mut self,
        words: &mut Words,
        listener: &mut L,
        at: u64,
        word: u32,
    ) -> u32 {
        let awaited = self.control.word != 0 && self.control.next == at;
        if word == 0 {
            self.counts.holes += 1;
        } else if word & OPERAND == 0 {
            let entry = words.entry(word);
            self.counts.strangers += u64::from(entry >> FLAGS == 0);
            return entry;
        } else if awaited {
            self.operand(words, listener, word & !OPERAND);
        } else if matches!(word, WORD_CAUGHT | WORD_OWNER) {
            self.control = Control {
                word,
                next: at.wrapping_add(4),
                ..Control::default()
            };
        } else {
            self.counts.strangers += 1;
        }
        0
    }

    fn operand<L: Listener<State = S>>(&mut self, words: &mut Words, listener: &mut L, bits: u32) {
        let control = &mut self.control;
        control.operands[control.have] = bits;
        control.have += 1;
        control.next = control.next.wrapping_add(4);
        let Control {
            word,
            operands: [low, high, catcher],
            have,
            ..
        } = *control;
        match (word, have) {
            (WORD_CAUGHT, 3) => {
                let places = u64::from(low) | u64::from(high) << 31;
                let is_lowest = words.image().kind == Kind::Trace;
                let catcher = words.entry(catcher) >> FLAGS;
                self.control = Control::default();
                self.caught(listener, places.wrapping_mul(4), catcher, is_lowest);
            }
            (WORD_OWNER, 1) => {
                let (open, next) = (self.open(), self.next);
                self.forget(listener);
                self.next = next;
                listener.owner(low, open);
            }
            _ => {}
        }
    }

    /// Handles a catch by a frame of `function` (index + 1) that was entered at `position`. With
    /// `is_lowest`, the catcher's activation is the lowest one from that position on.
    fn caught<L: Listener<State = S>>(
        &mut self,
        listener: &mut L,
        position: u64,
        function: u32,
        is_lowest: bool,
    ) {
        self.counts.caught += Count(1);
        let (mut left, mut own) = (0, None);
        while self.top.function != 0 && self.top.at >= position {
            left += u64::from(self.top.is_seen());
            let gone = if self.top.function & FUNCTION == function {
                own.replace(self.top)
            } else if is_lowest {
                listener.gone(&mut self.top.state);
                own.take()
            } else {
                listener.gone(&mut self.top.state);
                None
            };
            gone.inspect(|gone| listener.gone(&mut { gone.state }));
            self.top = self.below.pop().unwrap_or_else(bottom);
        }
        if let Some(own) = own {
            left -= u64::from(own.is_seen());
        }
        if left > 0 {
            listener.left(left);
        }
        if function != 0 {
            self.below.push(self.top);
            let mut own = own.unwrap_or(Activation {
                at: position,
                function: function | UNSEEN,
                state: S::default(),
            });
            own.function |= IN_DOUBT;
            self.top = own;
        }
    }

    /// Handles the catcher's first word. If the activation on top is the one in doubt, it belonged
    /// to another call, and is removed.
    #[cold]
    fn resolve_doubt<L: Listener<State = S>>(
        &mut self,
        listener: &mut L,
        top: Activation<S>,
        function: u32,
    ) -> Activation<S> {
        if top.function & FUNCTION != function {
            return top;
        }
        listener.gone(&mut { top.state });
        if top.is_seen() {
            listener.left(1);
        }
        self.below.pop().unwrap_or_else(bottom)
    }

    /// Brings the innermost activation of a function to the top, or creates one. Returns whether
    /// none of its paths is in the stream yet.
    #[cold]
    fn bring_to_top<L: Listener<State = S>>(
        &mut self,
        listener: &mut L,
        at: u64,
        function: u32,
    ) -> bool {
        let mut left = 0;
        while self.top.function != 0 && self.top.function & FUNCTION != function {
            left += u64::from(self.top.is_seen());
            listener.gone(&mut self.top.state);
            self.top = self.below.pop().unwrap_or_else(bottom);
        }
        if left > 0 {
            listener.left(left);
        }
        let is_first = !self.top.is_seen();
        if self.top.function == 0 {
            self.below.push(self.top);
            self.top.at = at;
        }
        self.top.function = function;
        is_first
    }
}

impl<S> Activation<S> {
    fn is_seen(&self) -> bool {
        self.function & FUNCTION != 0 && self.function & UNSEEN == 0
    }
}
