//! The common part of all handles: a pointer into LLVM, and the module that keeps the object alive.
//!
//! A handle borrows its module. The module cannot destroy anything while a handle lives, so every
//! handle points to a live object.

/// Defines a handle type around one of the C API's pointers.
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
