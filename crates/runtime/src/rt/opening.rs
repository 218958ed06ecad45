//! The first enter of an image: directory, file, first page.
//!
//! An image that is loaded again into the same process (`dlopen` after `dlclose`) finds the page of its earlier load
//! among the mappings and goes on with it. The page says which load it belongs to, by the address of the image's header;
//! if that load is still there (`dlmopen` makes two at a time), the new one gets a file of its own.

use super::page::{FirstPage, Inner, LIVE_STAMP, Live};
use super::proc::{self, Mapping};
use super::sys::{self, EFBIG, File, Where};
use super::text::{copy_padded, file_name, same, starts_with, until_nul};
use super::{files, fork, image, measure, report, ring, store, watch};
use holloway_abi::{ABI_VERSION, ImageHeader, PAGE};

/// Value of `RawHeader::flags` for a process that the program started with `exec`.
pub(super) const STARTED: u32 = 0;
/// Value of `RawHeader::flags` for the child of a fork.
pub(super) const FORKED: u32 = 1;

/// Earlier loads looked at.
const CANDIDATES: usize = 8;

/// Opens the profile at the first call in a process.
pub(super) fn open_once(inner: &mut Inner) {
    if inner.is_open() {
        return;
    }
    inner.stderr = File::of(2);
    measure::find_burst(inner);
    if adopt(inner) {
        return;
    }
    ring::find_collector(inner);
    let start = proc::start_on_boot_clock(&mut inner.scratch);
    if let Err(error) = files::make_directory(inner, start) {
        inner.trouble = Some(error);
    }
    // SAFETY: a new mapping, over nothing.
    let live =
        unsafe { sys::map_memory(Where::Anywhere, PAGE as usize) }.unwrap_or(core::ptr::null_mut());
    watch::make_descriptor(live.cast());
    new_page(inner, live.cast(), &mut { File::NONE }, STARTED, start);
    if let Some(page) = inner.page() {
        page.live.token = fork::make_token();
    }
    report::tell(inner);
}

/// Makes a file with its first page, writes the notes and sets both; without a file if none can be made (`trouble` says
/// why).
pub(super) fn new_page(
    inner: &mut Inner,
    live: *mut Live,
    directory: &mut File,
    flags: u32,
    boot_start: u64,
) {
    let result = match inner.trouble {
        Some(error) => Err(error),
        None => file_page(inner, live, directory, flags, boot_start),
    };
    let (page, file) = match result {
        Ok(made) => made,
        Err(error) => {
            inner.trouble = Some(error);
            (memory_page(inner, live, flags, boot_start), File::NONE)
        }
    };
    // SAFETY: null, or a page just made; null, or a page of memory for the notes.
    unsafe { inner.set_page(page, live) };
    let collector = inner.collector;
    if let Some(page) = inner.page() {
        *page.live = Live {
            image: image_address(),
            file,
            directory: *directory,
            collector,
            ..Live::NEW
        };
    }
}

/// A page of a new file. The file gets its name when it is complete.
fn file_page(
    inner: &mut Inner,
    live: *mut Live,
    directory: &mut File,
    flags: u32,
    boot_start: u64,
) -> Result<(*mut FirstPage, File), sys::Errno> {
    inner.name.clear();
    files::name_profile(&mut inner.name, 0); // for the message, if it fails
    let at = files::directory(inner, directory)?;
    let number = files::create_hidden(inner, at)?;
    let result = map_first_page(number).and_then(|address| {
        let page = address.cast::<FirstPage>();
        fill(page, inner, live, flags, boot_start);
        files::show(inner, at).map(|()| page).inspect_err(|_| {
            // SAFETY: nobody has seen this page yet.
            unsafe { sys::unmap(address, PAGE as usize) };
        })
    });
    let page = result.inspect_err(|_| {
        sys::unlink(at, &inner.scratch);
        sys::close(number);
    })?;
    Ok((page, File::of(number)))
}

fn map_first_page(number: usize) -> Result<*mut u8, sys::Errno> {
    files::reserve(number, 0, PAGE)?;
    // SAFETY: a new mapping, over nothing.
    unsafe { sys::map_file(Where::Anywhere, number, 0, PAGE as usize) }
}

/// A page of memory; named, so that a later load of the image finds it. Null if there is no memory at all.
fn memory_page(inner: &mut Inner, live: *mut Live, flags: u32, boot_start: u64) -> *mut FirstPage {
    inner.name.clear();
    files::name_profile(&mut inner.name, 0);
    let address = named_memory(inner).unwrap_or_else(|_| {
        // SAFETY: a new mapping, over nothing.
        unsafe { sys::map_memory(Where::Anywhere, PAGE as usize) }.unwrap_or(core::ptr::null_mut())
    });
    let page = address.cast();
    fill(page, inner, live, flags, boot_start);
    page
}

fn named_memory(inner: &Inner) -> Result<*mut u8, sys::Errno> {
    if sys::file_size_limit() < PAGE {
        return Err(EFBIG); // the kernel would send SIGXFSZ
    }
    let number = sys::create_in_memory(&inner.name)?;
    // SAFETY: a new mapping, over nothing.
    let map = || unsafe { sys::map_file(Where::Anywhere, number, 0, PAGE as usize) };
    let result = sys::set_length(number, PAGE).and_then(|()| map());
    sys::close(number);
    result
}

/// Writes the header into a page just mapped (or null).
fn fill(page: *mut FirstPage, inner: &Inner, live: *mut Live, flags: u32, boot_start: u64) {
    // SAFETY: null, or a mapping of a whole page that nobody else has yet; zeros are a valid page.
    let Some(page) = (unsafe { page.as_mut() }) else {
        return;
    };
    let image = image();
    let header = &mut page.header;
    header.version = ABI_VERSION;
    header.kind = image.kind;
    header.build_id = image.build_id;
    header.block_size = image.block_size;
    header.end = PAGE;
    let process = fork::process();
    (header.pid, header.ppid) = (process.id, process.parent);
    header.start = sys::now();
    header.flags = flags;
    header.boot_start = boot_start;
    header.collector = inner.collector.id;
    header.pid_namespace = proc::pid_namespace();
    copy_padded(&mut header.name, until_nul(&image.name));
    if inner.image_path.is_whole() {
        copy_padded(&mut header.path, inner.image_path.as_bytes());
    }
    (page.stamp, page.live) = (LIVE_STAMP, live);
    page.seal();
}

fn image_address() -> usize {
    (&raw const *image()).addr()
}

/// Looks the image up in the maps: sets its path, and takes over from an earlier load of it in this process.
fn adopt(inner: &mut Inner) -> bool {
    let Inner {
        scratch,
        image_path,
        name,
        ..
    } = inner;
    name.clear();
    name.push_decimal(u64::from(fork::process().id), 1);
    name.push(b'-');
    name.push_all(until_nul(&image().name));
    let mut found = [0_usize; CANDIDATES];
    let mut places = found.iter_mut();
    proc::each_mapping(scratch, &mut |mapping| {
        if holds(mapping, image_address()) {
            image_path.clear();
            image_path.push_all(mapping.path);
        }
        if is_profile(mapping, name.as_bytes())
            && let Some(place) = places.next()
        {
            *place = mapping.start;
        }
        true
    });
    found
        .into_iter()
        .any(|address| address != 0 && take_over(inner, address))
}

fn holds(mapping: &Mapping<'_>, address: usize) -> bool {
    mapping.start <= address && address < mapping.end
}

/// The first page of one of our profiles, by its name?
fn is_profile(mapping: &Mapping<'_>, name: &[u8]) -> bool {
    let file = file_name(mapping.path);
    let file = file
        .get(b"memfd:".len()..)
        .filter(|_| starts_with(file, b"memfd:"))
        .unwrap_or(file);
    mapping.offset == 0 && starts_with(file, name)
}

/// Goes on with the page at `address`, if it is this image's and the load that made it is gone.
fn take_over(inner: &mut Inner, address: usize) -> bool {
    let address = address as *mut FirstPage;
    // SAFETY: a mapping of a file with the name of a profile of this process and image, so a page of this layout or of
    // another version; any bytes are a valid page.
    let Some(page) = (unsafe { address.as_mut() }) else {
        return false;
    };
    let ours = page.header.version == ABI_VERSION
        && page.header.pid == fork::process().id
        && page.stamp == LIVE_STAMP
        && page.header.block_size == image().block_size
        && same(&page.header.build_id, &image().build_id);
    // SAFETY: by its stamp, the page has the address of notes that stay mapped.
    let Some(live) = (unsafe { page.live.as_mut() }).filter(|_| ours) else {
        return false;
    };
    if is_loaded(inner, live.image) {
        return false;
    }
    live.image = image_address();
    inner.collector = live.collector;
    store::free_all_blocks(live);
    fork::keep_token(live.token);
    set_paths(inner, address.addr());
    // SAFETY: page and notes of this layout (stamp and version), whose image is gone from memory.
    unsafe { inner.set_page(address, live) };
    true
}

/// Is another load of this image still at this address?
fn is_loaded(inner: &mut Inner, address: usize) -> bool {
    if address == image_address() {
        return false; // this load is there now
    }
    let mut readable = false;
    proc::each_mapping(&mut inner.scratch, &mut |mapping| {
        readable |= mapping.readable
            && holds(mapping, address)
            && mapping.end - address >= size_of::<ImageHeader>();
        !readable
    });
    // SAFETY: mapped and readable, all of it; any bytes are a valid header. (A library that is unloaded at this moment
    // by another thread could take it away: that thread would be unloading an image while it is being loaded.)
    readable && unsafe { is_image(&*(address as *const ImageHeader)) }
}

/// Is this the header of an image of the same build?
fn is_image(header: &ImageHeader) -> bool {
    same(&header.magic, &image().magic) && same(&header.build_id, &image().build_id)
}

/// Sets directory and name of the profile mapped at `address`, for opening it again.
fn set_paths(inner: &mut Inner, address: usize) {
    let Inner {
        scratch,
        directory,
        name,
        ..
    } = inner;
    directory.clear();
    proc::each_mapping(scratch, &mut |mapping| {
        if !holds(mapping, address) {
            return true;
        }
        let file = file_name(mapping.path);
        let parent = mapping.path.len() - file.len();
        directory.push_all(mapping.path.get(..parent.saturating_sub(1)).unwrap_or(&[]));
        name.clear();
        name.push_all(file);
        false
    });
}
