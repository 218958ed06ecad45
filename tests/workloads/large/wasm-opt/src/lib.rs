//! Nothing: CMakeLists.txt builds the C++ sources of the dependency.
