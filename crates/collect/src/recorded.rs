//! The kinds of collection that a run recorded.

use std::collections::{BTreeMap, BTreeSet};

use holloway_abi::Kind;

/// The kinds of a run, each with the names of its images.
#[derive(Debug, Default)]
pub struct RecordedKinds(BTreeMap<Kind, BTreeSet<String>>);

impl RecordedKinds {
    /// Adds an image of this kind.
    pub fn add(&mut self, kind: Kind, image: &str) {
        self.0.entry(kind).or_default().insert(image.to_owned());
    }

    /// Whether some image has this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.0.contains_key(&kind)
    }

    /// Whether paths were timed, all or a few.
    pub fn is_timed(&self) -> bool {
        self.iter().any(|(kind, _)| kind.is_timed())
    }

    /// The kinds, each with the names of its images.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, &BTreeSet<String>)> {
        self.0.iter().map(|(&kind, images)| (kind, images))
    }
}
