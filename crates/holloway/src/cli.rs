//! The command line as data: help, man pages, shell completions, and parsing all come from these
//! types.
//!
//! Two trees share their groups of options ([`WeaveArgs`], [`OutputArgs`], [`StreamArgs`],
//! [`ViewArgs`]): [`Holloway`] (`holloway …`) and [`CargoHolloway`] (`cargo holloway …`). The cargo
//! verbs pass all options that are not listed here on to cargo; see `split.rs`.

mod annotate;
mod cargo;
pub(crate) mod check;
pub(crate) mod coverage;
mod export;
mod graph;
mod holloway;
pub(crate) mod optimize;
pub(crate) mod phases;
pub(crate) mod predict;
mod stream;
pub(crate) mod trace;
mod tui;
mod view;
mod weave;

pub(crate) use annotate::AnnotateArgs;
pub(crate) use cargo::{CargoArgs, CargoCommand, CargoHolloway};
pub(crate) use export::ExportArgs;
pub(crate) use graph::{GraphArgs, PathArg};
pub(crate) use holloway::{
    AdviseArgs, CleanArgs, Combine, Command, CompletionsArgs, DemoArgs, DiffArgs, EnvFormat,
    Holloway, ImportArgs, ManArgs, ManagerArgs, MergeArgs, MonitorArgs, OverlapArgs, PagerArgs,
    ReportArgs, RunArgs, RunsCommand, ShowEnvArgs, StabilityArgs, SuiteArgs,
};
pub(crate) use stream::{OutputArgs, StreamArgs};
pub(crate) use tui::TuiArgs;
pub(crate) use view::{
    CodeArgs, ColorWhen, ListArgs, OutputFormat, PlaceArgs, SortKey, TimeOf, TimesArgs, View,
    ViewArgs, last_line, parse_function,
};
pub(crate) use weave::WeaveArgs;
