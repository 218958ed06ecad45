//! The image that this runtime is part of, and the kind of profile that it collects.

use holloway_abi::{ImageHeader, InlineCounts, Kind, Timing};

unsafe extern "C" {
    /// The link of the image defines this header.
    static __holloway_image: ImageHeader;
}

/// The image's header.
#[inline(always)]
pub(super) fn header() -> &'static ImageHeader {
    // SAFETY: the link of every image defines the symbol, as read-only data of this type.
    unsafe { &__holloway_image }
}

/// The header's address, which identifies this load of the image.
pub(super) fn address() -> usize {
    (&raw const *header()).addr()
}

/// The kind that the image was woven to collect.
///
/// The linker step adds a runtime of its own version, so the number is always known.
#[inline(always)]
fn kind() -> Kind {
    Kind::from_number(header().kind).unwrap_or(Kind::Paths)
}

/// Do threads append words to rings? Otherwise they count in blocks.
pub(super) fn is_stream() -> bool {
    kind().is_stream()
}

/// Do rings have a block of counters behind their words?
pub(super) fn has_ring_counters() -> bool {
    let is_behind_ring = match kind().traits().inline_counts {
        InlineCounts::Activations => true,
        InlineCounts::Nothing | InlineCounts::Paths | InlineCounts::Edges => false,
    };
    is_stream() && is_behind_ring
}

/// Are paths timed?
pub(super) fn is_timed() -> bool {
    kind().is_timed()
}

/// Are only the paths of bursts timed?
#[inline(always)]
pub(super) fn has_bursts() -> bool {
    kind().traits().timing == Timing::Bursts
}

/// Are all paths timed?
#[inline(always)]
pub(super) fn times_all_paths() -> bool {
    kind().traits().timing == Timing::All
}
