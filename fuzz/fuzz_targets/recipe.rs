//! Fuzzes the reader of recipes: with the bytes as they are, and with a repaired checksum. A recipe
//! must be the same after writing and reading it.
#![no_main]

use holloway_format::Recipe;
use holloway_testkit::repair;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut repaired = bytes.to_vec();
    repair::recipe(&mut repaired);
    read(&repaired);
});

fn read(bytes: &[u8]) {
    if let Ok(recipe) = Recipe::decode(bytes) {
        let encoded = recipe.encode().expect("encoded");
        assert_eq!(Recipe::decode(&encoded), Ok(recipe));
    }
}
