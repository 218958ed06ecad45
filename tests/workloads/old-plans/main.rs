//! `old-plans FILE` makes HTML of a text, five times, and prints its size and a checksum. It is built
//! with many versions of pulldown-cmark, so it uses only extensions that all of them have.

use pulldown_cmark::{Options, Parser, html};

fn main() {
    let name = std::env::args().nth(1).expect("usage: old-plans FILE");
    let text = std::fs::read_to_string(&name).expect("a readable text");
    let mut options = Options::ENABLE_TABLES;
    options.insert(Options::ENABLE_FOOTNOTES);
    options.insert(Options::ENABLE_STRIKETHROUGH);
    options.insert(Options::ENABLE_TASKLISTS);
    let mut page = String::new();
    for _ in 0..5 {
        page.clear();
        html::push_html(&mut page, Parser::new_ext(&text, options));
    }
    let add = |a: u64, b: u8| a.wrapping_mul(33).wrapping_add(u64::from(b));
    let sum = page.bytes().fold(5381, add);
    println!("{} {} {sum:x}", text.len(), page.len());
}
