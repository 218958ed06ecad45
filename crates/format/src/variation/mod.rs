//! How long paths took: the timings of one process and image (Perelman, Chilimbi, Calder 2005), and
//! their file `*.hwv`.
//!
//! Each path has two [`Timing`]s: one of undisturbed samples, and one of samples whose thread was
//! preempted or moved to another processor meanwhile.

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
