//! How long paths took: the timings of one process and image (Perelman, Chilimbi, Calder 2005), and their file `*.hwv`.
//!
//! Of each path a [`Timing`] is kept for samples that nothing disturbed, and one for those whose thread was preempted, or moved to another
//! processor, on the way.

mod distribution;
mod file;
mod stats;
mod timing;

pub use distribution::{BUCKETS, Bucket, Distribution, Sums, bounds, bucket_of};
pub use file::{
    FunctionTimings, VARIATION_MAGIC, VARIATION_VERSION, VariationHead, VariationProfile,
    read_variation, write_variation,
};
pub use stats::VariationStats;
pub use timing::{Bursts, PathTimings, Timing};
