//! What a seed draws: a cluster, its clients, and faults, written as a storyboard.

use super::FAULTS_END_MS_MIN;
use crate::dice::Dice;
use std::fmt::Write as _;

/// A cluster and what happens to it, as a storyboard.
///
/// The faults fall within the first `faults_end_ms` milliseconds, which are at least
/// [`FAULTS_END_MS_MIN`].
pub fn draw(seed: u64, faults_end_ms: u64) -> String {
    let mut writer = Writer {
        dice: Dice::new(seed, "storyboard"),
        faults_end_ms: faults_end_ms.max(FAULTS_END_MS_MIN),
        loses_power: false,
        assignors: ["range"; 2],
    };
    writer.assignors = [(); 2].map(|()| writer.dice.of(ASSIGNORS));
    writer.loses_power = writer.dice.one_in(6);
    let brokers = writer.dice.between(1, 5);
    let controllers = writer.dice.of(&[1, 3]);
    let mut text = String::new();
    writer.cluster(seed, (brokers, controllers), &mut text);
    let topics = writer.dice.between(1, 2);
    for topic in 0..topics {
        writer.topic(topic, brokers, &mut text);
    }
    let producers = writer.dice.between(1, 3);
    for producer in 0..producers {
        writer.producer(producer, topics, &mut text);
    }
    let consumers = writer.dice.between(0, 4);
    for consumer in 0..consumers {
        writer.consumer(consumer, topics, &mut text);
    }
    let cast = Cast {
        brokers,
        controllers,
        producers,
        consumers,
    };
    writer.faults(&cast, &mut text);
    text
}

/// Writes the lines of a storyboard.
struct Writer {
    dice: Dice,
    faults_end_ms: u64,
    /// Whether machines lose power here, and not only processes.
    loses_power: bool,
    /// The assignors of the groups g and h: members of one group need one in common.
    assignors: [&'static str; 2],
}

/// How many of each there are.
struct Cast {
    brokers: u64,
    controllers: u64,
    producers: u64,
    consumers: u64,
}

impl Writer {
    fn cluster(&mut self, seed: u64, (brokers, controllers): (u64, u64), text: &mut String) {
        let latency = self.dice.of(&["500us", "2ms", "20ms"]);
        let jitter = self.dice.of(&["0ms", "1ms", "10ms"]);
        let loss = self.dice.of(&["0/1", "0/1", "1/200", "1/20"]);
        let lag = self.dice.of(&["500", "2000", "30000"]);
        let delay = self.dice.of(&["0", "500", "3000"]);
        let partitions = self.dice.between(1, 3);
        let min = self.dice.between(1, 2);
        let session = self.dice.of(&["3000", "9000"]);
        let fetch_bytes = self.dice.of(&["1048576", "500"]);
        let elr = self.dice.between(0, 1);
        let _ = writeln!(
            text,
            "cluster brokers={brokers} controllers={controllers} seed={seed} \
             eligible.leader.replicas.version={elr} latency={latency} jitter={jitter} loss={loss} \
             replica.lag.time.max.ms={lag} group.initial.rebalance.delay.ms={delay} \
             offsets.topic.num.partitions={partitions} min.insync.replicas={min} \
             broker.session.timeout.ms={session} broker.heartbeat.interval.ms=1000 \
             replica.fetch.max.bytes={fetch_bytes}"
        );
    }

    fn topic(&mut self, topic: u64, brokers: u64, text: &mut String) {
        let partitions = self.dice.between(1, 4);
        let rf = self.dice.between(1, brokers);
        let min = self.dice.between(1, rf);
        let unclean = self.dice.one_in(6);
        let bytes = self.dice.of(&["1048588", "1048588", "1048588", "300"]);
        let _ = writeln!(
            text,
            "topic t{topic} partitions={partitions} rf={rf} min.insync.replicas={min} \
             unclean.leader.election.enable={unclean} max.message.bytes={bytes}"
        );
    }

    fn producer(&mut self, producer: u64, topics: u64, text: &mut String) {
        let topic = self.dice.between(0, topics - 1);
        let every = self.dice.between(50, 600);
        let records = self.faults_end_ms / every;
        let acks = self.dice.of(&["all", "all", "1", "0"]);
        let keys = self.dice.of(&["keys=none", "keys=k:5", ""]);
        let linger = self.dice.of(&["0", "5", "200"]);
        let in_flight = self.dice.of(&["1", "5"]);
        let timeout = self.dice.of(&["2000", "10000"]);
        // Not less than linger and one request together.
        let delivery = match (self.dice.of(&["short", "long"]), timeout) {
            ("short", "2000") => "3000",
            ("short", _) => "11000",
            _ => "30000",
        };
        let arrivals = self.dice.of(&["random", "even"]);
        let batch = self.dice.of(&["16384", "0", "400"]);
        let kind = self.dice.of(&["", "", "plain", "transactions"]);
        let extra = match (acks, kind) {
            ("all", "plain") => String::from(" enable.idempotence=false"),
            ("all", "transactions") => format!(
                " transactional.id=t{producer} transaction-records=5 transaction-abort-every=3 \
                 transaction.timeout.ms=20000"
            ),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "producer p{producer} topic=t{topic} every={every}ms records={records} acks={acks} \
             {keys} arrivals={arrivals} linger.ms={linger} batch.size={batch} \
             max.in.flight.requests.per.connection={in_flight} request.timeout.ms={timeout} \
             delivery.timeout.ms={delivery}{extra}"
        );
    }

    fn consumer(&mut self, consumer: u64, topics: u64, text: &mut String) {
        let group = self.dice.of(&["g", "g", "g", "h"]);
        let list = if topics == 2 && self.dice.one_in(2) {
            "t0,t1"
        } else {
            "t0"
        };
        let processing = self.dice.of(&["1ms", "5ms..40ms", "20ms"]);
        let is_static = if self.dice.one_in(3) { " static" } else { "" };
        let commits = self.dice.of(&[
            "enable.auto.commit=true auto.commit.interval.ms=1000",
            "enable.auto.commit=true",
            "enable.auto.commit=false commit=sync",
            "enable.auto.commit=false commit=async",
            "enable.auto.commit=false commit=each on-commit-error=seek-back",
            "enable.auto.commit=false commit=before on-commit-error=seek-back",
            "enable.auto.commit=false commit=sync commit-on-revoke=true default.api.timeout.ms=3000",
            "enable.auto.commit=true commit=async commit-on-revoke=true",
            "enable.auto.commit=false commit=async read-ahead=drop",
        ]);
        let [of_g, of_h] = self.assignors;
        let assignors = if group == "h" { of_h } else { of_g };
        let session = self.dice.of(&["6000", "15000"]);
        // What a poll returns must be done within max.poll.interval.ms, or a group never gets on.
        let (max_poll, slow) = match self.dice.between(0, 3) {
            0 => ("20000", " rule=slow:7s"),
            1 => ("20000", ""),
            _ => ("4000", ""),
        };
        let reset = self.dice.of(&["earliest", "latest"]);
        let records = self.dice.of(&["100", "3"]);
        let fetch_bytes = self.dice.of(&["1048576", "300"]);
        let restart = self.dice.of(&["", " restart=1s"]);
        let output = if topics == 2 && list == "t0" && self.dice.one_in(2) {
            " output=t1"
        } else {
            ""
        };
        let start = self.dice.between(1, 12);
        let _ = writeln!(
            text,
            "consumer c{consumer} group={group} topics={list} start={start}s \
             processing={processing}{is_static}{restart}{slow}{output} {commits} \
             session.timeout.ms={session} heartbeat.interval.ms=1500 \
             max.poll.interval.ms={max_poll} max.poll.records={records} auto.offset.reset={reset} \
             max.partition.fetch.bytes={fetch_bytes} request.timeout.ms=10000 \
             partition.assignment.strategy={assignors}"
        );
    }

    /// A swarm: which kinds of fault exist at all, then when they strike.
    fn faults(&mut self, cast: &Cast, text: &mut String) {
        let kinds: Vec<u64> = (0..KINDS).filter(|_| self.dice.one_in(2)).collect();
        let most = 14 * self.faults_end_ms / 30_000;
        let count = if kinds.is_empty() {
            0
        } else {
            self.dice.between(1, most.max(1))
        };
        let mut actions: Vec<(u64, String)> = Vec::new();
        for _ in 0..count {
            let at = self.dice.between(3_000, self.faults_end_ms - 2_000);
            let later = at + self.dice.between(10, 15_000);
            let later = later.min(self.faults_end_ms - 1_000);
            match self.dice.of(&kinds) {
                kind @ 0..4 => self.broker_fault(kind, (at, later), cast, &mut actions),
                kind @ 4..8 => self.link_fault(kind, (at, later), cast, &mut actions),
                kind @ 8..10 => self.controller_fault(kind, (at, later), cast, &mut actions),
                kind => self.client_fault(kind, (at, later), cast, &mut actions),
            }
        }
        actions.sort_by_key(|(at, _)| *at);
        for (at, action) in actions {
            let _ = writeln!(text, "{at}ms {action}");
        }
    }

    fn broker_fault(
        &mut self,
        kind: u64,
        (at, later): (u64, u64),
        cast: &Cast,
        actions: &mut Vec<(u64, String)>,
    ) {
        let broker = self.dice.between(1, cast.brokers);
        match kind {
            0 => {
                // Few seeds: where power was lost little can be promised.
                let verb = if self.loses_power {
                    "power-loss"
                } else {
                    "kill"
                };
                actions.push((at, format!("{verb}-broker {broker}")));
                actions.push((later, format!("restart-broker {broker}")));
            }
            1 => {
                let span = self.dice.of(&["80ms", "700ms", "4s", "12s"]);
                match self.dice.below(4) {
                    0 => {
                        actions.push((at, format!("slow-disk {broker} 20ms")));
                        actions.push((later, format!("heal-disk {broker}")));
                    }
                    1 => {
                        actions.push((at, format!("slow-follower {broker} 300ms")));
                        actions.push((later, format!("slow-follower {broker} 0s")));
                    }
                    _ => actions.push((at, format!("pause-broker {broker} {span}"))),
                }
            }
            2 => {
                actions.push((at, format!("stop-broker {broker}")));
                actions.push((later, format!("restart-broker {broker}")));
            }
            _ => {
                let verb = if self.loses_power {
                    "power-loss"
                } else {
                    "kill"
                };
                for broker in 1..=cast.brokers {
                    actions.push((at, format!("{verb}-broker {broker}")));
                    actions.push((later, format!("restart-broker {broker}")));
                }
            }
        }
    }

    /// Links between brokers, to controllers and to clients are cut; messages get lost.
    fn link_fault(
        &mut self,
        kind: u64,
        (at, later): (u64, u64),
        cast: &Cast,
        actions: &mut Vec<(u64, String)>,
    ) {
        let broker = self.dice.between(1, cast.brokers);
        let controller = match cast.controllers {
            1 => String::from("controller"),
            count => format!("controller-{}", 3_000 + self.dice.between(0, count - 1)),
        };
        let client = if 0 < cast.consumers && self.dice.one_in(2) {
            format!("c{}", self.dice.between(0, cast.consumers - 1))
        } else {
            format!("p{}", self.dice.between(0, cast.producers - 1))
        };
        let other = match kind {
            5 if 1 < cast.brokers => (broker % cast.brokers + 1).to_string(),
            6 => client,
            7 if self.dice.one_in(2) => client,
            _ => controller,
        };
        if kind == 7 {
            let is_client = !other.starts_with("controller");
            let api = if !is_client {
                self.dice
                    .of(&["BrokerHeartbeat", "AlterPartition", "Fetch"])
            } else if other.starts_with('p') {
                self.dice.of(&["Produce", "Produce", "Metadata"])
            } else {
                self.dice.of(&[
                    "Fetch",
                    "Heartbeat",
                    "JoinGroup",
                    "SyncGroup",
                    "OffsetCommit",
                ])
            };
            let (from, to) = self.either_way(broker.to_string(), other);
            actions.push((at, format!("drop-next {from} {to} {api}")));
        } else {
            let (from, to) = self.either_way(broker.to_string(), other);
            let fault = match self.dice.below(6) {
                0 => format!("cut-link {from} {to} one-way"),
                1 => format!("delay-link {from} {to} 300ms one-way"),
                2 => format!("lose-link {from} {to} 30%"),
                _ => format!("cut-link {from} {to}"),
            };
            actions.push((at, fault));
            actions.push((later, format!("heal-link {from} {to}")));
        }
    }

    /// The two ends of a link, in either order.
    fn either_way(&mut self, one: String, other: String) -> (String, String) {
        if self.dice.one_in(2) {
            (one, other)
        } else {
            (other, one)
        }
    }

    fn controller_fault(
        &mut self,
        kind: u64,
        (at, later): (u64, u64),
        cast: &Cast,
        actions: &mut Vec<(u64, String)>,
    ) {
        let controller = 3_000 + self.dice.between(0, cast.controllers - 1);
        if 1 < cast.controllers && self.dice.one_in(4) {
            let other = 3_000 + (controller - 2_999) % cast.controllers;
            let ends = format!("controller-{controller} controller-{other}");
            actions.push((at, format!("cut-link {ends}")));
            actions.push((later, format!("heal-link {ends}")));
        } else if kind == 8 {
            let verb = self.dice.of(&["kill", "stop"]);
            actions.push((at, format!("{verb}-controller {controller}")));
            actions.push((later, format!("restart-controller {controller}")));
        } else {
            let span = self.dice.of(&["300ms", "3s", "8s"]);
            actions.push((at, format!("pause-controller {controller} {span}")));
        }
    }

    fn client_fault(
        &mut self,
        kind: u64,
        (at, later): (u64, u64),
        cast: &Cast,
        actions: &mut Vec<(u64, String)>,
    ) {
        let producer = self.dice.between(0, cast.producers - 1);
        let consumer = self.dice.between(0, cast.consumers.max(1) - 1);
        let has_consumers = 0 < cast.consumers;
        match kind {
            10 if has_consumers => {
                let verb = self.dice.of(&["kill", "stop", "restart", "rebalance"]);
                actions.push((at, format!("{verb}-consumer c{consumer}")));
                if verb == "kill" || verb == "stop" {
                    actions.push((later, format!("start-consumer c{consumer}")));
                }
            }
            11 if has_consumers => {
                let span = self.dice.of(&["500ms", "5s", "12s"]);
                actions.push((at, format!("pause-consumer c{consumer} {span}")));
            }
            12 => actions.push((at, format!("pause-producer p{producer} 3s"))),
            13 => actions.push((at, format!("restart-producer p{producer}"))),
            14 => {
                let which = self.dice.of(&["preferred", "preferred", "unclean"]);
                actions.push((at, format!("elect-leaders {which}")));
            }
            15 => {
                actions.push((at, String::from("create-topic extra partitions=2")));
                actions.push((later, String::from("add-partitions extra 3")));
                actions.push((later, String::from("delete-topic extra")));
            }
            _ => {
                // Three in one poll take longer than max.poll.interval.ms, again and again.
                let slow = String::from("send t0 value=slow");
                if actions.iter().filter(|(_, other)| *other == slow).count() < 2 {
                    actions.push((at, slow));
                }
            }
        }
    }
}

/// What the members of one group list.
const ASSIGNORS: &[&str] = &[
    "range",
    "roundrobin",
    "sticky",
    "cooperative-sticky",
    "cooperative-sticky",
    "range,cooperative-sticky",
];
/// Kinds of fault: four of brokers, four of links, two of controllers, seven of clients.
const KINDS: u64 = 17;
