//! Opens the profile at the first entry of an image in a process: creates the directory and the
//! file, and writes the file's first page.
//!
//! A *load* is one loading of an image into a process. If the image is loaded again (`dlopen` after
//! `dlclose`), the new load finds the first page of the earlier load among the mappings, and
//! continues the file. The page identifies its load by the address of the image's header. If that
//! load still exists (`dlmopen` allows two at a time), the new load gets a separate file.

use super::collector::Collector;
use super::page::{FirstPage, NOTES_STAMP, Notes};
use super::proc::{self, Mapping};
use super::runtime::Runtime;
use super::sys::{self, Descriptor, EFBIG, File, Placement};
use super::{blocks, files, image, measure, process, report, token, watch};
use crate::text::{copy_padded, file_name, same, starts_with, until_nul};
use holloway_abi::{ABI_VERSION, ImageHeader, PAGE};

/// How a process began.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// The process started the program with `exec`.
    Exec,
    /// The process is the child of a fork.
    Fork,
}

impl Origin {
    /// Value of `RawHeader::flags`.
    fn flags(self) -> u32 {
        match self {
            Origin::Exec => 0,
            Origin::Fork => 1,
        }
    }
}

/// Greatest number of pages of earlier loads to examine.
const CANDIDATES: usize = 8;

/// Opens the profile at the first call in a process.
pub(super) fn open_once(runtime: &mut Runtime) {
    if runtime.is_open() {
        return;
    }
    runtime.stderr = File::from_descriptor(Descriptor::STDERR);
    measure::find_burst(runtime);
    if adopt_earlier_load(runtime) {
        return;
    }
    let Runtime {
        scratch, directory, ..
    } = runtime;
    runtime.collector = Collector::find(scratch, directory);
    let start = proc::start_on_boot_clock(&mut runtime.scratch);
    if let Err(error) = files::make_directory(runtime, start) {
        runtime.failure = Some(error);
    }
    // SAFETY: a new mapping, over nothing.
    let notes = unsafe { sys::map_memory(Placement::Anywhere, PAGE as usize) }
        .unwrap_or(core::ptr::null_mut());
    watch::make_critical_section(notes.cast());
    new_page(
        runtime,
        notes.cast(),
        &mut { File::NONE },
        Origin::Exec,
        start,
    );
    if let Some(page) = runtime.page() {
        page.notes.token = token::make();
    }
    report::print_failure(runtime);
}

/// Creates a file with its first page, writes the notes, and stores both in `runtime`. If no file
/// can be created, the page is in memory, and `failure` is the reason.
pub(super) fn new_page(
    runtime: &mut Runtime,
    notes: *mut Notes,
    directory: &mut File,
    origin: Origin,
    boot_start: u64,
) {
    let result = match runtime.failure {
        Some(error) => Err(error),
        None => file_page(runtime, notes, directory, origin, boot_start),
    };
    let (page, file) = match result {
        Ok(page_and_file) => page_and_file,
        Err(error) => {
            runtime.failure = Some(error);
            (memory_page(runtime, notes, origin, boot_start), File::NONE)
        }
    };
    // SAFETY: null, or a new page; null, or a page of memory for the notes.
    unsafe { runtime.set_page(page, notes) };
    let collector = runtime.collector;
    if let Some(page) = runtime.page() {
        *page.notes = Notes {
            image: image::address(),
            file,
            directory: *directory,
            collector,
            ..Notes::NEW
        };
    }
}

/// Creates a new file and maps its first page. The file gets its final name when it is complete.
fn file_page(
    runtime: &mut Runtime,
    notes: *mut Notes,
    directory: &mut File,
    origin: Origin,
    boot_start: u64,
) -> Result<(*mut FirstPage, File), sys::Errno> {
    runtime.name.clear();
    files::name_profile(&mut runtime.name, 0); // for the message, if it fails
    let parent = files::directory(runtime, directory)?;
    let descriptor = files::create_hidden(runtime, parent)?;
    let result = map_first_page(descriptor).and_then(|address| {
        let page = address.cast::<FirstPage>();
        write_header(page, runtime, notes, origin, boot_start);
        files::reveal(runtime, parent)
            .map(|()| page)
            .inspect_err(|_| {
                // SAFETY: no other thread knows this page yet.
                unsafe { sys::unmap(address, PAGE as usize) };
            })
    });
    let page = result.inspect_err(|_| {
        sys::unlink(parent, &runtime.scratch);
        sys::close(descriptor);
    })?;
    Ok((page, File::from_descriptor(descriptor)))
}

fn map_first_page(descriptor: Descriptor) -> Result<*mut u8, sys::Errno> {
    files::reserve(descriptor, 0, PAGE)?;
    // SAFETY: a new mapping, over nothing.
    unsafe { sys::map_file(Placement::Anywhere, descriptor, 0, PAGE as usize) }
}

/// Creates a first page in memory. The memory has a name, so that a later load of the image finds
/// it. Returns null if there is no memory.
fn memory_page(
    runtime: &mut Runtime,
    notes: *mut Notes,
    origin: Origin,
    boot_start: u64,
) -> *mut FirstPage {
    runtime.name.clear();
    files::name_profile(&mut runtime.name, 0);
    let address = named_memory(runtime).unwrap_or_else(|_| {
        // SAFETY: a new mapping, over nothing.
        unsafe { sys::map_memory(Placement::Anywhere, PAGE as usize) }
            .unwrap_or(core::ptr::null_mut())
    });
    let page = address.cast();
    write_header(page, runtime, notes, origin, boot_start);
    page
}

fn named_memory(runtime: &Runtime) -> Result<*mut u8, sys::Errno> {
    if sys::file_size_limit() < PAGE {
        return Err(EFBIG); // the kernel would send SIGXFSZ
    }
    let descriptor = sys::create_in_memory(&runtime.name)?;
    // SAFETY: a new mapping, over nothing.
    let map = || unsafe { sys::map_file(Placement::Anywhere, descriptor, 0, PAGE as usize) };
    let result = sys::set_length(descriptor, PAGE).and_then(|()| map());
    sys::close(descriptor);
    result
}

/// Writes the header into a new page. Does nothing if `page` is null.
fn write_header(
    page: *mut FirstPage,
    runtime: &Runtime,
    notes: *mut Notes,
    origin: Origin,
    boot_start: u64,
) {
    // SAFETY: null, or the mapping of a complete page that no other thread knows yet; zeros are a
    // valid page.
    let Some(page) = (unsafe { page.as_mut() }) else {
        return;
    };
    let image = image::header();
    let header = &mut page.header;
    header.version = ABI_VERSION;
    header.kind = image.kind;
    header.build_id = image.build_id;
    header.block_size = image.block_size;
    header.end = PAGE;
    let process = process::current();
    header.pid = process.id;
    header.ppid = process.parent;
    header.start = sys::now();
    header.flags = origin.flags();
    header.boot_start = boot_start;
    header.collector = runtime.collector.id;
    header.pid_namespace = proc::pid_namespace();
    copy_padded(&mut header.name, until_nul(&image.name));
    if runtime.image_path.is_whole() && runtime.image_path.len() < header.path.len() {
        copy_padded(&mut header.path, runtime.image_path.as_bytes());
    }
    page.stamp = NOTES_STAMP;
    page.notes = notes;
    page.seal();
}

/// Finds the image in `/proc/self/maps`: sets its path, and continues the profile of an earlier
/// load of the image in this process. Returns whether there was an earlier load.
fn adopt_earlier_load(runtime: &mut Runtime) -> bool {
    let Runtime {
        scratch,
        image_path,
        name,
        ..
    } = runtime;
    name.clear();
    name.push_decimal(u64::from(process::current().id), 1);
    name.push(b'-');
    name.push_all(until_nul(&image::header().name));
    let mut page_addresses = [0_usize; CANDIDATES];
    let mut free_entries = page_addresses.iter_mut();
    proc::each_mapping(scratch, &mut |mapping| {
        if contains(mapping, image::address()) {
            proc::unescape(mapping.path, image_path);
        }
        if is_profile(mapping, name.as_bytes())
            && let Some(entry) = free_entries.next()
        {
            *entry = mapping.start;
        }
        true
    });
    page_addresses
        .into_iter()
        .any(|address| address != 0 && take_over(runtime, address))
}

fn contains(mapping: &Mapping<'_>, address: usize) -> bool {
    mapping.start <= address && address < mapping.end
}

/// Does the mapping's name show that it is the first page of a profile of this process and image?
fn is_profile(mapping: &Mapping<'_>, name: &[u8]) -> bool {
    let file = file_name(mapping.path);
    let file = file
        .get(b"memfd:".len()..)
        .filter(|_| starts_with(file, b"memfd:"))
        .unwrap_or(file);
    mapping.offset == 0 && starts_with(file, name)
}

/// Continues the profile with the page at `address`, if the page belongs to this image and its load
/// is gone. Returns whether it does.
fn take_over(runtime: &mut Runtime, address: usize) -> bool {
    let address = address as *mut FirstPage;
    // SAFETY: the mapped file has the name of a profile of this process and image. So the page has
    // this layout or the layout of another version; any bytes are a valid page.
    let Some(page) = (unsafe { address.as_mut() }) else {
        return false;
    };
    let is_ours = page.header.version == ABI_VERSION
        && page.header.pid == process::current().id
        && page.stamp == NOTES_STAMP
        && page.header.block_size == image::header().block_size
        && same(&page.header.build_id, &image::header().build_id);
    // SAFETY: the stamp shows that the page contains the address of notes, which stay mapped.
    let Some(notes) = (unsafe { page.notes.as_mut() }).filter(|_| is_ours) else {
        return false;
    };
    if is_loaded(runtime, notes.image) {
        return false;
    }
    notes.image = image::address();
    runtime.collector = notes.collector;
    blocks::free_all_blocks(notes);
    token::keep(notes.token);
    set_paths(runtime, address.addr());
    // SAFETY: page and notes have this layout (stamp and version), and their load is gone.
    unsafe { runtime.set_page(address, notes) };
    true
}

/// Is another load of this image still at this address?
fn is_loaded(runtime: &mut Runtime, address: usize) -> bool {
    if address == image::address() {
        return false; // the present load replaced it
    }
    let mut readable = false;
    proc::each_mapping(&mut runtime.scratch, &mut |mapping| {
        readable |= mapping.readable
            && contains(mapping, address)
            && mapping.end - address >= size_of::<ImageHeader>();
        !readable
    });
    // SAFETY: the complete header is mapped and readable; any bytes are a valid header. (Another
    // thread could unmap it now, but only by unloading an image while this thread is loading it.)
    readable && unsafe { is_image(&*(address as *const ImageHeader)) }
}

/// Is this the header of an image of the same build?
fn is_image(header: &ImageHeader) -> bool {
    same(&header.magic, &image::header().magic) && same(&header.build_id, &image::header().build_id)
}

/// Sets directory and name of the profile that is mapped at `address`, for opening the file again.
fn set_paths(runtime: &mut Runtime, address: usize) {
    let Runtime {
        scratch,
        directory,
        name,
        ..
    } = runtime;
    directory.clear();
    proc::each_mapping(scratch, &mut |mapping| {
        if !contains(mapping, address) {
            return true;
        }
        proc::unescape(mapping.path, directory);
        name.clear();
        name.push_all(file_name(directory.as_bytes()));
        directory.truncate((directory.len() - name.len()).saturating_sub(1));
        false
    });
}
