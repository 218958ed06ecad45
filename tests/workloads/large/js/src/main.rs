//! `js SIZE FILE...` evaluates scripts, one after the other. They see SIZE as `size`, and print what
//! they return.

use boa_engine::{Context, Source};

fn main() {
    let mut args = std::env::args().skip(1);
    let size = args.next().expect("usage: js SIZE FILE...");
    let mut context = Context::default();
    let size = format!("const size = {size}; let printed = []; function print(...words) {{ printed.push(words.join(' ')); }}");
    context.eval(Source::from_bytes(&size)).expect("a size");
    for name in args {
        let text = std::fs::read(&name).expect("a readable script");
        context.eval(Source::from_bytes(&text)).expect("a script without errors");
    }
    let printed = context.eval(Source::from_bytes("printed.join('\\n')")).expect("a text");
    println!("{}", printed.as_string().expect("a text").to_std_string_escaped());
}
