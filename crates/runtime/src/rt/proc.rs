//! Reads facts about processes from `/proc`: environment, start times, mappings. If `/proc` is
//! missing or closed, the facts are unknown.

use super::process;
use super::sys;
use crate::text::{Text, aux_value, number, position, same, starts_with};

/// A buffer for one record. A line of `/proc/self/maps` is a path and about 100 bytes.
pub(super) type Scratch = Text<8192>;

/// Finds a variable of the environment that the process started with. Returns false if the variable
/// is absent or empty.
///
/// The runtime does not read libc's `environ`: the runtime object may not use libc's symbols, and
/// another thread may be changing `environ`.
pub(super) fn variable(name: &[u8], scratch: &mut Scratch, value: &mut Text<4096>) -> bool {
    value.clear();
    each_record(c"/proc/self/environ", 0, scratch, &mut |record| {
        let record_value = value_of(record, name);
        value.push_all(record_value.unwrap_or(&[]));
        record_value.is_none()
    });
    value.len() > 0
}

/// Does a variable of the environment that the process started with have exactly this value?
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

/// The start of the process on the boot clock in nanoseconds; 0 if unknown. All images of a process
/// get the same result.
pub(super) fn start_on_boot_clock(scratch: &mut Scratch) -> u64 {
    // USER_HZ is 100 for programs on every processor that Linux runs on today.
    const TICK: u64 = 10_000_000;
    life(process::current().id, scratch)
        .start
        .wrapping_mul(TICK)
}

/// The start and the end of a process.
#[derive(Clone, Copy)]
pub(super) struct Life {
    /// Start in ticks of the boot clock; 0: unknown.
    pub(super) start: u64,
    /// Whether the process has ended. Its parent may not have waited for it yet.
    pub(super) has_ended: bool,
}

/// The start and the end of the process with this id.
pub(super) fn life(process: u32, scratch: &mut Scratch) -> Life {
    let mut path: Text<48> = Text::new();
    if process != sys::process_id() {
        path.push_all(b"/proc/");
        path.push_decimal(u64::from(process), 1);
        path.push_all(b"/stat");
        return stat(&path, scratch);
    }
    // This is the file of the first thread. An emulator (qemu) replaces `/proc/self/stat` by a file
    // with another time than the kernel shows to other processes.
    path.push_all(b"/proc/self/task/");
    path.push_decimal(u64::from(process), 1);
    path.push_all(b"/stat");
    let life = stat(&path, scratch);
    if life.start == 0 {
        return stat(c"/proc/self/stat", scratch); // /proc belongs to another PID namespace
    }
    life
}

/// Reads the start and the end of a process from its `stat` file.
fn stat(path: &(impl sys::Path + ?Sized), scratch: &mut Scratch) -> Life {
    // The start time is field 22. Field 2 is the name in parentheses, which may contain any bytes.
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

/// The inode of the process's PID namespace; 0 if unknown. In another PID namespace, the same id
/// belongs to no process or to another process.
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
/// The kernel reports this in the auxiliary vector. If `/proc` is closed (as for a setuid program
/// that does not belong to root), this function compares the process's ids.
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

/// Stores the path of a mapped file. In `/proc/self/maps`, `\012` stands for a newline, but also
/// for these four characters. Only one of both paths can be opened.
pub(super) fn unescape<const N: usize>(escaped: &[u8], path: &mut Text<N>) {
    const NEWLINE: &[u8] = b"\\012";
    path.clear();
    let mut rest = escaped;
    let mut has_newline = false;
    while let Some((first, after)) = rest.split_first() {
        if starts_with(rest, NEWLINE) {
            path.push(b'\n');
            rest = rest.get(NEWLINE.len()..).unwrap_or(&[]);
            has_newline = true;
        } else {
            path.push(*first);
            rest = after;
        }
    }
    if !has_newline {
        return;
    }
    match sys::open_to_read(path) {
        Ok(file) => sys::close(file),
        Err(_) => {
            path.clear();
            path.push_all(escaped);
        }
    }
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

/// Parses a line: `55d0c2a00000-55d0c2a02000 r--p 00000000 fe:00 1234          /usr/bin/app`.
fn mapping(line: &[u8]) -> Mapping<'_> {
    let (start, rest) = number(line, 16);
    let (end, rest) = number(rest.get(1..).unwrap_or(&[]), 16);
    let rights = after_space(rest);
    let (offset, rest) = number(after_space(rights), 16);
    let path = after_space(after_space(after_space(rest)));
    let path_start = path
        .iter()
        .position(|byte| *byte != b' ')
        .unwrap_or(path.len());
    Mapping {
        start: start as usize,
        end: end as usize,
        readable: rights.first() == Some(&b'r'),
        offset,
        path: path.get(path_start..).unwrap_or(&[]),
    }
}

/// The text after the first space.
fn after_space(text: &[u8]) -> &[u8] {
    match position(text, b' ') {
        Some(space) => text.get(space + 1..).unwrap_or(&[]),
        None => &[],
    }
}

/// Calls `visit` with each record of a file until `visit` returns false. Skips records longer than
/// the scratch buffer.
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
        let mut continues = true;
        while let (true, Some(end)) = (continues, position(rest, separator)) {
            continues = too_long || rest.get(..end).is_none_or(&mut *visit);
            too_long = false;
            rest = rest.get(end + 1..).unwrap_or(&[]);
        }
        if !continues {
            break;
        }
        let incomplete = rest.len();
        scratch.drop_front(scratch.len() - incomplete);
        if scratch.room().len() == incomplete {
            scratch.clear();
            too_long = true;
        }
    }
    sys::close(file);
}
