//! Control flow graphs: cycles cut, paths numbered, probes placed, paths regenerated
