//! Tests what a link needs in addition to woven modules: archives, the image object, and bases that
//! are written into objects.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod archive;
mod image;
mod link_support;
mod patch;
