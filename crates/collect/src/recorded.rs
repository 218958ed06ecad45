//! The kinds of profile in a run: a run may contain images of different kinds.

use std::collections::{BTreeMap, BTreeSet};

use holloway_abi::Kind;

/// The kinds of profile in a run, each with the names of the images of this kind.
#[derive(Debug, Default)]
pub struct RecordedKinds(BTreeMap<Kind, BTreeSet<String>>);

impl RecordedKinds {
    /// Adds an image of this kind.
    pub fn add(&mut self, kind: Kind, image: &str) {
        self.0.entry(kind).or_default().insert(image.to_owned());
    }

    /// Returns whether an image has this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.0.contains_key(&kind)
    }

    /// Returns whether an image has a kind that times paths.
    pub fn is_timed(&self) -> bool {
        self.iter().any(|(kind, _)| kind.is_timed())
    }

    /// Iterates over the kinds, each with the names of its images.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, &BTreeSet<String>)> {
        self.0.iter().map(|(&kind, images)| (kind, images))
    }
}
