//! The image that contains this runtime, and the kind of collection that it was woven for.

use holloway_abi::{ImageHeader, InlineCounts, Kind, Timing};

unsafe extern "C" {
    /// The header, which the link step defines.
    static __holloway_image: ImageHeader;
}

/// The image's header.
#[inline(always)]
pub(super) fn header() -> &'static ImageHeader {
    // SAFETY: the link of every image defines the symbol, as read-only data of this type.
    unsafe { &__holloway_image }
}

/// The header's address. It distinguishes this load of the image from other loads.
pub(super) fn address() -> usize {
    (&raw const *header()).addr()
}

/// The kind that the image was woven to collect.
///
/// The link step adds the runtime of the same version, so the number is always known.
#[inline(always)]
fn kind() -> Kind {
    Kind::from_number(header().kind).unwrap_or(Kind::Paths)
}

/// Does woven code record anything?
pub(super) fn is_recorded() -> bool {
    kind().is_recorded()
}

/// Do threads append words to rings? If not, they count in blocks of counters.
pub(super) fn is_stream() -> bool {
    kind().is_stream()
}

/// Do rings have ring counters after their words?
pub(super) fn has_ring_counters() -> bool {
    let counts_activations = match kind().traits().inline_counts {
        InlineCounts::Activations => true,
        InlineCounts::Nothing | InlineCounts::Paths | InlineCounts::Edges => false,
    };
    is_stream() && counts_activations
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
