//! The signal by which a user ended a run early. Its counts are exact, but cover only a part of the
//! program's work.

/// A signal that asks a program to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// SIGHUP: the terminal was closed.
    Hangup,
    /// SIGINT: Ctrl-C.
    Int,
    /// SIGQUIT: Ctrl-\.
    Quit,
    /// SIGTERM: `kill`, `timeout`, or a service manager.
    Term,
}

impl Interrupt {
    /// All signals that interrupt a run.
    pub const ALL: [Interrupt; 4] = [Self::Hangup, Self::Int, Self::Quit, Self::Term];

    /// The signal's name: `SIGINT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hangup => "SIGHUP",
            Self::Int => "SIGINT",
            Self::Quit => "SIGQUIT",
            Self::Term => "SIGTERM",
        }
    }

    /// The signal's number on Linux.
    pub fn number(self) -> i32 {
        match self {
            Self::Hangup => 1,
            Self::Int => 2,
            Self::Quit => 3,
            Self::Term => 15,
        }
    }

    /// The signal with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.name() == name)
    }

    /// The signal with this number. `None` if it does not interrupt runs.
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|signal| signal.number() == number)
    }
}
