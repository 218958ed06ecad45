//! Fuzzes the reader of static archives. All members must be inside the archive. An archive built
//! from the members must have the same contents.
#![no_main]

use holloway_weave::archive::{Archive, MemberLocation, build};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("lib.a");
    let Ok(archive) = Archive::parse(bytes, path) else {
        return;
    };
    let inside: Vec<_> = archive
        .members
        .iter()
        .filter(|member| matches!(member.location, MemberLocation::Inside(_)))
        .map(|member| {
            (
                member.name.clone(),
                member.data(bytes).expect("the member is inside"),
            )
        })
        .collect();
    let Ok(rebuilt) = build(&inside) else { return };
    let archive = Archive::parse(&rebuilt, path).expect("a rebuilt archive can be read");
    let contents = archive
        .members
        .iter()
        .map(|member| member.data(&rebuilt).expect("the member is inside"));
    assert!(contents.eq(inside.iter().map(|(_, content)| content.clone())));
});
