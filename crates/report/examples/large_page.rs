//! Writes the page of a run with a million paths in 100,000 functions, to see how it opens:
//!
//! `cargo run --release -p holloway-report --example large_page > large.html`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "run by hand")]

#[path = "../tests/large_run/mod.rs"]
mod large_run;

use holloway_report::Options;
use holloway_report::html::{Subject, page};
use holloway_report::source::Nothing;

fn main() {
    let subject = Subject {
        title: "a million paths".to_owned(),
        ..Subject::default()
    };
    let page = page(&large_run::large_run(1), &subject, &Options::new(&Nothing));
    print!("{}", page.unwrap());
}
