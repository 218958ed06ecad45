//! Dense ids: a block, an edge, an edge of the dag, a path. Each id indexes a `Vec` and prints as a
//! letter and a number.

use core::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// The id as an index into a `Vec`.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id! {
    /// A basic block of a [`Cfg`](crate::Cfg), printed `b3`.
    BlockId(u32), "b"
}
id! {
    /// An edge of a [`Cfg`](crate::Cfg), printed `e7`.
    EdgeId(u32), "e"
}
id! {
    /// An edge of the dag, the acyclic graph whose paths are numbered; printed `d2`.
    DagEdgeId(u32), "d"
}
id! {
    /// A path number, from 0 to the function's path count − 1, printed `p12`.
    #[derive(Default)]
    PathId(u64), "p"
}

impl EdgeId {
    pub(crate) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("a graph has fewer than 2^32 edges"))
    }
}

impl DagEdgeId {
    pub(crate) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("a dag has fewer than 2^32 edges"))
    }
}
