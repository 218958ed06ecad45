//! `markdown FILE` makes HTML of a text, with all extensions, five times, and prints its size and a checksum.

use pulldown_cmark::{Options, Parser, html};

fn main() {
    let name = std::env::args().nth(1).expect("usage: markdown FILE");
    let text = std::fs::read_to_string(&name).expect("a readable text");
    let mut page = String::new();
    for _ in 0..5 {
        page.clear();
        html::push_html(&mut page, Parser::new_ext(&text, Options::all()));
    }
    let sum = page.bytes().fold(5381u64, |a, b| a.wrapping_mul(33).wrapping_add(u64::from(b)));
    println!("{} {} {sum:x}", text.len(), page.len());
}
