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

/// What to study.
#[derive(Debug, Clone)]
pub(super) struct Options {
    /// How much the programs do.
    pub(super) scale: Scale,
    /// Words that are kept of a program's streams: the first ones.
    pub(super) most: u64,
    /// The words that compressors get. The slow compressors take minutes for 10^8 words.
    pub(super) compare: u64,
    /// The words over which forests grow when their speed is measured.
    pub(super) forests: u64,
    /// The words of which forests are converted, and in which hot subpaths are searched.
    pub(super) figures: u64,
    only: Vec<String>,
}

impl Options {
    /// Fills in the defaults. No later stage gets more words than the one before it.
    pub(super) fn new(arguments: &Arguments) -> Self {
        let number =
            |given: Option<NonZeroU64>, full: u64, quick: u64| match (given, arguments.quick) {
                (Some(number), _) => number.get(),
                (None, false) => full,
                (None, true) => quick,
            };
        let most = number(arguments.most, 100_000_000, 10_000_000);
        let forests = number(arguments.forests, 100_000_000, 10_000_000).min(most);
        Self {
            scale: match arguments.quick {
                true => Scale::Quick,
                false => Scale::Full,
            },
            most,
            compare: number(arguments.compare, 20_000_000, 1_000_000).min(most),
            forests,
            figures: number(arguments.figures, 1_000_000, 1_000_000).min(forests),
            only: arguments.only.clone(),
        }
    }

    /// The programs that were asked for.
    pub(super) fn chosen(&self) -> Vec<&'static Workload> {
        suite::chosen(&self.only)
    }
}
