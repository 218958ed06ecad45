//! Handles: references to objects inside LLVM (values, blocks, types). A handle is a pointer into
//! LLVM and a borrow of the module that owns the object.
//!
//! The module cannot destroy an object while a handle lives, so every handle points to a live
//! object.

/// Defines a handle type for a pointer type of the C API.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($raw:ident)) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'m> {
            raw: NonNull<$raw>,
            module: &'m Module<'m>,
        }

        impl<'m> $name<'m> {
            pub(crate) fn new(raw: *mut $raw, module: &'m Module<'m>) -> Option<Self> {
                NonNull::new(raw).map(|raw| Self { raw, module })
            }

            pub(crate) fn raw(self) -> *mut $raw {
                self.raw.as_ptr()
            }

            /// The module of the handle.
            pub fn module(self) -> &'m Module<'m> {
                self.module
            }

            pub(crate) fn api(self) -> &'m Api {
                self.module.api()
            }
        }

        impl PartialEq for $name<'_> {
            fn eq(&self, other: &Self) -> bool {
                self.raw == other.raw
            }
        }

        impl Eq for $name<'_> {}

        impl Hash for $name<'_> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.raw.hash(state);
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:p})", stringify!($name), self.raw)
            }
        }
    };
}

pub(crate) use handle;
