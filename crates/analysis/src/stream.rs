//! A thread's stream of words: which activations it opens and closes, and which paths each of them runs.
//!
//! | module | content |
//! |---|---|
//! | `words` | the words of an image: function, path, and whether it opens or closes an activation |
//! | `activations` | the stack of open activations, and a listener's view of it |
//! | `activations::effects` | what whole stretches of words do to the stack, for streams that repeat |

mod activations;
mod words;

pub(crate) use activations::effects::Effects;
pub use activations::*;
pub(crate) use words::closes;
pub use words::{Word, WordFunction, Words};
