//! The guide of a link: read once, handed to each worker as a file, and told how much of the program it knows.

use std::path::{Path, PathBuf};

use holloway_format::{Guide, ModuleMap};

use super::farm::Outcome;
use crate::failure::{Context, Result};
use crate::linked::Guided;
use crate::{guide, linked};

/// A guide, and where its workers find it.
#[derive(Debug)]
pub(crate) struct LinkGuide {
    /// The guide as a file.
    pub(crate) file: PathBuf,
    /// What tells it from another.
    pub(crate) hash: String,
    guide: Guide,
}

impl LinkGuide {
    /// Reads what `--guide` names and writes it into `scratch`: what `named` is may change while modules are woven.
    ///
    /// # Errors
    /// It can't be read, or the file not be written.
    pub(crate) fn new(named: &Path, scratch: &Path) -> Result<Self> {
        let guide = guide::read(named)?;
        let bytes = guide.encode();
        let file = scratch.join("guide");
        std::fs::write(&file, &bytes).cannot(|| format!("write {}", file.display()))?;
        Ok(Self {
            file,
            hash: guide::hash(&bytes),
            guide,
        })
    }

    /// Says how many of the woven functions it knows.
    pub(crate) fn tell(&self, outcomes: &[Outcome]) {
        let mut guided = Guided::default();
        for outcome in outcomes {
            let Outcome::Woven(woven) = outcome else {
                continue;
            };
            let Ok((map, _)) = ModuleMap::decode(&woven.fragment) else {
                continue;
            };
            guided.all += map.functions.len();
            guided.known += self.guide.matched(&map);
        }
        linked::guided(&guided);
    }
}
