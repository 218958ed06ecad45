//! The figures that a limit can limit.

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Calls of the functions.
    Calls,
    /// Executed instructions.
    Instructions,
    /// Executed instructions, in percent of the run's.
    InstructionShare,
    /// Executions of paths.
    PathExecutions,
    /// Different paths that ran.
    Paths,
    /// Functions of the source that ran, in percent.
    FunctionsCovered,
    /// Lines that ran, in percent.
    LinesCovered,
    /// Ways of branches that were taken, of the branches that ran, in percent.
    BranchesCovered,
    /// Paths that ran, of the functions that ran, in percent.
    PathsCovered,
    /// The net variation of paths for which it is certain, in percent of the run's time.
    Variation,
    /// The overlap of the run and the baseline, from 0 to 1.
    Overlap,
    /// Instructions beyond those of the baseline, in percent of the baseline's.
    InstructionChange,
    /// Different paths that ran, and did not run in the baseline.
    NewPaths,
}

impl Measure {
    /// All figures, in the order of the documentation.
    pub const ALL: [Self; 13] = [
        Self::Calls,
        Self::Instructions,
        Self::InstructionShare,
        Self::PathExecutions,
        Self::Paths,
        Self::FunctionsCovered,
        Self::LinesCovered,
        Self::BranchesCovered,
        Self::PathsCovered,
        Self::Variation,
        Self::Overlap,
        Self::InstructionChange,
        Self::NewPaths,
    ];

    /// Whether the figure is a share of code that ran. It looks into inlined functions; the others
    /// count functions with code of their own.
    pub(super) fn is_coverage(self) -> bool {
        match self {
            Self::FunctionsCovered
            | Self::LinesCovered
            | Self::BranchesCovered
            | Self::PathsCovered => true,
            Self::Calls
            | Self::Instructions
            | Self::InstructionShare
            | Self::PathExecutions
            | Self::Paths
            | Self::Variation
            | Self::Overlap
            | Self::InstructionChange
            | Self::NewPaths => false,
        }
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Instructions => "instructions",
            Self::InstructionShare => "instruction-share",
            Self::PathExecutions => "path-executions",
            Self::Paths => "paths",
            Self::FunctionsCovered => "functions-covered",
            Self::LinesCovered => "lines-covered",
            Self::BranchesCovered => "branches-covered",
            Self::PathsCovered => "paths-covered",
            Self::Variation => "variation",
            Self::Overlap => "overlap",
            Self::InstructionChange => "instruction-change",
            Self::NewPaths => "new-paths",
        }
    }
}
