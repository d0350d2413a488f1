//! Segments: stretches of a function's instructions that run from one control instruction to the
//! next. A mark at the start of each tells what ran.

use std::ops::Range;

use walrus::ir::InstrSeqId;
use walrus::ir::{Const, Instr, InstrSeq, MemArg, Store, StoreKind, Value, Visitor, dfs_in_order};
use walrus::{LocalFunction, Module};

/// The segments of one sequence of instructions.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) id: InstrSeqId,
    pub(crate) segments: Vec<Range<usize>>,
}

/// All segments of a function, always in the same order.
pub(crate) fn segments(function: &LocalFunction) -> Vec<Sequence> {
    #[derive(Default)]
    struct Found(Vec<Sequence>);
    impl<'a> Visitor<'a> for Found {
        fn start_instr_seq(&mut self, seq: &'a InstrSeq) {
            self.0.push(Sequence {
                id: seq.id(),
                segments: ranges(seq),
            });
        }
    }
    let mut found = Found::default();
    dfs_in_order(&mut found, function, function.entry_block());
    found.0
}

fn ranges(seq: &InstrSeq) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for (index, (instr, _)) in seq.instrs.iter().enumerate() {
        if is_control(instr) {
            ranges.push(start..index + 1);
            start = index + 1;
        }
    }
    if start < seq.instrs.len() {
        ranges.push(start..seq.instrs.len());
    }
    ranges
}

fn is_control(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::Block(_) | Instr::Loop(_) | Instr::IfElse(_) | Instr::BrIf(_)
    ) || is_final(instr)
}

/// Whether nothing after this instruction runs.
pub(crate) fn is_final(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::Br(_) | Instr::BrTable(_) | Instr::Return(_) | Instr::Unreachable(_)
    )
}

/// Where the marks of a program are.
#[derive(Debug)]
pub(crate) struct Marks {
    /// Address of the first: one byte each, in memory that the program has not and never asks for.
    pub(crate) base: u64,
    /// Each function's name, and how many segments it has.
    pub(crate) functions: Vec<(String, usize)>,
}

/// Has each segment of each function set its mark to 1 when it starts.
pub(crate) fn mark(module: &mut Module) -> anyhow::Result<Marks> {
    let memory = module.memories.iter().next().map(walrus::Memory::id);
    let memory = anyhow::Context::context(memory, "the program has no memory")?;
    let base = module.memories.get(memory).initial * PAGE;
    let mut marks = Marks {
        base,
        functions: Vec::new(),
    };
    let mut next = base;
    let ids: Vec<_> = module.funcs.iter_local().map(|(id, _)| id).collect();
    for id in ids {
        let function = module.funcs.get_mut(id);
        let name = function.name.clone().unwrap_or_default();
        let local = function.kind.unwrap_local_mut();
        let mut count = 0;
        for sequence in segments(local) {
            let instrs = &mut local.block_mut(sequence.id).instrs;
            for (number, segment) in sequence.segments.iter().enumerate().rev() {
                let address = next + number as u64;
                let arg = MemArg {
                    align: 1,
                    offset: address,
                };
                let kind = StoreKind::I32_8 { atomic: false };
                let constant = |value| {
                    Instr::from(Const {
                        value: Value::I32(value),
                    })
                };
                let set = [constant(0), constant(1), Store { memory, kind, arg }.into()];
                let set = set.map(|instr| (instr, walrus::InstrLocId::default()));
                instrs.splice(segment.start..segment.start, set);
            }
            next += sequence.segments.len() as u64;
            count += sequence.segments.len();
        }
        marks.functions.push((name, count));
    }
    module.memories.get_mut(memory).initial += (next - base).div_ceil(PAGE);
    Ok(marks)
}

const PAGE: u64 = 0x1_0000;
