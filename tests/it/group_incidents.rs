//! Incidents from the field about groups and offsets, small enough to run: what was reported, and what the
//! same group does here.
//!
//! INC-45 and INC-46 are about the protocol of KIP-848.

use super::incidents::Case;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use terrarium_core::base::ids::{ClientId, NodeId, TopicPartition};
use terrarium_core::sim::measure::{MeasureKind, Measures, Query};
use terrarium_core::trace::event::{GroupState, TraceEntry, TraceEvent};
use terrarium_core::wire::api::Response;
use terrarium_core::wire::error_code::ErrorCode;

impl Case {
    fn client(&self, name: &str) -> ClientId {
        let found = self.sim.scenario().client_by_name(name);
        found.unwrap_or_else(|| panic!("{name} is a client"))
    }

    /// What a consumer owns now.
    fn owned(&self, name: &str) -> Vec<TopicPartition> {
        let consumers = self.sim.stage().consumers.into_iter();
        let mut mine = consumers.filter(|view| &*view.name == name);
        let mine = mine.next().expect("the consumer exists");
        mine.partitions
            .iter()
            .map(|one| one.topic_partition)
            .collect()
    }

    fn committed(&self, group: &str, id: TopicPartition) -> Option<i64> {
        let groups = self.sim.stage().groups.into_iter();
        let mut found = groups.filter(|view| &*view.group_id.0 == group);
        let committed = found.next()?.committed;
        let offset = committed.into_iter().find(|(other, _)| *other == id)?.1;
        Some(offset.0)
    }

    fn of<'a>(
        &'a self,
        name: &str,
        from_s: u64,
        to_s: u64,
    ) -> impl Iterator<Item = &'a TraceEntry> {
        let node = NodeId::Client(self.client(name));
        self.events(from_s, to_s)
            .filter(move |entry| entry.node == node)
    }

    /// When a consumer first owned as many partitions, in milliseconds.
    fn first_owns(&self, name: &str, count: usize, (from_s, to_s): (u64, u64)) -> Option<u64> {
        let mut events = self.of(name, from_s, to_s);
        let found = events.find(|entry| {
            matches!(&entry.event, TraceEvent::PartitionsAssigned { owned, .. }
                if count <= owned.len())
        });
        found.map(|entry| entry.at.as_millis())
    }

    /// Completed generations with members.
    fn rebalances(&self, from_s: u64, to_s: u64) -> usize {
        let completed = self.events(from_s, to_s).filter(|entry| {
            matches!(&entry.event, TraceEvent::JoinPhaseCompleted { members, .. }
                if !members.is_empty())
        });
        completed.count()
    }

    /// How often each offset of a partition was processed, in order of time.
    fn processed(&self, id: TopicPartition, from_s: u64, to_s: u64) -> Vec<i64> {
        let offsets = self
            .events(from_s, to_s)
            .filter_map(|entry| match &entry.event {
                TraceEvent::RecordProcessed {
                    topic_partition,
                    offset,
                    ..
                } if *topic_partition == id => Some(offset.0),
                _ => None,
            });
        offsets.collect()
    }

    /// The longest time in which nothing was processed, in milliseconds.
    fn stall(&self, from_s: u64, to_s: u64) -> u64 {
        let mut last = from_s * 1_000;
        let mut longest = 0;
        for entry in self.events(from_s, to_s) {
            if let TraceEvent::RecordProcessed { .. } = entry.event {
                longest = longest.max(entry.at.as_millis() - last);
                last = entry.at.as_millis();
            }
        }
        longest.max(to_s * 1_000 - last)
    }

    /// Answers to JoinGroup or SyncGroup with this error.
    fn refusals(&self, is_join: bool, code: ErrorCode, (from_s, to_s): (u64, u64)) -> usize {
        let refused = self
            .events(from_s, to_s)
            .filter(|entry| match &entry.event {
                TraceEvent::ResponseSent { body, .. } => match &**body {
                    Response::JoinGroup(join) => is_join && join.error_code == code,
                    Response::SyncGroup(sync) => !is_join && sync.error_code == code,
                    _ => false,
                },
                _ => false,
            });
        refused.count()
    }

    fn id(&self, topic: &str, number: usize) -> TopicPartition {
        self.partition(topic, number).topic_partition
    }

    /// The numbers of the run up to an instant.
    fn measured(&self, at_s: u64) -> Measures {
        let mut measures = Measures::new(self.sim.scenario());
        for topic in self.sim.stage().topics {
            if let Some(one) = topic.partitions.first() {
                measures.name_topic(&topic.name, one.topic_partition.topic);
            }
        }
        for entry in self.events(0, at_s) {
            measures.observe(entry);
        }
        measures
    }

    fn skipped_records(&self, name: &str) -> usize {
        let skips = self
            .of(name, 0, 10_000)
            .filter(|entry| entry.event.name() == "record-skipped");
        skips.count()
    }
}

/// A member that does not poll hides behind its heartbeats: who joins waits for max.poll.interval.ms.
#[test]
fn inc_01_the_second_member_waits_for_the_first_to_poll() {
    let story = |max_poll: u64| {
        format!(
            "cluster brokers=1 jitter=0ms group.initial.rebalance.delay.ms=0\n\
             topic t partitions=3\n\
             producer p topic=t every=500ms start=1s\n\
             consumer c1 group=g topics=t start=1s rule=stop:10h max.poll.interval.ms={max_poll} \
             auto.offset.reset=earliest\n\
             consumer c2 group=g topics=t start=10s max.poll.interval.ms={max_poll} \
             auto.offset.reset=earliest\n\
             5s send t value=stop partition=0\n"
        )
    };
    let mut case = Case::new(&story(300_000));
    case.run_to(320);
    let stopped = case
        .of("c1", 4, 7)
        .find(|it| it.event.name() == "poll-returned");
    assert!(stopped.is_some(), "INC-01: its last poll is at 5 s");
    let assigned = case
        .first_owns("c2", 1, (0, 320))
        .expect("INC-01: in the end");
    assert!((305_000..309_000).contains(&assigned), "INC-01: {assigned}");
    assert!(
        295_000 <= case.stall(10, 320),
        "INC-01: nobody reads for so long"
    );
    let left = case
        .events(0, 320)
        .find(|it| it.event.name() == "member-removed");
    let left = left.expect("INC-01: c1 leaves").at.as_millis();
    assert!(
        (305_000..306_500).contains(&left),
        "INC-01: it leaves at {left}"
    );
    assert_eq!(case.owned("c2").len(), 3, "INC-01: c2 has all");
    let mut case = Case::new(&story(1_800_000));
    case.run_to(1_820);
    assert!(
        1_795_000 <= case.stall(10, 1_820),
        "INC-01: as long as the raised limit"
    );
}

/// An assignor that takes longer than the session, while no heartbeat is sent (before 2.7). The number of
/// partitions does not matter here: the time is given.
#[test]
fn inc_04_a_slow_assignor_expels_its_leader_again_and_again() {
    let story = |old: bool, session: u64| {
        let member = |number: u32| {
            format!(
                "consumer c{number} group=g topics=t start=1.{number}s assignor-time=11s \
                 partition.assignment.strategy=cooperative-sticky session.timeout.ms={session} \
                 heartbeat.interval.ms=3000\n"
            )
        };
        let members: Vec<String> = (1..=3).map(member).collect();
        let members = members.concat();
        format!(
            "cluster brokers=1 jitter=0ms history.no.heartbeat.before.sync={old}\n\
             topic t partitions=30\n{members}"
        )
    };
    let mut case = Case::new(&story(true, 10_000));
    case.run_to(120);
    let mut since = None;
    for entry in case.events(0, 120) {
        if let TraceEvent::GroupStateChanged { state, .. } = &entry.event {
            if let Some(since) = since {
                let stable = entry.at.as_millis() - since;
                assert!(stable <= 1_000, "INC-04: Stable for {stable} ms");
            }
            since = (*state == GroupState::Stable).then(|| entry.at.as_millis());
        }
    }
    assert!(
        since.is_none_or(|since| 119_000 <= since),
        "INC-04: not Stable at the end"
    );
    assert!(
        5 <= case.rebalances(0, 120),
        "INC-04: {}",
        case.rebalances(0, 120)
    );
    let expelled = case.refusals(false, ErrorCode::UnknownMemberId, (0, 120));
    assert!(
        5 <= expelled,
        "INC-04: the leader's SyncGroup is refused {expelled} times"
    );
    for (old, session) in [(false, 10_000), (true, 45_000)] {
        let mut case = Case::new(&story(old, session));
        case.run_to(120);
        let count = case.rebalances(0, 120);
        assert!(
            count <= 2,
            "INC-04: {count} with heartbeats {old}, session {session}"
        );
    }
}

/// A rolling restart of dynamic and of static members; eight of them instead of forty.
#[test]
fn inc_05_a_rolling_restart_of_static_members_rebalances_nothing() {
    let story = |is_static: &str, down: fn(u32) -> u64| {
        let mut text = String::from("cluster brokers=1 jitter=0ms\ntopic t partitions=40\n");
        let mut actions = Vec::new();
        for app in 0..8 {
            let _ = writeln!(
                text,
                "consumer app-{app} group=g topics=t start=1s {is_static} \
                 session.timeout.ms=60000 heartbeat.interval.ms=3000"
            );
            let at = 120 + 100 * u64::from(app);
            actions.push(format!("{at}s stop-consumer app-{app}\n"));
            actions.push(format!("{}s start-consumer app-{app}\n", at + down(app)));
        }
        text + &actions.concat()
    };
    let mut case = Case::new(&story("", |_| 35));
    case.run_to(960);
    assert_eq!(case.rebalances(120, 960), 16, "INC-05: two a restart");

    let mut case = Case::new(&story("static", |_| 35));
    case.run_to(119);
    let names: Vec<String> = (0..8).map(|app| format!("app-{app}")).collect();
    let before: Vec<_> = names.iter().map(|name| case.owned(name)).collect();
    case.run_to(960);
    assert_eq!(case.rebalances(120, 960), 0, "INC-05: static");
    let after: Vec<_> = names.iter().map(|name| case.owned(name)).collect();
    assert_eq!(before, after, "INC-05: everybody has what it had");
    for (at_s, stopped) in [(140, 5), (210, 0), (240, 5), (310, 0)] {
        let value = case
            .measured(at_s)
            .value(&Query::all(MeasureKind::PartitionsStopped));
        assert_eq!(value, stopped, "INC-05: only its own stop, at {at_s} s");
    }
    let longest = case
        .measured(960)
        .value(&Query::all(MeasureKind::LongestStopMs));
    assert!((35_000..=39_000).contains(&longest), "INC-05: {longest} ms");

    let mut case = Case::new(&story("static", |app| if app == 7 { 90 } else { 35 }));
    case.run_to(960);
    assert_eq!(
        case.rebalances(120, 960),
        2,
        "INC-05: longer than its session"
    );
    let gone = case
        .events(820, 960)
        .find(|it| it.event.name() == "member-removed");
    let gone = gone.expect("INC-05: app-7 is removed").at.as_millis() - 820_000;
    assert!((57_000..=60_100).contains(&gone), "INC-05: after {gone} ms");
}

/// Whoever dies without a word is a member until its session ends, and holds up who comes next.
#[test]
fn inc_07_dead_members_hold_up_the_living() {
    let base = "cluster brokers=1 jitter=0ms\n\
                topic t partitions=2\n\
                producer w topic=t every=100ms start=1s\n\
                consumer p0 group=g topics=t start=0s auto.offset.reset=earliest\n\
                consumer p1 group=g topics=t start=62s auto.offset.reset=earliest\n\
                consumer p2 group=g topics=t start=never auto.offset.reset=earliest\n";
    let mut case = Case::new(&format!("{base}60s kill-consumer p0\n"));
    case.run_to(250);
    let at = case
        .first_owns("p1", 2, (60, 250))
        .expect("INC-07: in the end");
    assert!((102_000..=107_000).contains(&at), "INC-07: {at}");
    let stall = case.stall(60, 250);
    assert!(42_000 <= stall, "INC-07: nobody reads for {stall} ms");
    let more = "70s kill-consumer p1\n72s start-consumer p2\n";
    let mut case = Case::new(&format!("{base}60s kill-consumer p0\n{more}"));
    case.run_to(250);
    let at = case
        .first_owns("p2", 2, (60, 250))
        .expect("INC-07: in the end");
    assert!(147_000 <= at, "INC-07: p1 died while it waited, {at}");
    let mut case = Case::new(&format!("{base}60s stop-consumer p0\n"));
    case.run_to(250);
    let at = case
        .first_owns("p1", 2, (60, 250))
        .expect("INC-07: at once");
    assert!(at <= 68_000, "INC-07: after a LeaveGroup, {at}");
}

/// A commit fails in the middle of a batch, and the application drops the rest of it. The numbers are of a
/// batch that begins at 0 instead of 348.
#[test]
fn inc_08_a_failed_commit_drops_the_rest_of_a_batch() {
    let story = |policy: &str, timeout: u64, cut: &str| {
        format!(
            "cluster brokers=2 jitter=0ms offsets.topic.num.partitions=1\n\
             topic t assign=1\n\
             producer w topic=t every=10ms start=1s records=40\n\
             consumer c1 group=g topics=t start=3s processing=2s max.poll.records=10 commit=each \
             enable.auto.commit=false auto.offset.reset=earliest session.timeout.ms=10000 \
             heartbeat.interval.ms=3000 default.api.timeout.ms={timeout} on-commit-error={policy} \
             partition.assignment.strategy=cooperative-sticky\n{cut}"
        )
    };
    // The commit of record 5 is the one that fails: when is it sent, and who coordinates?
    let mut case = Case::new(&story("go-on", 60_000, ""));
    case.run_to(120);
    let coordinator = case.sim.stage().groups[0].coordinator;
    let id = case.id("t", 0);
    let fifth = case.events(0, 120).find(
        |entry| matches!(&entry.event, TraceEvent::RecordProcessed { offset, .. } if offset.0 == 5),
    );
    let fifth = fifth.expect("INC-08: it gets so far").at.as_millis();
    let cut = |length: u64| {
        let (from, to) = (fifth - 500, fifth + length);
        format!("{from}ms cut-link c1 {coordinator}\n{to}ms heal-link c1 {coordinator}\n")
    };
    let mut case = Case::new(&story("drop-batch", 3_000, &cut(4_000)));
    case.run_to(120);
    let processed = case.processed(id, 0, 120);
    let count = |offset: i64| processed.iter().filter(|it| **it == offset).count();
    assert!(
        (0..=5).all(|offset| count(offset) == 1),
        "INC-08: {processed:?}"
    );
    assert!(
        (6..=9).all(|offset| count(offset) == 0),
        "INC-08: {processed:?}"
    );
    let next = processed.iter().skip_while(|it| **it != 5).nth(1);
    assert_eq!(next, Some(&10), "INC-08: it goes on after the batch");
    let committed = case.committed("g", id).expect("INC-08: a later commit");
    assert!(
        10 < committed,
        "INC-08: a silent gap, committed at {committed}"
    );
    let skipped = case
        .measured(120)
        .value(&Query::all(MeasureKind::RecordsSkipped));
    assert_eq!(skipped, 4, "INC-08: lost to the group");

    let mut case = Case::new(&story("seek-back", 3_000, &cut(4_000)));
    case.run_to(120);
    let skipped = case
        .measured(120)
        .value(&Query::all(MeasureKind::RecordsSkipped));
    assert_eq!(skipped, 0, "INC-08: seeking back leaves no gap");

    // A member that really was evicted starts at the committed offset: twice, and no gap.
    let mut case = Case::new(&story("drop-batch", 60_000, &cut(15_000)));
    case.run_to(150);
    let processed = case.processed(id, 0, 150);
    let twice = processed.iter().filter(|it| **it == 5).count();
    assert_eq!(twice, 2, "INC-08: {processed:?}");
    let skipped = case
        .measured(150)
        .value(&Query::all(MeasureKind::RecordsSkipped));
    assert_eq!(skipped, 0, "INC-08: eviction alone skips nothing");
}

/// A group has one assignor that all its members list.
#[test]
fn inc_11_a_rolling_change_of_assignors_needs_one_in_common() {
    let story = |assignors: &str| {
        format!(
            "cluster brokers=1 jitter=0ms\n\
             topic t partitions=6\n\
             producer w topic=t every=100ms start=1s\n\
             consumer a group=g topics=t start=1s\n\
             consumer b group=g topics=t start=1s\n\
             consumer c group=g topics=t start=1s\n\
             consumer c2 group=g topics=t start=65s restart=5s \
             partition.assignment.strategy={assignors}\n\
             60s stop-consumer c\n\
             120s stop-consumer a\n\
             120s stop-consumer b\n"
        )
    };
    let mut case = Case::new(&story("cooperative-sticky"));
    case.run_to(119);
    let code = ErrorCode::InconsistentGroupProtocol;
    assert!(
        1 <= case.refusals(true, code, (65, 119)),
        "INC-11: c2 is refused"
    );
    assert_eq!(case.owned("c2").len(), 0, "INC-11");
    assert_eq!(case.owned("a").len() + case.owned("b").len(), 6, "INC-11");
    case.run_to(175);
    assert_eq!(
        case.owned("c2").len(),
        6,
        "INC-11: when the last of the old is gone"
    );

    let mut case = Case::new(&story("cooperative-sticky,range"));
    case.run_to(100);
    assert_eq!(
        case.refusals(true, code, (65, 100)),
        0,
        "INC-11: both are listed"
    );
    let chosen = case.sim.stage().groups[0].protocol_name.clone();
    assert_eq!(chosen.as_deref(), Some("range"), "INC-11: what all list");
    case.run_to(175);
    let chosen = case.sim.stage().groups[0].protocol_name.clone();
    assert_eq!(
        chosen.as_deref(),
        Some("cooperative-sticky"),
        "INC-11: then its own wish"
    );
}

/// Many topics of one partition: range gives all of them to the first member.
#[test]
fn inc_13_range_does_not_spread_topics() {
    let story = |assignor: &str| {
        let names: Vec<String> = (0..10).map(|number| format!("feed-0{number}")).collect();
        let topics = names
            .iter()
            .map(|name| format!("topic {name} partitions=1\n"));
        let topics: Vec<String> = topics.collect();
        let topics = topics.concat();
        let list = names.join(",");
        let member = |name: &str| {
            format!(
                "consumer {name} group=g topics={list} start=1s \
                 partition.assignment.strategy={assignor}\n"
            )
        };
        let members: String = ["c1", "c2", "c3"].map(member).concat();
        format!("cluster brokers=1 jitter=0ms\n{topics}{members}60s stop-consumer c1\n")
    };
    let counts = |case: &Case| ["c1", "c2", "c3"].map(|name| case.owned(name).len());
    let mut case = Case::new(&story("range"));
    case.run_to(30);
    assert_eq!(counts(&case), [10, 0, 0], "INC-13");
    case.run_to(80);
    assert_eq!(
        counts(&case),
        [0, 10, 0],
        "INC-13: the next takes over everything"
    );
    let mut case = Case::new(&story("roundrobin"));
    case.run_to(30);
    let mut shares = counts(&case);
    shares.sort_unstable();
    assert_eq!(shares, [3, 3, 4], "INC-13: roundrobin spreads");
}

/// Without the quota: fetches that take nearly as long as the session hold up no heartbeat, for the
/// coordinator has a connection of its own.
#[test]
fn inc_33_slow_fetches_hold_up_no_heartbeat() {
    let mut case = Case::new(
        "cluster brokers=1 jitter=0ms\n\
         topic t partitions=6\n\
         consumer c1 group=g topics=t start=1s session.timeout.ms=10000 heartbeat.interval.ms=3000 \
         fetch.max.wait.ms=29000 fetch.min.bytes=1000000\n\
         consumer c2 group=g topics=t start=1s session.timeout.ms=10000 heartbeat.interval.ms=3000 \
         fetch.max.wait.ms=29000 fetch.min.bytes=1000000\n",
    );
    case.run_to(300);
    assert_eq!(case.rebalances(20, 300), 0, "INC-33");
    let released = case.events(20, 300).filter(|entry| {
        matches!(
            entry.event,
            TraceEvent::RequestReleased {
                timed_out: true,
                ..
            }
        )
    });
    assert!(
        10 < released.count(),
        "INC-33: fetches do wait their full time"
    );
}

/// Records in a partition that the group has not noticed yet are skipped with `latest`.
#[test]
fn inc_38_a_new_partition_is_read_from_its_end() {
    let start_of = |reset: &str, age: u64| {
        let mut case = Case::new(&format!(
            "cluster brokers=1 jitter=0ms\n\
             topic t partitions=1\n\
             producer w topic=t partition=1 every=100ms start=61s records=8390\n\
             consumer c1 group=g topics=t start=1s auto.offset.reset={reset} \
             metadata.max.age.ms={age}\n\
             60s add-partitions t 2\n"
        ));
        case.run_to(960);
        let id = case.id("t", 1);
        let assigned = case.of("c1", 60, 960).find(|entry| {
            matches!(&entry.event, TraceEvent::PartitionsAssigned { owned, .. }
                if owned.contains(&id))
        });
        let assigned = assigned.expect("INC-38: it notices").at.as_millis();
        let start = case.of("c1", 60, 960).find_map(|entry| match &entry.event {
            TraceEvent::PositionSet {
                topic_partition,
                position,
                ..
            } if *topic_partition == id => Some(position.0),
            _ => None,
        });
        let skipped: BTreeSet<i64> = case
            .processed(case.id("t", 0), 0, 960)
            .into_iter()
            .collect();
        assert!(
            skipped.is_empty(),
            "INC-38: nothing was written to the first partition"
        );
        (assigned, start.expect("INC-38: it begins somewhere"))
    };
    let (assigned, start) = start_of("latest", 600_000);
    assert!(
        (600_000..=606_500).contains(&assigned),
        "INC-38: noticed at {assigned}"
    );
    assert!(
        (5_380..=5_470).contains(&start),
        "INC-38: {start} records are skipped"
    );
    assert_eq!(
        start_of("earliest", 600_000).1,
        0,
        "INC-38: nothing is skipped"
    );
    let (_, start) = start_of("latest", 60_000);
    assert!(
        start <= 650,
        "INC-38: a shorter age narrows the gap to {start}"
    );
}

/// A seek past a record that cannot be handled lasts until the next start, unless it is committed.
#[test]
fn inc_40_a_skip_that_is_not_committed_comes_back() {
    let run = |rule: &str, more: &str| {
        let mut case = Case::new(&format!(
            "cluster brokers=1 jitter=0ms\n\
             topic t partitions=1\n\
             consumer c1 group=g topics=t start=6s enable.auto.commit=false commit=each \
             auto.offset.reset=earliest session.timeout.ms=6000 rule=poison:{rule}\n\
             1s send t value=good count=5\n\
             2s send t value=poison\n\
             {more}30s restart-consumer c1\n\
             60s restart-consumer c1\n\
             90s restart-consumer c1\n"
        ));
        case.run_to(120);
        let committed = case.committed("g", case.id("t", 0));
        (case.skipped_records("c1"), committed)
    };
    assert_eq!(
        run("skip", ""),
        (4, Some(5)),
        "INC-40: once, and at each start"
    );
    assert_eq!(run("skip-and-commit", ""), (1, Some(6)), "INC-40: the cure");
    let later = run("skip", "10s send t value=good\n");
    assert_eq!(later, (1, Some(7)), "INC-40: a later commit covers it");
}

/// Two producers with one transactional id, both idle until the id is forgotten. Applications here end
/// with a fatal error; none tries to recover.
#[test]
fn inc_42_a_producer_whose_id_has_expired_is_not_let_in_again() {
    let run = |every: &str| {
        let mut case = Case::new(&format!(
            "cluster brokers=3 jitter=0ms transactional.id.expiration.ms=60000\n\
             topic out partitions=1 rf=3\n\
             producer A topic=out every={every} start=1s records=1 transactional.id=x\n\
             producer B topic=out every=5s start=10s records=1 transactional.id=x\n"
        ));
        case.run_to(4_000);
        let copies = case.events(0, 4_000).filter(|entry| {
            matches!(
                &entry.event,
                TraceEvent::TransactionEnded {
                    is_commit: true,
                    ..
                }
            )
        });
        let copies = copies.count();
        let error = case
            .of("A", 11, 4_000)
            .find_map(|entry| match &entry.event {
                TraceEvent::FatalError { exception } => Some(exception.to_string()),
                _ => None,
            });
        let is_told = case.events(11, 4_000).any(|entry| {
            matches!(&entry.event, TraceEvent::ResponseSent { body, to, .. }
                if *to == NodeId::Client(case.client("A"))
                    && format!("{body:?}").contains("InvalidProducerIdMapping"))
        });
        (copies, error.expect("INC-42: A ends"), is_told)
    };
    let (copies, error, is_told) = run("3800s");
    assert!(is_told, "INC-42: its id is unknown by now");
    assert_eq!(
        copies, 1,
        "INC-42: A stops with {error}, and writes nothing"
    );
    let (copies, error, is_told) = run("29s");
    assert!(!is_told, "INC-42: the id is known");
    let fenced = ["ProducerFencedException", "InvalidProducerEpochException"];
    assert!(
        fenced.contains(&error.as_str()),
        "INC-42: before that, {error}"
    );
    assert_eq!(copies, 1, "INC-42");
}

/// A consumer comes back after its records are gone.
#[test]
fn inc_43_after_the_retention_latest_jumps_to_the_end() {
    let run = |reset: &str| {
        let mut case = Case::new(&format!(
            "cluster brokers=1 jitter=0ms log.retention.check.interval.ms=10000\n\
             topic t partitions=1 retention.ms=600000 segment.ms=60000\n\
             consumer c1 group=g topics=t start=5s enable.auto.commit=false commit=each \
             auto.offset.reset=earliest\n\
             consumer c2 group=g topics=t start=1400s enable.auto.commit=false commit=each \
             auto.offset.reset={reset}\n\
             3s send t value=v count=100\n\
             30s stop-consumer c1\n\
             40s send t value=v count=100\n\
             1300s send t value=v count=50\n"
        ));
        case.run_to(1_395);
        let id = case.id("t", 0);
        assert_eq!(
            case.committed("g", id),
            Some(100),
            "INC-43: before it comes back"
        );
        let log_start = case.sim.stage().brokers[0]
            .replicas
            .iter()
            .find(|replica| replica.topic_partition == id)
            .map(|replica| replica.log_start_offset.0);
        assert_eq!(log_start, Some(200), "INC-43: the retention has passed");
        case.run_to(1_500);
        case
    };
    let case = run("latest");
    let id = case.id("t", 0);
    let consumers = case.sim.stage().consumers;
    let position = consumers[1].partitions[0].position.map(|at| at.0);
    assert_eq!(position, Some(250), "INC-43: at the end");
    assert!(
        case.processed(id, 1_400, 1_500).is_empty(),
        "INC-43: 100 to 249 are skipped"
    );
    assert_eq!(
        case.committed("g", id),
        Some(100),
        "INC-43: the old commit stands"
    );
    let lag = case
        .measured(1_500)
        .value(&Query::all(MeasureKind::ConsumerLag));
    assert_eq!(lag, 150, "INC-43: and shows a lag");
    let refused = case
        .events(1_400, 1_500)
        .filter(|entry| match &entry.event {
            TraceEvent::ResponseSent { body, .. } => match &**body {
                Response::Fetch(fetch) => {
                    let mut answers = fetch.partitions.iter();
                    answers.any(|one| one.error_code == ErrorCode::OffsetOutOfRange)
                }
                _ => false,
            },
            _ => false,
        });
    assert_eq!(refused.count(), 1, "INC-43: OFFSET_OUT_OF_RANGE once");

    let case = run("earliest");
    let processed = case.processed(id, 1_400, 1_500);
    let expected: Vec<i64> = (200..250).collect();
    assert_eq!(processed, expected, "INC-43: only what is gone is missing");

    let case = run("none");
    let error = case.of("c2", 1_400, 1_500).any(|entry| {
        matches!(&entry.event, TraceEvent::FatalError { exception }
            if &**exception == "OffsetOutOfRangeException")
    });
    assert!(error, "INC-43: the application has to decide");
    assert_eq!(case.committed("g", id), Some(100), "INC-43");
}
