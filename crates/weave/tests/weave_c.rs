//! C programs: every path counted, on every LLVM, at every level.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use holloway_weave::OptLevel::{O0, O1, O2, O3};
use support::check;

#[test]
fn loops() {
    let source = r#"
#include <stdio.h>
int main(int argc, char **argv) {
    unsigned sum = 0;
    for (int i = 0; i < 100 * argc; i++) {
        if (i % 3) { T; sum += i; }
        else if (i % 2) { T; sum ^= i; }
        for (int j = i; j > 50; j--) { T; sum += j & 1; }
        T;
    }
    T;
    printf("%u\n", sum);
}
"#;
    check("loops.c", source, &[O0, O1, O2, O3]);
}
