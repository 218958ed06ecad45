//! Tests the names of a switch's cases. A named case leads to the source line with its label. A
//! case has no name if debug information does not determine the name.

use std::collections::BTreeSet;

use crate::rust;
use crate::support::{Workspace, library, options, weave};
use holloway_format::FunctionMap;
use holloway_weave::OptLevel::{self, O0, O1, O2, O3};

/// The functions of a program that is woven with the default options of tests.
fn functions(name: &str, bitcode: &[u8], level: OptLevel) -> Vec<FunctionMap> {
    weave(&library("22"), bitcode, &options(name, level), 0)
        .map
        .functions
}

fn c(source: &str, level: OptLevel, debug: &str) -> Vec<FunctionMap> {
    let workspace = Workspace::new();
    let flag = format!("-{level}");
    let bitcode = workspace.compile("clang-22", "cases.c", source, &[&flag, debug, "-fPIE"]);
    functions("cases.c", &bitcode, level)
}

/// The names of a function's cases. Checks that each case leads to the line with its label.
fn names(functions: &[FunctionMap], function: &str, source: &str) -> BTreeSet<String> {
    let mut all = functions.iter();
    let map = all.find(|map| &*map.name == function).expect(function);
    let mut all_names = BTreeSet::new();
    for case in &map.cases {
        let edge = &map.edges[case.edge as usize];
        let mut block = &map.blocks[edge.to as usize];
        // A block without places is only a jump. Follow it to the block that has the label's code.
        while block.places.is_empty() {
            let mut blocks = map.blocks.iter();
            let from = blocks.position(|other| std::ptr::eq(other, block));
            let mut edges = map.edges.iter();
            let next = edges.find(|edge| Some(edge.from as usize) == from);
            block = &map.blocks[next.expect("the jump's edge").to as usize];
        }
        let (mut line, mut scope) = (block.places[0].line, block.places[0].scope);
        // A place in inlined code counts as the place of the call.
        while let Some(parent) = map.scopes[scope as usize].parent {
            (line, scope) = (map.scopes[scope as usize].call_line, parent);
        }
        let line = source.lines().nth(line as usize - 1).unwrap();
        for name in &case.names {
            assert!(line.contains(&**name), "{function}: {name} leads to {line}");
            assert!(
                all_names.insert(name.to_string()),
                "{function}: {name} twice"
            );
        }
    }
    all_names
}

fn check(functions: &[FunctionMap], function: &str, source: &str, expect: &[&str]) {
    let expect: BTreeSet<String> = expect.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(names(functions, function, source), expect, "{function}");
}

const C: &str = r#"
#include <stdlib.h>
enum op { PUSH, ADD = 5, MUL, HALT = -1, SAME = 5, BIG = 100 };
typedef enum { RED, GREEN, BLUE } color;
struct ins { long arg; color color; };
union any { color color; int number; };
struct bits { color color : 8; int rest : 24; };
int g;
#define F __attribute__((noinline))
F int parameter(enum op op, int x) {
    switch (op) {
        case PUSH: g++; return x + rand();
        case MUL: g ^= x; return x * rand();
        case HALT: return rand() - x;
        case BIG: g = 3; return rand() % 17;
        default: return 3;
    }
}
F int twice_named(enum op op, int x) {
    switch (op) {
        case PUSH: g++; return x + rand();
        case ADD: g ^= x; return x * rand();
        case MUL: return rand() - x;
        case BIG: g = 3; return rand() % 17;
        default: return 3;
    }
}
F int member(const struct ins *p, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        switch (p[i].color) {
            case RED: s += rand(); break;
            case GREEN: g += rand(); break;
            case BLUE: s *= rand() + 5; break;
        }
    }
    return s;
}
F int local(const color *colors, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        color color = colors[i];
        switch (color) {
            case RED: s += rand(); break;
            case GREEN: g += rand(); break;
            case BLUE: s *= rand() + 5; break;
        }
    }
    return s;
}
F int letter(unsigned char c, int x) {
    switch (c) {
        case 'a': g += rand(); return x;
        case 'b': return rand() * x;
        case '\n': g--; return rand() ^ x;
        case 200: g = 7; return rand() + 9;
        default: return 3;
    }
}
F int number(unsigned n, int x) {
    switch (n) {
        case 4294967295: g += rand(); return x;
        case 7: return rand() * x;
        case 9: g--; return rand() ^ x;
        case 12: g = 7; return rand() + 9;
        default: return 3;
    }
}
F int in_union(const union any *any, int x) {
    switch (any->color) {
        case RED: g += rand(); return x;
        case GREEN: return rand() * x;
        case BLUE: g--; return rand() ^ x;
    }
    return 0;
}
F int in_bits(const struct bits *bits, int x) {
    switch (bits->color) {
        case RED: g += rand(); return x;
        case GREEN: return rand() * x;
        case BLUE: g--; return rand() ^ x;
    }
    return 0;
}
F int calculated(int c, int x) {
    switch (c % 5 + 'a') {
        case 'a': g += rand(); return x;
        case 'b': return rand() * x;
        case 'c': g--; return rand() ^ x;
        case 'e': g = 4; return rand() ^ x;
        default: return 0;
    }
}
int main(int argc, char **argv) {
    struct ins ins[] = {{1, RED}, {2, GREEN}};
    color colors[] = {RED, BLUE};
    union any any = {RED};
    struct bits bits = {RED, 0};
    return (parameter(argc, 1) + twice_named(argc, 2) + member(ins, 2) + local(colors, 2)
        + letter(argc, 2) + number(argc, 2) + in_union(&any, 1) + in_bits(&bits, 3) + calculated(argc, 3)) & 1;
}
"#;

#[test]
fn cases_of_c_have_the_names_of_their_labels() {
    for level in [O0, O1, O2, O3] {
        let functions = c(C, level, "-g");
        let check = |function, expect: &[&str]| check(&functions, function, C, expect);
        check("parameter", &["PUSH", "MUL", "HALT", "BIG"]);
        check("member", &["RED", "GREEN", "BLUE"]);
        check("local", &["RED", "GREEN", "BLUE"]);
        check("letter", &["'a'", "'b'", "'\\n'", "200"]);
        check("number", &["4294967295", "7", "9", "12"]);
    }
}

#[test]
fn ambiguous_cases_have_no_names() {
    for level in [O0, O2] {
        let functions = c(C, level, "-g");
        // ADD has no name, because the enumerator SAME has the same value.
        check(&functions, "twice_named", C, &["PUSH", "MUL", "BIG"]);
        for function in ["in_union", "in_bits", "calculated"] {
            check(&functions, function, C, &[]);
        }
        for map in c(C, level, "-gline-tables-only") {
            assert_eq!(map.cases, [], "{} without types", map.name);
        }
    }
}

const RUST: &str = r#"
use std::hint::black_box as b;
#[derive(Clone, Copy)]
pub enum Op { Push(u64), Add, Mul, Jump(u32), Halt }
#[derive(Clone, Copy)]
pub enum Color { Red, Green = 5, Blue, Black }
#[derive(Clone, Copy)]
pub enum Inner { A, B, C, D }
#[inline(never)]
pub fn value(op: Op, x: u64) -> u64 {
    match op {
        Op::Push(value) => b(value),
        Op::Add => b(x + 7),
        Op::Mul => b(x * 3),
        Op::Jump(to) => b(to as u64) ^ b(4),
        Op::Halt => b(9),
    }
}
#[inline(never)]
pub fn color(color: Color, x: u64) -> u64 {
    match color {
        Color::Red => b(x) + 1,
        Color::Green => b(x + 7),
        Color::Blue => b(x * 3),
        Color::Black => b(9) ^ b(4),
    }
}
#[inline(never)]
pub fn letter(c: char, x: u64) -> u64 {
    match c {
        'a' => b(x) + 1,
        'z' => b(x + 7),
        'q' => b(x * 3),
        'é' => b(9) ^ b(4),
        _ => 0,
    }
}
#[inline(never)]
pub fn niche(inner: Option<Inner>, x: u64) -> u64 {
    match inner {
        None => b(x) + 1,
        Some(Inner::A) => b(x + 7),
        Some(Inner::B) => b(x * 3),
        Some(Inner::C) => b(9) ^ b(4),
        Some(Inner::D) => b(2) ^ b(8),
    }
}
fn main() {
    let mut x = 0;
    for op in [Op::Push(1), Op::Add, Op::Mul, Op::Jump(1), Op::Halt] { x ^= value(b(op), x); }
    for one in [Color::Red, Color::Green, Color::Blue, Color::Black] { x ^= color(b(one), x); }
    for inner in [None, Some(Inner::A), Some(Inner::B), Some(Inner::C), Some(Inner::D)] { x ^= niche(b(inner), x); }
    x ^= letter(b('a'), x);
    println!("{x}");
}
"#;

#[test]
fn arms_of_rust_have_the_names_of_their_variants() {
    for level in [O0, O3] {
        let workspace = Workspace::new();
        let flag = format!("-Copt-level={}", if level == O0 { 0 } else { 3 });
        let bitcode = rust::compile(&workspace, "cases", RUST, &flag);
        let functions = functions("cases", &bitcode, level);
        let check = |function, expect: &[&str]| check(&functions, function, RUST, expect);
        check("color", &["Red", "Green", "Blue", "Black"]);
        check("letter", &["'a'", "'z'", "'q'", "'é'"]);
        check("niche", &[]);
        check("value", &["Push", "Add", "Mul", "Jump", "Halt"]);
    }
}
