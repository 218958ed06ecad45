//! Finds the collector: the process that takes words out of this process's rings.

use super::proc::{self, Scratch};
use super::{image, sys};
use crate::text::{Text, number};
use holloway_abi::{COLLECTOR_VARIABLE, environment};

/// A process that takes words out of the rings.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Collector {
    /// Start of the process in ticks of the boot clock, which detects a reused id; 0: unknown.
    pub(super) start: u64,
    /// Process id; 0: there is no collector, and threads spool.
    pub(super) id: u32,
}

impl Collector {
    pub(super) const NONE: Collector = Collector { start: 0, id: 0 };

    /// Returns the collector that the environment names, or [`Collector::NONE`]. `value` is a
    /// buffer.
    ///
    /// The result is [`Collector::NONE`] in three cases in which no process would take the words
    /// and the threads would wait forever: the collector has ended, it is in another PID namespace,
    /// or it reads another directory.
    pub(super) fn find(scratch: &mut Scratch, value: &mut Text<4096>) -> Collector {
        let name = COLLECTOR_VARIABLE.as_bytes();
        if !image::is_stream() || !proc::variable(name, scratch, value) {
            return Collector::NONE;
        }
        let (id, rest) = number(value.as_bytes(), 10);
        let (Ok(id @ 1..=0x7FFF_FFFF), Some((b' ', data))) =
            (u32::try_from(id), rest.split_first())
        else {
            return Collector::NONE;
        };
        if !proc::variable_is(environment::DATA.name.as_bytes(), data, scratch)
            || sys::is_dead(id, id)
        {
            return Collector::NONE;
        }
        let life = proc::life(id, scratch);
        if life.has_ended {
            return Collector::NONE;
        }
        Collector {
            start: life.start,
            id,
        }
    }

    /// Has this process ended, or does another process have its id now?
    pub(super) fn has_ended(self, scratch: &mut Scratch) -> bool {
        let life = proc::life(self.id, scratch);
        let has_reused_id = self.start != 0 && life.start != 0 && life.start != self.start;
        life.has_ended || has_reused_id
    }
}
