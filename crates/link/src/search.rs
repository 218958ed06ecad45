//! Finds the file of a `-l` option as the linker will find it, because an archive may contain
//! bitcode.
//!
//! The linker searches these directories in order:
//!
//! 1. the directories of `-L`. `-L=dir` and `-L$SYSROOT/dir` mean a directory below the sysroot.
//! 2. the directories in `LIBRARY_PATH`, if the line is for a compiler driver.
//! 3. the directories of the system. Their archives may contain bitcode too: `holloway cc` may have
//!    built an archive in `/usr/local/lib`.
//!
//! In each directory, the linker prefers the shared library over the archive, unless `-Bstatic`
//! precedes the `-l`. The search skips files for another machine, because a cross linker also
//! searches the directories of the host.

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

/// The search for libraries in one link.
#[derive(Debug)]
pub(crate) struct LibrarySearch {
    /// The directories, in order.
    dirs: Vec<PathBuf>,
    /// Whether the linker accepts shared libraries, except after `-Bstatic`.
    accepts_shared: bool,
    /// The machine of the link, if known.
    machine: Option<Machine>,
}

impl LibrarySearch {
    /// Lists the directories that the linker searches for `line`.
    pub(crate) fn new(line: &Line) -> Self {
        let mut dirs: Vec<PathBuf> = line
            .library_directories
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
            accepts_shared: line.output_kind != Output::Relocatable,
            machine: line.machine,
        }
    }

    /// Finds the archive of a `-l` option. Returns `None` if the linker will use a shared library,
    /// or find no file.
    pub(crate) fn archive(&self, library: &Library) -> Option<PathBuf> {
        let name = library.name.as_os_str();
        if let Some(file) = name.as_bytes().strip_prefix(b":") {
            let file = OsStr::from_bytes(file);
            let first = self
                .dirs
                .iter()
                .map(|dir| dir.join(file))
                .find(|path| self.accepts(path));
            return first.filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "a" || extension == "rlib")
            });
        }
        let file = |extension: &str| format!("lib{}.{extension}", name.display());
        let (shared, archive) = (file("so"), file("a"));
        for dir in &self.dirs {
            if self.accepts_shared && !library.only_static && self.accepts(&dir.join(&shared)) {
                return None;
            }
            let path = dir.join(&archive);
            if self.accepts(&path) {
                return Some(path);
            }
        }
        None
    }

    /// Returns whether the shared C library is musl. musl's `libc.so` is a shared library, whereas
    /// glibc's `libc.so` is a linker script.
    pub(crate) fn finds_musl(&self) -> bool {
        let mut files = self.dirs.iter().map(|dir| dir.join("libc.so"));
        let libc = files.find(|path| self.accepts(path));
        libc.is_some_and(|path| {
            let header = File::open(path).ok().and_then(|file| elf_header(&file, 0));
            header.is_some_and(|header| is_elf(&header))
        })
    }

    /// Returns whether the linker would accept a file: the file exists, and is not for another
    /// machine.
    fn accepts(&self, path: &Path) -> bool {
        if !path.is_file() {
            return false;
        }
        let Some(machine) = self.machine else {
            return true;
        };
        file_machine(path).is_none_or(|number| number == machine_number(machine))
    }
}

/// Bytes of an ELF header up to the end of `e_machine`.
const HEADER_SIZE: usize = 20;

/// Returns the machine of a shared library, or of an archive's first object, as ELF's number.
/// Returns `None` for linker scripts and bitcode.
fn file_machine(path: &Path) -> Option<u16> {
    let file = File::open(path).ok()?;
    if let Some(header) = elf_header(&file, 0).filter(is_elf) {
        return Some(header_machine(header));
    }
    let cache = ReadCache::new(&file);
    let archive = ArchiveFile::parse(&cache).ok()?;
    if archive.is_thin() {
        return None;
    }
    let members = archive.members().map_while(Result::ok);
    let mut headers = members.filter_map(|member| elf_header(&file, member.file_range().0));
    let first_object = headers.find(|header| is_elf(header) || is_bitcode(header));
    first_object.filter(is_elf).map(header_machine)
}

fn machine_number(machine: Machine) -> u16 {
    match machine {
        Machine::X86_64 => EM_X86_64.0,
        Machine::Aarch64 => EM_AARCH64.0,
    }
}

/// Reads the bytes at `offset` where an ELF file or an archive member would have its header.
fn elf_header(file: &File, offset: u64) -> Option<[u8; HEADER_SIZE]> {
    let mut header = [0; HEADER_SIZE];
    file.read_exact_at(&mut header, offset).ok()?;
    Some(header)
}

fn is_elf(header: &[u8; HEADER_SIZE]) -> bool {
    header.starts_with(b"\x7fELF")
}

/// Returns `e_machine` of an ELF header.
fn header_machine(header: [u8; HEADER_SIZE]) -> u16 {
    u16::from_le_bytes([header[18], header[19]])
}

fn below_sysroot(dir: &Path, sysroot: Option<&Path>) -> PathBuf {
    let bytes = dir.as_os_str().as_bytes();
    match bytes
        .strip_prefix(b"=")
        .or_else(|| bytes.strip_prefix(b"$SYSROOT"))
    {
        Some(below) => {
            let relative = below.strip_prefix(b"/").unwrap_or(below);
            sysroot
                .unwrap_or(Path::new("/"))
                .join(OsStr::from_bytes(relative))
        }
        None => dir.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u16) -> Vec<u8> {
        let mut header = b"\x7fELF\x02\x01\x01".to_vec();
        header.resize(18, 0);
        header.extend(machine.to_le_bytes());
        header
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
        let search = LibrarySearch::new(&Line::parse(Flavor::Ld, args));
        let archive = search.archive(&Library {
            name: "foo".into(),
            only_static: false,
        });
        let archive = archive.map(|path| {
            let path = path.strip_prefix(home.path()).expect("a file in `home`");
            path.display().to_string()
        });
        (archive, search.finds_musl())
    }

    #[test]
    fn files_of_another_machine_are_skipped() {
        let archive = |machine: u16| {
            let members = [("a.o".into(), elf(machine).into())];
            holloway_weave::archive::build(&members).expect("an archive")
        };
        let (x86_64, aarch64) = (EM_X86_64.0, EM_AARCH64.0);
        let (first, second) = ("first/libfoo.a", "second/libfoo.a");
        let both = [(first, archive(x86_64)), (second, archive(aarch64))];
        let find_archive = |words: &str, files: &[_]| find(words, files).0;
        assert_eq!(find_archive("", &both).as_deref(), Some(first));
        assert_eq!(find_archive("-m elf_x86_64", &both).as_deref(), Some(first));
        assert_eq!(
            find_archive("-m aarch64linux", &both).as_deref(),
            Some(second)
        );
        // The first object decides. Bitcode may be for any machine.
        let mixed = |first_member: &[u8]| {
            let objects = [first_member.to_vec(), elf(x86_64)].map(Into::into);
            let names = ["a.o", "b.o"].map(Into::into);
            let members: Vec<_> = names.into_iter().zip(objects).collect();
            let mixed = holloway_weave::archive::build(&members).expect("an archive");
            [("first/libfoo.a", mixed), (second, archive(aarch64))]
        };
        let cross = "-m aarch64linux";
        let bitcode = b"BC\xC0\xDE................";
        let notes = b"names and versions, no object";
        assert_eq!(find_archive(cross, &mixed(bitcode)).as_deref(), Some(first));
        assert_eq!(find_archive(cross, &mixed(notes)).as_deref(), Some(second));
        // A shared library for another machine is skipped. A script may be for any machine.
        let shared = |bytes| [("first/libfoo.so", bytes), (second, archive(aarch64))];
        let script = b"INPUT(libbar.so)".to_vec();
        assert_eq!(
            find_archive(cross, &shared(elf(x86_64))).as_deref(),
            Some(second)
        );
        assert_eq!(find_archive(cross, &shared(elf(aarch64))), None);
        assert_eq!(find_archive(cross, &shared(script)), None);
    }

    #[test]
    fn musl_is_recognized_by_its_shared_library() {
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
