//! Profiles in, answers out
