//! Texts that are not graphs, and the lines of their errors.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use expect_test::{Expect, expect};
use holloway_flow::Cfg;
use proptest::prelude::*;

#[track_caller]
#[allow(
    clippy::needless_pass_by_value,
    reason = "callers pass the value of expect!"
)]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&text.parse::<Cfg>().unwrap_err().to_string());
}

#[test]
fn texts_that_are_not_graphs_are_refused() {
    check(
        "",
        expect!["line 1: one block must be the entry, another the exit"],
    );
    check(
        "b0: entry",
        expect!["line 1: one block must be the entry, another the exit"],
    );
    check(
        "e0 -> b1",
        expect!["line 1: an edge stands below the block it leaves"],
    );
    check(
        "b0: entry\n\nb0: exit",
        expect!["line 3: ids of blocks and of edges count up from 0, each once"],
    );
    check(
        "b0: entry\nb1: entry",
        expect!["line 2: this was given before"],
    );
    check(
        "b0: entry\nb2: exit",
        expect!["line 2: ids of blocks and of edges count up from 0, each once"],
    );
    check(
        "b0: entry\ne1 -> b1\nb1: exit",
        expect!["line 3: ids of blocks and of edges count up from 0, each once"],
    );
    check(
        "b0: entry\n e0 -> b1 maybe",
        expect!["line 2: neither a block (`b0:`, `b0: entry`) nor an edge (`e0 -> b1 pinned`)"],
    );
    check(
        "b0: entry\n e0 -> b99999999999",
        expect!["line 2: neither a block (`b0:`, `b0: entry`) nor an edge (`e0 -> b1 pinned`)"],
    );
    check(
        "b0: entry\n e0 -> b+1",
        expect!["line 2: neither a block (`b0:`, `b0: entry`) nor an edge (`e0 -> b1 pinned`)"],
    );
    check(
        "b0: entry\n e0 -> b7\nb1: exit\n; end",
        expect!["line 4: b7 is not a block of this graph"],
    );
    check(
        "b0: entry\n e0 -> b1 exit-edge\nb1:\nb2: exit",
        expect!["line 4: e0 is an exit edge and misses the exit"],
    );
    check(
        "b0: entry\n e0 -> b1 exit-edge\n e1 -> b1 exit-edge\nb1: exit",
        expect!["line 4: e1 is its block's second exit edge"],
    );
    check(
        "b0: entry exit",
        expect!["line 1: neither a block (`b0:`, `b0: entry`) nor an edge (`e0 -> b1 pinned`)"],
    );
}

#[test]
fn comments_and_blank_lines_are_ignored() {
    let cfg: Cfg = "; a\n\nb0: entry ; b\n e0 -> b1 ; c\nb1: exit;"
        .parse()
        .unwrap();
    expect![[r"
        b0: entry
          e0 -> b1
        b1: exit
    "]]
    .assert_eq(&cfg.to_string());
}

proptest! {
    #[test]
    fn any_text_is_a_graph_or_an_error(text in "([be:;0-9 >\n-]|b[0-3]: |entry|exit|e[0-3] -> b[0-3]|pinned|cut|exit-edge|\n){0,60}") {
        let _ = text.parse::<Cfg>();
    }
}
