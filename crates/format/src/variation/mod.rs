//! The timings of one process and image: the times of samples of paths (Perelman, Chilimbi, Calder
//! 2005), and their file `*.hwv`.
//!
//! Each path has two [`Timing`]s. One has the *disturbed* samples, in which the thread was
//! preempted or moved to another processor. The other has the *calm* samples: all others whose time
//! is known.

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
