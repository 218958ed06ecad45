//! Counts the calls of a program in the traces of its threads.
//!
//! A path map does not contain calls, but a trace contains the beginning and the end of each
//! activation. The caller is the activation below the new activation. If the caller is not woven,
//! it is the next woven caller.

use holloway_analysis::layout::{Call, CallGraph, CalledFunction, code_bytes};
use holloway_analysis::trace::Trace;
use holloway_analysis::trace::code::{Code, Event};
use holloway_format::{Count, ImageMap};
use std::collections::HashMap;

/// The calls and executed instructions of an image's functions.
pub(super) struct CallCounter<'a> {
    code: Code<'a>,
    /// By function, as traces number them.
    functions: Vec<CalledFunction>,
    /// By caller and callee.
    calls: HashMap<(u32, u32), u64>,
}

impl<'a> CallCounter<'a> {
    pub(super) fn new(map: &'a ImageMap) -> Self {
        let code = Code::new(map);
        let functions = code.functions().map(|(_, map)| CalledFunction {
            bytes: code_bytes(map),
            instructions: Count::ZERO,
        });
        Self {
            functions: functions.collect(),
            calls: HashMap::new(),
            code,
        }
    }

    /// Adds the calls of a thread.
    pub(super) fn add(&mut self, trace: &Trace) {
        let events = self.code.events(&trace.terminals);
        let mut stack: Vec<u32> = Vec::new();
        for terminal in trace.grammar.expand() {
            match events[terminal as usize] {
                Event::Path {
                    function,
                    enters,
                    leaves,
                    instructions,
                    ..
                } => {
                    if enters && let Some(&caller) = stack.last() {
                        *self.calls.entry((caller, function)).or_default() += 1;
                    }
                    // The beginning of an activation may be missing.
                    if enters || stack.last() != Some(&function) {
                        stack.push(function);
                    }
                    if leaves {
                        stack.pop();
                    }
                    let sum = &mut self.functions[function as usize].instructions;
                    *sum = sum.saturating_add(Count(instructions));
                }
                Event::Left(frames) => {
                    stack.truncate(stack.len().saturating_sub(frames as usize));
                }
                Event::Gap => stack.clear(),
            }
        }
    }

    /// The calls so far.
    pub(super) fn graph(&self) -> CallGraph {
        let calls = self.calls.iter().map(|(&(caller, callee), &count)| Call {
            caller: caller as usize,
            callee: callee as usize,
            count: Count(count),
        });
        CallGraph::new(self.functions.clone(), calls.collect())
    }
}
