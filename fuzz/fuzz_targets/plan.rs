//! Fuzzes the reader of plans. A plan must be the same after writing and reading it.
#![no_main]

use holloway_format::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(plan) = Plan::parse(bytes) else {
        return;
    };
    for (name, hash, function) in plan.functions() {
        assert_eq!(plan.find(name, hash), Some(function));
    }
    assert_eq!(Plan::parse(plan.to_text().as_bytes()), Ok(plan));
});
