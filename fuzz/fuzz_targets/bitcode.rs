//! An input of a link: all bitcode found lies inside the input and is counted. Any bytes can be
//! asked for their producer.
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
