//! Facts about processes from `/proc`. Where `/proc` is missing or closed, the facts are unknown,
//! and the caller does without them.

use super::process;
use super::sys;
use crate::text::{Text, aux_value, number, position, same, starts_with};

/// Room for one record: a line of the maps is a path and some 100 bytes.
pub(super) type Scratch = Text<8192>;

/// Finds a variable of the environment that the process started with. False: the variable is absent
/// or empty.
///
/// The runtime does not read libc's `environ`: it is not a symbol of ours, and may be changing.
pub(super) fn variable(name: &[u8], scratch: &mut Scratch, value: &mut Text<4096>) -> bool {
    value.clear();
    each_record(c"/proc/self/environ", 0, scratch, &mut |record| {
        let record_value = value_of(record, name);
        value.push_all(record_value.unwrap_or(&[]));
        record_value.is_none()
    });
    value.len() > 0
}

/// Has a variable of the same environment exactly this value?
pub(super) fn variable_is(name: &[u8], value: &[u8], scratch: &mut Scratch) -> bool {
    let mut is_equal = false;
    each_record(c"/proc/self/environ", 0, scratch, &mut |record| {
        let record_value = value_of(record, name);
        is_equal = record_value.is_some_and(|record_value| same(record_value, value));
        record_value.is_none()
    });
    is_equal
}

/// The value in `name=value`, if the record has this name.
fn value_of<'a>(record: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    if !starts_with(record, name) || record.get(name.len()) != Some(&b'=') {
        return None;
    }
    record.get(name.len() + 1..)
}

/// Start of the process on the boot clock in nanoseconds; 0 if unknown. All images of a process get
/// the same result.
pub(super) fn start_on_boot_clock(scratch: &mut Scratch) -> u64 {
    // USER_HZ is 100 for programs on every processor that Linux runs on today.
    const TICK: u64 = 10_000_000;
    life(process::current().id, scratch)
        .start
        .wrapping_mul(TICK)
}

/// The life of a process.
#[derive(Clone, Copy)]
pub(super) struct Life {
    /// Start in ticks of the boot clock; 0: unknown.
    pub(super) start: u64,
    /// The process has ended, and perhaps waits to be reaped.
    pub(super) has_ended: bool,
}

/// The life of a process, by its id.
pub(super) fn life(process: u32, scratch: &mut Scratch) -> Life {
    let mut path: Text<48> = Text::new();
    if process != sys::process_id() {
        path.push_all(b"/proc/");
        path.push_decimal(u64::from(process), 1);
        path.push_all(b"/stat");
        return stat(&path, scratch);
    }
    // The first thread's file: an emulator (qemu) answers for `/proc/self/stat` itself, with
    // another time than the kernel shows to other processes.
    path.push_all(b"/proc/self/task/");
    path.push_decimal(u64::from(process), 1);
    path.push_all(b"/stat");
    let life = stat(&path, scratch);
    if life.start == 0 {
        return stat(c"/proc/self/stat", scratch); // in another namespace than /proc's
    }
    life
}

/// The life that a `stat` file shows.
fn stat(path: &(impl sys::Path + ?Sized), scratch: &mut Scratch) -> Life {
    // The start time is field 22. The name in parentheses, which may hold anything, is field 2.
    const FIELD_AFTER_NAME: usize = 19;
    let mut life = Life {
        start: 0,
        has_ended: false,
    };
    each_record(path, b'\n', scratch, &mut |line| {
        let after = line.iter().rposition(|byte| *byte == b')').unwrap_or(0);
        let mut rest = line.get(after + 2..).unwrap_or(&[]);
        life.has_ended = matches!(rest.first(), Some(b'Z' | b'X'));
        for _ in 0..FIELD_AFTER_NAME {
            rest = after_space(rest);
        }
        life.start = number(rest, 10).0;
        false
    });
    life
}

/// The PID namespace of the process, by its inode; 0 if unknown. In another namespace the process's
/// id names no process, or another one.
pub(super) fn pid_namespace() -> u64 {
    const NAME: &[u8] = b"pid:["; // pid:[4026531836]
    let mut link = [0; 64];
    let length = sys::read_link(c"/proc/self/ns/pid", &mut link).unwrap_or(0);
    let link = link.get(..length).unwrap_or(&[]);
    match link.get(NAME.len()..) {
        Some(inode) if starts_with(link, NAME) => number(inode, 10).0,
        _ => 0,
    }
}

/// Does the process have rights that its caller may not have (setuid, setgid, file capabilities)?
/// The kernel says so at the process's start. Where `/proc` is closed (as to such a program that is
/// not root's), the process's ids tell.
pub(super) fn has_foreign_rights(scratch: &mut Scratch) -> bool {
    const AT_SECURE: u64 = 23;
    scratch.clear();
    if let Ok(file) = sys::open_to_read(c"/proc/self/auxv") {
        let length = sys::read(file, scratch.room()).unwrap_or(0);
        scratch.set_len(length);
        sys::close(file);
    }
    aux_value(scratch.as_bytes(), AT_SECURE).map_or_else(sys::ids_differ, |secure| secure != 0)
}

/// A line of `/proc/self/maps`.
pub(super) struct Mapping<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) offset: u64,
    pub(super) readable: bool,
    pub(super) path: &'a [u8],
}

/// Calls `visit` with each mapping until it returns false.
pub(super) fn each_mapping(scratch: &mut Scratch, visit: &mut dyn FnMut(&Mapping<'_>) -> bool) {
    each_record(c"/proc/self/maps", b'\n', scratch, &mut |line| {
        visit(&mapping(line))
    });
}

/// `55d0c2a00000-55d0c2a02000 r--p 00000000 fe:00 1234          /usr/bin/app`
fn mapping(line: &[u8]) -> Mapping<'_> {
    let (start, rest) = number(line, 16);
    let (end, rest) = number(rest.get(1..).unwrap_or(&[]), 16);
    let rights = after_space(rest);
    let (offset, rest) = number(after_space(rights), 16);
    let path = after_space(after_space(after_space(rest)));
    let blank = path
        .iter()
        .position(|byte| *byte != b' ')
        .unwrap_or(path.len());
    Mapping {
        start: start as usize,
        end: end as usize,
        readable: rights.first() == Some(&b'r'),
        offset,
        path: path.get(blank..).unwrap_or(&[]),
    }
}

/// The text after the first space.
fn after_space(text: &[u8]) -> &[u8] {
    match position(text, b' ') {
        Some(space) => text.get(space + 1..).unwrap_or(&[]),
        None => &[],
    }
}

/// Calls `visit` with each record of a file until it returns false. Records longer than the scratch
/// are left out.
fn each_record(
    path: &(impl sys::Path + ?Sized),
    separator: u8,
    scratch: &mut Scratch,
    visit: &mut dyn FnMut(&[u8]) -> bool,
) {
    scratch.clear();
    let Ok(file) = sys::open_to_read(path) else {
        return;
    };
    let mut too_long = false;
    loop {
        let old = scratch.len();
        let count = scratch
            .room()
            .get_mut(old..)
            .map_or(0, |room| sys::read(file, room).unwrap_or(0));
        scratch.set_len(old + count);
        if count == 0 {
            if old > 0 && !too_long {
                visit(scratch.as_bytes());
            }
            break;
        }
        let mut rest = scratch.as_bytes();
        let mut more = true;
        while let (true, Some(end)) = (more, position(rest, separator)) {
            more = too_long || rest.get(..end).is_none_or(&mut *visit);
            too_long = false;
            rest = rest.get(end + 1..).unwrap_or(&[]);
        }
        if !more {
            break;
        }
        let kept = rest.len();
        scratch.drop_front(scratch.len() - kept);
        if scratch.room().len() == kept {
            scratch.clear();
            too_long = true;
        }
    }
    sys::close(file);
}
