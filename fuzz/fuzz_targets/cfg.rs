//! Fuzzes the text form of graphs. A parsed graph must print as a text that parses to the same
//! graph. In numbered graphs, the first path numbers must regenerate their paths.
#![no_main]

use holloway_flow::{Cfg, Dag, Numbering, PathId, SuccessorOrder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(cfg) = text.parse::<Cfg>() else { return };
    assert_eq!(cfg.to_string().parse::<Cfg>().as_ref(), Ok(&cfg));
    let Ok(dag) = Dag::new(&cfg) else { return };
    let Ok(numbering) = Numbering::new(&cfg, dag, SuccessorOrder::MostPathsLast, 1 << 31) else {
        return;
    };
    for id in (0..numbering.path_count().min(64)).map(PathId) {
        let path = numbering.regenerate(id).expect("a path for each number");
        assert_eq!(numbering.number_of(&path), Some(id));
    }
});
