//! A thread's stream of words: the activations that it opens and closes, and the paths that each
//! activation runs.
//!
//! | module | content |
//! |---|---|
//! | `words` | the words of an image: function, path, and the activations that they open or close |
//! | `activations` | the stack of open activations, and the interface of listeners |
//! | `activations::effects` | the effects of recurring pieces of a stream on the stack |

mod activations;
mod words;

pub(crate) use activations::effects::Effects;
pub use activations::*;
pub(crate) use words::closes;
pub use words::{Word, WordFunction, Words};
