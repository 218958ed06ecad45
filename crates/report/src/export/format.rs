//! The formats of exports: one list of names and traits.

/// A format of `holloway export`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A flame graph for speedscope.
    Speedscope,
    /// A profile for pprof, compressed.
    Pprof,
    /// A profile for the Firefox Profiler.
    Firefox,
    /// Stacks as lines of text, for scripts that draw flame graphs.
    Folded,
    /// Results with code flows, for editors.
    Sarif,
    /// Line, branch, and function coverage for lcov.
    Lcov,
    /// Line and branch coverage for tools that read Cobertura's XML.
    Cobertura,
    /// Costs of lines, and jumps, for KCachegrind.
    Callgrind,
    /// A sample profile for LLVM, as text.
    SampleProfile,
    /// A table of paths and edges, as text.
    Csv,
    /// The same table, in columns.
    Parquet,
    /// The graph of one function for Graphviz.
    Dot,
    /// The report's JSON.
    Json,
}

/// The part of a run that a format shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Paths as stacks. A run without paths has none.
    Stacks,
    /// Lines and branches of the source, whether or not they ran.
    Coverage,
    /// Functions, with whatever was counted.
    Functions,
    /// One function.
    OneFunction,
}

impl Format {
    /// All formats, in the order of the documentation.
    pub const ALL: [Format; 13] = [
        Format::Speedscope,
        Format::Pprof,
        Format::Firefox,
        Format::Folded,
        Format::Sarif,
        Format::Lcov,
        Format::Cobertura,
        Format::Callgrind,
        Format::SampleProfile,
        Format::Csv,
        Format::Parquet,
        Format::Dot,
        Format::Json,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Speedscope => "speedscope",
            Format::Pprof => "pprof",
            Format::Firefox => "firefox",
            Format::Folded => "folded",
            Format::Sarif => "sarif",
            Format::Lcov => "lcov",
            Format::Cobertura => "cobertura",
            Format::Callgrind => "callgrind",
            Format::SampleProfile => "sample-profile",
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::Dot => "dot",
            Format::Json => "json",
        }
    }

    /// What the format is for, in a few words.
    pub fn help(self) -> &'static str {
        match self {
            Format::Speedscope => "Paths as a flame graph: speedscope",
            Format::Pprof => "Paths as a flame graph: pprof (gzip)",
            Format::Firefox => "Paths as a call tree: Firefox Profiler",
            Format::Folded => "Paths as folded stacks: flamegraph.pl, inferno",
            Format::Sarif => "Hot paths, slow paths, and ways never taken, as results in an editor",
            Format::Lcov => "Coverage of lines, branches, and functions: lcov, genhtml, editors",
            Format::Cobertura => "Coverage of lines and branches: CI servers",
            Format::Callgrind => "Costs of lines, and jumps: KCachegrind, callgrind_annotate",
            Format::SampleProfile => "LLVM's sample profile, as text: llvm-profdata, clang",
            Format::Csv => "Table of paths and edges, as text",
            Format::Parquet => "The same table, in columns: DuckDB, pandas, Polars",
            Format::Dot => "Graph of one function (--function): Graphviz",
            Format::Json => "The report's JSON",
        }
    }

    /// Whether the file is not text.
    pub fn is_binary(self) -> bool {
        matches!(self, Format::Pprof | Format::Parquet)
    }

    /// The part of a run that the format shows.
    pub fn content(self) -> Content {
        match self {
            Format::Speedscope | Format::Pprof | Format::Firefox | Format::Folded => {
                Content::Stacks
            }
            Format::Lcov | Format::Cobertura => Content::Coverage,
            Format::Sarif
            | Format::Callgrind
            | Format::SampleProfile
            | Format::Csv
            | Format::Parquet
            | Format::Json => Content::Functions,
            Format::Dot => Content::OneFunction,
        }
    }
}
