//! `css FILE ROUNDS` minifies a style sheet for browsers without nesting and new colors, and prints its
//! size and a checksum.

use lightningcss::printer::PrinterOptions;
use lightningcss::stylesheet::{MinifyOptions, ParserOptions, StyleSheet};
use lightningcss::targets::{Browsers, Targets};

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().expect("usage: css FILE ROUNDS");
    let rounds = args.next().and_then(|rounds| rounds.parse().ok());
    let text = std::fs::read_to_string(&name).expect("a readable style sheet");
    let targets = Targets::from(Browsers {
        chrome: Some(80 << 16),
        safari: Some(13 << 16),
        ..Browsers::default()
    });
    for _ in 0..rounds.unwrap_or(1) {
        let mut sheet = StyleSheet::parse(&text, ParserOptions::default()).expect("a style sheet");
        let minify = MinifyOptions { targets, ..MinifyOptions::default() };
        sheet.minify(minify).expect("rules that can be minified");
        let print = PrinterOptions { minify: true, targets, ..PrinterOptions::default() };
        let css = sheet.to_css(print).expect("printable rules").code;
        let sum = css.bytes().fold(5381u64, |a, b| a.wrapping_mul(33).wrapping_add(u64::from(b)));
        println!("{} {} {sum:x}", text.len(), css.len());
    }
}
