//! Helpers of the tests: builds and runs programs with the runtime, and reads their files.

mod profile;
mod program;
pub(crate) mod streams;
#[cfg(target_arch = "x86_64")]
pub(crate) mod timed;

pub(crate) use profile::{Profile, profiles, scenario};
pub(crate) use program::{
    Libc, command, compile, gcc, kill, object, only, run, run_silently, source, test_directory,
    test_with_each_libc,
};
