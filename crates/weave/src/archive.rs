//! Static archives and rlibs: lists their members, and writes archives with woven members.
//!
//! A rewritten archive keeps the order and names of its members, machine code and `lib.rmeta`
//! included. It always has a symbol index (archives of bitcode made by a plain `ar` have none) and
//! no dates or owners: the same input gives the same output. Members of a thin archive are read
//! from their own files, and written into an ordinary archive.

use std::borrow::Cow;
use std::io::Cursor;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ar_archive_writer::{
    ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream,
};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use thiserror::Error;

/// An archive's members, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// In the archive's order.
    pub members: Vec<Member>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name as stored.
    pub name: Vec<u8>,
    /// Where its bytes are.
    pub place: MemberPlace,
}

/// Where a member's bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberPlace {
    /// In the archive.
    Inside(Range<usize>),
    /// In this file (thin archive).
    File(PathBuf),
}

/// Why an archive cannot be read or written.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// A header is wrong.
    #[error("archive is truncated or damaged ({0}); build it again")]
    Broken(String),
    /// A member of a thin archive cannot be read.
    #[error("member {} of the thin archive cannot be read: {problem}", path.display())]
    Member {
        /// The member's file.
        path: PathBuf,
        /// Why it cannot be read.
        problem: std::io::Error,
    },
    /// The new archive cannot be built.
    #[error("archive cannot be written anew: {0}")]
    Write(std::io::Error),
}

impl Archive {
    /// Lists the members of the archive `bytes`, which was read from `path` (members of a thin
    /// archive are named from its directory).
    ///
    /// # Errors
    /// When a header is wrong or a member reaches beyond the end.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, ArchiveError> {
        let broken = |error: object::Error| ArchiveError::Broken(error.to_string());
        let archive = ArchiveFile::parse(bytes).map_err(broken)?;
        let dir = path.parent().unwrap_or(Path::new(""));
        let mut members = Vec::new();
        for member in archive.members() {
            let member = member.map_err(broken)?;
            let name = member.name().to_vec();
            let place = if member.is_thin() {
                MemberPlace::File(dir.join(std::ffi::OsStr::from_bytes(&name)))
            } else {
                member.data(bytes).map_err(broken)?;
                let (start, size) = member.file_range();
                let range = usize::try_from(start)
                    .ok()
                    .zip(usize::try_from(start + size).ok());
                MemberPlace::Inside(
                    range
                        .map(|(start, end)| start..end)
                        .expect("data() has found the range inside"),
                )
            };
            members.push(Member { name, place });
        }
        Ok(Self { members })
    }
}

impl Member {
    /// The member's bytes; `archive` are the bytes of its archive.
    ///
    /// # Errors
    /// When a thin archive's member cannot be read.
    pub fn data<'a>(&self, archive: &'a [u8]) -> Result<Cow<'a, [u8]>, ArchiveError> {
        match &self.place {
            MemberPlace::Inside(range) => Ok(Cow::Borrowed(&archive[range.clone()])),
            MemberPlace::File(path) => match std::fs::read(path) {
                Ok(bytes) => Ok(Cow::Owned(bytes)),
                Err(problem) => Err(ArchiveError::Member {
                    path: path.clone(),
                    problem,
                }),
            },
        }
    }
}

/// Writes an archive of `members` (name, content), with an index.
///
/// # Errors
/// When a member's symbols cannot be read.
pub fn build(members: &[(Vec<u8>, Cow<'_, [u8]>)]) -> Result<Vec<u8>, ArchiveError> {
    for (name, data) in members {
        check_symbols(name, data)?;
    }
    let members: Vec<_> = members
        .iter()
        .map(|(name, data)| NewArchiveMember {
            buf: Box::new(&**data),
            object_reader: &DEFAULT_OBJECT_READER,
            member_name: file_name(name),
            mtime: 0,
            uid: 0,
            gid: 0,
            perms: 0o644,
        })
        .collect();
    let mut out = Cursor::new(Vec::new());
    write_archive_to_stream(&mut out, &members, ArchiveKind::Gnu, false, Some(false))
        .map_err(ArchiveError::Write)?;
    Ok(out.into_inner())
}

/// The writer panics at a symbol whose name can't be read.
fn check_symbols(member: &[u8], data: &[u8]) -> Result<(), ArchiveError> {
    let Ok(file) = object::File::parse(data) else {
        return Ok(());
    };
    match file.symbols().find_map(|symbol| symbol.name_bytes().err()) {
        None => Ok(()),
        Some(why) => {
            let why = format!("member {}: {why}", String::from_utf8_lossy(member));
            Err(ArchiveError::Write(std::io::Error::other(why)))
        }
    }
}

/// Members of thin archives are stored with their path. The writer fills short names up to 16
/// characters, not bytes, which breaks the header unless they are ASCII; long names end at a
/// newline; and one without a name would be the index.
fn file_name(name: &[u8]) -> String {
    let last = name
        .rsplit(|&byte| byte == b'/')
        .find(|part| !part.is_empty())
        .unwrap_or(b"_");
    let text = String::from_utf8_lossy(last).replace(|c: char| c.is_ascii_control(), "_");
    if text.len() < 16 {
        text.replace(|c: char| !c.is_ascii(), "_")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_make_a_sound_archive() {
        let cases: [(&[u8], &str); 6] = [
            ("größe.o".as_bytes(), "gr__e.o"),
            ("a-long-größe-name.o".as_bytes(), "a-long-größe-name.o"),
            (b"\x94.o", "_.o"),
            (b"", "_"),
            (b"a\nvery\0long name.o", "a_very_long name.o"),
            (b"dir/a.o", "a.o"),
        ];
        for (name, stored) in cases {
            let bytes = build(&[(name.to_vec(), Cow::Borrowed(&b"content"[..]))]).expect("built");
            let read = Archive::parse(&bytes, Path::new("x.a")).expect("read");
            assert_eq!(read.members.len(), 1, "{stored}");
            assert_eq!(read.members[0].name, stored.as_bytes());
        }
    }

    #[test]
    fn a_member_with_a_damaged_symbol_is_an_error() {
        use object::write::{Object, Symbol, SymbolSection};
        let mut object = Object::new(
            object::BinaryFormat::Elf,
            object::Architecture::X86_64,
            object::Endianness::Little,
        );
        object.add_symbol(Symbol {
            name: b"name".to_vec(),
            value: 1,
            size: 0,
            kind: object::SymbolKind::Data,
            scope: object::SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Absolute,
            flags: object::SymbolFlags::None,
        });
        let good = object.write().expect("an object");
        let build = |data: &[u8]| build(&[(b"a.o".to_vec(), Cow::Borrowed(data))]);
        assert!(build(&good).is_ok());
        let mut errors = 0;
        for at in 64..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x80;
            errors += usize::from(build(&bad).is_err());
        }
        assert!(errors > 0);
    }
}
