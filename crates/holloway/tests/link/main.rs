//! Tests of `holloway cc` and of the linker wrapper, with real builds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod as_is;
mod c;
mod cc_builds;
mod failures;
mod link_support;
mod places;
mod plans;
mod rust;
mod sanitizers;
