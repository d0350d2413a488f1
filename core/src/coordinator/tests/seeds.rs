//! Random scripts: whatever clients and brokers do, a group keeps its invariants and comes to rest.

use super::bench::Bench;
use crate::kernel::rng::Stream;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Clients; those with an instance id are static.
const CLIENTS: [(&str, &str); 7] = [
    ("c0", ""),
    ("c1", ""),
    ("c2", ""),
    ("c3", ""),
    ("s0", "i=one"),
    ("s1", "i=two"),
    // Another process of the same static member.
    ("s2", "i=two"),
];

fn pick<'a>(rng: &mut Stream, from: &[&'a str]) -> &'a str {
    let index = usize::try_from(rng.below(from.len() as u64)).expect("a small number");
    from[index]
}

fn random_line(rng: &mut Stream, at: &mut u64, epoch: &mut u64) -> String {
    let names = CLIENTS.map(|(name, _)| name);
    let client = pick(rng, &names);
    let instance = CLIENTS
        .iter()
        .find(|(name, _)| *name == client)
        .map_or("", |it| it.1);
    match rng.below(100) {
        0..30 => {
            let most = if rng.below(8) == 0 { 90_000 } else { 3_000 };
            *at += rng.below(most);
            format!("@{at}")
        }
        30..52 => {
            let protocols = pick(
                rng,
                &["range", "range", "range+roundrobin", "roundrobin+range"],
            );
            let topics = pick(rng, &["a", "a", "a", "b"]);
            let timeout = pick(rng, &["5000", "10000", "30000"]);
            let id = pick(rng, &["", "", "", "id=", "id=!gone"]);
            let version = pick(rng, &["9", "9", "8", "3", "0"]);
            format!(
                "join {client} {instance} p={protocols} t={topics} s={timeout} r={timeout} {id} v={version}"
            )
        }
        52..72 => format!("sync {client} {instance} a=c0:0;c1:1;c2:2;s0:3;s1:4,5"),
        72..80 => format!("hb {client} {instance}"),
        80..83 => format!(
            "leave {client} {}",
            pick(rng, &["c0", "=one", "!gone", "s1=two"])
        ),
        83..88 => format!(
            "commit {client} 0:{},b1:{} {instance}",
            rng.below(9),
            rng.below(9)
        ),
        88..90 => String::from("fetch 0,1,b1"),
        90..92 => String::from("hold"),
        92..95 => String::from("replicate"),
        95..97 => {
            let error = pick(rng, &["NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER"]);
            format!("refuse {error}")
        }
        _ => {
            *epoch += 1;
            match rng.below(4) {
                0 => String::from("resign"),
                1 => format!("elect {epoch}"),
                2 => String::from("load"),
                _ => format!("failover {epoch}"),
            }
        }
    }
}

/// What clients do that mean well: all join, wait, sync and beat.
fn rebalance(rng: &mut Stream, at: &mut u64) -> Vec<String> {
    let first = usize::try_from(rng.below(6)).expect("a small number");
    let count = usize::try_from(rng.between(1, 6)).expect("a small number");
    let everybody: Vec<(&str, &str)> = CLIENTS
        .into_iter()
        .take(6)
        .cycle()
        .skip(first)
        .take(count)
        .collect();
    let mut lines = Vec::new();
    for _ in 0..2 {
        let joins = everybody
            .iter()
            .map(|(name, instance)| format!("join {name} {instance} s=10000 r=10000"));
        lines.extend(joins);
    }
    *at += rng.between(0, 10_000);
    lines.push(format!("@{at}"));
    for (name, instance) in &everybody {
        lines.push(format!(
            "sync {name} {instance} a=c0:0;c1:1;c2:2;s0:3;s1:4,5"
        ));
    }
    lines.extend(
        everybody
            .iter()
            .map(|(name, instance)| format!("hb {name} {instance}")),
    );
    if rng.below(2) == 0 {
        // A static member starts again while the group is at rest.
        let version = pick(rng, &["8", "9"]);
        lines.push(format!("join s0 i=one id= s=10000 r=10000 v={version}"));
        lines.push(String::from("sync s0 i=one"));
    }
    lines
}

#[test]
fn whatever_happens_a_group_keeps_its_invariants_and_comes_to_rest() {
    let mut completed = 0;
    let mut stored = 0;
    let mut skipped = 0;
    for seed in 0..SEEDS {
        let mut rng = Stream::new(seed, "coordinator");
        let mut bench = Bench::new();
        let mut script = format!("seed {seed}\nconfig offsets.retention.minutes 60\n");
        bench.line("config offsets.retention.minutes 60");
        let (mut at, mut epoch) = (0, 0);
        for _ in 0..STEPS {
            let lines = match rng.below(10) {
                0 => rebalance(&mut rng, &mut at),
                _ => vec![random_line(&mut rng, &mut at, &mut epoch)],
            };
            for line in lines {
                script += &line;
                script.push('\n');
                bench.line(&line);
                bench.check_invariants(&script);
            }
        }
        completed += bench.transcript.matches("JoinGroup: OK").count();
        stored += bench.transcript.matches("SyncGroup: OK").count();
        skipped += bench.transcript.matches(" skip").count();
        // Everybody falls silent: sessions and phases run out, and nobody is left waiting.
        let end = format!("@{}", at + 20_000_000);
        for line in ["replicate", "elect 900", "load", "replicate", &*end] {
            bench.line(line);
            bench.check_invariants(&script);
        }
        assert!(bench.parked.is_empty(), "nobody waits for ever\n{script}");
        assert_eq!(
            bench.coordinator.groups().count(),
            0,
            "nothing is left\n{script}"
        );
    }
    // It is no idle test: rebalances complete, assignments are stored, static leaders come back.
    assert!(1_000 < completed, "{completed} joins");
    assert!(400 < stored, "{stored} syncs");
    assert!(10 < skipped, "{skipped} skipped assignments");
}

const SEEDS: u64 = 150;
const STEPS: u32 = 100;
