//! The options of `cargo xtask study traces`.

use crate::suite;
use holloway_tests::workload::{Scale, Workload};
use std::num::NonZeroU64;

/// The options as given on the command line.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// Use smaller inputs and keep fewer words
    #[arg(long)]
    quick: bool,
    /// Run only these programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
    /// Keep at most this many words of a program [default: 100,000,000; quick: 10,000,000]
    #[arg(long, value_name = "N")]
    most: Option<NonZeroU64>,
    /// Give the compressors this many words [default: 20,000,000; quick: 1,000,000]
    ///
    /// 100,000,000 words take hours.
    #[arg(long, value_name = "N")]
    compare: Option<NonZeroU64>,
    /// Let forests grow over this many words [default: 100,000,000; quick: 10,000,000]
    #[arg(long, value_name = "N")]
    forests: Option<NonZeroU64>,
    /// Convert forests and search hot subpaths in this many words [default: 1,000,000]
    #[arg(long, value_name = "N")]
    figures: Option<NonZeroU64>,
}

/// The options, with defaults for those that are not given.
#[derive(Debug, Clone)]
pub(super) struct Options {
    /// The amount of work of the programs.
    pub(super) scale: Scale,
    /// Maximum number of words that are kept of a program's streams.
    pub(super) max_words: u64,
    /// Maximum number of words that compressors get. The slow compressors take minutes for 10^8
    /// words.
    pub(super) compare: u64,
    /// Maximum number of words for measuring the speed of forests.
    pub(super) forests: u64,
    /// Maximum number of words for the shape of forests and for the search of hot subpaths.
    pub(super) figures: u64,
    only: Vec<String>,
}

impl Options {
    /// Sets the defaults. No stage gets more words than an earlier stage.
    pub(super) fn new(arguments: &Arguments) -> Self {
        let number =
            |option: Option<NonZeroU64>, full: u64, quick: u64| match (option, arguments.quick) {
                (Some(number), _) => number.get(),
                (None, false) => full,
                (None, true) => quick,
            };
        let max_words = number(arguments.most, 100_000_000, 10_000_000);
        let forests = number(arguments.forests, 100_000_000, 10_000_000).min(max_words);
        Self {
            scale: match arguments.quick {
                true => Scale::Quick,
                false => Scale::Full,
            },
            max_words,
            compare: number(arguments.compare, 20_000_000, 1_000_000).min(max_words),
            forests,
            figures: number(arguments.figures, 1_000_000, 1_000_000).min(forests),
            only: arguments.only.clone(),
        }
    }

    /// The programs to run.
    pub(super) fn chosen(&self) -> Vec<&'static Workload> {
        suite::chosen(&self.only)
    }
}
