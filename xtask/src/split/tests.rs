//! A small program, cut in every way that a profile can say, does what it did before.

use std::collections::BTreeMap;

use wasmi::{Caller, Engine, Extern, Instance, Linker, Store};

use super::profile::Profile;
use super::{mark, split};

/// Each function leaves a stretch in another way: at its end, with a value, out of a block, back to
/// the start of a loop, by a table, with a return, never. `main` calls them all, two of them by
/// their addresses.
const PROGRAM: &str = r#"(module $program
  (import "host" "load" (func $load))
  (memory (export "memory") 1)
  (table $table 4 funcref)
  (elem (i32.const 1) $value $never)
  (global $depth (mut i32) (i32.const 0))
  (type $unary (func (param i32) (result i32)))
  (func $loadRest (export "loadRest") (call $load))
  (func $tiny (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
  (func $end (param $x i32) (result i32) (local $y i32) (local $z i32)
    (local.set $z (i32.const 5))
    (if (i32.and (local.get $x) (i32.const 1)) (then
      (local.set $y (i32.mul (local.get $x) (i32.const 3)))
      (local.set $y (call $tiny (i32.add (local.get $y) (local.get $z))))
      (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (local.get $y)))
      (local.set $z (i32.sub (local.get $y) (i32.const 2)))
      (local.set $z (i32.xor (local.get $z) (local.get $x)))))
    (i32.add (i32.mul (local.get $y) (i32.const 7)) (local.get $z)))
  (func $value (param $x i32) (result i32)
    (i32.add (i32.const 100)
      (if (result i32) (i32.eqz (i32.rem_u (local.get $x) (i32.const 3)))
        (then
          (i32.store (i32.const 12) (i32.add (i32.load (i32.const 12)) (i32.const 1)))
          (i32.add (i32.load (i32.const 12)) (i32.mul (local.get $x) (call $tiny (local.get $x)))))
        (else (call $tiny (i32.sub (local.get $x) (i32.const 4)))))))
  (func $ways (param $x i32) (result i32) (local $sum i32) (local $i i32)
    (block $out
      (block $far (result i32)
        (loop $again
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (if (i32.eq (local.get $i) (i32.const 2)) (then
            (local.set $sum (i32.add (local.get $sum) (i32.const 10)))
            (i32.store (i32.const 16) (i32.add (i32.load (i32.const 16)) (local.get $sum)))
            (br_if $again (i32.and (local.get $x) (i32.const 1)))
            (local.set $sum (i32.add (local.get $sum) (i32.load (i32.const 16))))
            (br_if $out (i32.gt_u (local.get $x) (i32.const 20)))
            (if (i32.eq (local.get $x) (i32.const 6)) (then
              (return (i32.add (local.get $sum) (i32.const 1000)))))))
          (if (i32.eq (local.get $i) (i32.const 3)) (then
            (i32.store (i32.const 20) (i32.add (i32.load (i32.const 20)) (local.get $x)))
            (drop (br_if $far (i32.load (i32.const 20)) (i32.eq (local.get $x) (i32.const 4))))
            (local.set $sum (i32.add (local.get $sum) (i32.const 7)))))
          (br_if $again (i32.lt_u (local.get $i) (i32.const 5))))
        (i32.const 3))
      (local.set $sum (i32.add (local.get $sum))))
    (i32.add (local.get $sum) (local.get $i)))
  (func $choice (param $x i32) (result i32) (local $r i32)
    (block $done (block $two (block $one
      (if (i32.lt_u (local.get $x) (i32.const 30)) (then
        (local.set $r (i32.add (local.get $x) (i32.load (i32.const 8))))
        (i32.store (i32.const 24) (i32.add (local.get $r) (i32.load (i32.const 24))))
        (br_table $one $two $done (i32.rem_u (local.get $x) (i32.const 4)))))
      (local.set $r (i32.const -1)) (br $done))
      (local.set $r (i32.add (local.get $r) (i32.const 40))) (br $done))
      (local.set $r (i32.mul (local.get $r) (i32.const 2))))
    (i32.sub (local.get $r) (i32.load (i32.const 24))))
  (func $never (param $x i32) (result i32)
    (if (i32.gt_u (local.get $x) (i32.const 1000)) (then
      (i32.store (i32.const 28) (i32.const 1))
      (i32.store (i32.const 32) (i32.add (local.get $x) (i32.const 1)))
      (i32.store (i32.const 36) (i32.const 1))
      (i32.store (i32.const 40) (local.get $x))
      (unreachable)))
    (global.set $depth (i32.add (global.get $depth) (i32.const 1)))
    (i32.add (global.get $depth) (i32.shl (local.get $x) (i32.const 2))))
  (func $loops (param $x i32) (result i32) (local $i i32) (local $kept i32) (local $all i32)
    (loop $again
      (if (i32.and (local.get $i) (i32.const 1)) (then
        ;; Read here alone, in the round after the one that wrote it.
        (local.set $all (i32.add (local.get $all) (local.get $kept)))
        (i32.store (i32.const 44) (local.get $all))
        (local.set $all (i32.add (local.get $all) (i32.load (i32.const 44))))
        (local.set $kept (i32.add (i32.mul (local.get $i) (local.get $x)) (i32.const 9)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (i32.const 8))))
    (local.get $all))
  (func $main (export "main") (param $x i32) (result i32) (local $r i32)
    (local.set $r (i32.add (call $end (local.get $x)) (call $ways (local.get $x))))
    (local.set $r (i32.add (local.get $r) (call $choice (local.get $x))))
    (local.set $r (i32.add (local.get $r) (call $loops (local.get $x))))
    (local.set $r (i32.add (local.get $r)
      (call_indirect (type $unary) (local.get $x)
        (i32.add (i32.const 1) (i32.and (local.get $x) (i32.const 1))))))
    (i32.add (local.get $r) (i32.load (i32.const 20))))
)"#;

const INPUTS: [i32; 9] = [0, 1, 2, 3, 4, 6, 7, 22, 33];

/// What `main` gives for the inputs, one after the other. The second file, if there is one, comes
/// when it is asked for.
fn run(first: &[u8], rest: Option<&[u8]>) -> (Vec<i32>, u32) {
    struct Host {
        rest: Option<Vec<u8>>,
        instance: Option<Instance>,
        loads: u32,
    }
    let engine = Engine::default();
    let host = Host {
        rest: rest.map(<[u8]>::to_vec),
        instance: None,
        loads: 0,
    };
    let mut store = Store::new(&engine, host);
    let mut linker = Linker::new(&engine);
    let load = |mut caller: Caller<'_, Host>| {
        caller.data_mut().loads += 1;
        let bytes = caller.data_mut().rest.take().expect("asked for once");
        let first = caller.data().instance.expect("the first file runs");
        let module = wasmi::Module::new(caller.engine(), &bytes).expect("valid");
        let mut linker: Linker<Host> = Linker::new(caller.engine());
        let shared: BTreeMap<String, Extern> = first
            .exports(&caller)
            .map(|export| (export.name().to_owned(), export.into_extern()))
            .collect();
        for (name, item) in &shared {
            linker.define("first", name, *item).expect("a new name");
        }
        linker
            .instantiate_and_start(&mut caller, &module)
            .expect("the rest fits");
        let Some(Extern::Global(is_here)) = shared.get("restIsHere") else {
            panic!("no restIsHere in {:?}", shared.keys());
        };
        is_here
            .set(&mut caller, wasmi::Val::I32(1))
            .expect("mutable");
    };
    linker.func_wrap("host", "load", load).expect("a new name");
    let module = wasmi::Module::new(&engine, first).expect("valid");
    let instance = linker
        .instantiate_and_start(&mut store, &module)
        .expect("the first file starts");
    store.data_mut().instance = Some(instance);
    let main = instance
        .get_typed_func::<i32, i32>(&store, "main")
        .expect("main");
    let results = INPUTS.map(|input| main.call(&mut store, input).expect("no trap"));
    (results.to_vec(), store.data().loads)
}

/// A profile in which some segments ran, drawn from a seed.
fn drawn(functions: &[(String, usize)], seed: u64) -> Profile {
    let mut state = seed;
    let mut draw = |bound: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut profile = Profile::default();
    for (name, count) in functions {
        let share = draw(11);
        let ran: Vec<bool> = (0..*count).map(|_| draw(10) < share).collect();
        profile.add(name, &ran);
    }
    profile
}

#[test]
fn every_cut_does_what_the_whole_does() {
    let program = wat::parse_str(PROGRAM).unwrap();
    let (expected, _) = run(&program, None);
    let (_, marks) = mark(&program).unwrap();
    assert!(
        marks
            .functions
            .iter()
            .any(|(name, count)| name == "ways" && 10 < *count),
        "{marks:?}"
    );
    let (mut loaded, mut whole) = (0, 0);
    for seed in 0..400 {
        let profile = drawn(&marks.functions, seed);
        let halves = split(&program, &profile).unwrap();
        let (found, loads) = run(&halves.first, Some(&halves.rest));
        assert_eq!(found, expected, "seed {seed}, profile\n{profile}");
        loaded += loads;
        whole += u32::from(loads == 0);
    }
    assert!(200 < loaded, "the second file is needed mostly: {loaded}");
    assert!(whole < 200, "but not always: {whole}");
}

#[test]
fn what_never_ran_leaves_the_first_file() {
    let program = wat::parse_str(PROGRAM).unwrap();
    let nothing = split(&program, &Profile::default()).unwrap();
    assert!(
        nothing.first.len() * 2 < program.len(),
        "{}",
        nothing.first.len()
    );
    let (_, marks) = mark(&program).unwrap();
    let mut all = Profile::default();
    for (name, count) in &marks.functions {
        all.add(name, &vec![true; *count]);
    }
    let all = split(&program, &all).unwrap();
    assert_eq!(
        run(&all.first, Some(&all.rest)).1,
        0,
        "all that runs is in the first file"
    );
}

#[test]
fn marks_change_nothing() {
    let program = wat::parse_str(PROGRAM).unwrap();
    let (marked, marks) = mark(&program).unwrap();
    assert_eq!(run(&marked, None).0, run(&program, None).0, "results");
    assert_eq!(marks.base, 0x1_0000, "after the program's own page");
}
