//! The LLVM C API of the user's own libLLVM, made safe
