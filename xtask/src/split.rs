//! The program in two files: what runs until the first lesson stands, and the rest.
//!
//! A page that shows its first lesson has run less than a third of the program. So the program is
//! cut: functions that did not run go to a second file, and out of those that did, the stretches that
//! did not (`outline`). The page fetches the second file as soon as the first picture
//! stands. Both halves share memory, globals and the table of functions. Calls across the cut go
//! through slots of that table. Until the second file is there, its slots hold stubs that have it
//! loaded at once and then call what has come; so the profile decides how fast the page starts,
//! never whether it is right.
//!
//! `xtask/first-load.txt` is the profile. `cargo xtask first-load` makes it: it marks each segment
//! of the program, opens the page in a browser, and sees which marks are set.

mod outline;
mod profile;
mod segments;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use walrus::ir::{
    Call, CallIndirect, Const, Instr, InstrSeq, UnaryOp, Value, Visitor, VisitorMut, dfs_in_order,
    dfs_pre_order_mut,
};
use walrus::{
    ConstExpr, ElementItems, ElementKind, ExportItem, Function, FunctionBuilder, FunctionId,
    FunctionKind, GlobalKind, LocalFunction, LocalId, Module, ModuleConfig, TableId, ValType,
};

use outline::COLD;
use profile::Needed;
pub(crate) use profile::Profile;
pub(crate) use segments::Marks;

/// The two files.
#[derive(Debug)]
pub(crate) struct Halves {
    /// What loads at first.
    pub(crate) first: Vec<u8>,
    /// What loads then.
    pub(crate) rest: Vec<u8>,
}

/// Cuts a program that has its function names.
pub(crate) fn split(program: &[u8], profile: &Profile) -> Result<Halves> {
    let (mut first, mut rest) = (read(program)?, read(program)?);
    let mut later = unneeded(&first, profile)?;
    for half in [&mut first, &mut rest] {
        let whole: BTreeSet<FunctionId> = loader(half)?.into_iter().collect();
        outline::outline(half, profile, &whole);
    }
    let stretches = first
        .funcs
        .iter()
        .filter(|function| name(function).starts_with(COLD));
    later.extend(stretches.map(|function| function.id().index()));
    let cut = Cut::of(&first, later)?;
    cut.make_first(&mut first)?;
    cut.make_rest(&mut rest)?;
    Ok(Halves {
        first: first.emit_wasm(),
        rest: rest.emit_wasm(),
    })
}

/// The program with marks, and where they are.
pub(crate) fn mark(program: &[u8]) -> Result<(Vec<u8>, Marks)> {
    let mut module = read(program)?;
    let marks = segments::mark(&mut module)?;
    Ok((module.emit_wasm(), marks))
}

fn read(program: &[u8]) -> Result<Module> {
    ModuleConfig::new()
        .generate_name_section(false)
        .generate_producers_section(false)
        .generate_synthetic_names_for_anonymous_items(false)
        .parse(program)
        .context("the program cannot be read")
}

/// Functions that the first load does without.
fn unneeded(module: &Module, profile: &Profile) -> Result<BTreeSet<usize>> {
    let slots = old_slots(module)?;
    let is_unneeded = |function: &&Function| match &function.kind {
        FunctionKind::Local(local) => {
            let sequences = segments::segments(local);
            let count = sequences.iter().map(|seq| seq.segments.len()).sum();
            let needs_stub = slots.contains_key(&function.id().index());
            profile.needed(name(function), count) == Needed::Nothing
                && (NOT_WORTH_A_STUB < local.size() || !needs_stub)
                && local.used_data_segments().is_empty()
        }
        FunctionKind::Import(_) | FunctionKind::Uninitialized(_) => false,
    };
    let unneeded = module.funcs.iter().filter(is_unneeded);
    let mut unneeded: BTreeSet<usize> = unneeded.map(|one| one.id().index()).collect();
    for function in loader(module)? {
        unneeded.remove(&function.index());
    }
    Ok(unneeded)
}

/// The function that loads the second file, and all that it calls.
fn loader(module: &Module) -> Result<Vec<FunctionId>> {
    let mut found = vec![module.exports.get_func(LOADER)?];
    let mut next = 0;
    while let Some(id) = found.get(next) {
        next += 1;
        if let FunctionKind::Local(local) = &module.funcs.get(*id).kind {
            let new = callees(local)?.into_iter().filter(|id| !found.contains(id));
            found.extend(new.collect::<Vec<_>>());
        }
    }
    Ok(found)
}

fn name(function: &Function) -> &str {
    function.name.as_deref().unwrap_or_default()
}

/// Who stays, and who calls across the cut by which slot. Functions are known by their index, which
/// is the same in both copies of the module.
#[derive(Debug)]
struct Cut {
    /// Functions of the second file.
    rest: BTreeSet<usize>,
    /// Every function that has a slot, old ones included.
    slots: BTreeMap<usize, u32>,
    /// Slots that the program does not have yet: which function each is for, those of the first file
    /// before those of the second.
    added: Vec<usize>,
    /// How many slots the program has.
    table_size: u32,
}

impl Cut {
    fn of(module: &Module, rest: BTreeSet<usize>) -> Result<Self> {
        let table = module.tables.get(table(module)?);
        let table_size = u32::try_from(table.initial).context("too large a table")?;
        let mut slots = old_slots(module)?;
        let mut called = BTreeSet::new();
        for (id, local) in module.funcs.iter_local() {
            let side = rest.contains(&id.index());
            let callees = callees(local)?.into_iter().map(|id| id.index());
            called.extend(callees.filter(|callee| rest.contains(callee) != side));
        }
        for export in module.exports.iter() {
            match export.item {
                ExportItem::Function(id) if rest.contains(&id.index()) => {
                    called.insert(id.index());
                }
                _ => {}
            }
        }
        let new = called
            .into_iter()
            .filter(|function| !slots.contains_key(function));
        let (later, mut added): (Vec<usize>, Vec<usize>) =
            new.partition(|function| rest.contains(function));
        added.extend(later);
        slots.extend(added.iter().copied().zip(table_size..));
        Ok(Self {
            rest,
            slots,
            added,
            table_size,
        })
    }

    /// Leaves the functions of the first file. A function of the second whose address the program
    /// takes, or that it exports, leaves a stub.
    fn make_first(&self, module: &mut Module) -> Result<()> {
        let table = table(module)?;
        let functions: Vec<FunctionId> = module.funcs.iter().map(Function::id).collect();
        let wait = make_wait(module)?;
        self.call_through_slots(module, table, Some(wait));
        for id in &functions {
            if self.rest.contains(&id.index()) {
                let slot = self.slots.get(&id.index()).copied();
                let stub = stub(module, *id, slot.map(|slot| (wait, table, slot)));
                module.funcs.get_mut(*id).kind = FunctionKind::Local(stub);
            }
        }
        let stays = functions
            .into_iter()
            .filter(|id| !self.rest.contains(&id.index()));
        let stays: BTreeMap<usize, FunctionId> = stays.map(|id| (id.index(), id)).collect();
        let items = self
            .added
            .iter()
            .map_while(|index| stays.get(index).copied());
        fill(module, table, self.table_size, items.collect());
        self.widen(module, table);
        for (what, item) in shared(module) {
            module.exports.add(&what, item);
        }
        walrus::passes::gc::run(module);
        Ok(())
    }

    /// Leaves the functions of the second file, which put themselves into their slots.
    fn make_rest(&self, module: &mut Module) -> Result<()> {
        let table = table(module)?;
        self.call_through_slots(module, table, None);
        module.start = None;
        let exports: Vec<_> = module.exports.iter().map(walrus::Export::id).collect();
        for id in exports {
            module.exports.delete(id);
        }
        let elements: Vec<_> = module.elements.iter().map(walrus::Element::id).collect();
        for id in elements {
            module.elements.delete(id);
        }
        let data: Vec<_> = module.data.iter().map(walrus::Data::id).collect();
        for id in data {
            module.data.delete(id);
        }
        for (what, item) in shared(module) {
            share(module, &what, item)?;
        }
        let of_slot: BTreeMap<u32, FunctionId> = module
            .funcs
            .iter()
            .filter(|function| self.rest.contains(&function.id().index()))
            .filter_map(|function| {
                let slot = self.slots.get(&function.id().index())?;
                Some((*slot, function.id()))
            })
            .collect();
        for (start, items) in runs(&of_slot) {
            fill(module, table, start, items);
        }
        self.widen(module, table);
        walrus::passes::gc::run(module);
        Ok(())
    }

    /// Turns calls across the cut into calls through their slots: in the first file, for which there
    /// is a function to call before, or in the second.
    fn call_through_slots(&self, module: &mut Module, table: TableId, before: Option<FunctionId>) {
        let is_beyond = |function: usize| self.rest.contains(&function) == before.is_some();
        let all = module.funcs.iter();
        let types: BTreeMap<_, _> = all.map(|one| (one.id().index(), one.ty())).collect();
        let slot = |instr: &Instr| match instr {
            Instr::Call(Call { func }) if is_beyond(func.index()) => {
                let slot = self.slots.get(&func.index())?.cast_signed();
                Some((slot, *types.get(&func.index())?))
            }
            _ => None,
        };
        let mut through = |seq: &mut InstrSeq| {
            if !seq.instrs.iter().any(|(instr, _)| slot(instr).is_some()) {
                return;
            }
            for (instr, location) in std::mem::take(&mut seq.instrs) {
                let Some((slot, ty)) = slot(&instr) else {
                    seq.instrs.push((instr, location));
                    continue;
                };
                if let Some(func) = before {
                    seq.instrs.push((Call { func }.into(), location));
                }
                let value = Value::I32(slot);
                seq.instrs.push((Const { value }.into(), location));
                let call = CallIndirect { ty, table };
                seq.instrs.push((call.into(), location));
            }
        };
        for (id, local) in module.funcs.iter_local_mut() {
            if !is_beyond(id.index()) {
                let entry = local.entry_block();
                dfs_pre_order_mut(&mut EachSequence(&mut through), local, entry);
            }
        }
    }

    fn widen(&self, module: &mut Module, table: TableId) {
        let table = module.tables.get_mut(table);
        let added = self.added.len() as u64;
        table.initial += added;
        table.maximum = table.maximum.map(|maximum| maximum + added);
    }
}

/// Visits instruction sequences to change them.
struct EachSequence<'a, F>(&'a mut F);

impl<F: FnMut(&mut InstrSeq)> VisitorMut for EachSequence<'_, F> {
    fn start_instr_seq_mut(&mut self, seq: &mut InstrSeq) {
        (self.0)(seq);
    }
}

/// Adds a function that has the second file loaded unless it is here.
fn make_wait(module: &mut Module) -> Result<FunctionId> {
    let load = module.exports.get_func(LOADER)?;
    let zero = ConstExpr::Value(Value::I32(0));
    let is_here = module.globals.add_local(ValType::I32, true, false, zero);
    module.exports.add(IS_HERE, is_here);
    let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
    let mut body = builder.func_body();
    body.global_get(is_here).unop(UnaryOp::I32Eqz);
    body.if_else(
        None,
        |then| {
            then.call(load);
        },
        |_| {},
    );
    Ok(builder.finish(Vec::new(), &mut module.funcs))
}

/// A body that has the second file loaded and calls what has come by then; empty but for
/// `unreachable` in a function that nobody calls.
fn stub(
    module: &mut Module,
    id: FunctionId,
    wait: Option<(FunctionId, TableId, u32)>,
) -> LocalFunction {
    let ty = module.funcs.get(id).ty();
    let (params, results) = module.types.params_results(ty);
    let (params, results) = (params.to_vec(), results.to_vec());
    let args: Vec<LocalId> = params.iter().map(|ty| module.locals.add(*ty)).collect();
    let mut builder = FunctionBuilder::new(&mut module.types, &params, &results);
    let mut body = builder.func_body();
    match wait {
        Some((wait, table, slot)) => {
            body.call(wait);
            for arg in &args {
                body.local_get(*arg);
            }
            body.i32_const(slot.cast_signed()).call_indirect(ty, table);
        }
        None => {
            body.unreachable();
        }
    }
    builder.local_func(args)
}

/// The functions that a function calls.
fn callees(local: &LocalFunction) -> Result<BTreeSet<FunctionId>> {
    #[derive(Default)]
    struct Callees {
        found: BTreeSet<FunctionId>,
        takes_address: bool,
    }
    impl Visitor<'_> for Callees {
        fn visit_call(&mut self, call: &Call) {
            self.found.insert(call.func);
        }
        fn visit_ref_func(&mut self, _: &walrus::ir::RefFunc) {
            self.takes_address = true;
        }
        fn visit_return_call(&mut self, _: &walrus::ir::ReturnCall) {
            self.takes_address = true;
        }
    }
    let mut callees = Callees::default();
    dfs_in_order(&mut callees, local, local.entry_block());
    ensure!(
        !callees.takes_address,
        "ref.func and tail calls are not known to the splitter"
    );
    Ok(callees.found)
}

/// Which slot of the table each function has.
fn old_slots(module: &Module) -> Result<BTreeMap<usize, u32>> {
    let main = table(module)?;
    let mut slots = BTreeMap::new();
    for element in module.elements.iter() {
        let ElementKind::Active { table, offset } = &element.kind else {
            continue;
        };
        if *table != main {
            continue;
        }
        let (ConstExpr::Value(Value::I32(start)), ElementItems::Functions(items)) =
            (offset, &element.items)
        else {
            bail!("the table is filled in a way that the splitter does not know");
        };
        for (slot, id) in (start.cast_unsigned()..).zip(items) {
            slots.entry(id.index()).or_insert(slot);
        }
    }
    Ok(slots)
}

/// The table of functions.
fn table(module: &Module) -> Result<TableId> {
    let table = module.tables.main_function_table()?;
    table.context("the program has no table of functions")
}

/// What both files use, each with a name for it.
fn shared(module: &Module) -> Vec<(String, ExportItem)> {
    let tables = module
        .tables
        .iter()
        .map(|table| ExportItem::Table(table.id()));
    let memories = module
        .memories
        .iter()
        .map(|memory| ExportItem::Memory(memory.id()));
    let globals = module
        .globals
        .iter()
        .map(|global| ExportItem::Global(global.id()));
    let all = tables.chain(memories).chain(globals);
    let named = all
        .enumerate()
        .map(|(index, item)| (format!("shared{index}"), item));
    named.collect()
}

/// Has a module import what was its own.
fn share(module: &mut Module, name: &str, item: ExportItem) -> Result<()> {
    match item {
        ExportItem::Table(id) => {
            let import = module.imports.add(FIRST, name, id);
            let table = module.tables.get_mut(id);
            table.import = Some(import);
            table.elem_segments.clear();
        }
        ExportItem::Memory(id) => {
            let import = module.imports.add(FIRST, name, id);
            let memory = module.memories.get_mut(id);
            memory.import = Some(import);
            memory.data_segments.clear();
        }
        ExportItem::Global(id) => {
            let import = module.imports.add(FIRST, name, id);
            module.globals.get_mut(id).kind = GlobalKind::Import(import);
        }
        ExportItem::Function(_) | ExportItem::Tag(_) => bail!("not a thing to share: {name}"),
    }
    Ok(())
}

/// Fills slots from `start` on.
fn fill(module: &mut Module, table: TableId, start: u32, items: Vec<FunctionId>) {
    if items.is_empty() {
        return;
    }
    let offset = ConstExpr::Value(Value::I32(start.cast_signed()));
    let kind = ElementKind::Active { table, offset };
    let element = module.elements.add(kind, ElementItems::Functions(items));
    module.tables.get_mut(table).elem_segments.insert(element);
}

/// Neighbouring slots together.
fn runs(of_slot: &BTreeMap<u32, FunctionId>) -> Vec<(u32, Vec<FunctionId>)> {
    let mut runs: Vec<(u32, Vec<FunctionId>)> = Vec::new();
    for (slot, id) in of_slot {
        match runs.last_mut() {
            Some((start, items)) if *start as usize + items.len() == *slot as usize => {
                items.push(*id);
            }
            _ => runs.push((*slot, vec![*id])),
        }
    }
    runs
}

/// What the second file calls the first.
const FIRST: &str = "first";

/// The global that `web/src/platform/rest.js` sets to 1 when the second file is here.
const IS_HERE: &str = "restIsHere";

/// The function that loads the second file (`web/src/platform/rest.rs`), by its name outside.
const LOADER: &str = "loadRest";

/// A stub is about as long as a function of this many instructions.
const NOT_WORTH_A_STUB: u64 = 6;
