//! A static archive: all members found lie inside the archive. Written again, they form an archive
//! with the same contents.
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
                member.data(bytes).expect("it lies inside"),
            )
        })
        .collect();
    let Ok(built) = build(&inside) else { return };
    let again = Archive::parse(&built, path).expect("what was built is read");
    let contents = again
        .members
        .iter()
        .map(|member| member.data(&built).expect("it lies inside"));
    assert!(contents.eq(inside.iter().map(|(_, content)| content.clone())));
});
