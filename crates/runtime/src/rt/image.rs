//! The image that this runtime is part of, and the kind of profile that it collects.

use holloway_abi::{ImageHeader, KIND_LOOPS, KIND_TIMES, KIND_VARIATION};

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

/// Do threads append words to rings? Otherwise they count in blocks.
pub(super) fn is_stream() -> bool {
    holloway_abi::is_stream(header().kind)
}

/// Do rings have a block of counters behind their words?
pub(super) fn has_counters_behind_ring() -> bool {
    header().kind == KIND_LOOPS
}

/// Are paths timed?
pub(super) fn is_timed() -> bool {
    matches!(header().kind, KIND_VARIATION | KIND_TIMES)
}

/// Are only the paths of bursts timed?
#[inline(always)]
pub(super) fn has_bursts() -> bool {
    header().kind == KIND_VARIATION
}

/// Are all paths timed?
#[inline(always)]
pub(super) fn times_all_paths() -> bool {
    header().kind == KIND_TIMES
}
