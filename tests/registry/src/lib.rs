//! Nothing: this package exists for its dependencies.
