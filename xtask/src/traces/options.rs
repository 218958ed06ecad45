//! The options of `cargo xtask study traces`.

use anyhow::{Context, Result, bail, ensure};
use holloway_tests::workload::{SUITE, Scale, Workload};

/// What to study.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// How much the programs do.
    pub(super) scale: Scale,
    /// Words kept of a program's streams, the first ones.
    pub(super) most: u64,
    /// Of them, those that the compressors get: the slow ones take minutes for 10^8.
    pub(super) compare: u64,
    /// Of them, those that forests grow over when their speed is taken.
    pub(super) forests: u64,
    /// Of them, those that forests are converted of and hot subpaths looked for in.
    pub(super) figures: u64,
    /// Whether the page is written.
    pub(super) writes: bool,
    only: Vec<String>,
}

impl Options {
    /// Reads the words after `study traces`.
    ///
    /// # Errors
    /// An unknown option or program.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            scale: Scale::Full,
            most: 100_000_000,
            compare: 20_000_000,
            forests: 100_000_000,
            figures: 1_000_000,
            writes: true,
            only: Vec::new(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                let value = words.next();
                value.with_context(|| format!("{word} takes a value"))
            };
            match *word {
                "--quick" => {
                    options.scale = Scale::Quick;
                    (options.most, options.compare) = (10_000_000, 1_000_000);
                    (options.forests, options.figures) = (10_000_000, 1_000_000);
                    options.writes = false;
                }
                "--only" => options.only.extend(value()?.split(',').map(str::to_owned)),
                "--most" => options.most = number(word, value()?)?,
                "--compare" => options.compare = number(word, value()?)?,
                "--forests" => options.forests = number(word, value()?)?,
                "--figures" => options.figures = number(word, value()?)?,
                _ => bail!("unknown option {word:?}: `cargo xtask help` lists what there is"),
            }
        }
        for name in &options.only {
            ensure!(
                SUITE.iter().any(|w| w.name == name),
                "no program of the suite is called {name:?}: there are {}",
                SUITE.map(|w| w.name).join(", ")
            );
        }
        options.compare = options.compare.min(options.most);
        options.forests = options.forests.min(options.most);
        options.figures = options.figures.min(options.forests);
        Ok(options)
    }

    /// The programs asked for.
    pub(super) fn chosen(&self) -> Vec<&'static Workload> {
        let is_chosen =
            |w: &&Workload| self.only.is_empty() || self.only.iter().any(|n| n == w.name);
        SUITE.into_iter().filter(is_chosen).collect()
    }
}

fn number(option: &str, word: &str) -> Result<u64> {
    let number = word.parse().ok().filter(|n| *n > 0);
    number.with_context(|| format!("{option} {word}: give a number of paths, 1 or more"))
}
