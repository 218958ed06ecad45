//! A thread's stream of words, read as what it stands for: activations of functions and the paths that each runs.
//!
//! There are no words for entering and leaving: a path that starts at its function's entry opens an activation, one that
//! ends at the exit closes it, and activations nest. Where a frame is left in another way the stack here is put right:
//!
//! - `WORD_CAUGHT` names the position `P` of the stream at which the catcher's function was entered: whatever opened from there
//!   on is gone but the catcher's own activation, the lowest of its function among them. In streams whose paths run through calls the catcher
//!   may not have ended a path yet, and then the lowest is another's. So it is kept *in doubt* (and where there is none, one is made up): the
//!   catcher's next word runs a landing pad; if it starts at the entry too, it takes the place of the one in doubt. No other word of the
//!   function can do both: a frame that catches says so first. Where paths end at calls, the catcher's is the lowest of all; if that is of another
//!   function, the catcher's first word is missing.
//! - A word that goes on with a function whose activation isn't on top: what is above it was left, past code that isn't woven. No
//!   activation of it at all: it is older than the stream (the child of a fork, words that are missing), and so older than all others, which are
//!   gone then; one is made for it.
//!
//! Stacks that are switched (coroutines on one thread) look like frames that were left: their activations come out in parts.
//!
//! Example, f calling g twice, of which the second throws; f's loop catches: `f:entry→back  g:entry→exit  g:entry→back
//! CAUGHT(P of f, f)  f:loop→exit` gives two activations of f's and g's first, one of g left, and f goes on.
//!
//! Cost: a load, three predictable branches and no memory written for a word that goes on with the function on top.

pub(super) mod effects;

use holloway_abi::{Kind, OPERAND, WORD_CAUGHT, WORD_OWNER};

use super::words::{CATCHES, CLOSES, FLAGS, OPENS, Words};

/// A path that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Its word.
    pub word: u32,
    /// Its function, by its place among [`Words::functions`].
    pub function: u32,
    /// Whether it is the first path seen of its activation.
    pub is_first: bool,
    /// Whether it starts at the entry; a first path that doesn't belongs to an activation older than the stream.
    pub starts_at_entry: bool,
    /// Whether the activation ends with it.
    pub closes: bool,
}

/// Who is told what a stream says.
pub trait Listener {
    /// What is kept for each open activation; a new one gets the default.
    type State: Copy + Default;

    /// A path ended; `state` is its activation's.
    fn path(&mut self, path: Ended, state: &mut Self::State);

    /// The words that come after a path of an activation that is still open; those that go on with it are told by `is_next`. May take in as many of
    /// them as it likes, and says how many.
    #[inline]
    fn run(
        &mut self,
        _words: &[u32],
        _is_next: impl Fn(u32) -> bool,
        _state: &mut Self::State,
    ) -> usize {
        0
    }

    /// An activation that didn't close is over.
    fn gone(&mut self, _state: &mut Self::State) {}

    /// So many activations of which paths were seen were left, the innermost ones.
    fn left(&mut self, _activations: u64) {}

    /// Words are missing here; so many activations of which paths were seen were open.
    fn gap(&mut self, _activations: u64) {}

    /// Another thread's stream begins; so many activations of which paths were seen were open.
    fn owner(&mut self, _thread: u32, _activations: u64) {}
}

/// What was met in a stream besides paths.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Met {
    /// Words that ended a path.
    pub paths: u64,
    /// Places that were never written, of threads that are dead.
    pub holes: u64,
    /// Words that stand for no path of the image, and control words out of place.
    pub strangers: u64,
    /// Times that words were missing.
    pub gaps: u64,
    /// Frames come back to.
    pub caught: u64,
}

/// Kept in doubt: the catcher's, perhaps.
const DOUBT: u32 = 1 << 31;
/// Made up for a catcher: no path of it was seen.
const UNSEEN: u32 = 1 << 30;
const WHICH: u32 = UNSEEN - 1;

#[derive(Clone, Copy, Debug)]
struct Activation<S> {
    /// Position of its first word; made up: where its function was entered.
    at: u64,
    /// Function + 1 and marks; 0: the bottom.
    function: u32,
    state: S,
}

/// A control word whose operands have not all come.
#[derive(Clone, Copy, Default, Debug)]
struct Control {
    word: u32,
    operands: [u32; 3],
    have: usize,
    /// Where the next one must stand.
    next: u64,
}

/// The open activations of a stream, and what is needed to go on from one batch of words to the next.
#[derive(Debug)]
pub struct Activations<S> {
    top: Activation<S>,
    below: Vec<Activation<S>>,
    /// Position after the last word.
    next: Option<u64>,
    control: Control,
    met: Met,
}

impl<S: Copy + Default> Default for Activations<S> {
    fn default() -> Self {
        Self {
            top: bottom(),
            below: Vec::new(),
            next: None,
            control: Control::default(),
            met: Met::default(),
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
    /// What was met so far.
    pub fn met(&self) -> Met {
        self.met
    }

    /// Open activations of which paths were seen.
    pub fn open(&self) -> u64 {
        self.all().filter(|one| one.is_seen()).count() as u64
    }

    /// The states of all open activations, in no order, to be changed.
    pub fn states(&mut self) -> impl Iterator<Item = &mut S> {
        let all = self.below.iter_mut().chain([&mut self.top]);
        all.map(|activation| &mut activation.state)
    }

    fn all(&self) -> impl Iterator<Item = &Activation<S>> {
        self.below.iter().chain([&self.top])
    }

    /// Reads a batch of words, the first of which stands at position `at` (in bytes). One that doesn't begin where the last one
    /// ended comes after a gap.
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
            let mut entry = words.known(word);
            let place = index as u64;
            let position = || at.wrapping_add(4 * place);
            index += 1;
            if entry >> FLAGS == 0 {
                self.top = top;
                entry = self.unusual(words, listener, position(), word);
                top = self.top;
                if entry >> FLAGS == 0 {
                    continue;
                }
            }
            let function = entry >> FLAGS;
            let mut path = Ended {
                word,
                function: function - 1,
                is_first: entry & OPENS != 0,
                starts_at_entry: entry & OPENS != 0,
                closes: entry & CLOSES != 0,
            };
            paths += 1;
            if entry & OPENS != 0 {
                if top.function & DOUBT != 0 && entry & CATCHES != 0 {
                    top = self.resolve(listener, top, function);
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
                path.is_first = self.surface(listener, position(), function);
                top = self.top;
            }
            listener.path(path, &mut top.state);
            if entry & CLOSES != 0 {
                top = self.below.pop().unwrap_or_else(bottom);
            } else {
                let goes_on = function << FLAGS;
                let is_next = |word| words.known(word) == goes_on;
                let more = listener.run(&batch[index..], is_next, &mut top.state);
                index += more;
                paths += more as u64;
            }
        }
        self.top = top;
        self.met.paths += paths;
    }

    /// Words are missing: all activations are forgotten.
    pub fn gap<L: Listener<State = S>>(&mut self, listener: &mut L) {
        self.met.gaps += 1;
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

    /// A word that isn't in the table: looks it up, or takes it as a hole, a control word or an operand. Gives its entry, if
    /// it ends a path.
    #[cold]
    fn unusual<L: Listener<State = S>>(
        &mut self,
        words: &mut Words,
        listener: &mut L,
        at: u64,
        word: u32,
    ) -> u32 {
        let awaited = self.control.word != 0 && self.control.next == at;
        if word == 0 {
            self.met.holes += 1;
        } else if word & OPERAND == 0 {
            let entry = words.entry(word);
            self.met.strangers += u64::from(entry >> FLAGS == 0);
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
            self.met.strangers += 1;
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

    /// A frame of `function` (+ 1), which was entered at `position`, caught. `is_lowest`: no activation from there on is below its own.
    fn caught<L: Listener<State = S>>(
        &mut self,
        listener: &mut L,
        position: u64,
        function: u32,
        is_lowest: bool,
    ) {
        self.met.caught += 1;
        let (mut left, mut own) = (0, None);
        while self.top.function != 0 && self.top.at >= position {
            left += u64::from(self.top.is_seen());
            let gone = if self.top.function & WHICH == function {
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
            own.function |= DOUBT;
            self.top = own;
        }
    }

    /// The catcher's first word has come: the one kept in doubt for it, if that is on top, was another's.
    #[cold]
    fn resolve<L: Listener<State = S>>(
        &mut self,
        listener: &mut L,
        top: Activation<S>,
        function: u32,
    ) -> Activation<S> {
        if top.function & WHICH != function {
            return top;
        }
        listener.gone(&mut { top.state });
        if top.is_seen() {
            listener.left(1);
        }
        self.below.pop().unwrap_or_else(bottom)
    }

    /// Brings the innermost activation of a function to the top, or makes one; whether no path of it was seen.
    #[cold]
    fn surface<L: Listener<State = S>>(
        &mut self,
        listener: &mut L,
        at: u64,
        function: u32,
    ) -> bool {
        let mut left = 0;
        while self.top.function != 0 && self.top.function & WHICH != function {
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
        self.function & WHICH != 0 && self.function & UNSEEN == 0
    }
}
