//! The counter runtime that is linked into woven programs
