//! Time as a person moves in it: snapshots, any instant again, and runs that part.

use super::command::{Command, CommandError};
use super::scenario::Scenario;
use super::simulation::{ScenarioError, Sim};
use crate::kernel::limits::{
    ACTIONS_MAX, BRANCHES_MAX, SIM_TIME_MAX_US, SNAPSHOT_EVERY_EVENTS, SNAPSHOT_TRACE_ENTRIES,
    SNAPSHOTS_MAX,
};
use crate::kernel::time::SimTime;
use crate::trace::event::{TraceEntry, TraceEvent};
use serde::Serialize;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// What a person did, on top of what the scenario does by itself.
///
/// With the scenario it gives the whole run again; this is what is saved, shared and graded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recording {
    /// The actions, in order; each comes after every event of its instant.
    pub actions: Vec<(SimTime, Command)>,
}

/// A run that was left, and can be gone back to.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Its actions.
    pub recording: Recording,
    /// Where it was left: the instant of the action that was taken instead.
    pub forked_at: SimTime,
    /// How far it had been run.
    pub horizon: SimTime,
    snapshots: Vec<Snapshot>,
    tip: Option<Snapshot>,
}

/// The simulation at some moment.
#[derive(Clone, Debug)]
struct Snapshot {
    sim: Sim,
    /// Actions that have been applied.
    actions_applied: usize,
}

impl Snapshot {
    /// Events and actions so far: a place in the run's own order.
    fn moment(&self) -> u64 {
        self.sim.event_count() + u64::try_from(self.actions_applied).unwrap_or(u64::MAX)
    }

    fn place(&self) -> (u64, SimTime) {
        (self.moment(), self.sim.now())
    }
}

/// How far an advance got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Whether the instant was reached; otherwise the events were used up.
    pub reached: bool,
}

/// A run with its playhead (R6): any instant is reached by the nearest snapshot before it and a
/// replay from there.
///
/// Invariant: the state at the playhead is what a straight run with the same actions gives.
#[derive(Clone, Debug)]
pub struct Timeline {
    recording: Recording,
    /// Ascending by events handled; the first is the start.
    snapshots: Vec<Snapshot>,
    /// Events between two snapshots; doubles when there are too many.
    spacing: u64,
    at: Snapshot,
    /// The furthest state that was reached on this branch, if the playhead has been further than
    /// it is now.
    tip: Option<Snapshot>,
    branches: Vec<Branch>,
}

impl Timeline {
    /// A run at its start.
    ///
    /// # Errors
    /// The scenario contradicts itself or is too large.
    pub fn new(scenario: Arc<Scenario>) -> Result<Self, ScenarioError> {
        Self::replay(scenario, Recording::default())
    }

    /// A run at its start, with a person's actions to come.
    ///
    /// # Errors
    /// The scenario contradicts itself or is too large.
    pub fn replay(
        scenario: Arc<Scenario>,
        mut recording: Recording,
    ) -> Result<Self, ScenarioError> {
        recording.actions.sort_by_key(|(at, _)| *at);
        let start = Snapshot {
            sim: Sim::new(scenario)?,
            actions_applied: 0,
        };
        Ok(Self {
            recording,
            snapshots: vec![start.clone()],
            spacing: SNAPSHOT_EVERY_EVENTS,
            at: start,
            tip: None,
            branches: Vec::new(),
        })
    }

    /// The simulation at the playhead.
    pub const fn sim(&self) -> &Sim {
        &self.at.sim
    }

    /// The instant that is shown.
    pub const fn playhead(&self) -> SimTime {
        self.at.sim.now()
    }

    /// The furthest instant that was reached on this branch.
    pub fn horizon(&self) -> SimTime {
        self.tip
            .as_ref()
            .map_or(SimTime::ZERO, |tip| tip.sim.now())
            .max(self.at.sim.now())
    }

    /// What the person did.
    pub const fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Runs that were left.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// Runs on to `to`, but handles at most `events_max` events.
    pub fn advance(&mut self, to: SimTime, events_max: u32) -> Progress {
        let to = to.min(SimTime(SIM_TIME_MAX_US));
        for _ in 0..events_max {
            if !self.step_once(to) {
                return Progress { reached: true };
            }
        }
        Progress { reached: false }
    }

    /// Runs on to `to` as `advance` does, but stops after the first event that brings a trace
    /// entry for which `wanted` holds; gives that entry's index.
    pub fn advance_until(
        &mut self,
        to: SimTime,
        events_max: u32,
        mut wanted: impl FnMut(&TraceEntry) -> bool,
    ) -> (Progress, Option<u64>) {
        let to = to.min(SimTime(SIM_TIME_MAX_US));
        let mut reached = false;
        let mut met = None;
        for _ in 0..events_max {
            let before = self.at.sim.trace().next_index();
            reached = !self.step_once(to);
            let mut news = self.at.sim.trace().since(before);
            met = news.find(|entry| wanted(entry)).map(|entry| entry.index);
            if reached || met.is_some() {
                break;
            }
        }
        (Progress { reached }, met)
    }

    /// Does the next thing that is due at `to` or before: an event, or the person's next action.
    /// False when there is none; the playhead stands at `to` then.
    fn step_once(&mut self, to: SimTime) -> bool {
        let next_action = self.recording.actions.get(self.at.actions_applied);
        let next_event = self.at.sim.next_due();
        let event_due = next_event.filter(|due| *due <= to);
        let action_due = next_action.filter(|(at, _)| *at <= to);
        match (event_due, action_due) {
            (Some(due), Some((at, _))) if *at < due => self.apply_action(),
            (Some(_), _) => {
                self.at.sim.step();
                self.maybe_snapshot();
            }
            (None, Some(_)) => self.apply_action(),
            (None, None) => {
                self.at.sim.advance_clock(to);
                return false;
            }
        }
        true
    }

    fn apply_action(&mut self) {
        let Some((at, command)) = self.recording.actions.get(self.at.actions_applied).cloned()
        else {
            return;
        };
        self.at.actions_applied += 1;
        self.at.sim.advance_clock(at);
        self.at.sim.apply_recorded(command);
    }

    fn maybe_snapshot(&mut self) {
        let events = self.at.sim.event_count();
        let last = self
            .snapshots
            .last()
            .map_or(0, |snapshot| snapshot.sim.event_count());
        if events < last + self.spacing {
            return;
        }
        self.snapshots.push(self.at.clone());
        if 0 < self.at.sim.trace().first_index() {
            // What the tip has dropped would live on in every older snapshot.
            for snapshot in &mut self.snapshots {
                snapshot.sim.keep_last_of_trace(SNAPSHOT_TRACE_ENTRIES);
            }
        }
        if usize::try_from(SNAPSHOTS_MAX).is_ok_and(|max| max < self.snapshots.len()) {
            // Every other one goes; from now on they lie twice as far apart.
            self.spacing *= 2;
            let mut index = 0;
            self.snapshots.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
    }

    /// Whether the playhead stands where this branch has never been further.
    fn is_at_tip(&self) -> bool {
        self.tip
            .as_ref()
            .is_none_or(|tip| tip.place() <= self.at.place())
    }

    /// Puts the playhead at `snapshot`; the furthest state is kept.
    fn jump(&mut self, snapshot: Snapshot) {
        let was_at_tip = self.is_at_tip();
        let left = std::mem::replace(&mut self.at, snapshot);
        if was_at_tip {
            self.tip = Some(left);
        }
    }

    /// Goes to any instant; every event and action of that instant has happened then.
    pub fn seek(&mut self, to: SimTime) {
        let to = to.min(SimTime(SIM_TIME_MAX_US));
        let is_ahead = self.at.sim.now() <= to;
        let nearest = self
            .snapshots
            .iter()
            .chain(&self.tip)
            .filter(|snapshot| snapshot.sim.now() <= to)
            .max_by_key(|snapshot| snapshot.moment());
        if let Some(nearest) = nearest
            && (!is_ahead || self.at.moment() < nearest.moment())
        {
            let nearest = nearest.clone();
            self.jump(nearest);
        }
        while self.step_once(to) {}
    }

    /// Goes to just after the first `moment` events and actions.
    fn seek_moment(&mut self, moment: u64) {
        let nearest = self
            .snapshots
            .iter()
            .filter(|snapshot| snapshot.moment() <= moment)
            .max_by_key(|snapshot| snapshot.moment());
        if let Some(nearest) = nearest {
            let nearest = nearest.clone();
            self.jump(nearest);
        }
        while self.at.moment() < moment && self.step_once(SimTime(SIM_TIME_MAX_US)) {}
    }

    /// Handles one event, or the person's next action. False when nothing is left.
    pub fn step_event(&mut self) -> bool {
        let next_action = self
            .recording
            .actions
            .get(self.at.actions_applied)
            .map(|(at, _)| *at);
        let next = self.at.sim.next_due().into_iter().chain(next_action).min();
        let Some(to) = next else { return false };
        self.step_once(to)
    }

    /// Goes on until a message has arrived. False when none does.
    pub fn step_message(&mut self) -> bool {
        self.step_until(|event| matches!(event, TraceEvent::Delivered { .. }))
    }

    /// Goes on until something happens for which `wanted` holds. False when nothing of the kind
    /// does within a bound.
    pub fn step_until(&mut self, mut wanted: impl FnMut(&TraceEvent) -> bool) -> bool {
        for _ in 0..STEP_EVENTS_MAX {
            let before = self.at.sim.trace().next_index();
            if !self.step_event() {
                return false;
            }
            if self
                .at
                .sim
                .trace()
                .since(before)
                .any(|entry| wanted(&entry.event))
            {
                return true;
            }
        }
        false
    }

    /// Goes back to before the last event or action. False at the start.
    pub fn step_back(&mut self) -> bool {
        let Some(moment) = self.at.moment().checked_sub(1) else {
            return false;
        };
        self.seek_moment(moment);
        true
    }

    /// Takes an action at the playhead. In the past this leaves the old future as a branch.
    ///
    /// # Errors
    /// The action is impossible; nothing has changed.
    pub fn act(&mut self, command: Command) -> Result<(), CommandError> {
        let now = self.playhead();
        if SIM_TIME_MAX_US <= now.0 {
            return Err(CommandError::TooLate {
                latest: SimTime(SIM_TIME_MAX_US),
            });
        }
        // An action comes after every event of its instant, so that a replay meets the same state.
        let mut at = self.at.clone();
        while self.step_once(now) {}
        if let Err(error) = self.at.sim.check(&command) {
            std::mem::swap(&mut self.at, &mut at);
            return Err(error);
        }
        let applied = self.at.actions_applied;
        if usize::try_from(ACTIONS_MAX).is_ok_and(|max| max <= applied) {
            self.at = at;
            return Err(CommandError::TooManyActions {
                actions_max: ACTIONS_MAX,
            });
        }
        if self.has_future() {
            self.fork();
        }
        self.recording.actions.truncate(applied);
        self.recording.actions.push((now, command));
        self.apply_action();
        self.tip = None;
        Ok(())
    }

    /// Whether something lies ahead of the playhead: it was reached, or is recorded.
    fn has_future(&self) -> bool {
        self.at.actions_applied < self.recording.actions.len() || !self.is_at_tip()
    }

    /// Leaves the future as a branch.
    fn fork(&mut self) {
        let moment = self.at.moment();
        let branch = Branch {
            recording: self.recording.clone(),
            forked_at: self.at.sim.now(),
            horizon: self.horizon(),
            snapshots: self.snapshots.clone(),
            tip: self.tip.take(),
        };
        self.snapshots
            .retain(|snapshot| snapshot.moment() <= moment);
        self.branches.push(branch);
        if usize::try_from(BRANCHES_MAX).is_ok_and(|max| max < self.branches.len()) {
            self.branches.remove(0);
        }
    }

    /// Goes over to a run that was left, at the instant where it was left; the present one becomes
    /// a branch in its place. False if there is no such branch.
    pub fn switch_branch(&mut self, index: usize) -> bool {
        if self.branches.len() <= index {
            return false;
        }
        let other = self.branches.remove(index);
        let forked_at = other.forked_at;
        let horizon = self.horizon();
        let tip = if self.is_at_tip() {
            Some(self.at.clone())
        } else {
            self.tip.take()
        };
        let present = Branch {
            recording: std::mem::replace(&mut self.recording, other.recording),
            forked_at,
            horizon,
            snapshots: std::mem::replace(&mut self.snapshots, other.snapshots),
            tip,
        };
        self.tip = other.tip;
        self.branches.insert(index, present);
        if let Some(start) = self.snapshots.first() {
            self.at = start.clone();
        }
        self.seek(forked_at);
        true
    }
}

/// A step towards something that never comes ends after so many events.
const STEP_EVENTS_MAX: u32 = 200_000;
