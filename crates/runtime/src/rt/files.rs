//! Creates and opens the profile's directory and file.
//!
//! The runtime's descriptors have numbers of 1,000 and above, and close on exec. The runtime does
//! not trust them: a program may close every descriptor (`closefrom(3)`) and open its own files
//! with the same numbers. So before each use, the runtime compares device and inode. If they
//! differ, it opens the file again by its name. The directory stays open, too, because its path may
//! be invalid after a `chroot`.

use super::runtime::Runtime;
use super::sys::{
    self, Descriptor, DirectoryHandle, EBADF, EEXIST, EFBIG, EINTR, EINVAL, ENAMETOOLONG, ENOENT,
    ENOSPC, ENOSYS, EOPNOTSUPP, Errno, FOREIGN_RIGHTS, File,
};
use super::{image, proc, process};
use crate::text::{Text, file_name, push_time, until_nul};
use holloway_abi::{PAGE, STATE_IN_HOME, STATE_RUNS, build_name, environment};

/// The directory of runs below the current directory, if no other can be written.
const DEFAULT_RUNS: &[u8] = b"target/holloway/runs";

/// Greatest number of files of one process and image. A process that calls `exec` repeatedly with
/// the same program has several.
const MAX_FILES: u64 = 1_000_000;

/// Creates the profile's directory: HOLLOWAY_DATA, or a new directory for this process in the first
/// directory of runs that can be written:
///
/// 1. the directory of runs of the build, if the directory above it exists: a build directory that
///    was deleted stays deleted;
/// 2. the directory of the build in the user's state directory;
/// 3. [`DEFAULT_RUNS`].
///
/// A setuid program gets no directory, because its caller could choose a
/// directory to which the caller has no access.
pub(super) fn make_directory(runtime: &mut Runtime, boot_start: u64) -> Result<(), Errno> {
    if proc::has_foreign_rights(&mut runtime.scratch) {
        return Err(FOREIGN_RIGHTS);
    }
    if proc::variable(
        environment::DATA.name.as_bytes(),
        &mut runtime.scratch,
        &mut runtime.directory,
    ) {
        make_absolute(runtime)?;
        return make_path(&mut runtime.directory);
    }
    let places = [runs_of_build, runs_of_user, runs_below_current_directory];
    // Places that do not exist are no failures. Of the others, the first one is where the user
    // expects the profile.
    let mut failure = None;
    for find_runs in places {
        let made = find_runs(runtime)
            .and_then(|()| make_path(&mut runtime.directory))
            .and_then(|()| make_run(runtime, boot_start));
        match made {
            Ok(()) => return Ok(()),
            Err(error) if failure.is_none() && error != ENOENT => {
                failure = Some((find_runs, error));
            }
            Err(_) => {}
        }
    }
    let Some((find_runs, error)) = failure else {
        return Err(ENOENT);
    };
    let _ = find_runs(runtime); // the message names this directory, if there is one
    Err(error)
}

/// Stores the directory of runs in the image's header in `directory`.
fn runs_of_build(runtime: &mut Runtime) -> Result<(), Errno> {
    let runs = until_nul(&image::header().runs);
    if runs.is_empty() {
        return Err(ENOENT);
    }
    runtime.directory.clear();
    runtime.directory.push_all(runs);
    make_absolute(runtime)?;
    let path = &mut runtime.directory;
    let parent = path.len() - file_name(path.as_bytes()).len();
    path.end_at(parent);
    let opened = sys::open_directory(path);
    path.restore_end();
    opened.map(sys::close)
}

/// Stores the directory of the build's runs in the user's state directory in `directory`.
fn runs_of_user(runtime: &mut Runtime) -> Result<(), Errno> {
    let Runtime {
        directory, scratch, ..
    } = runtime;
    let is_absolute = |path: &Text<4096>| path.as_bytes().first() == Some(&b'/');
    let has_state = proc::variable(b"XDG_STATE_HOME", scratch, directory) && is_absolute(directory);
    if !has_state {
        if !proc::variable(b"HOME", scratch, directory) || !is_absolute(directory) {
            return Err(ENOENT);
        }
        sys::close(sys::open_directory(directory)?); // a home that does not exist is not created
        directory.push(b'/');
        directory.push_all(STATE_IN_HOME.as_bytes());
    }
    directory.push(b'/');
    directory.push_all(STATE_RUNS.as_bytes());
    directory.push(b'/');
    let length = sys::read_link(c"/proc/self/exe", scratch.room())?;
    scratch.set_len(length);
    let program = scratch.as_bytes();
    let parent = (program.len() - file_name(program).len()).saturating_sub(1);
    for byte in build_name(program.get(..parent.max(1)).unwrap_or(&[])) {
        directory.push(byte);
    }
    if directory.is_whole() {
        Ok(())
    } else {
        Err(ENAMETOOLONG)
    }
}

/// Stores [`DEFAULT_RUNS`] in `directory`.
fn runs_below_current_directory(runtime: &mut Runtime) -> Result<(), Errno> {
    runtime.directory.clear();
    runtime.directory.push_all(DEFAULT_RUNS);
    make_absolute(runtime)
}

/// Puts the current directory before a relative path.
fn make_absolute(runtime: &mut Runtime) -> Result<(), Errno> {
    let Runtime {
        directory, scratch, ..
    } = runtime;
    if directory.as_bytes().first() == Some(&b'/') {
        return if directory.is_whole() {
            Ok(())
        } else {
            Err(ENAMETOOLONG)
        };
    }
    let length = sys::current_directory(scratch.room())?;
    scratch.set_len(length.saturating_sub(1));
    if scratch.as_bytes().last() != Some(&b'/') {
        scratch.push(b'/');
    }
    scratch.push_all(directory.as_bytes());
    directory.clear();
    directory.push_all(scratch.as_bytes());
    if directory.is_whole() {
        Ok(())
    } else {
        Err(ENAMETOOLONG)
    }
}

/// `mkdir -p`. An existing path is fine; opening it shows whether it is a directory.
fn make_path(path: &mut Text<4096>) -> Result<(), Errno> {
    // Why the deepest directory above the path could not be created. There are file systems whose
    // directories cannot be created although they exist.
    let mut failure = ENOENT;
    if sys::make_directory(path) == Err(ENOENT) {
        for end in 1..path.len() {
            if path.as_bytes().get(end) == Some(&b'/') {
                path.end_at(end);
                let made = sys::make_directory(path);
                path.restore_end();
                if let Err(error) = made
                    && error != ENOENT
                {
                    failure = if error == EEXIST { ENOENT } else { error };
                }
            }
        }
    }
    match sys::make_directory(path) {
        Err(EEXIST) => Ok(()),
        Err(ENOENT) => Err(failure),
        result => result,
    }
}

/// `<runs>/<YYYYMMDD-HHMMSS>-<program>-<pid>`, and the link `latest` to it.
///
/// The time is the start of the process, so that all images of the process share one run. It is
/// computed as now - time since boot + start on the boot clock. The result may differ slightly
/// between images. So a directory whose time is one second earlier or later, and whose name is
/// equal except for the time, also belongs to this process.
fn make_run(runtime: &mut Runtime, boot_start: u64) -> Result<(), Errno> {
    const SECOND: u64 = 1_000_000_000;
    let now = sys::now();
    let start = if boot_start == 0 {
        now
    } else {
        now.wrapping_sub(sys::since_boot()).wrapping_add(boot_start)
    };
    let start = start / SECOND;
    let runs = runtime.directory.len();
    for second in [start - 1, start + 1] {
        name_run(runtime, runs, second)?;
        if let Ok(directory) = sys::open_directory(&runtime.directory) {
            sys::close(directory);
            return Ok(());
        }
    }
    name_run(runtime, runs, start)?;
    match sys::make_directory(&runtime.directory) {
        Ok(()) => {
            point_latest(runtime, runs);
            Ok(())
        }
        Err(EEXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Appends the run's name to the path of the runs, which is `runs` bytes long.
fn name_run(runtime: &mut Runtime, runs: usize, second: u64) -> Result<(), Errno> {
    let Runtime {
        directory, scratch, ..
    } = runtime;
    let length = sys::read_link(c"/proc/self/exe", scratch.room()).unwrap_or(0);
    scratch.set_len(length);
    let program = match file_name(scratch.as_bytes()) {
        [] => until_nul(&image::header().name),
        name => name,
    };
    directory.truncate(runs);
    directory.push(b'/');
    push_time(directory, second);
    directory.push(b'-');
    directory.push_all(program);
    directory.push(b'-');
    directory.push_decimal(u64::from(process::current().id), 1);
    if directory.is_whole() {
        Ok(())
    } else {
        Err(ENAMETOOLONG)
    }
}

/// Points the link `latest` at the run: creates a new link with another name and renames it over
/// the old link, so that the link always exists. A failure is ignored, because the link is only a
/// convenience.
fn point_latest(runtime: &mut Runtime, runs: usize) {
    let Runtime {
        directory,
        scratch,
        name,
        ..
    } = runtime;
    name.clear();
    name.push_all(directory.as_bytes().get(runs + 1..).unwrap_or(&[]));
    scratch.clear();
    scratch.push_all(directory.as_bytes().get(..runs).unwrap_or(&[]));
    let Ok(descriptor) = sys::open_directory(scratch) else {
        return;
    };
    let parent = DirectoryHandle::directory(&File::from_descriptor(descriptor));
    scratch.clear();
    scratch.push_all(b".latest-");
    scratch.push_decimal(u64::from(sys::process_id()), 1);
    sys::unlink(parent, scratch);
    if sys::symlink(name, parent, scratch).is_ok()
        && sys::rename_over(parent, scratch, c"latest").is_err()
    {
        sys::unlink(parent, scratch);
    }
    sys::close(descriptor);
}

/// The open directory. If the descriptor no longer refers to it, opens it again by name.
pub(super) fn directory(
    runtime: &Runtime,
    open_directory: &mut File,
) -> Result<DirectoryHandle, Errno> {
    if !open_directory.is_ours() {
        *open_directory =
            File::from_descriptor(sys::move_high(sys::open_directory(&runtime.directory)?)?);
    }
    Ok(DirectoryHandle::directory(open_directory))
}

/// Creates a hidden file and stores its name in `scratch`. [`reveal`] renames the file when it is
/// complete.
pub(super) fn create_hidden(
    runtime: &mut Runtime,
    parent: DirectoryHandle,
) -> Result<Descriptor, Errno> {
    let mut result = Err(EEXIST);
    for count in 0..MAX_FILES {
        runtime.scratch.clear();
        runtime.scratch.push(b'.');
        name_profile(&mut runtime.scratch, count);
        runtime.scratch.push_all(b".new");
        result = sys::create(parent, &runtime.scratch);
        if result != Err(EEXIST) {
            break;
        }
    }
    result.and_then(sys::move_high)
}

/// Renames the hidden file, whose name is in `scratch`, to the first free name, and stores that
/// name in `name`.
pub(super) fn reveal(runtime: &mut Runtime, parent: DirectoryHandle) -> Result<(), Errno> {
    let mut result = Err(EEXIST);
    for count in 0..MAX_FILES {
        runtime.name.clear();
        name_profile(&mut runtime.name, count);
        result = sys::rename_new(parent, &runtime.scratch, &runtime.name);
        if result != Err(EEXIST) {
            break;
        }
    }
    result
}

/// Appends the name of a profile: `<pid>-<image>.hwp`, `<pid>-<image>-1.hwp`, and so on.
pub(super) fn name_profile<const N: usize>(name: &mut Text<N>, count: u64) {
    name.push_decimal(u64::from(process::current().id), 1);
    name.push(b'-');
    name.push_all(until_nul(&image::header().name));
    if count > 0 {
        name.push(b'-');
        name.push_decimal(count, 1);
    }
    name.push_all(b".hwp");
}

/// The open profile. If the descriptor no longer refers to it, opens it again by name.
pub(super) fn profile(runtime: &mut Runtime) -> Result<Descriptor, Errno> {
    let Some(page) = runtime.page() else {
        return Err(EBADF);
    };
    let (file, mut open_directory) = (page.notes.file, page.notes.directory);
    if file.is_ours() {
        return Ok(file.descriptor);
    }
    let parent = directory(runtime, &mut open_directory)?;
    let reopened = File::from_descriptor(sys::open_existing(parent, &runtime.name)?);
    if !reopened.is_same_file(&file) {
        sys::close(reopened.descriptor);
        return Err(EBADF);
    }
    let reopened = File::from_descriptor(sys::move_high(reopened.descriptor)?);
    if let Some(page) = runtime.page() {
        page.notes.file = reopened;
        page.notes.directory = open_directory;
    }
    Ok(reopened.descriptor)
}

/// Lengthens a file with reserved disk space. So later stores through a mapping cannot fail with
/// SIGBUS because of a full disk.
pub(super) fn reserve(descriptor: Descriptor, offset: u64, length: u64) -> Result<(), Errno> {
    if offset.saturating_add(length) > sys::file_size_limit() {
        return Err(EFBIG); // the kernel would send SIGXFSZ
    }
    loop {
        match sys::allocate(descriptor, offset, length) {
            Err(EINTR) => {}
            Err(EOPNOTSUPP | ENOSYS | EINVAL) => return write_zeros(descriptor, offset, length),
            result => return result,
        }
    }
}

/// Lengthens a file on a file system without `fallocate`.
fn write_zeros(descriptor: Descriptor, offset: u64, length: u64) -> Result<(), Errno> {
    const ZEROS: &[u8; PAGE as usize] = &[0; PAGE as usize];
    let mut written = 0;
    while written < length {
        let zeros = ZEROS.get(..(length - written) as usize).unwrap_or(ZEROS);
        match sys::write_at(descriptor, zeros, offset + written) {
            Ok(0) => return Err(ENOSPC),
            Ok(count) => written += count as u64,
            Err(EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
