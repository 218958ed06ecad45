//! The system calls of the runtime. Each call is a function whose result type shows its errors.
//!
//! The calls do not go through libc, because libc's wrappers set `errno`, may be interposed, and
//! may be cancellation points. The layouts of structures are the kernel's. The parts that this file
//! uses are equal on all 64-bit Linux systems.

use core::sync::atomic::AtomicU32;

use super::arch::{self, number};

/// An error number of the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Errno(pub(super) u32);

pub(super) const EINTR: Errno = Errno(4);
pub(super) const EAGAIN: Errno = Errno(11);
pub(super) const ENOMEM: Errno = Errno(12);
pub(super) const ENOENT: Errno = Errno(2);
pub(super) const EEXIST: Errno = Errno(17);
pub(super) const EINVAL: Errno = Errno(22);
pub(super) const EFBIG: Errno = Errno(27);
pub(super) const ENOSPC: Errno = Errno(28);
pub(super) const ENAMETOOLONG: Errno = Errno(36);
pub(super) const ENOSYS: Errno = Errno(38);
pub(super) const EOPNOTSUPP: Errno = Errno(95);
pub(super) const EDQUOT: Errno = Errno(122);
pub(super) const EBADF: Errno = Errno(9);
pub(super) const ESRCH: Errno = Errno(3);
const ETIMEDOUT: Errno = Errno(110);

/// No error number of the kernel: the program has rights that its caller does not have, so the
/// runtime writes nothing.
pub(super) const FOREIGN_RIGHTS: Errno = Errno(u32::MAX);

/// No error number of the kernel either: the collector that took words out of the rings has ended.
pub(super) const NO_COLLECTOR: Errno = Errno(u32::MAX - 1);

const AT_FDCWD: usize = -100_isize as usize;
const O_RDONLY: usize = 0;
const O_RDWR: usize = 2;
const O_CREAT: usize = 0o100;
const O_EXCL: usize = 0o200;
const O_CLOEXEC: usize = 0o2_000_000;
const O_PATH: usize = 0o10_000_000;
const F_DUPFD_CLOEXEC: usize = 1030;
const RLIMIT_FSIZE: usize = 1;
const RLIMIT_NOFILE: usize = 7;
const PROT_READ_WRITE: usize = 3;
const MAP_SHARED: usize = 1;
const MAP_PRIVATE: usize = 2;
const MAP_FIXED: usize = 0x10;
const MAP_ANONYMOUS: usize = 0x20;
const MAP_NORESERVE: usize = 0x4000;

/// # Safety
/// The arguments are valid for the call.
unsafe fn call(number: usize, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: guaranteed by the caller.
    let result = unsafe { arch::system_call(number, arguments) };
    if result < 0 {
        Err(Errno(result.unsigned_abs() as u32))
    } else {
        Ok(result as usize)
    }
}

/// Makes a system call that changes only the memory at its pointers, which are all valid.
macro_rules! call {
    ($number:expr $(, $argument:expr)*) => {{
        let mut list = [$($argument as usize),*].into_iter();
        let mut next = || list.next().unwrap_or(0);
        let arguments = [next(), next(), next(), next(), next(), next()];
        // SAFETY: the pointers among the arguments point to live memory of the length that another
        // argument gives.
        unsafe { call($number, arguments) }
    }};
}

/// Sets the thread's mask of blocked signals, and returns the old mask.
pub(super) fn set_signal_mask(mask: u64) -> u64 {
    const SIG_SETMASK: usize = 2;
    let mut old = 0_u64;
    let _ = call!(
        number::RT_SIGPROCMASK,
        SIG_SETMASK,
        &raw const mask,
        &raw mut old,
        size_of::<u64>()
    );
    old
}

/// Sleeps while the word has this value, perhaps shorter.
pub(super) fn futex_wait(word: &AtomicU32, value: u32) {
    const WAIT_PRIVATE: usize = 128;
    match call!(number::FUTEX, word.as_ptr(), WAIT_PRIVATE, value, 0_usize) {
        Ok(_) | Err(EAGAIN | EINTR) => {}
        Err(_) => let_others_run(),
    }
}

/// Sleeps at most `nanoseconds` while the word has this value, perhaps shorter. Other processes may
/// change the word. Returns whether the time is over.
pub(super) fn futex_wait_shared(word: &AtomicU32, value: u32, nanoseconds: u64) -> bool {
    const WAIT: usize = 0;
    let time = [0, nanoseconds as i64];
    match call!(number::FUTEX, word.as_ptr(), WAIT, value, time.as_ptr()) {
        Ok(_) | Err(EAGAIN | EINTR) => false,
        Err(ETIMEDOUT) => true,
        Err(_) => {
            let_others_run();
            true
        }
    }
}

/// Gives the processor to another thread, if one wants it.
pub(super) fn let_others_run() {
    let _ = call!(number::SCHED_YIELD);
}

/// Wakes a sleeper.
pub(super) fn futex_wake(word: &AtomicU32) {
    const WAKE_PRIVATE: usize = 129;
    let _ = call!(number::FUTEX, word.as_ptr(), WAKE_PRIVATE, 1_usize);
}

pub(super) fn process_id() -> u32 {
    call!(number::GETPID).unwrap_or(0) as u32
}

pub(super) fn parent_id() -> u32 {
    call!(number::GETPPID).unwrap_or(0) as u32
}

pub(super) fn thread_id() -> u32 {
    call!(number::GETTID).unwrap_or(0) as u32
}

/// Do the effective ids differ from the real ids?
pub(super) fn ids_differ() -> bool {
    call!(number::GETUID) != call!(number::GETEUID)
        || call!(number::GETGID) != call!(number::GETEGID)
}

/// Does process `pid` have no thread `tid` any more? All errors of the call other than "no such
/// thread" give false.
pub(super) fn is_dead(pid: u32, tid: u32) -> bool {
    call!(number::TGKILL, pid, tid, 0_usize) == Err(ESRCH)
}

/// Nanoseconds since 1970.
pub(super) fn now() -> u64 {
    clock(0)
}

/// Nanoseconds since the machine's start, including its sleep.
pub(super) fn since_boot() -> u64 {
    clock(7)
}

/// Nanoseconds of CLOCK_MONOTONIC.
pub(super) fn monotonic() -> u64 {
    clock(1)
}

/// Number of involuntary context switches of the thread (modulo 2^31); 0 if unknown.
pub(super) fn involuntary_switches() -> u32 {
    const RUSAGE_THREAD: usize = 1;
    let mut usage = [0_u64; 18]; // struct rusage ends with ru_nivcsw everywhere
    let _ = call!(number::GETRUSAGE, RUSAGE_THREAD, usage.as_mut_ptr());
    let [.., switches] = usage;
    switches as u32 & 0x7FFF_FFFF
}

fn clock(id: usize) -> u64 {
    let mut time = [0_i64; 2];
    let _ = call!(number::CLOCK_GETTIME, id, time.as_mut_ptr());
    let [seconds, nanoseconds] = time;
    (seconds as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(nanoseconds as u64)
}

/// Ends the process.
pub(super) fn exit(code: u32) -> ! {
    loop {
        let _ = call!(number::EXIT_GROUP, code);
    }
}

/// A file descriptor.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Descriptor(i32);

impl Descriptor {
    /// Standard error.
    pub(super) const STDERR: Descriptor = Descriptor(2);

    /// The result of a system call that opens a file.
    fn from_result(result: usize) -> Descriptor {
        Descriptor(result as i32)
    }

    /// The argument of a system call.
    fn argument(self) -> usize {
        self.0 as usize
    }
}

/// An open file: its descriptor, and its device and inode. The device and inode show whether the
/// descriptor still refers to this file.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct File {
    /// The descriptor. The program may have closed it.
    pub(super) descriptor: Descriptor,
    device: u64,
    inode: u64,
}

impl File {
    pub(super) const NONE: File = File {
        descriptor: Descriptor(0),
        device: 0,
        inode: 0,
    };

    /// The file of a descriptor that was just opened.
    pub(super) fn from_descriptor(descriptor: Descriptor) -> File {
        let (device, inode) = identity(descriptor).unwrap_or((0, 0));
        File {
            descriptor,
            device,
            inode,
        }
    }

    /// Was the file ever created or opened?
    pub(super) fn exists(&self) -> bool {
        self.inode != 0
    }

    /// Does the descriptor still refer to this file? A program may close every descriptor, and open
    /// its own files with the same numbers.
    pub(super) fn is_ours(&self) -> bool {
        self.exists() && identity(self.descriptor) == Some((self.device, self.inode))
    }

    /// Do both descriptors refer to the same file?
    pub(super) fn is_same_file(&self, other: &File) -> bool {
        self.device == other.device && self.inode == other.inode
    }

    /// Closes the descriptor if it still refers to this file.
    pub(super) fn close(&self) {
        if self.is_ours() {
            close(self.descriptor);
        }
    }
}

/// Device and inode of a descriptor.
fn identity(descriptor: Descriptor) -> Option<(u64, u64)> {
    let mut stat = [0_u64; 18]; // struct stat begins with st_dev and st_ino everywhere
    call!(number::FSTAT, descriptor.argument(), stat.as_mut_ptr()).ok()?;
    let [device, inode, ..] = stat;
    Some((device, inode))
}

pub(super) fn close(descriptor: Descriptor) {
    let _ = call!(number::CLOSE, descriptor.argument());
}

/// Moves a descriptor to a number that the program is unlikely to use: 1,000 or more, or as high as
/// the limit allows. If no high number is free, the descriptor keeps its number. But if that is the
/// number of standard input, output, or error, the descriptor is closed: the program may use these
/// numbers without opening them.
pub(super) fn move_high(descriptor: Descriptor) -> Result<Descriptor, Errno> {
    let limit = limit(RLIMIT_NOFILE);
    let from = if limit > 1_016 {
        1_000
    } else {
        limit.saturating_sub(16) as usize
    };
    match call!(number::FCNTL, descriptor.argument(), F_DUPFD_CLOEXEC, from) {
        Ok(high) => {
            close(descriptor);
            Ok(Descriptor::from_result(high))
        }
        Err(error) if descriptor.0 <= Descriptor::STDERR.0 => {
            close(descriptor);
            Err(error)
        }
        Err(_) => Ok(descriptor),
    }
}

/// The process's present limit of a resource; `u64::MAX` if unknown.
fn limit(resource: usize) -> u64 {
    let mut pair = [u64::MAX; 2];
    let _ = call!(
        number::PRLIMIT64,
        0_usize,
        resource,
        0_usize,
        pair.as_mut_ptr()
    );
    let [current, _] = pair;
    current
}

/// The largest size of a file that the process may write. For larger sizes, the kernel sends
/// SIGXFSZ.
pub(super) fn file_size_limit() -> u64 {
    limit(RLIMIT_FSIZE)
}

/// A path for a system call.
pub(super) trait Path {
    fn pointer(&self) -> *const u8;
}

impl Path for core::ffi::CStr {
    fn pointer(&self) -> *const u8 {
        self.as_ptr().cast()
    }
}

impl<const N: usize> Path for crate::text::Text<N> {
    fn pointer(&self) -> *const u8 {
        self.as_ptr()
    }
}

/// The directory that a path is relative to.
#[derive(Clone, Copy)]
pub(super) struct DirectoryHandle(Descriptor);

impl DirectoryHandle {
    pub(super) fn directory(file: &File) -> DirectoryHandle {
        DirectoryHandle(file.descriptor)
    }
}

pub(super) fn open_to_read(path: &(impl Path + ?Sized)) -> Result<Descriptor, Errno> {
    call!(
        number::OPENAT,
        AT_FDCWD,
        path.pointer(),
        O_RDONLY | O_CLOEXEC,
        0_usize
    )
    .map(Descriptor::from_result)
}

/// Opens a directory for paths relative to it.
pub(super) fn open_directory(path: &(impl Path + ?Sized)) -> Result<Descriptor, Errno> {
    call!(
        number::OPENAT,
        AT_FDCWD,
        path.pointer(),
        O_PATH | arch::O_DIRECTORY | O_CLOEXEC,
        0_usize
    )
    .map(Descriptor::from_result)
}

/// Opens an existing file for reading and writing.
pub(super) fn open_existing(
    parent: DirectoryHandle,
    path: &(impl Path + ?Sized),
) -> Result<Descriptor, Errno> {
    call!(
        number::OPENAT,
        parent.0.argument(),
        path.pointer(),
        O_RDWR | arch::O_NOFOLLOW | O_CLOEXEC,
        0_usize
    )
    .map(Descriptor::from_result)
}

/// Creates a new file for reading and writing.
pub(super) fn create(
    parent: DirectoryHandle,
    path: &(impl Path + ?Sized),
) -> Result<Descriptor, Errno> {
    let flags = O_RDWR | O_CREAT | O_EXCL | arch::O_NOFOLLOW | O_CLOEXEC;
    call!(
        number::OPENAT,
        parent.0.argument(),
        path.pointer(),
        flags,
        0o666_usize
    )
    .map(Descriptor::from_result)
}

/// Creates a file in memory, which `/proc/self/maps` shows as `name`.
pub(super) fn create_in_memory(name: &(impl Path + ?Sized)) -> Result<Descriptor, Errno> {
    const MFD_CLOEXEC: usize = 1;
    call!(number::MEMFD_CREATE, name.pointer(), MFD_CLOEXEC).map(Descriptor::from_result)
}

/// Renames a file, if no file has the new name yet.
pub(super) fn rename_new(
    parent: DirectoryHandle,
    from: &impl Path,
    to: &impl Path,
) -> Result<(), Errno> {
    const NOREPLACE: usize = 1;
    match call!(
        number::RENAMEAT2,
        parent.0.argument(),
        from.pointer(),
        parent.0.argument(),
        to.pointer(),
        NOREPLACE
    ) {
        Ok(_) => Ok(()),
        Err(EINVAL | ENOSYS) => {
            call!(
                number::LINKAT,
                parent.0.argument(),
                from.pointer(),
                parent.0.argument(),
                to.pointer(),
                0_usize
            )?;
            unlink(parent, from);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Renames a file, over any file with the new name.
pub(super) fn rename_over(
    parent: DirectoryHandle,
    from: &(impl Path + ?Sized),
    to: &(impl Path + ?Sized),
) -> Result<(), Errno> {
    call!(
        number::RENAMEAT,
        parent.0.argument(),
        from.pointer(),
        parent.0.argument(),
        to.pointer()
    )
    .map(|_| ())
}

pub(super) fn unlink(parent: DirectoryHandle, path: &(impl Path + ?Sized)) {
    let _ = call!(
        number::UNLINKAT,
        parent.0.argument(),
        path.pointer(),
        0_usize
    );
}

/// Makes a symbolic link at `path` to `target`.
pub(super) fn symlink(
    target: &impl Path,
    parent: DirectoryHandle,
    path: &impl Path,
) -> Result<(), Errno> {
    call!(
        number::SYMLINKAT,
        target.pointer(),
        parent.0.argument(),
        path.pointer()
    )
    .map(|_| ())
}

pub(super) fn make_directory(path: &impl Path) -> Result<(), Errno> {
    call!(number::MKDIRAT, AT_FDCWD, path.pointer(), 0o777_usize).map(|_| ())
}

/// Reads the target of a symbolic link. Returns its length.
pub(super) fn read_link(path: &(impl Path + ?Sized), to: &mut [u8]) -> Result<usize, Errno> {
    call!(
        number::READLINKAT,
        AT_FDCWD,
        path.pointer(),
        to.as_mut_ptr(),
        to.len()
    )
}

/// Reads the path of the current directory with its final NUL. Returns the length with the NUL.
pub(super) fn current_directory(to: &mut [u8]) -> Result<usize, Errno> {
    call!(number::GETCWD, to.as_mut_ptr(), to.len())
}

/// Reads at the descriptor's position. Returns 0 at the end of the file.
pub(super) fn read(descriptor: Descriptor, to: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match call!(
            number::READ,
            descriptor.argument(),
            to.as_mut_ptr(),
            to.len()
        ) {
            Err(EINTR) => {}
            result => return result,
        }
    }
}

pub(super) fn write(descriptor: Descriptor, bytes: &[u8]) -> Result<usize, Errno> {
    call!(
        number::WRITE,
        descriptor.argument(),
        bytes.as_ptr(),
        bytes.len()
    )
}

pub(super) fn write_at(descriptor: Descriptor, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
    call!(
        number::PWRITE64,
        descriptor.argument(),
        bytes.as_ptr(),
        bytes.len(),
        offset
    )
}

pub(super) fn set_length(descriptor: Descriptor, length: u64) -> Result<(), Errno> {
    call!(number::FTRUNCATE, descriptor.argument(), length).map(|_| ())
}

/// Reserves disk space, which reads as zeros, and lengthens the file to include it.
pub(super) fn allocate(descriptor: Descriptor, offset: u64, length: u64) -> Result<(), Errno> {
    call!(
        number::FALLOCATE,
        descriptor.argument(),
        0_usize,
        offset,
        length
    )
    .map(|_| ())
}

/// Does the descriptor accept a line without waiting?
pub(super) fn is_writable(descriptor: Descriptor) -> bool {
    const POLLOUT: i16 = 4;
    #[repr(C)]
    struct Poll {
        descriptor: i32,
        requested: i16,
        returned: i16,
    }
    let mut poll = Poll {
        descriptor: descriptor.0,
        requested: POLLOUT,
        returned: 0,
    };
    let no_time = [0_i64; 2];
    let count = call!(
        number::PPOLL,
        &raw mut poll,
        1_usize,
        no_time.as_ptr(),
        0_usize,
        8_usize
    );
    count == Ok(1) && poll.returned & POLLOUT != 0
}

/// Is the signal pending for this thread or process?
pub(super) fn is_pending(signal: u32) -> bool {
    let mut pending = 0_u64;
    let _ = call!(number::RT_SIGPENDING, &raw mut pending, size_of::<u64>());
    pending & (1 << (signal - 1)) != 0
}

/// Removes a pending (and blocked) signal.
pub(super) fn consume(signal: u32) {
    let set = 1_u64 << (signal - 1);
    let no_time = [0_i64; 2];
    let _ = call!(
        number::RT_SIGTIMEDWAIT,
        &raw const set,
        0_usize,
        no_time.as_ptr(),
        size_of::<u64>()
    );
}

/// The address of a new mapping.
#[derive(Clone, Copy)]
pub(super) enum Placement {
    /// The kernel chooses the address.
    Anywhere,
    /// The new mapping replaces the contents at this address.
    Over(*mut u8),
}

impl Placement {
    fn address_and_flag(self) -> (usize, usize) {
        match self {
            Placement::Anywhere => (0, 0),
            Placement::Over(address) => (address.addr(), MAP_FIXED),
        }
    }
}

/// Maps `length` bytes of a file, shared.
///
/// # Safety
/// With [`Placement::Over`], no code needs the old contents.
pub(super) unsafe fn map_file(
    placement: Placement,
    descriptor: Descriptor,
    offset: u64,
    length: usize,
) -> Result<*mut u8, Errno> {
    let (address, fixed) = placement.address_and_flag();
    let result = call!(
        number::MMAP,
        address,
        length,
        PROT_READ_WRITE,
        MAP_SHARED | fixed,
        descriptor.argument(),
        offset
    );
    result.map(|address| {
        // The kernel would else read ahead: a process that touches one counter would fill
        // megabytes of the file with zeros. Without the advice the mapping works all the same.
        let _ = call!(number::MADVISE, address, length, MADV_RANDOM);
        address as *mut u8
    })
}

/// Maps private memory of zeros.
///
/// # Safety
/// With [`Placement::Over`], no code needs the old contents.
pub(super) unsafe fn map_memory(placement: Placement, length: usize) -> Result<*mut u8, Errno> {
    let (address, fixed) = placement.address_and_flag();
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed;
    let result = call!(
        number::MMAP,
        address,
        length,
        PROT_READ_WRITE,
        flags,
        usize::MAX,
        0_usize
    );
    result.map(|address| address as *mut u8)
}

/// # Safety
/// No code needs these bytes any more.
pub(super) unsafe fn unmap(address: *mut u8, length: usize) {
    if length != 0 {
        let _ = call!(number::MUNMAP, address, length);
    }
}

/// Pages are used in no particular order.
const MADV_RANDOM: usize = 1;

/// Asks the kernel to fill private memory with zeros in the child of every fork.
pub(super) fn wipe_on_fork(page: *mut u8, length: usize) -> Result<(), Errno> {
    const MADV_WIPEONFORK: usize = 18;
    call!(number::MADVISE, page, length, MADV_WIPEONFORK).map(|_| ())
}
