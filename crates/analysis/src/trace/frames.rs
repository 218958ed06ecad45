//! Activations of functions over a grammar: what a part of a trace does to the stack of open activations, whatever that is.
//!
//! A part of a trace ends some activations that were open before it, goes on in the one below these, and begins new ones. So it is a list of pieces
//! ([`Frames`]): those that ended an older activation, top first; the one that goes on in the older activation below; those of new activations, lowest first.
//! Two parts make one: each piece of the second that belongs to an older activation is joined to the piece the first left on top. What is computed of the
//! pieces says [`Fold`].
//!
//! A path that goes on in a function that isn't on top stands in an activation whose begin is not in the trace (the child of a fork): it lies on top of the
//! others, as if it had begun there. After a [gap](Event::Gap) no older activation is known.
//!
//! Cost: linear in the symbols of the grammar and in the pieces that parts consist of: few where calls nest, at most as many as a recursion is deep.

use super::code::Event;
use super::grams::{TooMany, fold};
use super::{Grammar, Part};

/// What is computed of the piece that an activation has in a part of the trace. `weight` is how often the part occurs.
pub(super) trait Fold {
    /// What is known of a piece.
    type Body: Clone + Default;
    /// A terminal stands at the end of a piece.
    fn push(&mut self, body: &mut Self::Body, terminal: u32, weight: u64);
    /// A piece goes on with another.
    fn append(&mut self, body: &mut Self::Body, later: &Self::Body, weight: u64);
    /// The activation ends.
    fn end(&mut self, body: &mut Self::Body, weight: u64);
    /// What lies below an activation that ended comes to be known; `None`: nothing does.
    fn fall(&mut self, body: &mut Self::Body, below: Option<&mut Self::Body>, weight: u64);
    /// The activation of a piece turns out to begin with its first path; `below` is what is known of the next lower one; `None`: there is none.
    fn begin(&mut self, body: &mut Self::Body, below: Option<&mut Self::Body>, weight: u64);
    /// It becomes known what function the activation is of; `None`: there is no activation.
    fn settle(&mut self, body: &mut Self::Body, function: Option<u32>, weight: u64);
}

/// Pieces of a part: a recursion as deep as no stack is.
const MOST: usize = 1 << 24;

/// What a part of an activation is in a part of the trace.
#[derive(Clone, Default)]
struct Piece<B> {
    /// The function, once a path of it was met.
    function: Option<u32>,
    body: B,
}

/// What a part of a trace does to the stack.
pub(super) struct Frames<B> {
    /// Ended an older activation, top first.
    ended: Vec<Piece<B>>,
    /// In the older activation below.
    open: Piece<B>,
    /// Whether that one and all below it ended, behind a gap.
    cleared: bool,
    /// Of activations that began here, lowest first.
    new: Vec<Piece<B>>,
}

impl<B: Default> Default for Frames<B> {
    fn default() -> Self {
        Frames {
            ended: Vec::new(),
            open: Piece::default(),
            cleared: false,
            new: Vec::new(),
        }
    }
}

/// Folds the activations of a whole trace; at its end all that are open end. `check` is asked after each rule whether to go on.
///
/// # Errors
/// What `check` says, or if a part has more than [`MOST`] pieces.
pub(super) fn fold_frames<F: Fold>(
    grammar: &Grammar,
    events: &[Event],
    by: &mut F,
    check: impl Fn(&F) -> Result<(), TooMany>,
) -> Result<(), TooMany> {
    let mut all = fold(grammar, |parts: &[Frames<F::Body>], rule, weight| {
        let mut frames = Frames::default();
        for symbol in grammar.rule(rule) {
            match symbol.part() {
                Part::Terminal(id) => frames.event(by, id, events[id as usize], weight)?,
                Part::Rule(used) => frames.append(by, &parts[used as usize], weight),
            }
            if frames.ended.len() + frames.new.len() > MOST {
                return Err(TooMany::Activations(MOST));
            }
        }
        check(by)?;
        Ok(frames)
    })?;
    all.clear(by, 1);
    // There was no older activation.
    for piece in all.ended.iter_mut().chain([&mut all.open]) {
        by.begin(&mut piece.body, None, 1);
        by.fall(&mut piece.body, None, 1);
        by.settle(&mut piece.body, piece.function, 1);
    }
    check(by)
}

impl<B: Clone + Default> Frames<B> {
    fn event<F: Fold<Body = B>>(
        &mut self,
        by: &mut F,
        terminal: u32,
        event: Event,
        weight: u64,
    ) -> Result<(), TooMany> {
        match event {
            Event::Path {
                function,
                enters,
                leaves,
                ..
            } => {
                if enters || !self.fits(Some(function)) {
                    self.new.push(Piece::default());
                }
                let top = self.top().expect("an activation fits or was made");
                by.push(&mut top.body, terminal, weight);
                top.settle(by, Some(function), weight);
                if leaves {
                    self.pop(by, weight);
                }
            }
            Event::Left(frames) if frames as usize > MOST => {
                return Err(TooMany::Activations(MOST));
            }
            Event::Left(frames) => {
                for _ in 0..frames {
                    self.pop(by, weight);
                }
            }
            Event::Gap => self.clear(by, weight),
        }
        Ok(())
    }

    fn append<F: Fold<Body = B>>(&mut self, by: &mut F, later: &Frames<B>, weight: u64) {
        for piece in &later.ended {
            self.meet(by, piece, weight);
            self.pop(by, weight);
        }
        self.meet(by, &later.open, weight);
        if later.cleared {
            self.clear(by, weight);
        }
        self.new.extend(later.new.iter().cloned());
    }

    /// Joins a piece of an older activation to the one on top; if that is another function's, the piece is the whole activation.
    fn meet<F: Fold<Body = B>>(&mut self, by: &mut F, piece: &Piece<B>, weight: u64) {
        if !self.fits(piece.function) {
            let mut piece = piece.clone();
            match self.top() {
                Some(below) => {
                    by.begin(&mut piece.body, Some(&mut below.body), weight);
                    below.settle(by, None, weight);
                }
                None => by.begin(&mut piece.body, None, weight),
            }
            self.new.push(piece);
            return;
        }
        match self.top() {
            Some(top) => {
                by.append(&mut top.body, &piece.body, weight);
                top.settle(by, piece.function, weight);
            }
            None => by.settle(&mut piece.body.clone(), None, weight),
        }
    }

    /// Whether a piece of a function can belong to the activation on top; one of no function known fits anything.
    fn fits(&mut self, function: Option<u32>) -> bool {
        match (self.top(), function) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(top), Some(function)) => top.function.is_none_or(|known| known == function),
        }
    }

    fn top(&mut self) -> Option<&mut Piece<B>> {
        let older = (!self.cleared).then_some(&mut self.open);
        self.new.last_mut().or(older)
    }

    /// Ends the activation on top.
    fn pop<F: Fold<Body = B>>(&mut self, by: &mut F, weight: u64) {
        if let Some(mut piece) = self.new.pop() {
            by.end(&mut piece.body, weight);
            let Some(below) = self.top() else {
                return by.fall(&mut piece.body, None, weight);
            };
            by.fall(&mut piece.body, Some(&mut below.body), weight);
            below.settle(by, None, weight);
        } else if !self.cleared {
            let mut piece = std::mem::take(&mut self.open);
            by.end(&mut piece.body, weight);
            by.fall(&mut piece.body, Some(&mut self.open.body), weight);
            self.ended.push(piece);
        }
    }

    /// Ends all activations.
    fn clear<F: Fold<Body = B>>(&mut self, by: &mut F, weight: u64) {
        while !self.new.is_empty() {
            self.pop(by, weight);
        }
        if !self.cleared {
            by.end(&mut self.open.body, weight);
            self.cleared = true;
        }
    }
}

impl<B: Clone + Default> Piece<B> {
    /// Says which function it is of, if that is known now or was before.
    fn settle<F: Fold<Body = B>>(&mut self, by: &mut F, function: Option<u32>, weight: u64) {
        self.function = self.function.or(function);
        if self.function.is_some() {
            by.settle(&mut self.body, self.function, weight);
        }
    }
}
