//! Fuzzes the search for bitcode in the inputs of a link. Bitcode must be inside the input, and
//! must be exactly one module. `bitcode_producer` must accept any bytes.
#![no_main]

use holloway_llvm::bitcode_producer;
use holloway_weave::input::{InputKind, Sections, classify, has_code};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for sections in [Sections::Lto, Sections::Embedded] {
        if let Ok(InputKind::Bitcode(range) | InputKind::FatObject(range)) =
            classify(bytes, sections)
        {
            assert_eq!(holloway_llvm::count_modules(&bytes[range.clone()]), Ok(1));
            let _ = bitcode_producer(&bytes[range]);
        }
    }
    let _ = bitcode_producer(bytes);
    let _ = has_code(bytes);
});
