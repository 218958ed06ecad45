//! Writes the files that users name: completely, or not at all.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::Builder;

use crate::failure::{Failure, Result};

/// Whether a file's name means standard output, as with other programs.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Permissions of a new file, before the process's mask takes its part.
const MODE: u32 = 0o666;

/// Writes bytes to a file, as [`write`] does.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    write(
        path,
        |out| out.write_all(bytes),
        |error| cannot_write(path, &error),
    )
}

/// Writes a file, or standard output if its name is `-`. A regular file is replaced in one step,
/// also behind a symbolic link. Pipes and devices are written in place: they cannot be replaced by
/// a file.
///
/// # Errors
/// If the file cannot be written, or `content` fails: `failure` words both.
pub(crate) fn write<E: From<io::Error>>(
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> std::result::Result<(), E>,
    failure: impl Fn(E) -> Failure,
) -> Result<()> {
    if is_stdout(path) {
        return write_to_stdout(content).map_err(failure);
    }
    let target = target(path);
    let is_special = std::fs::metadata(&target).is_ok_and(|file| !file.is_file());
    let written = match is_special {
        true => write_in_place(&target, content),
        false => replace(&target, content),
    };
    written.map_err(failure)
}

/// The failure of a file that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    // The error of a temporary file names that file, which says nothing to the user.
    let reason = match (error.get_ref(), error.kind()) {
        (None, _) | (Some(_), io::ErrorKind::Other) => error.to_string(),
        (Some(_), kind) => kind.to_string(),
    };
    Failure::new(format_args!("cannot write {}: {reason}", path.display()))
}

/// The file behind symbolic links. It need not exist.
fn target(path: &Path) -> PathBuf {
    if let Ok(target) = path.canonicalize() {
        return target;
    }
    match path.read_link() {
        Ok(link) => path.parent().unwrap_or(Path::new("")).join(link),
        Err(_) => path.to_owned(),
    }
}

/// Writes to standard output. A closed pipe is no error.
fn write_to_stdout<E: From<io::Error>>(
    content: impl FnOnce(&mut (dyn Write + Send)) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut out = Closable {
        out: io::stdout(),
        is_closed: false,
    };
    let mut buffered = BufWriter::new(&mut out);
    content(&mut buffered)?;
    Ok(buffered.flush()?)
}

/// An output that ignores everything after its reader has closed it.
struct Closable<W> {
    out: W,
    is_closed: bool,
}

impl<W: Write> Closable<W> {
    fn unless_closed<T>(
        &mut self,
        closed: T,
        write: impl FnOnce(&mut W) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.is_closed {
            return Ok(closed);
        }
        match write(&mut self.out) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(closed)
            }
            result => result,
        }
    }
}

impl<W: Write> Write for Closable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed((), Write::flush)
    }
}

fn write_in_place<E: From<io::Error>>(
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut out = BufWriter::new(File::options().write(true).open(path)?);
    content(&mut out)?;
    Ok(out.flush()?)
}

/// Checks that a folder exists. Only the folders of runs are made with their parents: a folder that
/// a file's name misspells should not appear.
///
/// # Errors
/// If it does not exist. The error names the folder.
pub(crate) fn check_folder(folder: &Path) -> io::Result<()> {
    let wrong = |what: &str| {
        let folder = folder.display();
        io::Error::other(format!(
            "{folder} {what}: make this folder, or name another"
        ))
    };
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(wrong("is no folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(wrong("does not exist")),
        Err(error) => Err(error),
    }
}

/// Writes a temporary file beside `path`, and gives it this name.
fn replace<E: From<io::Error>>(
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    check_folder(folder)?;
    let mut builder = Builder::new();
    builder.permissions(Permissions::from_mode(MODE));
    let mut out = BufWriter::new(builder.tempfile_in(folder)?);
    content(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
