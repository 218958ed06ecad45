//! The guide of a link: read once, and handed to each worker as a file.

use std::path::{Path, PathBuf};

use holloway_format::{Guide, ModuleMap};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::message::GuideMatch;
use crate::outcome::Outcome;

/// A guide, and where its workers find it.
#[derive(Debug)]
pub(crate) struct LinkGuide {
    /// The guide as a file.
    pub(crate) file: PathBuf,
    /// Identifies the guide's content.
    pub(crate) hash: String,
    guide: Guide,
}

impl LinkGuide {
    /// Reads what `--guide` names and writes it into `scratch`, because the file that `named` names
    /// may change while modules are woven.
    ///
    /// # Errors
    /// The guide cannot be read, or the file cannot be written.
    pub(crate) fn new(named: &Path, scratch: &Path, host: &dyn Host) -> Result<Self> {
        let guide = host.read_guide(named).map_err(Error::Guide)?;
        let bytes = guide.encode();
        let file = scratch.join("guide");
        std::fs::write(&file, &bytes).map_err(Error::writing(&file))?;
        Ok(Self {
            file,
            hash: hash(&bytes),
            guide,
        })
    }

    /// How many of the woven functions the guide knows.
    pub(crate) fn matches(&self, outcomes: &[Outcome]) -> GuideMatch {
        let mut matches = GuideMatch::default();
        for outcome in outcomes {
            let Outcome::Woven(woven) = outcome else {
                continue;
            };
            let Ok((map, _)) = ModuleMap::decode(&woven.fragment) else {
                continue;
            };
            matches.all += map.functions.len();
            matches.known += self.guide.matched(&map);
        }
        matches
    }
}

/// Identifies an encoded guide.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
