//! What a person does to a run, and what becomes of processes.

use super::Sim;
use super::slot::{Event, Node};
use crate::base::ids::{
    BrokerId, CONSUMER_OFFSETS, ClientId, ControllerId, GroupId, NodeId, TRANSACTION_STATE,
};
use crate::client::consumer::ApplicationCall;
use crate::kernel::limits::RECORD_TEXT_BYTES_MAX;
use crate::kernel::rng::Stream;
use crate::kernel::time::Span;
use crate::replication::partition::log_event;
use crate::sim::command::{AdminAction, Command, CommandError, Fault};
use crate::sim::scenario::RestartPolicy;
use crate::sim::view::ProcessState;
use crate::trace::event::TraceEvent;
use crate::wire::api::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, ElectLeadersRequest,
    IncrementalAlterConfigsRequest, Request,
};
use std::sync::Arc;

impl Sim {
    /// Whether a command is possible now.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check(&self, command: &Command) -> Result<(), CommandError> {
        match command {
            Command::KillBroker(id) | Command::PauseBroker(id, _) | Command::StopBroker(id) => {
                self.check_broker(*id, true)
            }
            Command::KillController(id)
            | Command::PauseController(id, _)
            | Command::StopController(id) => self.check_controller(*id, true),
            Command::RestartController(id) => self.check_controller(*id, false),
            Command::Admin(action) => self.check_admin(action),
            Command::RestartBroker(id) => self.check_broker(*id, false),
            Command::PowerLossBroker(id) => {
                self.known_broker(*id)?;
                Ok(())
            }
            Command::PowerLossAll => Ok(()),
            Command::DeleteRecords {
                topic, partition, ..
            } => self.check_partition(topic, Some(*partition)),
            Command::StartClient(id) => self.check_client(*id, false),
            Command::StopClient(id) | Command::KillClient(id) | Command::PauseClient(id, _) => {
                self.check_client(*id, true)
            }
            Command::RestartClient(id) => {
                self.known_client(*id)?;
                Ok(())
            }
            Command::Call(id, call) => {
                self.check_client(*id, true)?;
                match call {
                    ApplicationCall::Seek(topic, partition, _)
                    | ApplicationCall::Pause(topic, partition)
                    | ApplicationCall::Resume(topic, partition) => {
                        self.check_partition(topic, Some(*partition))
                    }
                    ApplicationCall::Subscribe(_) | ApplicationCall::EnforceRebalance => Ok(()),
                }
            }
            Command::Send {
                topic,
                key,
                value,
                partition,
                ..
            } => {
                self.check_partition(topic, *partition)?;
                let length = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
                let longest = length(key).max(length(value));
                let bytes = u32::try_from(longest).unwrap_or(u32::MAX);
                if RECORD_TEXT_BYTES_MAX < bytes {
                    let bytes_max = RECORD_TEXT_BYTES_MAX;
                    return Err(CommandError::TextTooLong { bytes, bytes_max });
                }
                Ok(())
            }
            Command::CutLink(from, to)
            | Command::HealLink(from, to)
            | Command::DropNext(from, to, _) => self.check_link(*from, *to),
            Command::Fault(fault) => self.check_fault(fault),
        }
    }

    fn check_partition(
        &self,
        topic: &Arc<str>,
        partition: Option<u32>,
    ) -> Result<(), CommandError> {
        let partitions = self.partitions_to_send_to(topic)?;
        match partition {
            Some(partition) if partitions <= partition => Err(CommandError::UnknownPartition {
                topic: topic.clone(),
                partition,
                partitions,
            }),
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn known_broker(&self, id: BrokerId) -> Result<ProcessState, CommandError> {
        let slot = self.nodes.get(&NodeId::Broker(id));
        slot.map(|slot| slot.process)
            .ok_or(CommandError::UnknownBroker(id))
    }

    /// How many partitions a topic has, or will have once it is created.
    fn partitions_to_send_to(&self, topic: &Arc<str>) -> Result<u32, CommandError> {
        let known = self.image().and_then(|image| image.topic_by_name(topic));
        if let Some((_, image)) = known {
            return Ok(u32::try_from(image.partitions.len()).unwrap_or(u32::MAX));
        }
        let declared = self.scenario.topics.iter().find(|spec| spec.name == *topic);
        if let Some(spec) = declared {
            return Ok(spec.partitions);
        }
        // A client's undeclared topic is created when the client asks for it.
        if self.declared_names.contains(topic) {
            return Ok(u32::try_from(self.scenario.broker_config.num_partitions).unwrap_or(1));
        }
        Err(CommandError::UnknownTopic(topic.clone()))
    }

    fn check_admin(&self, action: &AdminAction) -> Result<(), CommandError> {
        let console = self.scenario.console();
        if !is_up(self.known_client(console)?) {
            let name = Arc::from(self.scenario.client_name(console));
            return Err(CommandError::ClientIsDown(name));
        }
        match action {
            AdminAction::DeleteTopic(name)
                if &**name == CONSUMER_OFFSETS || &**name == TRANSACTION_STATE =>
            {
                Err(CommandError::InternalTopic(name.clone()))
            }
            AdminAction::CreateTopic { .. }
            | AdminAction::DeleteTopic(_)
            | AdminAction::AddPartitions(..)
            | AdminAction::SetTopicConfig { .. }
            | AdminAction::ElectLeaders { .. } => Ok(()),
        }
    }

    pub(super) fn known_controller(&self, id: ControllerId) -> Result<ProcessState, CommandError> {
        let slot = self.nodes.get(&NodeId::Controller(id));
        slot.map(|slot| slot.process)
            .ok_or(CommandError::UnknownController(id))
    }

    pub(super) fn check_controller(
        &self,
        id: ControllerId,
        must_be_up: bool,
    ) -> Result<(), CommandError> {
        match (is_up(self.known_controller(id)?), must_be_up) {
            (true, false) => Err(CommandError::ControllerIsUp(id)),
            (false, true) => Err(CommandError::ControllerIsDown(id)),
            (true, true) | (false, false) => Ok(()),
        }
    }

    pub(super) fn known_client(&self, id: ClientId) -> Result<ProcessState, CommandError> {
        let slot = self.nodes.get(&NodeId::Client(id));
        slot.map(|slot| slot.process)
            .ok_or(CommandError::UnknownClient(id))
    }

    pub(super) fn check_broker(&self, id: BrokerId, must_be_up: bool) -> Result<(), CommandError> {
        let process = self.known_broker(id)?;
        match (is_up(process), must_be_up) {
            (true, false) => Err(CommandError::BrokerIsUp(id)),
            (false, true) => Err(CommandError::BrokerIsDown(id)),
            (true, true) | (false, false) => Ok(()),
        }
    }

    pub(super) fn check_client(&self, id: ClientId, must_be_up: bool) -> Result<(), CommandError> {
        let process = self.known_client(id)?;
        let name = || Arc::from(self.scenario.client_name(id));
        match (is_up(process), must_be_up) {
            (true, false) => Err(CommandError::ClientIsUp(name())),
            (false, true) => Err(CommandError::ClientIsDown(name())),
            (true, true) | (false, false) => Ok(()),
        }
    }

    /// Carries a command out now.
    ///
    /// # Errors
    /// It is impossible; nothing has changed.
    pub fn apply(&mut self, command: Command) -> Result<(), CommandError> {
        self.check(&command)?;
        let text = Arc::from(self.text(&command));
        let node = self.subject(&command);
        let cause = self.note(node, None, TraceEvent::Command { text });
        match command {
            Command::KillBroker(_) | Command::KillController(_) => self.kill(node, cause),
            Command::Admin(action) => {
                let request = self.admin_request(&action);
                self.run_handler(node, cause, |process, out| {
                    if let Node::Client(client) = process {
                        client.administer(request, out);
                    }
                });
            }
            Command::KillClient(_) => {
                self.kill(node, cause);
                self.schedule_restart(node);
            }
            Command::RestartBroker(_) | Command::RestartController(_) | Command::StartClient(_) => {
                self.start_process(node, Some(cause));
            }
            Command::RestartClient(_) => {
                if self.nodes.get(&node).is_some_and(super::slot::Slot::is_up) {
                    self.kill(node, cause);
                }
                self.start_process(node, Some(cause));
            }
            Command::StopClient(_) | Command::StopBroker(_) | Command::StopController(_) => {
                self.stop(node, cause);
            }
            Command::PauseBroker(_, span)
            | Command::PauseController(_, span)
            | Command::PauseClient(_, span) => {
                self.pause(node, span, cause);
            }
            Command::Call(_, call) => self.run_handler(node, cause, |process, out| {
                if let Node::Client(client) = process {
                    client.call(call, out);
                }
            }),
            Command::Send {
                topic,
                key,
                value,
                partition,
                count,
            } => {
                for _ in 0..count {
                    let (topic, key, value) = (topic.clone(), key.clone(), value.clone());
                    self.run_handler(node, cause, |process, out| {
                        if let Node::Client(client) = process {
                            client.send(&topic, (key, value, partition), out);
                        }
                    });
                }
            }
            Command::PowerLossBroker(id) => self.lose_power(id, cause),
            Command::PowerLossAll => {
                let ids: Vec<BrokerId> = self.scenario.brokers.iter().map(|one| one.id).collect();
                for id in ids {
                    self.lose_power(id, cause);
                }
            }
            Command::DeleteRecords {
                topic,
                partition,
                before,
            } => self.run_handler(node, cause, |process, out| {
                if let Node::Client(client) = process {
                    client.delete_records((&topic, partition), before, out);
                }
            }),
            Command::CutLink(from, to) => self.set_cut(from, to, true, cause),
            Command::HealLink(from, to) => self.set_cut(from, to, false, cause),
            Command::DropNext(from, to, api) => self.drops.push((from, to, api)),
            Command::Fault(fault) => self.apply_fault(&fault, cause),
        }
        Ok(())
    }

    /// Carries a recorded command out, or notes why that is impossible by now.
    pub fn apply_recorded(&mut self, command: Command) {
        if let Err(error) = self.check(&command) {
            let text = format!("[Terrarium] {} is impossible: {error}", self.text(&command));
            let node = self.subject(&command);
            self.note(
                node,
                None,
                TraceEvent::LogLine {
                    text: Arc::from(text),
                },
            );
        } else {
            self.apply(command)
                .expect("invariant: the command has been checked");
        }
    }

    /// The node that a command is about.
    fn subject(&self, command: &Command) -> NodeId {
        match command {
            Command::KillBroker(id)
            | Command::RestartBroker(id)
            | Command::PauseBroker(id, _)
            | Command::PowerLossBroker(id)
            | Command::StopBroker(id)
            | Command::Fault(
                Fault::SlowDisk(id, _) | Fault::HealDisk(id) | Fault::SlowFollower(id, _),
            ) => NodeId::Broker(*id),
            Command::KillController(id)
            | Command::RestartController(id)
            | Command::PauseController(id, _)
            | Command::StopController(id) => NodeId::Controller(*id),
            Command::PowerLossAll => {
                let first = self.scenario.brokers.first().map(|broker| broker.id);
                NodeId::Broker(first.unwrap_or_default())
            }
            Command::StartClient(id)
            | Command::StopClient(id)
            | Command::KillClient(id)
            | Command::RestartClient(id)
            | Command::Call(id, _)
            | Command::PauseClient(id, _) => NodeId::Client(*id),
            Command::Send { .. } | Command::Admin(_) | Command::DeleteRecords { .. } => {
                NodeId::Client(self.scenario.console())
            }
            Command::CutLink(from, _)
            | Command::HealLink(from, _)
            | Command::DropNext(from, ..)
            | Command::Fault(
                Fault::CutWay(from, _)
                | Fault::DelayLink { from, .. }
                | Fault::LoseLink { from, .. }
                | Fault::DelayNext(from, ..)
                | Fault::ExpireTimer(from, _),
            ) => *from,
            Command::Fault(Fault::DropMessage(id) | Fault::DelayMessage(id, _)) => {
                let packet = self.packets.get(id);
                packet.map_or_else(|| self.first_node(), |packet| packet.from)
            }
        }
    }

    fn set_cut(&mut self, from: NodeId, to: NodeId, is_cut: bool, cause: u64) {
        for (one, other) in [(from, to), (to, from)] {
            self.cut_way(one, other, is_cut, cause);
        }
    }

    fn kill(&mut self, node: NodeId, cause: u64) {
        let reason = Arc::from("killed");
        self.end_process(node, Some(cause), TraceEvent::ProcessKilled { reason });
    }

    /// A machine loses power: its process dies if it runs, and with the page cache goes what no log
    /// has flushed, but for a share that the operating system had written back.
    fn lose_power(&mut self, id: BrokerId, cause: u64) {
        let node = NodeId::Broker(id);
        let reason = Arc::from("power loss");
        self.end_process(node, Some(cause), TraceEvent::ProcessKilled { reason });
        let now = self.now;
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        let incarnation = slot.incarnation;
        let Node::BrokerDisk(disk) = &mut slot.node else {
            return;
        };
        let name = format!("power loss of broker {id}, start {incarnation}, at {now}");
        let mut stream = Stream::new(self.scenario.seed, &name);
        let mut events = Vec::new();
        for (topic_partition, log) in disk {
            let kept = stream.below(log.unflushed_batches() + 1);
            log.lose_power(kept, now);
            for change in log.take_changes() {
                events.push(log_event(*topic_partition, change));
            }
        }
        for event in events {
            self.note(node, Some(cause), event);
        }
    }

    /// A process is gone, for one reason or the other.
    pub(super) fn end_process(&mut self, node: NodeId, cause: Option<u64>, event: TraceEvent) {
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        if !slot.is_up() {
            return;
        }
        slot.process = if matches!(event, TraceEvent::ProcessStopped { .. }) {
            ProcessState::Stopped
        } else {
            ProcessState::Dead
        };
        slot.timers.clear();
        slot.open.clear();
        // What arrived while it stood still was never read: it comes to a closed socket.
        let unread = std::mem::take(&mut slot.backlog);
        slot.request_check_at = None;
        if let Node::Broker(broker) = &slot.node {
            slot.clean_broker_epoch = broker.clean_broker_epoch();
        }
        let gone = Node::ClientDown { next_record_id: 0 };
        slot.node = match std::mem::replace(&mut slot.node, gone) {
            Node::Broker(broker) => Node::BrokerDisk(broker.into_disk()),
            Node::Client(client) => Node::ClientDown {
                next_record_id: client.next_record_id(),
            },
            Node::Controller(controller) => Node::ControllerDisk(controller.into_disk()),
            node @ (Node::ControllerDisk(_) | Node::BrokerDisk(_) | Node::ClientDown { .. }) => {
                node
            }
        };
        self.note(node, cause, event);
        self.break_connections(node);
        for event in unread {
            if matches!(event, Event::Deliver(_)) {
                self.queue.push(self.now, event);
            }
        }
    }

    /// The restart policy brings a crashed client back after a while that doubles, as pods do.
    pub(super) fn schedule_restart(&mut self, node: NodeId) {
        let Some(consumer) = node.client().and_then(|id| self.scenario.consumer(id)) else {
            return;
        };
        let RestartPolicy::Always { delay, delay_max } = consumer.restart else {
            return;
        };
        let now = self.now;
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        if STEADY <= now.since(slot.started_at) {
            slot.crashes = 0;
        }
        let wait = delay
            .times(1 << slot.crashes.min(20))
            .min(delay_max.max(delay));
        slot.crashes += 1;
        let restart_at = now + wait;
        slot.restart_at = Some(restart_at);
        let after_incarnation = slot.incarnation;
        self.queue.push(
            restart_at,
            Event::Restart {
                node,
                after_incarnation,
            },
        );
    }

    /// Starts a new process on what the one before has left.
    pub(super) fn start_process(&mut self, node: NodeId, cause: Option<u64>) {
        let Some(slot) = self.nodes.get(&node) else {
            return;
        };
        if slot.is_up() {
            return;
        }
        let incarnation = slot.incarnation + 1;
        let Some(process) = self.build_process(node, incarnation) else {
            return;
        };
        let now = self.now;
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        slot.node = process;
        slot.process = ProcessState::Running;
        slot.incarnation = incarnation;
        slot.started_at = now;
        slot.restart_at = None;
        let entry = self.note(node, cause, TraceEvent::ProcessStarted { incarnation });
        self.run_handler(node, entry, Node::start);
    }

    fn stop(&mut self, node: NodeId, cause: u64) {
        let mut closes = false;
        self.run_handler(node, cause, |process, out| {
            if let Node::Client(client) = process {
                closes = client.request_close(out);
            } else if let Node::Broker(broker) = process {
                broker.request_shutdown(out);
                closes = true;
            } else if let Node::Controller(controller) = process {
                controller.shut_down(out);
            }
        });
        if !closes {
            let reason = Arc::from("stopped");
            self.end_process(node, Some(cause), TraceEvent::ProcessStopped { reason });
        }
    }

    /// The request that an administrator's tool sends.
    fn admin_request(&self, action: &AdminAction) -> Request {
        match action {
            AdminAction::CreateTopic {
                name,
                partitions,
                replication_factor,
                settings,
            } => Request::CreateTopics(CreateTopicsRequest {
                name: name.clone(),
                partition_count: *partitions,
                replication_factor: *replication_factor,
                assignments: Vec::new(),
                config: None,
                overrides: settings.clone(),
            }),
            AdminAction::DeleteTopic(name) => {
                Request::DeleteTopics(DeleteTopicsRequest { name: name.clone() })
            }
            AdminAction::AddPartitions(name, count) => {
                Request::CreatePartitions(CreatePartitionsRequest {
                    name: name.clone(),
                    count: *count,
                })
            }
            AdminAction::SetTopicConfig {
                name,
                setting,
                value,
            } => Request::IncrementalAlterConfigs(IncrementalAlterConfigsRequest {
                name: name.clone(),
                setting: setting.clone(),
                value: value.clone(),
            }),
            AdminAction::ElectLeaders {
                unclean,
                topic,
                partition,
            } => Request::ElectLeaders(ElectLeadersRequest {
                unclean: *unclean,
                partitions: topic
                    .as_ref()
                    .map(|name| self.partitions_to_elect(name, *partition)),
            }),
        }
    }

    /// One partition of a topic, or all of them.
    fn partitions_to_elect(&self, name: &Arc<str>, partition: Option<u32>) -> Vec<(Arc<str>, u32)> {
        if let Some(partition) = partition {
            return vec![(name.clone(), partition)];
        }
        let known = self.image().and_then(|image| image.topic_by_name(name));
        let count = known.map_or(1, |(_, topic)| topic.partitions.len());
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        (0..count)
            .map(|partition| (name.clone(), partition))
            .collect()
    }

    fn pause(&mut self, node: NodeId, span: Span, cause: u64) {
        let until = self.now + span;
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        // A second pause during the first ends when the later of the two ends.
        let until = match slot.process {
            ProcessState::Paused(before) => before.max(until),
            ProcessState::NotStarted
            | ProcessState::Running
            | ProcessState::Dead
            | ProcessState::Stopped => until,
        };
        slot.process = ProcessState::Paused(until);
        let incarnation = slot.incarnation;
        self.note(node, Some(cause), TraceEvent::ProcessPaused { until });
        self.queue.push(until, Event::Resume { node, incarnation });
    }

    /// A paused process goes on: everything that came due meanwhile happens now, in its order.
    pub(super) fn resume(&mut self, node: NodeId, incarnation: u32) {
        let now = self.now;
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        if slot.incarnation != incarnation || slot.process != ProcessState::Paused(now) {
            return;
        }
        slot.process = ProcessState::Running;
        let backlog = std::mem::take(&mut slot.backlog);
        let count = u32::try_from(backlog.len()).unwrap_or(u32::MAX);
        self.note(node, None, TraceEvent::ProcessResumed { backlog: count });
        for event in backlog {
            self.queue.push(now, event);
        }
    }

    /// The group of a consumer.
    pub(super) fn group_of(&self, node: NodeId) -> Option<GroupId> {
        let consumer = self.scenario.consumer(node.client()?)?;
        consumer.config.group_id.clone().map(GroupId)
    }

    /// A command as a person writes it.
    pub(super) fn text(&self, command: &Command) -> String {
        crate::sim::action::print(command, &self.scenario)
    }
}

const fn is_up(process: ProcessState) -> bool {
    matches!(process, ProcessState::Running | ProcessState::Paused(_))
}

/// A pod that has run this long starts its back-off anew (Kubernetes).
const STEADY: Span = Span(600_000_000);
