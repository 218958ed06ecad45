//! Bitcode in, instrumented objects and path map out
