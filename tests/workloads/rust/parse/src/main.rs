//! `parse ROUNDS` reads every Rust file in `sources`, walks its syntax tree, writes it out again as tokens, so many
//! times, and prints what it saw.

use quote::ToTokens;
use syn::visit::{self, Visit};

#[derive(Debug, Default)]
struct Census {
    items: usize,
    expressions: usize,
    types: usize,
    letters: usize,
}

impl<'ast> Visit<'ast> for Census {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        self.items += 1;
        visit::visit_item(self, item);
    }
    fn visit_expr(&mut self, expression: &'ast syn::Expr) {
        self.expressions += 1;
        visit::visit_expr(self, expression);
    }
    fn visit_type(&mut self, ty: &'ast syn::Type) {
        self.types += 1;
        visit::visit_type(self, ty);
    }
    fn visit_ident(&mut self, name: &'ast proc_macro2::Ident) {
        self.letters += name.to_string().len();
    }
}

fn main() {
    let rounds: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("usage: parse ROUNDS");
    let files = std::fs::read_dir("sources").expect("a folder of sources");
    let mut names: Vec<_> = files.map(|f| f.expect("an entry").path()).collect();
    names.sort();
    let texts: Vec<String> = names.iter().map(|n| std::fs::read_to_string(n).expect("a text")).collect();
    for round in 0..rounds {
        let (mut census, mut written) = (Census::default(), 0);
        for text in &texts {
            let file = syn::parse_file(text).expect("Rust");
            census.visit_file(&file);
            written += file.into_token_stream().to_string().len();
        }
        if round + 1 == rounds {
            println!("{} files {written} {census:?}", texts.len());
        }
    }
}
