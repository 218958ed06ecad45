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
    /// Ways of branches that were taken, in percent.
    BranchesCovered,
    /// Paths that ran, in percent. Paths that end in a panic, or that a call leaves, do not count.
    PathsCovered,
    /// Conditions of decisions that acted on the outcome by themselves (MC/DC), in percent.
    ConditionsCovered,
    /// Prime paths that ran, in percent.
    PrimePathsCovered,
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
    pub const ALL: [Self; 15] = [
        Self::Calls,
        Self::Instructions,
        Self::InstructionShare,
        Self::PathExecutions,
        Self::Paths,
        Self::FunctionsCovered,
        Self::LinesCovered,
        Self::BranchesCovered,
        Self::PathsCovered,
        Self::ConditionsCovered,
        Self::PrimePathsCovered,
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
            | Self::PathsCovered
            | Self::ConditionsCovered
            | Self::PrimePathsCovered => true,
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

    /// Whether single paths have the figure.
    pub(super) fn is_of_paths(self) -> bool {
        match self {
            Self::Instructions | Self::InstructionShare | Self::PathExecutions => true,
            Self::Calls
            | Self::Paths
            | Self::FunctionsCovered
            | Self::LinesCovered
            | Self::BranchesCovered
            | Self::PathsCovered
            | Self::ConditionsCovered
            | Self::PrimePathsCovered
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
            Self::ConditionsCovered => "conditions-covered",
            Self::PrimePathsCovered => "prime-paths-covered",
            Self::Variation => "variation",
            Self::Overlap => "overlap",
            Self::InstructionChange => "instruction-change",
            Self::NewPaths => "new-paths",
        }
    }
}
