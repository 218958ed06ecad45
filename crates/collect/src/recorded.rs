//! The kinds of collection that a run recorded.

use std::collections::{BTreeMap, BTreeSet};

use holloway_weave::Collect;

/// All that there are.
const ALL: [Collect; 6] = [
    Collect::Paths,
    Collect::Edges,
    Collect::Loops,
    Collect::Trace,
    Collect::Variation,
    Collect::Times,
];

/// The kind of this number (`abi::KIND_…`).
pub fn of(kind: u32) -> Option<Collect> {
    ALL.into_iter().find(|one| one.kind() == kind)
}

/// The kinds of a run, each with the names of its images.
#[derive(Debug, Default)]
pub struct RecordedKinds(BTreeMap<u32, BTreeSet<String>>);

impl RecordedKinds {
    /// Adds an image of this kind (`abi::KIND_…`).
    pub fn add(&mut self, kind: u32, image: &str) {
        self.0.entry(kind).or_default().insert(image.to_owned());
    }

    /// Whether some image has this kind.
    pub fn has(&self, kind: Collect) -> bool {
        self.0.contains_key(&kind.kind())
    }

    /// Whether paths were timed, all or a few.
    pub fn is_timed(&self) -> bool {
        self.iter().any(|(kind, _)| kind.is_timed())
    }

    /// The kinds, each with the names of its images.
    pub fn iter(&self) -> impl Iterator<Item = (Collect, &BTreeSet<String>)> {
        let images = |(&kind, images)| Some((of(kind)?, images));
        self.0.iter().filter_map(images)
    }
}
