//! Moves what does not run at first out of functions that do: a stretch of segments that never ran
//! becomes a function of its own, which the second file can hold.
//!
//! The new function takes the locals that the stretch reads, and gives back those that it writes and
//! others read. Where the stretch jumps out of itself, the new function gives back which way, and
//! the old one jumps.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use walrus::ir::{
    BinaryOp, Binop, Block, Br, BrIf, BrTable, Call, Const, IfElse, Instr, InstrSeqId,
    InstrSeqType, LocalGet, LocalSet, Loop, Unreachable, Value,
};
use walrus::{FunctionBuilder, FunctionId, InstrLocId, LocalFunction, LocalId, Module, ValType};

use super::profile::{Needed, Profile};
use super::segments::{Sequence, is_final, segments};

/// How the name of a moved stretch begins.
pub(crate) const COLD: &str = "cold ";

/// Moves every stretch that is worth it, but for those of functions that stay whole.
pub(crate) fn outline(module: &mut Module, profile: &Profile, whole: &BTreeSet<FunctionId>) {
    let functions: Vec<FunctionId> = module.funcs.iter_local().map(|(id, _)| id).collect();
    for id in functions.into_iter().filter(|id| !whole.contains(id)) {
        let function = module.funcs.get(id);
        let sequences = segments(function.kind.unwrap_local());
        let count = sequences
            .iter()
            .map(|sequence| sequence.segments.len())
            .sum();
        let name = function.name.clone().unwrap_or_default();
        if let Needed::Segments(ran) = profile.needed(&name, count) {
            let name = format!("{COLD}{name}");
            OldFunction::new(module, id, &sequences, ran).shrink(module, &name);
        }
    }
}

/// A function from which stretches are moved.
struct OldFunction {
    id: FunctionId,
    /// Which segments each sequence has, and whether they ran.
    sequences: HashMap<InstrSeqId, Vec<(Range<usize>, bool)>>,
    loops: HashSet<InstrSeqId>,
    entry: InstrSeqId,
    /// How often each local is read.
    reads: HashMap<LocalId, usize>,
}

/// A stretch, and what it has to do with the rest of its function.
#[derive(Default)]
struct Stretch {
    /// Instructions, those within included.
    size: usize,
    reads: HashMap<LocalId, usize>,
    /// Locals that it may read before it writes them.
    live_in: Vec<LocalId>,
    written: Vec<LocalId>,
    /// Sequences within.
    inside: HashSet<InstrSeqId>,
    /// Sequences outside to which it jumps.
    targets: Vec<InstrSeqId>,
}

impl OldFunction {
    fn new(module: &Module, id: FunctionId, sequences: &[Sequence], ran: &[bool]) -> Self {
        let function = module.funcs.get(id).kind.unwrap_local();
        let mut ran = ran.iter().copied();
        let mut of_sequence = HashMap::new();
        let (mut loops, mut reads) = (HashSet::new(), HashMap::new());
        for Sequence { id, segments } in sequences {
            let segments = segments.iter().cloned();
            let with_ran = segments.map(|range| (range, ran.next().unwrap_or(true)));
            of_sequence.insert(*id, with_ran.collect());
            for (instr, _) in &function.block(*id).instrs {
                match instr {
                    Instr::Loop(Loop { seq }) => {
                        loops.insert(*seq);
                    }
                    Instr::LocalGet(LocalGet { local }) => *reads.entry(*local).or_insert(0) += 1,
                    _ => {}
                }
            }
        }
        Self {
            id,
            sequences: of_sequence,
            loops,
            entry: function.entry_block(),
            reads,
        }
    }

    fn shrink(&self, module: &mut Module, name: &str) {
        let mut open = vec![self.entry];
        while let Some(seq) = open.pop() {
            let segments = self
                .sequences
                .get(&seq)
                .map(Vec::as_slice)
                .unwrap_or_default();
            // From the end, so that what comes before keeps its place.
            for stretch in segments.chunk_by(|one, next| one.1 == next.1).rev() {
                let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else {
                    continue;
                };
                let stop = last.0.end;
                let mut starts = stretch.iter().take(3).map(|segment| segment.0.start);
                let ran = first.1;
                let stays =
                    ran || !starts.any(|start| self.move_out(module, seq, start..stop, name));
                if stays {
                    let all = self
                        .function(module)
                        .block(seq)
                        .instrs
                        .get(first.0.start..stop);
                    let all = all.unwrap_or_default().iter();
                    open.extend(all.flat_map(|(instr, _)| children(instr)));
                }
            }
        }
    }

    fn function<'a>(&self, module: &'a Module) -> &'a LocalFunction {
        module.funcs.get(self.id).kind.unwrap_local()
    }

    /// Moves a stretch, if that can be done and is worth it.
    fn move_out(
        &self,
        module: &mut Module,
        seq: InstrSeqId,
        range: Range<usize>,
        name: &str,
    ) -> bool {
        let Some(plan) = self.plan(module, seq, range.clone()) else {
            return false;
        };
        let new = plan.make_function(module, self, (seq, range.clone()), name);
        let call = plan.make_call(module, self, new);
        let local = module.funcs.get_mut(self.id).kind.unwrap_local_mut();
        let instrs = &mut local.block_mut(seq).instrs;
        let call = call.into_iter().map(|instr| (instr, InstrLocId::default()));
        instrs.splice(range, call);
        true
    }

    fn plan(&self, module: &mut Module, seq: InstrSeqId, range: Range<usize>) -> Option<Plan> {
        let function = self.function(module);
        let whole = function.block(seq);
        let instrs = whole.instrs.get(range.clone())?;
        let (height, falls_through) = self.height(module, function, instrs)?;
        let ends_sequence = range.end == whole.instrs.len();
        let results = arity(module, whole.ty, false);
        let fall_types = match (falls_through, height) {
            (false, _) | (true, 0) => Vec::new(),
            (true, height) if ends_sequence && height == results.len() => results,
            _ => return None,
        };
        let mut stretch = Stretch::default();
        self.look_through(function, instrs, &mut HashSet::new(), &mut stretch);
        let inside = std::mem::take(&mut stretch.inside);
        stretch.targets.retain(|target| !inside.contains(target));
        let is_read_elsewhere = |local: &LocalId| {
            let within = stretch.reads.get(local).copied().unwrap_or(0);
            within < self.reads.get(local).copied().unwrap_or(0)
        };
        let written = stretch.written.iter().copied();
        let gives: Vec<LocalId> = written
            .filter(|local| is_read_elsewhere(local) || stretch.live_in.contains(local))
            .collect();
        let mut takes = stretch.live_in.clone();
        takes.extend(
            gives
                .iter()
                .filter(|local| !stretch.live_in.contains(local)),
        );
        let exits: Vec<(InstrSeqId, Vec<ValType>)> = stretch
            .targets
            .iter()
            .map(|target| {
                let ty = function.block(*target).ty;
                (*target, arity(module, ty, self.loops.contains(target)))
            })
            .collect();
        let overhead = takes.len() + 2 + gives.len() + 4 * exits.len() + 2 * fall_types.len();
        if stretch.size <= overhead + WORTH_IT {
            return None;
        }
        let mut locals = |types: &[ValType]| -> Vec<LocalId> {
            types.iter().map(|ty| module.locals.add(*ty)).collect()
        };
        let fall = locals(&fall_types);
        let exits: Vec<Exit> = exits
            .into_iter()
            .map(|(target, types)| Exit {
                target,
                values: locals(&types),
                types,
            })
            .collect();
        let way = if exits.is_empty() {
            Vec::new()
        } else {
            locals(&[ValType::I32])
        };
        Some(Plan {
            takes,
            gives,
            fall,
            exits,
            way,
            falls_through,
        })
    }

    /// How much higher the stack is after some instructions, and whether they end at all; nothing
    /// if they take from the stack what was there before, or are not known.
    fn height(
        &self,
        module: &Module,
        function: &LocalFunction,
        instrs: &[(Instr, InstrLocId)],
    ) -> Option<(usize, bool)> {
        let arity_of = |target: InstrSeqId| {
            let ty = function.block(target).ty;
            arity(module, ty, self.loops.contains(&target)).len()
        };
        let mut height = 0_usize;
        for (instr, _) in instrs {
            let carries = match instr {
                Instr::Br(Br { block }) | Instr::BrIf(BrIf { block }) => arity_of(*block),
                Instr::BrTable(BrTable { default, .. }) => arity_of(*default) + 1,
                Instr::Return(_) => arity_of(self.entry),
                _ => 0,
            };
            if is_final(instr) {
                return (carries <= height).then_some((0, false));
            }
            let (takes, gives) = effect(module, function, instr)?;
            height = height.checked_sub(takes)?;
            if height < carries {
                return None;
            }
            height += gives;
        }
        Some((height, true))
    }

    /// Collects what a stretch does. `set` holds the locals that are certainly written by then.
    fn look_through(
        &self,
        function: &LocalFunction,
        instrs: &[(Instr, InstrLocId)],
        set: &mut HashSet<LocalId>,
        stretch: &mut Stretch,
    ) {
        for (instr, _) in instrs {
            stretch.size += 1;
            match instr {
                Instr::LocalGet(LocalGet { local }) => {
                    *stretch.reads.entry(*local).or_insert(0) += 1;
                    if !set.contains(local) {
                        add(&mut stretch.live_in, *local);
                    }
                }
                Instr::LocalSet(LocalSet { local })
                | Instr::LocalTee(walrus::ir::LocalTee { local }) => {
                    set.insert(*local);
                    add(&mut stretch.written, *local);
                }
                Instr::Br(Br { block }) | Instr::BrIf(BrIf { block }) => {
                    add(&mut stretch.targets, *block);
                }
                Instr::BrTable(BrTable { blocks, default }) => {
                    for block in blocks.iter().chain([default]) {
                        add(&mut stretch.targets, *block);
                    }
                }
                Instr::Return(_) => add(&mut stretch.targets, self.entry),
                _ => {}
            }
            for seq in children(instr) {
                stretch.inside.insert(seq);
                // What is written within may be jumped over.
                let mut set = set.clone();
                self.look_through(function, &function.block(seq).instrs, &mut set, stretch);
            }
        }
    }
}

/// A way out of a stretch other than its end.
struct Exit {
    target: InstrSeqId,
    types: Vec<ValType>,
    /// What the jump carries.
    values: Vec<LocalId>,
}

/// How a stretch becomes a function.
struct Plan {
    takes: Vec<LocalId>,
    gives: Vec<LocalId>,
    /// Values that it leaves on the stack at its end.
    fall: Vec<LocalId>,
    exits: Vec<Exit>,
    /// Which exit it takes, from 1; 0 is its end. Empty if it has none.
    way: Vec<LocalId>,
    falls_through: bool,
}

impl Plan {
    /// What the new function gives back, in order.
    fn given(&self) -> Vec<LocalId> {
        let values = self.exits.iter().flat_map(|exit| &exit.values);
        let all = self
            .gives
            .iter()
            .chain(values)
            .chain(&self.fall)
            .chain(&self.way);
        all.copied().collect()
    }

    fn make_function(
        &self,
        module: &mut Module,
        old: &OldFunction,
        (seq, range): (InstrSeqId, Range<usize>),
        name: &str,
    ) -> FunctionId {
        let given = self.given();
        let type_of = |local: &LocalId| module.locals.get(*local).ty();
        let params: Vec<ValType> = self.takes.iter().map(type_of).collect();
        let results: Vec<ValType> = given.iter().map(type_of).collect();
        let exit_types: Vec<InstrSeqType> = self
            .exits
            .iter()
            .map(|exit| InstrSeqType::new(&mut module.types, &[], &exit.types))
            .collect();
        let mut builder = FunctionBuilder::new(&mut module.types, &params, &results);
        let out = builder.dangling_instr_seq(None).id();
        let mut moved = BTreeMap::new();
        let landings: Vec<InstrSeqId> = exit_types
            .into_iter()
            .zip(&self.exits)
            .map(|(ty, exit)| {
                let landing = builder.dangling_instr_seq(ty).id();
                moved.insert(exit.target, landing);
                landing
            })
            .collect();
        let innermost = landings.last().copied().unwrap_or(out);
        let function = old.function(module);
        let mut copy = Copy {
            from: function,
            entry: old.entry,
            moved,
        };
        let instrs = function.block(seq).instrs.get(range).unwrap_or_default();
        copy.instrs(instrs, innermost, &mut builder);
        let mut body = builder.instr_seq(innermost);
        if self.falls_through {
            for local in self.fall.iter().rev() {
                body.local_set(*local);
            }
            if !self.exits.is_empty() {
                body.br(out);
            }
        } else {
            body.unreachable();
        }
        // From the innermost landing outwards: what follows a landing stands in the next one.
        let arounds = [out].into_iter().chain(landings.iter().copied());
        let nested = landings.iter().zip(&self.exits).zip(arounds).zip(1..);
        let nested: Vec<_> = nested.collect();
        for (((landing, exit), around), number) in nested.into_iter().rev() {
            let mut body = builder.instr_seq(around);
            body.instr(Block { seq: *landing });
            for local in exit.values.iter().rev() {
                body.local_set(*local);
            }
            for way in &self.way {
                body.i32_const(number).local_set(*way);
            }
            if around != out {
                body.br(out);
            }
        }
        let mut body = builder.func_body();
        body.instr(Block { seq: out });
        for local in &given {
            body.local_get(*local);
        }
        let function = builder.local_func(self.takes.clone());
        let id = module.funcs.add_local(function);
        module.funcs.get_mut(id).name = Some(name.to_owned());
        id
    }

    fn make_call(&self, module: &mut Module, old: &OldFunction, new: FunctionId) -> Vec<Instr> {
        let get = |local: &LocalId| Instr::from(LocalGet { local: *local });
        let mut call: Vec<Instr> = self.takes.iter().map(get).collect();
        call.push(Call { func: new }.into());
        let given = self.given();
        call.extend(
            given
                .iter()
                .rev()
                .map(|local| LocalSet { local: *local }.into()),
        );
        let builder = module
            .funcs
            .get_mut(old.id)
            .kind
            .unwrap_local_mut()
            .builder_mut();
        for (index, exit) in self.exits.iter().enumerate() {
            let mut jump: Vec<Instr> = exit.values.iter().map(get).collect();
            jump.push(Br { block: exit.target }.into());
            let is_last = index + 1 == self.exits.len();
            if is_last && !self.falls_through {
                call.extend(jump);
                return call;
            }
            call.extend(self.way.iter().map(get));
            if 1 < self.exits.len() {
                let number = Value::I32(i32::try_from(index + 1).unwrap_or(i32::MAX));
                call.push(Const { value: number }.into());
                call.push(
                    Binop {
                        op: BinaryOp::I32Eq,
                    }
                    .into(),
                );
            }
            let mut then = builder.dangling_instr_seq(None);
            for instr in jump {
                then.instr(instr);
            }
            let consequent = then.id();
            let alternative = builder.dangling_instr_seq(None).id();
            call.push(
                IfElse {
                    consequent,
                    alternative,
                }
                .into(),
            );
        }
        call.extend(self.fall.iter().map(get));
        if !self.falls_through {
            call.push(Unreachable {}.into());
        }
        call
    }
}

/// Copies instructions into another function.
struct Copy<'a> {
    from: &'a LocalFunction,
    entry: InstrSeqId,
    /// Where a jump to a sequence goes in the new function.
    moved: BTreeMap<InstrSeqId, InstrSeqId>,
}

impl Copy<'_> {
    fn instrs(
        &mut self,
        instrs: &[(Instr, InstrLocId)],
        to: InstrSeqId,
        builder: &mut FunctionBuilder,
    ) {
        for (instr, _) in instrs {
            let copied = self.instr(instr, builder);
            let is_final = is_final(&copied);
            builder.instr_seq(to).instr(copied);
            if is_final {
                return;
            }
        }
    }

    fn instr(&mut self, instr: &Instr, builder: &mut FunctionBuilder) -> Instr {
        match instr {
            Instr::Block(Block { seq }) => Block {
                seq: self.sequence(*seq, builder),
            }
            .into(),
            Instr::Loop(Loop { seq }) => Loop {
                seq: self.sequence(*seq, builder),
            }
            .into(),
            Instr::IfElse(IfElse {
                consequent,
                alternative,
            }) => IfElse {
                consequent: self.sequence(*consequent, builder),
                alternative: self.sequence(*alternative, builder),
            }
            .into(),
            Instr::Br(Br { block }) => Br {
                block: self.target(*block),
            }
            .into(),
            Instr::BrIf(BrIf { block }) => BrIf {
                block: self.target(*block),
            }
            .into(),
            Instr::BrTable(BrTable { blocks, default }) => BrTable {
                blocks: blocks.iter().map(|block| self.target(*block)).collect(),
                default: self.target(*default),
            }
            .into(),
            Instr::Return(_) => Br {
                block: self.target(self.entry),
            }
            .into(),
            other => other.clone(),
        }
    }

    fn sequence(&mut self, seq: InstrSeqId, builder: &mut FunctionBuilder) -> InstrSeqId {
        let from = self.from.block(seq);
        let new = builder.dangling_instr_seq(from.ty).id();
        self.moved.insert(seq, new);
        self.instrs(&from.instrs, new, builder);
        new
    }

    fn target(&self, seq: InstrSeqId) -> InstrSeqId {
        self.moved.get(&seq).copied().unwrap_or(seq)
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn children(instr: &Instr) -> Vec<InstrSeqId> {
    match instr {
        Instr::Block(Block { seq }) | Instr::Loop(Loop { seq }) => vec![*seq],
        Instr::IfElse(IfElse {
            consequent,
            alternative,
        }) => vec![*consequent, *alternative],
        _ => Vec::new(),
    }
}

/// What a sequence gives at its end, or what a jump to the start of a loop takes.
fn arity(module: &Module, ty: InstrSeqType, is_loop: bool) -> Vec<ValType> {
    match ty {
        InstrSeqType::Simple(_) if is_loop => Vec::new(),
        InstrSeqType::Simple(result) => result.into_iter().collect(),
        InstrSeqType::MultiValue(ty) if is_loop => module.types.params(ty).to_vec(),
        InstrSeqType::MultiValue(ty) => module.types.results(ty).to_vec(),
    }
}

/// How many values an instruction takes from the stack and gives to it.
fn effect(module: &Module, function: &LocalFunction, instr: &Instr) -> Option<(usize, usize)> {
    let of_type = |ty| {
        let (params, results) = module.types.params_results(ty);
        (params.len(), results.len())
    };
    let of_sequence = |seq: InstrSeqId| {
        let ty = function.block(seq).ty;
        (
            arity(module, ty, true).len(),
            arity(module, ty, false).len(),
        )
    };
    Some(match instr {
        Instr::Block(Block { seq }) | Instr::Loop(Loop { seq }) => of_sequence(*seq),
        Instr::IfElse(IfElse { consequent, .. }) => {
            let (takes, gives) = of_sequence(*consequent);
            (takes + 1, gives)
        }
        Instr::Call(Call { func }) => of_type(module.funcs.get(*func).ty()),
        Instr::CallIndirect(call) => {
            let (takes, gives) = of_type(call.ty);
            (takes + 1, gives)
        }
        Instr::LocalGet(_)
        | Instr::GlobalGet(_)
        | Instr::Const(_)
        | Instr::MemorySize(_)
        | Instr::TableSize(_)
        | Instr::RefNull(_) => (0, 1),
        Instr::LocalSet(_) | Instr::GlobalSet(_) | Instr::Drop(_) | Instr::BrIf(_) => (1, 0),
        Instr::LocalTee(_)
        | Instr::Unop(_)
        | Instr::Load(_)
        | Instr::MemoryGrow(_)
        | Instr::TableGet(_)
        | Instr::RefIsNull(_) => (1, 1),
        Instr::Binop(_) | Instr::TableGrow(_) => (2, 1),
        Instr::Store(_) | Instr::TableSet(_) => (2, 0),
        Instr::Select(_) => (3, 1),
        Instr::MemoryCopy(_) | Instr::MemoryFill(_) | Instr::TableFill(_) => (3, 0),
        _ => return None,
    })
}

/// How many instructions a move must save.
const WORTH_IT: usize = 4;
