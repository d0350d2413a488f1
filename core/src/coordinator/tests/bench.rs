//! A coordinator on a bench: a script of requests in, a transcript of what happens out.
//!
//! The bench stands for the broker: it keeps the log of one partition of `__consumer_offsets`,
//! fires timers at their time, and replicates at once unless a script holds the high watermark.
//!
//! | line of a script | what it does |
//! |---|---|
//! | `config <setting> <value>` | changes a setting, before anything else happens |
//! | `config-later <setting> <value>` | changes a setting for the coordinators after a failover |
//! | `@<ms>` | goes on to this time and fires what is due |
//! | `join <client> [id= i= s= r= p= t= v= type= reason=]` | sends `JoinGroup` |
//! | `enter <client> [the same]` | sends it twice, as a dynamic member does |
//! | `stable <client>... [the same]` | a Stable group of generation 1, its members numbered partitions; a static member is `client/instance`; time and transcript begin here |
//! | `topics <name>:<partitions>...` | the topics that exist from now on; `a` and `b` have ids 0 and 1 |
//! | `beat <client> [e= id= i= r= t= a= owned= rack= regex=]` | sends `ConsumerGroupHeartbeat`; with `e=0` everything, otherwise only what is named |
//! | `piece <kind> [client] <value>` | a record of a group of the consumer protocol goes into the log as it is, to be read at the next failover |
//! | `sync <client> [id= i= gen= a= type= name=]` | sends `SyncGroup` |
//! | `hb <client> [id= i= gen=]` | sends `Heartbeat` |
//! | `leave <member>...` | one `LeaveGroup`; a member is `client`, `!id`, `=instance` or `!id=instance` |
//! | `commit <client> <partition>:<offset>,... [id= i= gen= v=]` | sends `OffsetCommit` |
//! | `commit-transaction <client> <partition>:<offset>,... [the same]`, `end-transaction` | sends `TxnOffsetCommit`; its transaction is committed |
//! | `fetch <partition>,... [by= gen=]` | sends `OffsetFetch` |
//! | `show`, `members`, `offsets`, `timers`, `log [count]`, `parked` | prints state; of the log the last `count` records |
//! | `trace on`, `lines on` | prints changes of state, lines of the broker's log |
//! | `hold`, `replicate` | the high watermark stands still; moves on to the end of the log |
//! | `refuse <error>` | the next append fails |
//! | `elect <epoch>`, `load`, `resign`, `shutdown`, `failover <epoch>` | leadership |
//! | `dead` | makes the group Dead, as nothing else does while the partition is here |
//! | `group <id>` | names the group from here on |

use crate::base::config::BrokerConfig;
use crate::base::ids::{
    BrokerId, ClientId, CorrelationId, GroupId, InstanceId, MemberId, NodeId, Offset, TopicId,
    TopicPartition,
};
use crate::base::timer::Timer;
use crate::coordinator::context::Context;
use crate::coordinator::state::State;
use crate::coordinator::{ClassicGroup, ConsumerGroup, GroupCoordinator, Member};
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{GroupState, TraceEvent, Waiting};
use crate::trace::out::{Effect, Out, ReplyTo};
use crate::wire::api::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, HeartbeatRequest,
    JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, LeavingMember, OffsetCommitRequest,
    OffsetFetchRequest, Response, SyncGroupRequest, TxnOffsetCommitRequest,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{
    ConsumerGroupPiece, ConsumerMemberMetadata, CurrentAssignment, Record, RecordValue,
    Subscription,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// What a client remembers.
#[derive(Debug, Default)]
struct Client {
    id: ClientId,
    member_id: MemberId,
    generation_id: i32,
}

/// The bench.
#[derive(Debug)]
pub(super) struct Bench {
    config: BrokerConfig,
    pub(super) coordinator: GroupCoordinator,
    now: SimTime,
    /// Times of scripts and transcripts count from here.
    base: SimTime,
    group_id: GroupId,
    timers: BTreeMap<Timer, (SimTime, u64)>,
    next_sequence: u64,
    /// The topics of the cluster.
    topics: BTreeMap<Arc<str>, (TopicId, u32)>,
    log: Vec<Record>,
    high_watermark: Offset,
    is_held: bool,
    refusal: Option<ErrorCode>,
    clients: BTreeMap<String, Client>,
    requests: BTreeMap<ReplyTo, String>,
    next_correlation: u64,
    prints_trace: bool,
    prints_lines: bool,
    /// Requests that the trace shows as parked.
    pub(super) parked: BTreeSet<ReplyTo>,
    /// What has happened.
    pub(super) transcript: String,
}

/// `key=value` words of a line.
struct Options<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Options<'a> {
    fn new(words: &[&'a str]) -> Self {
        Self(
            words
                .iter()
                .filter_map(|word| word.split_once('='))
                .collect(),
        )
    }
    fn text(&self, key: &str, default: &'a str) -> &'a str {
        self.0.get(key).copied().unwrap_or(default)
    }
    fn number<T: std::str::FromStr>(&self, key: &str, default: T) -> T {
        self.0
            .get(key)
            .map_or(default, |text| text.parse().ok().expect("a number"))
    }
    fn optional<T>(&self, key: &str, make: impl Fn(&'a str) -> T) -> Option<T> {
        self.0.get(key).copied().map(make)
    }
}

impl Bench {
    /// Runs a script and gives the transcript.
    pub(super) fn run(script: &str) -> String {
        let mut bench = Self::new();
        for line in script.lines().map(str::trim) {
            if !line.is_empty() && !line.starts_with('#') {
                bench.line(line);
            }
        }
        bench.transcript
    }

    /// A broker that leads the one partition, with an empty log. Sessions may be of any length.
    pub(super) fn new() -> Self {
        let config = BrokerConfig {
            group_min_session_timeout_ms: 1,
            offsets_topic_num_partitions: 1,
            ..BrokerConfig::default()
        };
        let coordinator = GroupCoordinator::new(BrokerId(1), Arc::new(config.clone()));
        let mut bench = Self {
            config,
            coordinator,
            now: SimTime::ZERO,
            base: SimTime::ZERO,
            group_id: GroupId::new("g"),
            timers: BTreeMap::new(),
            next_sequence: 0,
            topics: BTreeMap::from([
                (Arc::from("a"), (TopicId(0), 6)),
                (Arc::from("b"), (TopicId(1), 3)),
            ]),
            log: Vec::new(),
            high_watermark: Offset::ZERO,
            is_held: false,
            refusal: None,
            clients: BTreeMap::new(),
            requests: BTreeMap::new(),
            next_correlation: 0,
            prints_trace: false,
            prints_lines: false,
            parked: BTreeSet::new(),
            transcript: String::new(),
        };
        bench.start(BrokerId(1), 0);
        bench
    }

    fn start(&mut self, broker_id: BrokerId, leader_epoch: i32) {
        self.coordinator = GroupCoordinator::new(broker_id, Arc::new(self.config.clone()));
        self.coordinator.on_topics(self.topics.clone());
        for (id, name) in [(0, "a"), (1, "b")] {
            self.coordinator
                .on_topic_named(TopicId(id), Arc::from(name));
        }
        self.call(|coordinator, out| coordinator.on_elected(0, leader_epoch, out));
        self.load();
    }

    fn load(&mut self) {
        let log = self.log.clone();
        let high_watermark = self.high_watermark;
        self.call(|coordinator, out| {
            let offsets = (0..).map(Offset);
            coordinator.on_loaded(0, offsets.zip(&log), high_watermark, out);
        });
    }

    fn millis(&self, at: SimTime) -> u64 {
        at.since(self.base).as_millis()
    }

    fn say(&mut self, text: &str) {
        let at = self.millis(self.now);
        writeln!(self.transcript, "{at} {text}").expect("text grows");
    }

    /// Does one line of a script.
    pub(super) fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (command, rest) = words.split_first().expect("a line has a word");
        if let Some(time) = command.strip_prefix('@') {
            let time = Span::from_millis(time.parse().expect("milliseconds"));
            return self.go_to(self.base + time);
        }
        let options = Options::new(rest);
        let name = rest.first().copied().unwrap_or_default();
        match *command {
            "config" => {
                self.config
                    .set(name, rest[1])
                    .expect("a setting and its value");
                let (log, held) = (self.log.len(), self.is_held);
                assert!(log == 0 && !held, "settings stand at the start of a script");
                self.timers.clear();
                self.start(BrokerId(1), 0);
            }
            "config-later" => {
                self.config
                    .set(name, rest[1])
                    .expect("a setting and its value");
            }
            "group" => self.group_id = GroupId::new(name.trim_matches('"')),
            "trace" => self.prints_trace = name == "on",
            "lines" => self.prints_lines = name == "on",
            "join" => self.join(name, &options),
            "enter" => {
                self.join(name, &options);
                self.join(name, &options);
            }
            "stable" => self.stable(rest, &options),
            "sync" => self.sync(name, &options),
            "hb" => self.heartbeat(name, &options),
            "leave" => self.leave(rest),
            "commit" => self.commit(name, rest[1], &options),
            "commit-transaction" => {
                let reply = self.reply(name);
                let request = TxnOffsetCommitRequest {
                    transactional_id: Arc::from("t"),
                    producer_id: 7,
                    producer_epoch: 0,
                    commit: self.commit_request(name, rest[1], &options),
                };
                self.call(|coordinator, out| {
                    coordinator.handle_txn_offset_commit(reply, &request, out);
                });
            }
            "end-transaction" => {
                self.call(|coordinator, out| coordinator.on_transaction_ended(0, (7, true), out));
            }
            "topics" => self.set_topics(rest),
            "piece" => self.add_piece(rest),
            "beat" => self.beat(name, &options),
            "fetch" => self.fetch(name, &options),
            "show" => self.show(),
            "members" => self.show_members(),
            "offsets" => self.show_offsets(),
            "timers" => self.show_timers(),
            "log" => self.show_log(name.parse().unwrap_or(usize::MAX)),
            "parked" => self.show_parked(),
            "hold" => self.is_held = true,
            "replicate" => {
                self.is_held = false;
                self.replicate();
            }
            "refuse" => {
                let found = ErrorCode::ALL.iter().find(|code| code.name() == name);
                self.refusal = Some(*found.expect("an error code"));
            }
            "elect" => {
                let epoch = name.parse().expect("an epoch");
                self.call(|coordinator, out| coordinator.on_elected(0, epoch, out));
            }
            "load" => self.load(),
            "resign" => self.call(|coordinator, out| coordinator.on_resigned(0, out)),
            "shutdown" => self.call(GroupCoordinator::shutdown),
            "failover" => {
                self.timers.clear();
                self.parked.clear();
                self.high_watermark = Offset(i64::try_from(self.log.len()).expect("a short log"));
                self.start(BrokerId(2), name.parse().expect("an epoch"));
            }
            "dead" => {
                let group_id = self.group_id.clone();
                self.call(|coordinator, out| {
                    coordinator.on_partition(0, out, |partition, ctx: &mut Context<'_>| {
                        let group = partition.groups.get_mut(&group_id).expect("a group");
                        group.become_state(State::Dead, "test", ctx);
                    });
                });
            }
            unknown => panic!("{unknown} is no command"),
        }
    }

    /// Fires every timer that is due at `time` or before, in order, and stops there.
    fn go_to(&mut self, time: SimTime) {
        assert!(self.now <= time, "time goes on");
        while let Some(timer) = self.next_timer(time) {
            let (due_at, _) = self.timers.remove(&timer).expect("an armed timer");
            self.now = due_at;
            self.call(|coordinator, out| coordinator.on_timer(&timer, out));
        }
        self.now = time;
    }

    fn next_timer(&self, until: SimTime) -> Option<Timer> {
        let due = self
            .timers
            .iter()
            .filter(|(_, (due_at, _))| *due_at <= until);
        due.min_by_key(|(_, order)| **order)
            .map(|(timer, _)| timer.clone())
    }

    /// Calls the coordinator as a broker does: carries effects out, appends, replicates.
    fn call(&mut self, act: impl FnOnce(&mut GroupCoordinator, &mut Out)) {
        let mut out = Out::new(self.now, Vec::new(), 0);
        act(&mut self.coordinator, &mut out);
        self.carry_out(out);
        for append in self.coordinator.take_appends() {
            let mut out = Out::new(self.now, Vec::new(), 0);
            if let Some(error) = self.refusal.take() {
                self.coordinator
                    .on_append_failed(append.append_id, error, &mut out);
            } else {
                self.log.extend(append.records);
                let end = Offset(i64::try_from(self.log.len()).expect("a short log"));
                self.coordinator
                    .on_appended(append.append_id, end, &mut out);
            }
            self.carry_out(out);
        }
        if !self.is_held {
            self.replicate();
        }
        assert_eq!(
            self.coordinator.take_appends(),
            Vec::new(),
            "appends bring no appends about"
        );
    }

    fn replicate(&mut self) {
        let end = Offset(i64::try_from(self.log.len()).expect("a short log"));
        if self.high_watermark < end {
            self.high_watermark = end;
            self.call(|coordinator, out| coordinator.on_high_watermark(0, end, out));
        }
    }

    fn carry_out(&mut self, out: Out) {
        let (effects, _) = out.into_parts();
        for effect in effects {
            match effect {
                Effect::Response { reply, body } => self.receive(reply, &body),
                Effect::Arm(timer, due_at) => {
                    self.timers.insert(timer, (due_at, self.next_sequence));
                    self.next_sequence += 1;
                }
                Effect::Cancel(timer) => {
                    self.timers.remove(&timer);
                }
                Effect::Trace(event) => self.trace(&event),
                Effect::Request { .. }
                | Effect::TraceCommitted(..)
                | Effect::Close(_)
                | Effect::Exit(_) => {
                    panic!("a coordinator asks nobody and does not end its process")
                }
            }
        }
    }

    fn trace(&mut self, event: &TraceEvent) {
        if let TraceEvent::LogLine { text } = event {
            if self.prints_lines {
                self.say(text);
            }
        } else if let TraceEvent::RequestParked {
            from, correlation, ..
        } = event
        {
            let is_new = self.parked.insert(ReplyTo {
                node: *from,
                correlation: *correlation,
            });
            assert!(is_new, "a request is parked once");
        } else if let TraceEvent::RequestReleased {
            from, correlation, ..
        } = event
        {
            let was = self.parked.remove(&ReplyTo {
                node: *from,
                correlation: *correlation,
            });
            assert!(was, "only a parked request is released");
        }
        if !self.prints_trace {
            return;
        }
        if let TraceEvent::GroupStateChanged {
            previous,
            state,
            generation_id,
            ..
        } = event
        {
            let (previous, state) = (previous.name(), state.name());
            self.say(&format!("{previous} -> {state} gen={generation_id}"));
        } else if let TraceEvent::TargetAssignmentComputed {
            assignor,
            target_assignment_epoch,
            changed,
            ..
        } = event
        {
            let changed: Vec<String> = changed
                .iter()
                .map(|(id, got)| format!("{id}=[{}]", show_partitions(got)))
                .collect();
            let changed = changed.join(" ");
            self.say(&format!(
                "{assignor} for {target_assignment_epoch}: {changed}"
            ));
        } else if let TraceEvent::MemberRemoved { member_id, .. } = event {
            self.say(&format!("{member_id} is out"));
        } else if let TraceEvent::OffsetCommitted {
            topic_partition,
            offset,
            ..
        } = event
        {
            let TopicPartition { topic, partition } = topic_partition;
            self.say(&format!("committed {topic}-{partition}={offset}"));
        } else if let TraceEvent::RequestReleased {
            waiting,
            timed_out: true,
            ..
        } = event
        {
            self.say(&format!("{waiting:?} timed out"));
        }
    }

    fn client(&mut self, name: &str) -> &mut Client {
        let id = ClientId(u32::try_from(self.clients.len()).expect("few clients"));
        let new = || Client {
            id,
            member_id: MemberId::default(),
            generation_id: -1,
        };
        self.clients.entry(name.to_owned()).or_insert_with(new)
    }

    /// The member id of a client, or the literal text after `!`.
    fn member_id(&mut self, text: &str) -> MemberId {
        match text.strip_prefix('!') {
            Some(literal) => MemberId::new(literal),
            None => self.client(text).member_id.clone(),
        }
    }

    fn reply(&mut self, name: &str) -> ReplyTo {
        let node = NodeId::Client(self.client(name).id);
        let reply = ReplyTo {
            node,
            correlation: CorrelationId(self.next_correlation),
        };
        self.next_correlation += 1;
        self.requests.insert(reply, name.to_owned());
        reply
    }

    fn id_option(&mut self, name: &str, options: &Options<'_>) -> MemberId {
        match options.0.get("id") {
            Some(&"") => MemberId::default(),
            Some(text) => self.member_id(text),
            None => self.client(name).member_id.clone(),
        }
    }

    fn join(&mut self, name: &str, options: &Options<'_>) {
        let reply = self.reply(name);
        let protocols = options
            .text("p", "range")
            .split('+')
            .filter(|name| !name.is_empty());
        let topics = options.text("t", "a").split('+').map(Arc::from).collect();
        let subscription = Arc::new(Subscription {
            topics,
            ..Subscription::default()
        });
        let request = JoinGroupRequest {
            group_id: self.group_id.clone(),
            session_timeout_ms: options.number("s", 45_000),
            rebalance_timeout_ms: options.number("r", 300_000),
            member_id: self.id_option(name, options),
            group_instance_id: options.optional("i", InstanceId::new),
            client_id: Arc::from(name),
            protocol_type: Arc::from(options.text("type", "consumer")),
            protocols: protocols
                .map(|name| (Arc::from(name), Arc::clone(&subscription)))
                .collect(),
            reason: options.optional("reason", Arc::from),
            version: options.number("v", 9),
        };
        self.call(|coordinator, out| coordinator.handle_join_group(reply, &request, out));
    }

    fn stable(&mut self, words: &[&str], options: &Options<'_>) {
        let names: Vec<&str> = words
            .iter()
            .copied()
            .filter(|word| !word.contains('='))
            .collect();
        let mut assignment = String::new();
        for (index, word) in names.iter().enumerate() {
            let mut options = Options(options.0.clone());
            let (name, instance_id) = word.split_once('/').unwrap_or((word, ""));
            if instance_id.is_empty() {
                self.join(name, &options);
            } else {
                options.0.insert("i", instance_id);
            }
            self.join(name, &options);
            write!(assignment, "{name}:{index};").expect("text grows");
        }
        while let Some(timer) = self.next_timer(self.now + Span::from_millis(6_000)) {
            if !matches!(timer, Timer::JoinPhase(_)) {
                break;
            }
            let (due_at, _) = self.timers.get(&timer).expect("an armed timer");
            self.go_to(*due_at);
        }
        for word in names {
            let name = word.split('/').next().unwrap_or(word);
            self.sync(name, &Options(BTreeMap::from([("a", assignment.as_str())])));
        }
        let group = self.coordinator.group(&self.group_id).expect("a group");
        assert_eq!(
            group.state().kind(),
            GroupState::Stable,
            "{}",
            self.transcript
        );
        self.base = self.now;
        self.transcript.clear();
    }

    fn sync(&mut self, name: &str, options: &Options<'_>) {
        let reply = self.reply(name);
        let entries: Vec<&str> = options.text("a", "").split(';').collect();
        let mut assignments = Vec::new();
        for entry in entries.iter().filter(|entry| !entry.is_empty()) {
            let (member, partitions) = entry.split_once(':').expect("member:partitions");
            let partitions = partitions
                .split(',')
                .filter(|number| !number.is_empty())
                .map(|number| TopicPartition::new(TopicId(0), number.parse().expect("a number")));
            assignments.push((self.member_id(member), Arc::new(partitions.collect())));
        }
        let request = SyncGroupRequest {
            group_id: self.group_id.clone(),
            generation_id: options.number("gen", self.client(name).generation_id),
            member_id: self.id_option(name, options),
            group_instance_id: options.optional("i", InstanceId::new),
            protocol_type: options.optional("type", Arc::from),
            protocol_name: options.optional("name", Arc::from),
            assignments,
        };
        self.call(|coordinator, out| coordinator.handle_sync_group(reply, &request, out));
    }

    fn heartbeat(&mut self, name: &str, options: &Options<'_>) {
        let reply = self.reply(name);
        let request = HeartbeatRequest {
            group_id: self.group_id.clone(),
            generation_id: options.number("gen", self.client(name).generation_id),
            member_id: self.id_option(name, options),
            group_instance_id: options.optional("i", InstanceId::new),
        };
        self.call(|coordinator, out| coordinator.handle_heartbeat(reply, &request, out));
    }

    fn leave(&mut self, who: &[&str]) {
        let reply = self.reply("admin");
        let mut members = Vec::new();
        for text in who {
            let (member, instance_id) = match text.split_once('=') {
                Some((member, instance_id)) => (member, Some(InstanceId::new(instance_id))),
                None => (*text, None),
            };
            let member_id = if member.is_empty() {
                MemberId::default()
            } else {
                self.member_id(member)
            };
            members.push(LeavingMember {
                member_id,
                group_instance_id: instance_id,
                reason: None,
            });
        }
        let request = LeaveGroupRequest {
            group_id: self.group_id.clone(),
            members,
        };
        self.call(|coordinator, out| coordinator.handle_leave_group(reply, &request, out));
    }

    fn commit(&mut self, name: &str, what: &str, options: &Options<'_>) {
        let reply = self.reply(name);
        let request = self.commit_request(name, what, options);
        self.call(|coordinator, out| coordinator.handle_offset_commit(reply, &request, out));
    }

    fn commit_request(
        &mut self,
        name: &str,
        what: &str,
        options: &Options<'_>,
    ) -> OffsetCommitRequest {
        OffsetCommitRequest {
            group_id: self.group_id.clone(),
            generation_id: options.number("gen", self.client(name).generation_id),
            member_id: self.id_option(name, options),
            group_instance_id: options.optional("i", InstanceId::new),
            offsets: what
                .split(',')
                .map(|entry| {
                    let (partition, offset) = entry.split_once(':').expect("partition:offset");
                    (
                        parse_partition(partition),
                        Offset(offset.parse().expect("an offset")),
                        0,
                    )
                })
                .collect(),
            version: options.number("v", 9),
        }
    }

    fn set_topics(&mut self, words: &[&str]) {
        let topics: BTreeMap<Arc<str>, (TopicId, u32)> = words
            .iter()
            .map(|word| {
                let (name, count) = word.split_once(':').expect("name:partitions");
                let count = count.parse().expect("a number");
                (Arc::from(name), (topic_id(name), count))
            })
            .collect();
        self.topics.clone_from(&topics);
        self.call(|coordinator, _| coordinator.on_topics(topics));
    }

    /// Puts a record into the log that no coordinator here has written.
    fn add_piece(&mut self, words: &[&str]) {
        let of = |place: usize| words.get(place).copied().unwrap_or_default();
        let list = |text: &str| {
            let numbers = text.split(',').filter(|number| !number.is_empty());
            numbers
                .map(parse_partition)
                .collect::<Vec<TopicPartition>>()
        };
        let number = |text: &str| text.parse::<i32>().expect("an epoch");
        let member_id = MemberId::new(of(1));
        let piece = match of(0) {
            "epoch" => ConsumerGroupPiece::Epoch(Some(number(of(1)))),
            "target-epoch" => ConsumerGroupPiece::TargetEpoch(Some(number(of(1)))),
            "topics" => {
                let topics = words.iter().skip(1).map(|word| {
                    let (name, count) = word.split_once(':').expect("name:partitions");
                    (
                        Arc::from(name),
                        topic_id(name),
                        count.parse().expect("a number"),
                    )
                });
                ConsumerGroupPiece::Topics(Some(Arc::new(topics.collect())))
            }
            "target" => ConsumerGroupPiece::Target(member_id, Some(Arc::new(list(of(2))))),
            "current" => {
                let (epoch, previous) = of(2).split_once('/').expect("epoch/previous");
                let current = CurrentAssignment {
                    member_epoch: number(epoch),
                    previous_member_epoch: number(previous),
                    assigned: list(of(3)),
                    ..CurrentAssignment::default()
                };
                ConsumerGroupPiece::Current(member_id, Some(Arc::new(current)))
            }
            _ => {
                let client = self.client(of(1));
                client.member_id = member_id.clone();
                client.generation_id = 10;
                let metadata = ConsumerMemberMetadata {
                    group_instance_id: None,
                    rack_id: None,
                    client_id: Arc::from(of(1)),
                    client: NodeId::Client(client.id),
                    subscribed_topics: of(2).split('+').map(Arc::from).collect(),
                    server_assignor: None,
                    rebalance_timeout_ms: 300_000,
                    classic: None,
                };
                ConsumerGroupPiece::Member(member_id, Some(Arc::new(metadata)))
            }
        };
        let group = ConsumerGroup::new(self.group_id.clone());
        self.log.push(group.record(piece, self.now));
    }

    fn beat(&mut self, name: &str, options: &Options<'_>) {
        let reply = self.reply(name);
        let member_epoch = options.number("e", self.client(name).generation_id);
        let is_join = member_epoch == 0;
        let or_join = |key: &str, default| match (options.0.get(key), is_join) {
            (Some(text), _) => Some(*text),
            (None, true) => Some(default),
            (None, false) => None,
        };
        let topics = or_join("t", "a").map(|text| {
            let names = text.split('+').filter(|name| !name.is_empty());
            names.map(Arc::from).collect()
        });
        let owned = or_join("owned", "").filter(|text| *text != "-");
        let owned = owned.map(|text| {
            let numbers = text.split(',').filter(|number| !number.is_empty());
            let mut owned: Vec<TopicPartition> = numbers.map(parse_partition).collect();
            owned.sort_unstable();
            Arc::new(owned)
        });
        let rebalance_timeout_ms =
            or_join("r", "300000").map_or(-1, |text| text.parse().expect("milliseconds"));
        let request = ConsumerGroupHeartbeatRequest {
            group_id: self.group_id.clone(),
            member_id: self.id_option(name, options),
            member_epoch,
            group_instance_id: options.optional("i", InstanceId::new),
            client_id: Arc::from(name),
            rack_id: options.optional("rack", Arc::from),
            rebalance_timeout_ms,
            subscribed_topic_names: topics,
            subscribed_topic_regex: options.optional("regex", Arc::from),
            server_assignor: options.optional("a", Arc::from),
            topic_partitions: owned,
        };
        self.call(|coordinator, out| {
            coordinator.handle_consumer_group_heartbeat(reply, &request, out);
        });
    }

    fn take_beat(&mut self, name: &str, response: &ConsumerGroupHeartbeatResponse) -> String {
        let ConsumerGroupHeartbeatResponse {
            error_code,
            member_id,
            member_epoch,
            assignment,
            ..
        } = response;
        if !error_code.is_none() {
            return code(*error_code);
        }
        let client = self.client(name);
        client.member_id = member_id.clone();
        client.generation_id = *member_epoch;
        let assignment = assignment.as_ref().map_or_else(
            || String::from("-"),
            |it| format!("[{}]", show_partitions(it)),
        );
        format!("OK {member_id} e={member_epoch} {assignment}")
    }

    fn show_consumers(&mut self, group: &ConsumerGroup) {
        let text = format!(
            "{} epoch={} target={}",
            group.state().name(),
            group.group_epoch,
            group.target_assignment_epoch
        );
        self.say(&text);
        for member in &group.members {
            let current = &member.current;
            let instance_id = member.metadata.group_instance_id.as_ref();
            writeln!(
                self.transcript,
                "  {}{} e={}/{} {} [{}]{} target=[{}]",
                member.member_id,
                instance_id.map_or_else(String::new, |id| format!(" {id}")),
                current.member_epoch,
                current.previous_member_epoch,
                current.state.name(),
                show_partitions(&current.assigned),
                if current.pending_revocation.is_empty() {
                    String::new()
                } else {
                    format!(
                        " revoking=[{}]",
                        show_partitions(&current.pending_revocation)
                    )
                },
                show_partitions(&member.target),
            )
            .expect("text grows");
        }
    }

    fn fetch(&mut self, what: &str, options: &Options<'_>) {
        let reply = self.reply("reader");
        let by = options.0.get("by").copied();
        let (member_id, epoch) = match by {
            Some(name) => (self.member_id(name), self.client(name).generation_id),
            None => (MemberId::default(), -1),
        };
        let partitions = what.split(',').map(parse_partition).collect();
        let request = OffsetFetchRequest {
            group_id: self.group_id.clone(),
            member_id,
            member_epoch: options.number("gen", epoch),
            partitions,
        };
        self.call(|coordinator, out| coordinator.handle_offset_fetch(reply, &request, out));
    }

    /// A client takes an answer.
    fn receive(&mut self, reply: ReplyTo, response: &Response) {
        let name = self
            .requests
            .remove(&reply)
            .expect("a request is answered once");
        assert!(
            !self.parked.contains(&reply),
            "an answered request waits no longer"
        );
        let text = if let Response::JoinGroup(response) = response {
            self.take_join(&name, response)
        } else if let Response::ConsumerGroupHeartbeat(response) = response {
            self.take_beat(&name, response)
        } else {
            show_answer(response)
        };
        let api = response.api_key();
        self.say(&format!("{name} {api}: {text}"));
    }

    fn take_join(&mut self, name: &str, response: &JoinGroupResponse) -> String {
        let JoinGroupResponse {
            error_code,
            generation_id,
            member_id,
            ..
        } = response;
        let client = self.client(name);
        if error_code.is_none() || *error_code == ErrorCode::MemberIdRequired {
            client.member_id = member_id.clone();
            client.generation_id = *generation_id;
        }
        if !error_code.is_none() {
            assert_eq!(
                (*generation_id, response.leader.as_str()),
                (-1, ""),
                "an error says no more"
            );
            return format!("{} id={member_id}", code(*error_code));
        }
        let members: Vec<String> = response
            .members
            .iter()
            .map(|it| format!("{}({})", it.member_id, it.subscription.topics.join("+")))
            .collect();
        let skip = if response.skip_assignment {
            " skip"
        } else {
            ""
        };
        format!(
            "OK id={member_id} gen={generation_id} {} leader={} members=[{}]{skip}",
            response.protocol_name.as_deref().unwrap_or("-"),
            response.leader,
            members.join(" ")
        )
    }

    fn show(&mut self) {
        if let Some(group) = self.coordinator.consumer_group(&self.group_id).cloned() {
            return self.show_consumers(&group);
        }
        let Some(group) = self.coordinator.group(&self.group_id) else {
            return self.say("no group");
        };
        let members: Vec<&str> = group
            .members
            .iter()
            .map(|it| it.member_id.as_str())
            .collect();
        let pending: Vec<&str> = group.pending_members.keys().map(MemberId::as_str).collect();
        let pending = if pending.is_empty() {
            String::new()
        } else {
            format!(" pending=[{}]", pending.join(" "))
        };
        let leader = group.leader.as_ref().map_or("-", MemberId::as_str);
        let text = format!(
            "{} gen={} {} leader={leader} members=[{}]{pending}",
            group.state().kind().name(),
            group.generation_id,
            group.protocol_name.as_deref().unwrap_or("-"),
            members.join(" "),
        );
        self.say(&text);
    }

    fn show_members(&mut self) {
        let group = self.coordinator.group(&self.group_id).expect("a group");
        let members: Vec<String> = group
            .members
            .iter()
            .map(|member| {
                let got = show_numbers(&member.assignment);
                let waits = match (member.join.is_some(), member.sync.is_some()) {
                    (true, _) => " joining",
                    (_, true) => " syncing",
                    _ => "",
                };
                let expires = member
                    .session_expires_at()
                    .map_or_else(|| String::from("-"), |at| self.millis(at).to_string());
                let instance_id = member
                    .group_instance_id
                    .as_ref()
                    .map_or("-", InstanceId::as_str);
                format!(
                    "  {} {instance_id} s={} r={} [{}] expires={expires}{waits}",
                    member.member_id,
                    member.session_timeout.as_millis(),
                    member.rebalance_timeout.as_millis(),
                    got
                )
            })
            .collect();
        self.say("members");
        for line in members {
            writeln!(self.transcript, "{line}").expect("text grows");
        }
    }

    fn show_offsets(&mut self) {
        let classic = self.coordinator.group(&self.group_id).map(|it| &it.offsets);
        let consumers = self.coordinator.consumer_group(&self.group_id);
        let offsets = classic.or(consumers.map(|it| &it.offsets));
        let offsets = offsets.expect("a group").iter();
        let offsets: Vec<String> = offsets
            .map(|(it, got)| format!("{}={}", show_partition(*it), got.offset))
            .collect();
        self.say(&format!("offsets [{}]", offsets.join(" ")));
    }

    fn show_timers(&mut self) {
        let mut timers: Vec<(SimTime, u64, String)> = Vec::new();
        for (timer, (due_at, sequence)) in &self.timers {
            if let Some(name) = show_timer(timer) {
                timers.push((
                    *due_at,
                    *sequence,
                    format!("{name}@{}", self.millis(*due_at)),
                ));
            }
        }
        timers.sort();
        let timers: Vec<String> = timers.into_iter().map(|(_, _, text)| text).collect();
        self.say(&format!("timers [{}]", timers.join(" ")));
    }

    fn show_log(&mut self, count: usize) {
        let records: Vec<String> = self.log.iter().map(|it| show_record(&it.value)).collect();
        self.say("log");
        let skipped = records.len().saturating_sub(count);
        for line in records.into_iter().skip(skipped) {
            writeln!(self.transcript, "  {line}").expect("text grows");
        }
    }

    /// Checks what must hold between any two calls.
    pub(super) fn check_invariants(&self, script: &str) {
        for (_, group) in self.coordinator.groups() {
            let id = &group.group_id;
            let armed = |timer: Timer| self.timers.get(&timer).map(|(due_at, _)| *due_at);
            let phase = group.state().join_phase();
            assert_eq!(
                armed(Timer::JoinPhase(id.clone())),
                phase.and_then(|phase| phase.closes_at),
                "the join timer runs while members join\n{script}"
            );
            assert!(
                phase.is_none_or(|phase| phase.closes_at.is_some()),
                "and always\n{script}"
            );
            let phase = group.state().sync_phase();
            assert_eq!(
                armed(Timer::PendingSync(id.clone())),
                phase.and_then(|phase| phase.closes_at),
                "the sync timer runs while members are awaited\n{script}"
            );
            assert!(
                phase.is_none_or(|phase| phase.pending.is_empty() == phase.closes_at.is_none()),
                "and only then\n{script}"
            );
            let leader = group
                .leader
                .as_ref()
                .and_then(|leader| group.member(leader));
            assert_eq!(
                leader.is_none(),
                group.members.is_empty(),
                "who leads?\n{script}"
            );
            assert_eq!(
                group.leader.is_some(),
                leader.is_some(),
                "a member leads\n{script}"
            );
            for (member_id, due_at) in &group.pending_members {
                let timer = Timer::MemberSession(id.clone(), member_id.clone());
                assert_eq!(
                    armed(timer),
                    Some(*due_at),
                    "{member_id} may run out\n{script}"
                );
                assert!(
                    group.member(member_id).is_none(),
                    "{member_id} is pending\n{script}"
                );
            }
            for member in &group.members {
                self.check_member(group, member, script);
            }
        }
        let parked: BTreeSet<ReplyTo> = self.coordinator.parked().map(|it| it.reply).collect();
        assert_eq!(parked, self.parked, "the trace knows who waits\n{script}");
    }

    fn check_member(&self, group: &ClassicGroup, member: &Member, script: &str) {
        let Member {
            member_id,
            group_instance_id,
            join,
            sync,
            ..
        } = member;
        let kind = group.state().kind();
        let timer = Timer::MemberSession(group.group_id.clone(), member_id.clone());
        let due_at = self.timers.get(&timer).map(|(due_at, _)| *due_at);
        assert_eq!(
            due_at, member.session_timer_at,
            "{member_id} may run out\n{script}"
        );
        assert!(
            due_at.is_some() || member.has_satisfied_heartbeat(),
            "{member_id} runs out or waits\n{script}"
        );
        let is_joining = kind == GroupState::PreparingRebalance;
        let waits_for_append = join.is_some_and(|it| it.waiting == Waiting::CoordinatorAppend);
        assert!(
            join.is_none() || is_joining || waits_for_append,
            "{member_id} joins\n{script}"
        );
        let is_syncing = kind == GroupState::CompletingRebalance;
        assert!(sync.is_none() || is_syncing, "{member_id} syncs\n{script}");
        assert!(
            !member.is_new || is_joining && join.is_some(),
            "{member_id} is new\n{script}"
        );
        assert!(
            matches!(kind, GroupState::PreparingRebalance)
                || group
                    .protocol_name
                    .as_ref()
                    .is_some_and(|name| member.supports(name)),
            "{member_id} supports the chosen assignor\n{script}"
        );
        let same_instance = group
            .members
            .iter()
            .filter(|other| other.group_instance_id == *group_instance_id)
            .count();
        assert!(
            group_instance_id.is_none() || same_instance == 1,
            "{member_id} alone\n{script}"
        );
    }

    fn show_parked(&mut self) {
        let names: Vec<String> = self
            .parked
            .iter()
            .filter_map(|reply| self.requests.get(reply).cloned())
            .collect();
        assert_eq!(
            names.len(),
            self.parked.len(),
            "who is parked waits for an answer"
        );
        self.say(&format!("parked [{}]", names.join(" ")));
    }
}

/// `3` is partition 3 of topic a, `b3` of topic b.
fn parse_partition(text: &str) -> TopicPartition {
    let (topic, number) = match text.strip_prefix('b') {
        Some(number) => (TopicId(1), number),
        None => (TopicId(0), text),
    };
    TopicPartition::new(topic, number.parse().expect("a partition"))
}

fn show_partition(topic_partition: TopicPartition) -> String {
    let topic = if topic_partition.topic == TopicId(0) {
        ""
    } else {
        "b"
    };
    format!("{topic}{}", topic_partition.partition)
}

fn code(error_code: ErrorCode) -> String {
    if error_code.is_none() {
        return String::from("OK");
    }
    format!("{} {}", error_code.number(), error_code.name())
}

fn show_record(value: &RecordValue) -> String {
    match value {
        RecordValue::Text(text) => text.to_string(),
        RecordValue::Null => String::new(),
        RecordValue::Transaction {
            transactional_id, ..
        } => transactional_id.to_string(),
        RecordValue::EndTransaction { is_commit, .. } => format!("end, commit={is_commit}"),
        RecordValue::ConsumerGroup { group_id, piece } => show_piece(group_id, piece),
        RecordValue::OffsetCommit {
            group_id,
            topic_partition,
            committed,
        } => {
            let offset = committed.map_or_else(|| String::from("gone"), |it| it.offset.to_string());
            format!("{group_id} {}={offset}", show_partition(*topic_partition))
        }
        RecordValue::GroupMetadata {
            group_id,
            metadata: None,
        } => format!("{group_id} gone"),
        RecordValue::GroupMetadata {
            group_id,
            metadata: Some(metadata),
        } => {
            let members: Vec<String> = metadata
                .members
                .iter()
                .map(|member| {
                    let got = show_numbers(&member.assignment);
                    format!("{}:{}", member.member_id, got)
                })
                .collect();
            format!(
                "{group_id} gen={} [{}]",
                metadata.generation_id,
                members.join(" ")
            )
        }
    }
}

fn show_piece(group_id: &GroupId, piece: &ConsumerGroupPiece) -> String {
    let number = |number: Option<i32>| match number {
        Some(number) => number.to_string(),
        None => String::from("gone"),
    };
    match piece {
        ConsumerGroupPiece::Epoch(epoch) => format!("{group_id} epoch {}", number(*epoch)),
        ConsumerGroupPiece::TargetEpoch(epoch) => {
            format!("{group_id} target-epoch {}", number(*epoch))
        }
        ConsumerGroupPiece::Topics(None) => format!("{group_id} topics gone"),
        ConsumerGroupPiece::Topics(Some(topics)) => {
            let topics: Vec<String> = topics
                .iter()
                .map(|(name, _, count)| format!("{name}:{count}"))
                .collect();
            format!("{group_id} topics {}", topics.join(" "))
        }
        ConsumerGroupPiece::Member(id, None) => format!("{group_id} member {id} gone"),
        ConsumerGroupPiece::Member(id, Some(metadata)) => {
            let topics = metadata.subscribed_topics.join("+");
            let kind = match metadata.classic {
                Some(_) => " classic",
                None => "",
            };
            format!("{group_id} member {id} {topics}{kind}")
        }
        ConsumerGroupPiece::Target(id, None) => format!("{group_id} target {id} gone"),
        ConsumerGroupPiece::Target(id, Some(target)) => {
            format!("{group_id} target {id} [{}]", show_partitions(target))
        }
        ConsumerGroupPiece::Current(id, None) => format!("{group_id} current {id} gone"),
        ConsumerGroupPiece::Current(id, Some(current)) => format!(
            "{group_id} current {id} e={}/{} {} [{}] revoking=[{}]",
            current.member_epoch,
            current.previous_member_epoch,
            current.state.name(),
            show_partitions(&current.assigned),
            show_partitions(&current.pending_revocation)
        ),
    }
}

/// The name of a timer; none for the check of offsets, which always runs.
fn show_timer(timer: &Timer) -> Option<String> {
    if let Timer::OffsetExpiry(_) = timer {
        return None;
    }
    let name = if let Timer::JoinPhase(group) = timer {
        format!("join-{group}")
    } else if let Timer::PendingSync(group) = timer {
        format!("sync-{group}")
    } else if let Timer::MemberSession(group, member) = timer {
        format!("heartbeat-{group}-{member}")
    } else if let Timer::RebalanceTimeout(group, member) = timer {
        format!("rebalance-{group}-{member}")
    } else {
        format!("{timer:?}")
    };
    Some(name)
}

/// An answer but for that to a join.
fn show_answer(response: &Response) -> String {
    if let Response::SyncGroup(response) = response {
        let got = show_numbers(&response.assignment);
        let protocol = response.protocol_name.as_deref().unwrap_or("-");
        format!("{} {protocol} [{got}]", code(response.error_code))
    } else if let Response::Heartbeat(response) = response {
        code(response.error_code)
    } else if let Response::LeaveGroup(response) = response {
        let entries = response
            .members
            .iter()
            .map(|(member_id, instance_id, error)| {
                let instance_id = instance_id.as_ref().map_or("", InstanceId::as_str);
                format!("'{member_id}' {instance_id}: {}", error.number())
            });
        let entries: Vec<String> = entries.collect();
        format!("{} [{}]", code(response.error_code), entries.join(", "))
    } else if let Response::OffsetCommit(response) = response {
        let errors: BTreeSet<String> = response
            .partitions
            .iter()
            .map(|(_, error)| code(*error))
            .collect();
        errors.into_iter().collect::<Vec<_>>().join(" ")
    } else if let Response::TxnOffsetCommit(response) = response {
        let errors: BTreeSet<String> = response
            .partitions
            .iter()
            .map(|(_, error)| code(*error))
            .collect();
        errors.into_iter().collect::<Vec<_>>().join(" ")
    } else if let Response::OffsetFetch(response) = response {
        let offsets = response.offsets.iter().map(|(it, offset, leader_epoch)| {
            format!("{}={offset}/{leader_epoch}", show_partition(*it))
        });
        let offsets: Vec<String> = offsets.collect();
        format!("{} [{}]", code(response.error_code), offsets.join(" "))
    } else {
        panic!("a coordinator does not send {}", response.api_key())
    }
}

/// `0,1,b2`.
fn show_partitions(partitions: &[TopicPartition]) -> String {
    let names: Vec<String> = partitions.iter().map(|id| show_partition(*id)).collect();
    names.join(",")
}

fn topic_id(name: &str) -> TopicId {
    TopicId(u32::from(name.bytes().next().expect("a name") - b'a'))
}

/// `0,1`.
fn show_numbers(partitions: &[TopicPartition]) -> String {
    let numbers: Vec<String> = partitions
        .iter()
        .map(|it| it.partition.to_string())
        .collect();
    numbers.join(",")
}
