//! Static archives and rlibs: lists their members, and writes archives with woven members.
//!
//! A rewritten archive keeps the order and names of all members, including machine code and
//! `lib.rmeta`. It always has a symbol index, which archives of bitcode from a plain `ar` lack. It
//! has no dates or owners, so the same input gives the same output. A thin archive names its
//! members' files instead of containing them. It is rewritten as an ordinary archive.

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
    /// The members in the archive's order.
    pub members: Vec<Member>,
}

/// A member of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The member's name as stored.
    pub name: Vec<u8>,
    /// Where the member's bytes are.
    pub location: MemberLocation,
}

/// Where a member's bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberLocation {
    /// At these offsets of the archive.
    Inside(Range<usize>),
    /// In this file, because the archive is thin.
    File(PathBuf),
}

/// Why an archive cannot be read or written.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// A header of the archive is wrong.
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
    /// Lists the members of the archive `bytes`, which was read from `path`. A thin archive names
    /// its members relative to its directory.
    ///
    /// # Errors
    /// If a header is wrong or a member reaches beyond the end.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, ArchiveError> {
        let broken = |error: object::Error| ArchiveError::Broken(error.to_string());
        let archive = ArchiveFile::parse(bytes).map_err(broken)?;
        let dir = path.parent().unwrap_or(Path::new(""));
        let mut members = Vec::new();
        for member in archive.members() {
            let member = member.map_err(broken)?;
            let name = member.name().to_vec();
            let location = if member.is_thin() {
                MemberLocation::File(dir.join(std::ffi::OsStr::from_bytes(&name)))
            } else {
                member.data(bytes).map_err(broken)?;
                let (start, size) = member.file_range();
                let range = usize::try_from(start)
                    .ok()
                    .zip(usize::try_from(start + size).ok());
                MemberLocation::Inside(
                    range
                        .map(|(start, end)| start..end)
                        .expect("data() has found the range inside"),
                )
            };
            members.push(Member { name, location });
        }
        Ok(Self { members })
    }
}

impl Member {
    /// Returns the member's bytes. `archive` are the bytes of its archive.
    ///
    /// # Errors
    /// If the file of a thin archive's member cannot be read.
    pub fn data<'a>(&self, archive: &'a [u8]) -> Result<Cow<'a, [u8]>, ArchiveError> {
        match &self.location {
            MemberLocation::Inside(range) => Ok(Cow::Borrowed(&archive[range.clone()])),
            MemberLocation::File(path) => match std::fs::read(path) {
                Ok(bytes) => Ok(Cow::Owned(bytes)),
                Err(problem) => Err(ArchiveError::Member {
                    path: path.clone(),
                    problem,
                }),
            },
        }
    }
}

/// Writes an archive of `members` (name, content), with a symbol index.
///
/// # Errors
/// If a member's symbols cannot be read.
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

/// Checks that the name of every symbol can be read, because the archive writer panics otherwise.
fn check_symbols(member: &[u8], data: &[u8]) -> Result<(), ArchiveError> {
    let Ok(file) = object::File::parse(data) else {
        return Ok(());
    };
    match file.symbols().find_map(|symbol| symbol.name_bytes().err()) {
        None => Ok(()),
        Some(error) => {
            let message = format!("member {}: {error}", String::from_utf8_lossy(member));
            Err(ArchiveError::Write(std::io::Error::other(message)))
        }
    }
}

/// The name under which a member is written: its file name, changed so that the header is sound.
/// - A thin archive stores a member's path. Only the path's last component is kept.
/// - The writer pads short names to 16 characters, not bytes. So short names must be ASCII.
/// - Long names end at a newline. So control characters are replaced.
/// - A member without a name would be taken for the symbol index. So its name becomes `_`.
fn file_name(name: &[u8]) -> String {
    let last = name
        .rsplit(|&byte| byte == b'/')
        .find(|component| !component.is_empty())
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
    fn unusual_names_make_a_sound_archive() {
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
        for offset in 64..good.len() {
            let mut bad = good.clone();
            bad[offset] ^= 0x80;
            errors += usize::from(build(&bad).is_err());
        }
        assert!(errors > 0);
    }
}
