//! Splits a trace into the activations of functions, rule by rule.
//!
//! A *section* of the trace is the expansion of a rule, or of some symbols of a rule. It is
//! summarized without knowing the activations that are open at its start. A section ends some of
//! these *older* activations, continues the activation below them, and begins new activations. The
//! paths of an activation in a section are a *part* of the activation. [`Frames`] holds the parts:
//!
//! - parts of older activations that the section ends, topmost first
//! - the part of the older activation below them, which stays open
//! - parts of new activations that stay open, lowest first
//!
//! To join two sections, the parts of older activations in the second section are joined, one after
//! the other, to the activation on top of the stack after the first section. The trait [`Fold`]
//! defines the values that are computed for parts.
//!
//! A path may continue a function that is not on top. Then the trace does not contain the beginning
//! of the path's activation (for example in the child of a fork). This activation is pushed onto
//! the stack as if it had begun with this path. After a [gap](Event::Gap), no older activation is
//! known.
//!
//! Cost: linear in the symbols of the grammar and in the number of parts in its rules. Most
//! rules have few parts, because calls return within the rule. A rule inside a deep recursion has
//! at most as many parts as the recursion is deep.

use super::code::Event;
use super::grams::{TooMany, fold_rules};
use super::{Grammar, Part};

/// Computes a value (`Body`) for each part of an activation. In all methods, `body` is the value of
/// a part, and `weight` is the number of occurrences of the section.
pub(super) trait Fold {
    /// The value of a part.
    type Body: Clone + Default;
    /// Appends a terminal to a part.
    fn push(&mut self, body: &mut Self::Body, terminal: u32, weight: u64);
    /// Appends the next part of the same activation.
    fn append(&mut self, body: &mut Self::Body, later: &Self::Body, weight: u64);
    /// The part's activation ended.
    fn end(&mut self, body: &mut Self::Body, weight: u64);
    /// The part's activation ended above the activation `below`; `None` if no activation below is
    /// known.
    fn end_above(&mut self, body: &mut Self::Body, below: Option<&mut Self::Body>, weight: u64);
    /// The part contains the first path of its activation, whose beginning the trace does not
    /// contain. The activation was pushed above the activation `below`; `None` if no activation
    /// below is known.
    fn begin_above(&mut self, body: &mut Self::Body, below: Option<&mut Self::Body>, weight: u64);
    /// The part's activation belongs to this function; `None` if the part belongs to no activation.
    /// May be called again after the value has changed.
    fn set_function(&mut self, body: &mut Self::Body, function: Option<u32>, weight: u64);
}

/// Maximum number of parts in a section. No real stack holds this number of frames.
const MAX_PARTS: usize = 1 << 24;

/// The part of an activation that a section of the trace contains.
#[derive(Clone, Default)]
struct ActivationPart<B> {
    /// The function; `None` if the part has no path.
    function: Option<u32>,
    body: B,
}

/// The effect of a section of the trace on the stack of activations.
pub(super) struct Frames<B> {
    /// Parts of older activations that the section ends, topmost first.
    ended: Vec<ActivationPart<B>>,
    /// The part of the older activation below the ended activations.
    open: ActivationPart<B>,
    /// Whether a gap ended the activation of `open` and all activations below it.
    is_cleared: bool,
    /// Parts of activations that began in the section and are still open, lowest first.
    new: Vec<ActivationPart<B>>,
}

impl<B: Default> Default for Frames<B> {
    fn default() -> Self {
        Frames {
            ended: Vec::new(),
            open: ActivationPart::default(),
            is_cleared: false,
            new: Vec::new(),
        }
    }
}

/// Computes the values of all activations of a trace. The end of the trace ends all open
/// activations. `check` decides after each rule whether to continue.
///
/// # Errors
/// If `check` returns an error, or a rule has more than [`MAX_PARTS`] parts.
pub(super) fn fold_frames<F: Fold>(
    grammar: &Grammar,
    events: &[Event],
    folder: &mut F,
    check: impl Fn(&F) -> Result<(), TooMany>,
) -> Result<(), TooMany> {
    let mut frames = fold_rules(
        grammar,
        |frames_of_rules: &[Frames<F::Body>], rule, weight| {
            let mut frames = Frames::default();
            for symbol in grammar.rule(rule) {
                match symbol.part() {
                    Part::Terminal(id) => frames.event(folder, id, events[id as usize], weight)?,
                    Part::Rule(used) => {
                        frames.append(folder, &frames_of_rules[used as usize], weight);
                    }
                }
                if frames.ended.len() + frames.new.len() > MAX_PARTS {
                    return Err(TooMany::Activations(MAX_PARTS));
                }
            }
            check(folder)?;
            Ok(frames)
        },
    )?;
    frames.end_all(folder, 1);
    // No activation is older than the trace.
    for part in frames.ended.iter_mut().chain([&mut frames.open]) {
        folder.begin_above(&mut part.body, None, 1);
        folder.end_above(&mut part.body, None, 1);
        folder.set_function(&mut part.body, part.function, 1);
    }
    check(folder)
}

impl<B: Clone + Default> Frames<B> {
    /// Appends an event.
    fn event<F: Fold<Body = B>>(
        &mut self,
        folder: &mut F,
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
                    self.new.push(ActivationPart::default());
                }
                let top = self.top().expect("a fitting activation is on top");
                folder.push(&mut top.body, terminal, weight);
                top.pass_function(folder, Some(function), weight);
                if leaves {
                    self.end_top(folder, weight);
                }
            }
            Event::Left(frames) if frames as usize > MAX_PARTS => {
                return Err(TooMany::Activations(MAX_PARTS));
            }
            Event::Left(frames) => {
                for _ in 0..frames {
                    self.end_top(folder, weight);
                }
            }
            Event::Gap => self.end_all(folder, weight),
        }
        Ok(())
    }

    /// Appends the section `later`.
    fn append<F: Fold<Body = B>>(&mut self, folder: &mut F, later: &Frames<B>, weight: u64) {
        for part in &later.ended {
            self.join_part(folder, part, weight);
            self.end_top(folder, weight);
        }
        self.join_part(folder, &later.open, weight);
        if later.is_cleared {
            self.end_all(folder, weight);
        }
        self.new.extend(later.new.iter().cloned());
    }

    /// Joins a part of an older activation to the activation on top. If the activation on top
    /// belongs to another function, the part is pushed as an activation that began with it.
    fn join_part<F: Fold<Body = B>>(
        &mut self,
        folder: &mut F,
        part: &ActivationPart<B>,
        weight: u64,
    ) {
        if !self.fits(part.function) {
            let mut part = part.clone();
            match self.top() {
                Some(below) => {
                    folder.begin_above(&mut part.body, Some(&mut below.body), weight);
                    below.pass_function(folder, None, weight);
                }
                None => folder.begin_above(&mut part.body, None, weight),
            }
            self.new.push(part);
            return;
        }
        match self.top() {
            Some(top) => {
                folder.append(&mut top.body, &part.body, weight);
                top.pass_function(folder, part.function, weight);
            }
            // No activation is known, so only the folder's totals change, not the part.
            None => folder.set_function(&mut part.body.clone(), None, weight),
        }
    }

    /// Whether a part of a function can belong to the activation on top. A part without a known
    /// function fits any activation.
    fn fits(&mut self, function: Option<u32>) -> bool {
        match (self.top(), function) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(top), Some(function)) => top.function.is_none_or(|known| known == function),
        }
    }

    /// The activation on top; `None` if no activation is known.
    fn top(&mut self) -> Option<&mut ActivationPart<B>> {
        let older = (!self.is_cleared).then_some(&mut self.open);
        self.new.last_mut().or(older)
    }

    /// Ends the activation on top.
    fn end_top<F: Fold<Body = B>>(&mut self, folder: &mut F, weight: u64) {
        if let Some(mut part) = self.new.pop() {
            folder.end(&mut part.body, weight);
            let Some(below) = self.top() else {
                return folder.end_above(&mut part.body, None, weight);
            };
            folder.end_above(&mut part.body, Some(&mut below.body), weight);
            below.pass_function(folder, None, weight);
        } else if !self.is_cleared {
            let mut part = std::mem::take(&mut self.open);
            folder.end(&mut part.body, weight);
            folder.end_above(&mut part.body, Some(&mut self.open.body), weight);
            self.ended.push(part);
        }
    }

    /// Ends all activations.
    fn end_all<F: Fold<Body = B>>(&mut self, folder: &mut F, weight: u64) {
        while !self.new.is_empty() {
            self.end_top(folder, weight);
        }
        if !self.is_cleared {
            folder.end(&mut self.open.body, weight);
            self.is_cleared = true;
        }
    }
}

impl<B: Clone + Default> ActivationPart<B> {
    /// Passes the function of the activation to the folder, if it is known. `function` is `None` if
    /// nothing new is known about it.
    fn pass_function<F: Fold<Body = B>>(
        &mut self,
        folder: &mut F,
        function: Option<u32>,
        weight: u64,
    ) {
        self.function = self.function.or(function);
        if self.function.is_some() {
            folder.set_function(&mut self.body, self.function, weight);
        }
    }
}
