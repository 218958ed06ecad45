//! Reads a thread's stream of words as activations of functions, and the paths that each activation
//! runs.
//!
//! No words mark the entry and exit of functions. A path that starts at its function's entry opens
//! an activation. A path that ends at the exit closes the activation. Activations nest, so this
//! module keeps a stack of open activations. A frame may also be *left*, for example by an
//! exception or a `longjmp`. Then no path closes its activation, and the module discards it from
//! the stack in one of two ways.
//!
//! **Catch.** A frame that catches writes the control word `WORD_CAUGHT`. Its operands are the
//! catching function and the position `P` in the stream at which this function was entered. The
//! module discards all activations opened from `P` on, except the catcher's activation.
//!
//! - Traces, where paths end at calls: the catcher's activation is the lowest activation from `P`
//!   on. If the lowest activation belongs to another function, the catcher's first word is missing.
//! - Other streams, where paths continue through calls: the catcher's activation is the lowest
//!   activation of its function from `P` on, but perhaps the catcher has not ended a path yet. Then
//!   the lowest activation belongs to another call of the same function. So the module keeps the
//!   lowest activation *in doubt*; if there is none, the module makes one up. The next word of the
//!   catcher runs a landing pad. If this word also starts at the entry, its activation replaces the
//!   activation in doubt. No other word of the function can do both, because each frame that
//!   catches writes `WORD_CAUGHT` first.
//!
//! **Return to a lower activation.** A word may continue an activation that is not on top. Then the
//! activations above it were left through code that is not woven. If the word's function has no
//! open activation, its activation is older than the stream (after a fork or missing words), so it
//! is also older than all open activations. The module discards them all, and creates an activation
//! for the function.
//!
//! Limit: switched stacks (coroutines on one thread) look like frames that were left. Their
//! activations appear in parts.
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

use super::words::{CATCHES, CLOSES, FLAG_BITS, OPENS, Words};

/// A path that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndedPath {
    /// The path's word.
    pub word: u32,
    /// The function, as an index into [`Words::functions`].
    pub function: u32,
    /// Whether this is the first path of its activation in the stream.
    pub is_first: bool,
    /// Whether the path starts at the entry. If the first path of an activation does not start at
    /// the entry, the activation is older than the stream.
    pub starts_at_entry: bool,
    /// Whether the path ends its activation.
    pub closes: bool,
}

/// Receives the contents of a stream.
pub trait Listener {
    /// The state of an open activation. A new activation has the default state.
    type State: Copy + Default;

    /// A path ended. `state` is the state of its activation.
    fn path_ended(&mut self, path: EndedPath, state: &mut Self::State);

    /// Offers the words that follow a path of an open activation. `continues` returns whether a
    /// word continues that activation. The listener may read any number of leading words that
    /// continue the activation, and returns this number. It gets no calls of
    /// [`path_ended`](Self::path_ended) for these words.
    #[inline]
    fn read_ahead(
        &mut self,
        _words: &[u32],
        _continues: impl Fn(u32) -> bool,
        _state: &mut Self::State,
    ) -> usize {
        0
    }

    /// An activation ended without a path that closes it.
    fn discarded(&mut self, _state: &mut Self::State) {}

    /// The innermost activations were left. `activations` counts only activations with a path in
    /// the stream.
    fn frames_left(&mut self, _activations: u64) {}

    /// Words are missing between the last path and the next one. `activations` is the number of
    /// open activations with a path in the stream.
    fn gap(&mut self, _activations: u64) {}

    /// Another thread's stream begins. `activations` is the number of open activations with a path
    /// in the stream.
    fn new_owner(&mut self, _thread: u32, _activations: u64) {}
}

/// Numbers of paths and of other events in a stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamCounts {
    /// Words that ended a path.
    pub paths: Count,
    /// Words that a thread reserved in the ring but never wrote, because the thread died.
    pub holes: u64,
    /// Words that belong to no path of the image, and control words in unexpected positions.
    pub strangers: u64,
    /// Number of times that words were missing.
    pub gaps: u64,
    /// Number of frames that caught an exception or a jump.
    pub caught: Count,
}

/// Mark of an activation in doubt: it may belong to the catcher, or to another call of the
/// catcher's function.
const IN_DOUBT: u32 = 1 << 31;
/// Mark of an activation made up for a catcher: none of its paths is in the stream.
const MADE_UP: u32 = 1 << 30;
/// Mask of the function's index + 1, without marks.
const FUNCTION: u32 = MADE_UP - 1;

#[derive(Clone, Copy, Debug)]
struct Activation<S> {
    /// Position of the activation's first word in the stream; for an activation that is made up,
    /// the position at which its function was entered.
    start: u64,
    /// The function's index + 1, and marks. The activation at the bottom of the stack belongs to no
    /// function and has 0.
    function: u32,
    state: S,
}

/// A control word whose operands are incomplete.
#[derive(Clone, Copy, Default, Debug)]
struct Control {
    /// The control word; 0 if no control word waits for operands.
    word: u32,
    operands: [u32; 3],
    operand_count: usize,
    /// The position at which the next operand must be.
    next_position: u64,
}

/// Which activation is the catcher's, among the activations opened since its function was entered.
#[derive(Clone, Copy, Debug)]
enum CatcherPosition {
    /// The lowest activation: in traces, where paths end at calls.
    Lowest,
    /// The lowest activation of the catcher's function, if the catcher has ended a path.
    LowestOfFunction,
}

/// The open activations of a stream, and the state between two batches of words.
#[derive(Debug)]
pub struct Activations<S> {
    top: Activation<S>,
    /// The other open activations, lowest first.
    below: Vec<Activation<S>>,
    /// Position after the last word; `None` if any position may follow.
    next_position: Option<u64>,
    control: Control,
    counts: StreamCounts,
}

impl<S: Copy + Default> Default for Activations<S> {
    fn default() -> Self {
        Self {
            top: bottom(),
            below: Vec::new(),
            next_position: None,
            control: Control::default(),
            counts: StreamCounts::default(),
        }
    }
}

fn bottom<S: Default>() -> Activation<S> {
    Activation {
        start: 0,
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
    pub fn open_count(&self) -> u64 {
        let all = self.below.iter().chain([&self.top]);
        all.filter(|activation| activation.has_path()).count() as u64
    }

    /// The states of all open activations, in no particular order.
    pub fn states(&mut self) -> impl Iterator<Item = &mut S> {
        let all = self.below.iter_mut().chain([&mut self.top]);
        all.map(|activation| &mut activation.state)
    }

    /// Reads a batch of words. `start` is the position of the first word in the stream, in bytes.
    /// If the batch does not begin where the last batch ended, words are missing in between.
    pub fn feed<L: Listener<State = S>>(
        &mut self,
        words: &mut Words,
        listener: &mut L,
        start: u64,
        batch: &[u32],
    ) {
        if self.next_position.is_some_and(|next| next != start) {
            self.gap(listener);
        }
        self.next_position = Some(start.wrapping_add(4 * batch.len() as u64));
        let mut paths = 0u64;
        let mut top = self.top;
        let mut index = 0;
        while let Some(&word) = batch.get(index) {
            let mut entry = words.cached_entry(word);
            let words_before = index as u64;
            let position = || start.wrapping_add(4 * words_before);
            index += 1;
            if entry >> FLAG_BITS == 0 {
                self.top = top;
                entry = self.special_word(words, listener, position(), word);
                top = self.top;
                if entry >> FLAG_BITS == 0 {
                    continue;
                }
            }
            let function = entry >> FLAG_BITS;
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
                    listener.path_ended(path, &mut S::default());
                    continue;
                }
                self.below.push(top);
                top = Activation {
                    start: position(),
                    function,
                    state: S::default(),
                };
            } else if function != top.function {
                self.top = top;
                path.is_first = self.bring_to_top(listener, position(), function);
                top = self.top;
            }
            listener.path_ended(path, &mut top.state);
            if entry & CLOSES != 0 {
                top = self.below.pop().unwrap_or_else(bottom);
            } else {
                let entry_without_flags = function << FLAG_BITS;
                let continues = |word| words.cached_entry(word) == entry_without_flags;
                let read = listener.read_ahead(&batch[index..], continues, &mut top.state);
                index += read;
                paths += read as u64;
            }
        }
        self.top = top;
        self.counts.paths += Count(paths);
    }

    /// Words are missing: discards all activations.
    pub fn gap<L: Listener<State = S>>(&mut self, listener: &mut L) {
        self.counts.gaps += 1;
        listener.gap(self.open_count());
        self.discard_all(listener);
    }

    fn discard_all<L: Listener<State = S>>(&mut self, listener: &mut L) {
        while self.top.function != 0 {
            listener.discarded(&mut self.top.state);
            self.top = self.below.pop().unwrap_or_else(bottom);
        }
        self.below.clear();
        self.control = Control::default();
        self.next_position = None;
    }

    /// Handles a word without a function in the table: looks it up, or treats it as a hole, a
    /// control word, or an operand. Returns the word's table entry if the word ends a path, or an
    /// entry without a function.
    #[cold]
    fn special_word<L: Listener<State = S>>(
        &mut self,
        words: &mut Words,
        listener: &mut L,
        position: u64,
        word: u32,
    ) -> u32 {
        let is_operand = self.control.word != 0 && self.control.next_position == position;
        if word == 0 {
            self.counts.holes += 1;
        } else if word & OPERAND == 0 {
            let entry = words.entry(word);
            self.counts.strangers += u64::from(entry >> FLAG_BITS == 0);
            return entry;
        } else if is_operand {
            self.operand(words, listener, word & !OPERAND);
        } else if matches!(word, WORD_CAUGHT | WORD_OWNER) {
            self.control = Control {
                word,
                next_position: position.wrapping_add(4),
                ..Control::default()
            };
        } else {
            self.counts.strangers += 1;
        }
        0
    }

    fn operand<L: Listener<State = S>>(&mut self, words: &mut Words, listener: &mut L, bits: u32) {
        let control = &mut self.control;
        control.operands[control.operand_count] = bits;
        control.operand_count += 1;
        control.next_position = control.next_position.wrapping_add(4);
        let Control {
            word,
            operands: [low, high, catcher],
            operand_count,
            ..
        } = *control;
        match (word, operand_count) {
            (WORD_CAUGHT, 3) => {
                let words_before = u64::from(low) | u64::from(high) << 31;
                let catcher_position = if words.image().kind == Kind::Trace {
                    CatcherPosition::Lowest
                } else {
                    CatcherPosition::LowestOfFunction
                };
                let function = words.entry(catcher) >> FLAG_BITS;
                self.control = Control::default();
                let entered = words_before.wrapping_mul(4);
                self.caught(listener, entered, function, catcher_position);
            }
            (WORD_OWNER, 1) => {
                let (open, next_position) = (self.open_count(), self.next_position);
                self.discard_all(listener);
                self.next_position = next_position;
                listener.new_owner(low, open);
            }
            _ => {}
        }
    }

    /// Handles a catch by a frame of `function` (index + 1) that was entered at stream position
    /// `entered`.
    fn caught<L: Listener<State = S>>(
        &mut self,
        listener: &mut L,
        entered: u64,
        function: u32,
        catcher_position: CatcherPosition,
    ) {
        self.counts.caught += Count(1);
        let (mut left, mut catcher) = (0, None);
        while self.top.function != 0 && self.top.start >= entered {
            left += u64::from(self.top.has_path());
            // A lower activation replaces the catcher found so far.
            let previous_catcher = if self.top.function & FUNCTION == function {
                catcher.replace(self.top)
            } else {
                listener.discarded(&mut self.top.state);
                match catcher_position {
                    CatcherPosition::Lowest => catcher.take(),
                    CatcherPosition::LowestOfFunction => None,
                }
            };
            if let Some(mut previous) = previous_catcher {
                listener.discarded(&mut previous.state);
            }
            self.top = self.below.pop().unwrap_or_else(bottom);
        }
        if let Some(catcher) = catcher {
            left -= u64::from(catcher.has_path());
        }
        if left > 0 {
            listener.frames_left(left);
        }
        if function != 0 {
            self.below.push(self.top);
            let mut catcher = catcher.unwrap_or(Activation {
                start: entered,
                function: function | MADE_UP,
                state: S::default(),
            });
            catcher.function |= IN_DOUBT;
            self.top = catcher;
        }
    }

    /// Handles a word of `function` that starts at the entry and runs a landing pad. If the
    /// activation on top is the function's activation in doubt, that activation belonged to another
    /// call. It is discarded. Returns the new top.
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
        listener.discarded(&mut { top.state });
        if top.has_path() {
            listener.frames_left(1);
        }
        self.below.pop().unwrap_or_else(bottom)
    }

    /// Brings the innermost activation of a function to the top, and discards the activations above
    /// it. If there is none, creates one that starts at `position`. Returns whether none of its
    /// paths is in the stream yet.
    #[cold]
    fn bring_to_top<L: Listener<State = S>>(
        &mut self,
        listener: &mut L,
        position: u64,
        function: u32,
    ) -> bool {
        let mut left = 0;
        while self.top.function != 0 && self.top.function & FUNCTION != function {
            left += u64::from(self.top.has_path());
            listener.discarded(&mut self.top.state);
            self.top = self.below.pop().unwrap_or_else(bottom);
        }
        if left > 0 {
            listener.frames_left(left);
        }
        let is_first = !self.top.has_path();
        if self.top.function == 0 {
            self.below.push(self.top);
            self.top.start = position;
        }
        self.top.function = function;
        is_first
    }
}

impl<S> Activation<S> {
    /// Whether one of the activation's paths is in the stream.
    fn has_path(&self) -> bool {
        self.function & FUNCTION != 0 && self.function & MADE_UP == 0
    }
}
