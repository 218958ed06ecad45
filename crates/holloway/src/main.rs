//! Path profiler for native programs: which paths does your code really take?
fn main() {}
