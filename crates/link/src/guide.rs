//! The guide of a link: the counts of an earlier run, which replace the estimates of the weaver.
//! The link step reads the guide once and writes it to a file for its worker processes.

use std::path::{Path, PathBuf};

use holloway_format::{Guide, ModuleMap};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::message::GuideMatch;
use crate::outcome::ModuleOutcome;

/// A guide and the file from which workers read it.
#[derive(Debug)]
pub(crate) struct LinkGuide {
    /// The file with the encoded guide.
    pub(crate) file: PathBuf,
    /// Identifies the guide's content.
    pub(crate) hash: String,
    guide: Guide,
}

impl LinkGuide {
    /// Reads the guide `path`, the value of `--guide`, and writes it into `scratch`, because the
    /// file at `path` may change while modules are woven.
    ///
    /// # Errors
    /// If the guide cannot be read, or the file cannot be written.
    pub(crate) fn new(path: &Path, scratch: &Path, host: &dyn Host) -> Result<Self> {
        let guide = host.read_guide(path).map_err(Error::Guide)?;
        let bytes = guide.encode();
        let file = scratch.join("guide");
        std::fs::write(&file, &bytes).map_err(Error::writing(&file))?;
        Ok(Self {
            file,
            hash: hash(&bytes),
            guide,
        })
    }

    /// Counts the woven functions, and the woven functions for which the guide has counts.
    pub(crate) fn matches(&self, outcomes: &[ModuleOutcome]) -> GuideMatch {
        let mut matches = GuideMatch::default();
        for outcome in outcomes {
            let ModuleOutcome::Woven(woven) = outcome else {
                continue;
            };
            let Ok((map, _)) = ModuleMap::decode(&woven.fragment) else {
                continue;
            };
            matches.woven_functions += map.functions.len();
            matches.guided_functions += self.guide.matched(&map);
        }
        matches
    }
}

/// Returns a hash that identifies the content of an encoded guide.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
