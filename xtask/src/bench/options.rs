//! The options of `cargo xtask bench`.

use super::way::Way;
use anyhow::{Context, Result, bail, ensure};
use holloway_tests::workload::{FLAVOURS, Flavour, MICRO, SUITE, Scale, Workload};
use std::path::PathBuf;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Small inputs, few rounds: the whole suite in under three minutes.
    pub(crate) quick: bool,
    /// Count instructions under valgrind in place of time.
    pub(crate) callgrind: bool,
    /// Build what is missing, measure nothing.
    pub(crate) build_only: bool,
    /// Where the results go as JSON, besides.
    pub(crate) json: Option<PathBuf>,
    /// Only these programs; empty: all.
    only: Vec<String>,
    /// Rounds counted, if not the usual number.
    rounds: Option<usize>,
    /// What is compared; native always is.
    flavours: Vec<Flavour>,
}

impl Options {
    /// Reads the words after `bench`.
    ///
    /// # Errors
    /// An unknown option, program or flavour.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            quick: false,
            callgrind: false,
            build_only: false,
            json: None,
            only: Vec::new(),
            rounds: None,
            flavours: vec![
                Flavour::Native,
                Flavour::Paths,
                Flavour::Edges,
                Flavour::Peer,
            ],
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .with_context(|| format!("{word} takes a value"))
            };
            match *word {
                "--quick" => options.quick = true,
                "--callgrind" => options.callgrind = true,
                "--build" => options.build_only = true,
                "--json" => options.json = Some(PathBuf::from(value()?)),
                "--only" => options.only.extend(names(value()?)?),
                "--rounds" => options.rounds = Some(number(value()?)?),
                "--flavours" => {
                    options.flavours = vec![Flavour::Native];
                    options.add_flavours(value()?)?;
                }
                "--with" => options.add_flavours(value()?)?,
                _ => bail!("unknown option {word:?}: `cargo xtask help` lists what there is"),
            }
        }
        ensure!(
            options.json.is_none() || !options.build_only,
            "--build measures nothing that --json could write"
        );
        options
            .flavours
            .sort_by_key(|f| FLAVOURS.iter().position(|g| g == f));
        options.flavours.dedup();
        Ok(options)
    }

    /// What is compared, native first.
    pub(crate) fn flavours(&self) -> &[Flavour] {
        &self.flavours
    }

    /// How they are run, native first.
    pub(crate) fn ways(&self) -> Vec<Way> {
        let ways = self.flavours.iter().flat_map(|f| Way::all_of(*f));
        ways.collect()
    }

    /// Whether nothing was left out, so that the result is worth keeping.
    pub(crate) fn is_all(&self) -> bool {
        let kept = [Flavour::Paths, Flavour::Edges, Flavour::Peer];
        self.only.is_empty() && kept.iter().all(|f| self.flavours.contains(f))
    }

    /// Those of a table that were asked for.
    pub(crate) fn chosen(
        &self,
        table: impl Iterator<Item = &'static Workload>,
    ) -> Vec<&'static Workload> {
        table
            .filter(|w| self.only.is_empty() || self.only.iter().any(|n| n == w.name))
            .collect()
    }

    /// The words after `bench` for the same programs to be built and nothing to be measured.
    pub(crate) fn words_to_build(&self) -> Vec<String> {
        let flavours = self.flavours.iter().map(|f| f.name());
        let flavours = flavours.collect::<Vec<_>>().join(",");
        let mut words = vec!["--build".to_owned(), "--flavours".to_owned(), flavours];
        if self.quick {
            words.push("--quick".to_owned());
        }
        if self.callgrind {
            words.push("--callgrind".to_owned());
        }
        if !self.only.is_empty() {
            words.extend(["--only".to_owned(), self.only.join(",")]);
        }
        words
    }

    /// How much a run does.
    pub(crate) fn scale(&self) -> Scale {
        match (self.callgrind, self.quick) {
            (true, _) => Scale::Small,
            (false, true) => Scale::Quick,
            (false, false) => Scale::Full,
        }
    }

    /// Rounds of the suite.
    pub(crate) fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 5 } else { 9 })
    }

    /// Rounds of the tight loops.
    pub(crate) fn micro_rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 3 } else { 5 })
    }

    fn add_flavours(&mut self, list: &str) -> Result<()> {
        for name in list.split(',') {
            let known = FLAVOURS.into_iter().find(|f| f.name() == name);
            let flavour = known.with_context(|| {
                let all = FLAVOURS.map(Flavour::name).join(", ");
                format!("no flavour is called {name:?}: there are {all}")
            })?;
            self.flavours.push(flavour);
        }
        Ok(())
    }
}

/// Programs' names, by commas; `micro` is all the tight loops.
fn names(list: &str) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for name in list.split(',') {
        if name == "micro" {
            all.extend(MICRO.iter().map(|w| w.name.to_owned()));
        } else if SUITE
            .into_iter()
            .chain(MICRO.iter())
            .any(|w| w.name == name)
        {
            all.push(name.to_owned());
        } else {
            let known: Vec<&str> = SUITE
                .into_iter()
                .chain(MICRO.iter())
                .map(|w| w.name)
                .collect();
            bail!(
                "no program is called {name:?}: there are {}, and micro for all that begin so",
                known.join(", ")
            );
        }
    }
    Ok(all)
}

fn number(word: &str) -> Result<usize> {
    let number = word.parse().ok().filter(|n| *n > 0);
    number.with_context(|| format!("--rounds {word}: give a number, 1 or more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// What the process that builds is asked for is what this one measures.
    #[test]
    fn the_same_programs_are_built() {
        for line in [
            "",
            "--quick --json out.json",
            "--callgrind --only micro,lua --json out.json",
            "--with closed,loops --rounds 3",
            "--flavours edges --only xz,zstd-2",
        ] {
            let asked = parse(line).expect("options");
            let words = asked.words_to_build();
            let built = parse(&words.join(" ")).expect("options");
            assert!(built.build_only && built.json.is_none(), "{words:?}");
            assert_eq!(built.flavours(), asked.flavours(), "{words:?}");
            assert_eq!(built.scale(), asked.scale(), "{words:?}");
            assert_eq!(built.only, asked.only, "{words:?}");
        }
    }

    #[test]
    fn results_go_to_a_file() {
        let options = parse("--quick --json some/out.json").expect("options");
        assert_eq!(options.json, Some(PathBuf::from("some/out.json")));
        let fails = |line| parse(line).map(drop).expect_err("no options").to_string();
        assert_eq!(fails("--json"), "--json takes a value");
        assert_eq!(
            fails("--json out.json --build"),
            "--build measures nothing that --json could write"
        );
    }
}
