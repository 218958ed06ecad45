//! Finds the file a `-l` means, as the linker will: an archive found this way may hold bitcode.
//!
//! Directories are tried in order. In each, the shared library comes before the archive, unless the
//! line asks for static libraries at that place. `-L=dir` and `-L$SYSROOT/dir` lie below the
//! sysroot. After the line's own directories come those of `LIBRARY_PATH` (for a driver) and the
//! system's: archives in `/usr/local/lib` may well be built by `holloway cc`. Files for another
//! machine are passed over, because a cross linker looks in the host's directories too.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use holloway_weave::image::Machine;
use holloway_weave::input::is_bitcode;
use object::ReadCache;
use object::elf::{EM_AARCH64, EM_X86_64};
use object::read::archive::ArchiveFile;

use crate::line::{Flavor, Library, Line, Output};

/// The directories of one link.
#[derive(Debug)]
pub(crate) struct Search {
    dirs: Vec<PathBuf>,
    /// Shared libraries are taken where the line doesn't ask for static ones.
    takes_shared: bool,
    machine: Option<Machine>,
}

impl Search {
    /// The directories of `line`.
    pub(crate) fn new(line: &Line) -> Self {
        let mut dirs: Vec<PathBuf> = line
            .search
            .iter()
            .map(|dir| below_sysroot(dir, line.sysroot.as_deref()))
            .collect();
        if line.flavor == Flavor::Driver
            && let Some(paths) = std::env::var_os("LIBRARY_PATH")
        {
            dirs.extend(std::env::split_paths(&paths).filter(|dir| !dir.as_os_str().is_empty()));
        }
        let root = line.sysroot.clone().unwrap_or_else(|| "/".into());
        let machine = match line.machine {
            Some(Machine::X86_64) => "x86_64",
            Some(Machine::Aarch64) => "aarch64",
            None => std::env::consts::ARCH,
        };
        let triple = format!("{machine}-linux-gnu");
        for dir in ["usr/local/lib", "lib", "usr/lib"] {
            dirs.push(root.join(dir).join(&triple));
        }
        for dir in [
            "usr/local/lib64",
            "usr/local/lib",
            "lib64",
            "lib",
            "usr/lib64",
            "usr/lib",
        ] {
            dirs.push(root.join(dir));
        }
        dirs.push(root.join("usr").join(&triple).join("lib"));
        Self {
            dirs,
            takes_shared: line.output_kind != Output::Relocatable,
            machine: line.machine,
        }
    }

    /// The archive that `-l` means. Nothing if it means a shared library or is not found.
    pub(crate) fn archive(&self, library: &Library) -> Option<PathBuf> {
        let name = library.name.as_os_str();
        if let Some(file) = name.as_bytes().strip_prefix(b":") {
            let file = OsStr::from_bytes(file);
            let found = self
                .dirs
                .iter()
                .map(|dir| dir.join(file))
                .find(|path| self.takes(path));
            return found.filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "a" || extension == "rlib")
            });
        }
        let file = |extension: &str| format!("lib{}.{extension}", name.display());
        let (shared, archive) = (file("so"), file("a"));
        for dir in &self.dirs {
            if self.takes_shared && !library.only_static && self.takes(&dir.join(&shared)) {
                return None;
            }
            let path = dir.join(&archive);
            if self.takes(&path) {
                return Some(path);
            }
        }
        None
    }

    /// Whether the shared C library is musl: a library, where glibc has a linker script.
    pub(crate) fn finds_musl(&self) -> bool {
        let mut files = self.dirs.iter().map(|dir| dir.join("libc.so"));
        let found = files.find(|path| self.takes(path));
        found.is_some_and(|path| {
            let head = File::open(path).ok().and_then(|file| head(&file, 0));
            head.is_some_and(|head| is_elf(&head))
        })
    }

    /// Whether the linker would take a file: it is there, and for no other machine.
    fn takes(&self, path: &Path) -> bool {
        let Some(machine) = self.machine.filter(|_| path.is_file()) else {
            return path.is_file();
        };
        machine_of(path).is_none_or(|found| found == machine_number(machine))
    }
}

/// Bytes of an ELF header up to the end of `e_machine`.
const HEAD: usize = 20;

/// The machine (ELF's number) of a shared library, or of an archive by its first object. Nothing
/// for linker scripts and bitcode.
fn machine_of(path: &Path) -> Option<u16> {
    let file = File::open(path).ok()?;
    if let Some(own) = head(&file, 0).filter(is_elf) {
        return Some(machine(own));
    }
    let cache = ReadCache::new(&file);
    let archive = ArchiveFile::parse(&cache).ok()?;
    if archive.is_thin() {
        return None;
    }
    let members = archive.members().map_while(Result::ok);
    let mut heads = members.filter_map(|member| head(&file, member.file_range().0));
    let first = heads.find(|head| is_elf(head) || is_bitcode(head));
    first.filter(is_elf).map(machine)
}

fn machine_number(machine: Machine) -> u16 {
    match machine {
        Machine::X86_64 => EM_X86_64.0,
        Machine::Aarch64 => EM_AARCH64.0,
    }
}

fn head(file: &File, at: u64) -> Option<[u8; HEAD]> {
    let mut head = [0; HEAD];
    file.read_exact_at(&mut head, at).ok()?;
    Some(head)
}

fn is_elf(head: &[u8; HEAD]) -> bool {
    head.starts_with(b"\x7fELF")
}

fn machine(head: [u8; HEAD]) -> u16 {
    u16::from_le_bytes([head[18], head[19]])
}

fn below_sysroot(dir: &Path, sysroot: Option<&Path>) -> PathBuf {
    let bytes = dir.as_os_str().as_bytes();
    match bytes
        .strip_prefix(b"=")
        .or_else(|| bytes.strip_prefix(b"$SYSROOT"))
    {
        Some(rest) => {
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            sysroot
                .unwrap_or(Path::new("/"))
                .join(OsStr::from_bytes(rest))
        }
        None => dir.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u16) -> Vec<u8> {
        let mut head = b"\x7fELF\x02\x01\x01".to_vec();
        head.resize(18, 0);
        head.extend(machine.to_le_bytes());
        head
    }

    /// The archive that a line finds for `-lfoo` in `first/` and `second/`, and whether it finds
    /// musl.
    fn find(words: &str, files: &[(&str, Vec<u8>)]) -> (Option<String>, bool) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let dirs = ["first", "second"].map(|dir| home.path().join(dir));
        for dir in &dirs {
            std::fs::create_dir(dir).expect("made");
        }
        for (name, bytes) in files {
            std::fs::write(home.path().join(name), bytes).expect("written");
        }
        let mut args: Vec<_> = words.split_whitespace().map(Into::into).collect();
        for dir in &dirs {
            args.extend(["-L".into(), dir.clone().into_os_string()]);
        }
        let search = Search::new(&Line::parse(Flavor::Ld, args));
        let found = search.archive(&Library {
            name: "foo".into(),
            only_static: false,
        });
        let found = found.map(|path| {
            let path = path.strip_prefix(home.path()).expect("found there");
            path.display().to_string()
        });
        (found, search.finds_musl())
    }

    #[test]
    fn files_of_another_machine_are_passed_over() {
        let archive = |machine: u16| {
            let members = [("a.o".into(), elf(machine).into())];
            holloway_weave::archive::build(&members).expect("an archive")
        };
        let (here, there) = (EM_X86_64.0, EM_AARCH64.0);
        let (first, second) = ("first/libfoo.a", "second/libfoo.a");
        let both = [(first, archive(here)), (second, archive(there))];
        let found = |words: &str, files: &[_]| find(words, files).0;
        assert_eq!(found("", &both).as_deref(), Some(first));
        assert_eq!(found("-m elf_x86_64", &both).as_deref(), Some(first));
        assert_eq!(found("-m aarch64linux", &both).as_deref(), Some(second));
        // The first object decides. Bitcode may be for any machine.
        let mixed = |first: &[u8]| {
            let objects = [first.to_vec(), elf(here)].map(Into::into);
            let names = ["a.o", "b.o"].map(Into::into);
            let members: Vec<_> = names.into_iter().zip(objects).collect();
            let first = holloway_weave::archive::build(&members).expect("an archive");
            [("first/libfoo.a", first), (second, archive(there))]
        };
        let cross = "-m aarch64linux";
        let bitcode = b"BC\xC0\xDE................";
        let notes = b"names and versions, no object";
        assert_eq!(found(cross, &mixed(bitcode)).as_deref(), Some(first));
        assert_eq!(found(cross, &mixed(notes)).as_deref(), Some(second));
        // A shared library of another machine is passed over. A script may be for any machine.
        let shared = |bytes| [("first/libfoo.so", bytes), (second, archive(there))];
        assert_eq!(found(cross, &shared(elf(here))).as_deref(), Some(second));
        assert_eq!(found(cross, &shared(elf(there))), None);
        assert_eq!(found(cross, &shared(b"INPUT(libbar.so)".to_vec())), None);
    }

    #[test]
    fn musl_is_known_by_its_library() {
        let libc = |bytes| {
            [
                ("first/libc.so", elf(EM_AARCH64.0)),
                ("second/libc.so", bytes),
            ]
        };
        let finds = |files: &[_]| find("-m elf_x86_64", files).1;
        assert!(finds(&libc(elf(EM_X86_64.0))));
        assert!(!finds(&libc(b"GROUP ( libc.so.6 )".to_vec())));
    }
}
