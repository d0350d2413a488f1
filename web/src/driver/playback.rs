//! Playing, pausing, stepping, seeking.

use super::history::History;
use super::history::series::SeriesKey;
use super::number::{real, whole};
use super::selection::Selection;
use super::speed::Speed;
use std::fmt;
use terrarium_core::base::ids::{CONSUMER_OFFSETS, Offset, TopicPartition};
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::Sim;
use terrarium_core::sim::command::{Command, CommandError};
use terrarium_core::sim::timeline::{Branch, Recording, Timeline};
use terrarium_core::sim::view::{GroupView, StageView};
use terrarium_core::trace::event::TraceEntry;

/// A timeline that goes with the clock on the wall, and the index of what happened on it.
pub(crate) struct Playback {
    timeline: Timeline,
    history: History,
    speed: Speed,
    is_playing: bool,
    /// When the last frame was, in milliseconds of the wall.
    last_frame_ms: Option<f64>,
    /// Simulated time that is owed: less than a microsecond, or what a slow machine is behind.
    owed_us: f64,
    stop_at: Option<SimTime>,
    stop_when: Option<Condition>,
    end: Option<SimTime>,
    revision: u64,
}

/// Tells of a trace entry whether play is to stop there.
pub(crate) type Condition = Box<dyn Fn(&TraceEntry) -> bool>;

/// What a frame has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advance {
    /// Whether the playhead moved.
    pub moved: bool,
    /// Whether the machine is too slow for the speed; the playhead waits for it.
    pub is_late: bool,
    /// Why play has stopped, if it has.
    pub stopped: Option<Stopped>,
}

/// Why play has stopped by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The instant of `stop_at` is reached.
    Instant,
    /// This trace entry met the condition of `stop_when`.
    Condition(u64),
    /// The end of the run is reached.
    End,
}

impl Playback {
    /// A paused playback.
    pub(crate) fn new(timeline: Timeline) -> Self {
        let history = History::new(timeline.sim().scenario());
        let mut playback = Self {
            timeline,
            history,
            speed: Speed::REAL,
            is_playing: false,
            last_frame_ms: None,
            owed_us: 0.0,
            stop_at: None,
            stop_when: None,
            end: None,
            revision: 0,
        };
        let playhead = playback.playhead();
        playback.catch_up(playhead);
        playback
    }

    /// The timeline.
    pub(crate) const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The state at the playhead.
    pub(crate) fn sim(&self) -> &Sim {
        self.timeline.sim()
    }

    /// The instant that is shown.
    pub(crate) fn playhead(&self) -> SimTime {
        self.timeline.playhead()
    }

    /// The furthest instant simulated on this branch.
    pub(crate) fn horizon(&self) -> SimTime {
        self.timeline.horizon()
    }

    /// The index of what happened.
    pub(crate) const fn history(&self) -> &History {
        &self.history
    }

    /// Whether simulated time goes with the clock on the wall.
    pub(crate) const fn is_playing(&self) -> bool {
        self.is_playing
    }

    /// Lets time go.
    pub(crate) fn play(&mut self) {
        self.is_playing = true;
        self.last_frame_ms = None;
        self.owed_us = 0.0;
    }

    /// Holds time.
    pub(crate) fn pause(&mut self) {
        self.is_playing = false;
        self.last_frame_ms = None;
    }

    /// Simulated time per real time.
    pub(crate) const fn speed(&self) -> Speed {
        self.speed
    }

    /// Changes the speed.
    pub(crate) fn set_speed(&mut self, speed: Speed) {
        self.speed = speed;
        self.owed_us = 0.0;
        self.revision += 1;
    }

    /// Play pauses when it reaches this instant; forgotten once reached.
    pub(crate) fn stop_at(&mut self, at: Option<SimTime>) {
        self.stop_at = at;
    }

    /// Play pauses right after the first event that brings a trace entry for which `condition`
    /// holds; forgotten once met.
    pub(crate) fn stop_when(&mut self, condition: Option<Condition>) {
        self.stop_when = condition;
    }

    /// Play never goes beyond this instant.
    pub(crate) fn set_end(&mut self, end: Option<SimTime>) {
        self.end = end;
    }

    /// Changes whenever there is something else to draw or to list.
    pub(crate) const fn revision(&self) -> u64 {
        self.revision
    }

    /// A frame at `wall_ms`; `clock` tells how the wall's time goes on meanwhile.
    pub(crate) fn frame(&mut self, wall_ms: f64, clock: &dyn Fn() -> f64) -> Advance {
        if !self.is_playing {
            return Advance::default();
        }
        // After a while in the background, time goes on; it does not leap.
        let gap_ms = self.last_frame_ms.map_or(0.0, |last| wall_ms - last);
        self.last_frame_ms = Some(wall_ms);
        self.owed_us += self.speed.micros(gap_ms.clamp(0.0, GAP_MS_MAX));
        let before = self.playhead();
        let owed_us = micros(self.owed_us);
        let mut target = before + Span(owed_us);
        let mut limit = None;
        for (at, why) in [(self.end, Stopped::End), (self.stop_at, Stopped::Instant)] {
            // A stop that lies behind has been passed by seeking.
            if let Some(at) = at.filter(|at| *at <= target)
                && (before <= at || why == Stopped::End)
            {
                target = at.max(before);
                limit = Some(why);
            }
        }
        let (is_late, met) = self.run(target, clock);
        let mut stopped = met.map(Stopped::Condition);
        if stopped.is_none() && target <= self.playhead() && !is_late {
            stopped = limit;
        }
        let passed = self.playhead().since(before);
        // A machine that is behind shows slow motion; what it owes is forgiven.
        let rest = self.owed_us - real(passed.0);
        self.owed_us = if is_late { 0.0 } else { rest.clamp(0.0, 1.0) };
        if let Some(why) = stopped {
            self.pause();
            match why {
                Stopped::Instant => self.stop_at = None,
                Stopped::Condition(_) => self.stop_when = None,
                Stopped::End => {}
            }
        }
        let moved = passed != Span::ZERO || stopped.is_some();
        self.revision += u64::from(moved);
        Advance {
            moved,
            is_late,
            stopped,
        }
    }

    /// One event ahead. Tells whether there was one.
    pub(crate) fn step_event(&mut self) -> bool {
        self.stepped(Timeline::step_event)
    }

    /// Ahead to the next delivery of a message.
    pub(crate) fn step_message(&mut self) -> bool {
        self.stepped(Timeline::step_message)
    }

    /// Back to before the last event.
    pub(crate) fn step_back(&mut self) -> bool {
        self.stepped(Timeline::step_back)
    }

    /// Ahead to the next change of what is selected. Tells whether there was one; without one the
    /// playhead stays where it was.
    pub(crate) fn step_change(&mut self, selection: &Selection) -> bool {
        let start = self.playhead();
        let is_wanted = |entry: &TraceEntry| selection.is_changed_by(entry);
        let (_, met) = self
            .timeline
            .advance_until(SimTime::MAX, STEPS_MAX, is_wanted);
        if met.is_none() {
            self.seek(start);
            return false;
        }
        self.stepped(|_timeline| true)
    }

    /// To any instant, back or ahead.
    pub(crate) fn seek(&mut self, to: SimTime) {
        self.owed_us = 0.0;
        let sampled = self
            .history
            .series()
            .sampled_until()
            .unwrap_or(SimTime::ZERO);
        if to <= sampled {
            self.timeline.seek(to);
        } else {
            if sampled < self.playhead() || self.playhead() < sampled {
                self.timeline.seek(sampled);
            }
            // The plots need to see what lies between, but not more often than can be drawn.
            let step = Span((to.since(sampled).0 / 400).max(SAMPLE.0));
            while self.playhead() < to {
                let next = (self.playhead() + step).min(to);
                self.timeline.seek(next);
                self.catch_up(next);
            }
        }
        self.history.extend(self.timeline.sim().trace());
        self.revision += 1;
    }

    /// To the instant of a trace entry. Tells whether it is known.
    pub(crate) fn seek_entry(&mut self, index: u64) -> bool {
        let at = self.sim().trace().entry(index).map(|entry| entry.at);
        if let Some(at) = at {
            self.seek(at);
        }
        at.is_some()
    }

    /// Takes an action at the playhead. In the past this forks: the old future stays as a branch.
    ///
    /// # Errors
    /// Why it is impossible; nothing has changed then.
    pub(crate) fn act(&mut self, command: Command) -> Result<(), CommandError> {
        self.timeline.act(command)?;
        let at = self.playhead();
        self.history.cut(self.timeline.sim().trace(), at);
        self.catch_up(at);
        self.revision += 1;
        Ok(())
    }

    /// Old futures.
    pub(crate) fn branches(&self) -> &[Branch] {
        self.timeline.branches()
    }

    /// Makes an old future the current one.
    pub(crate) fn switch_branch(&mut self, index: usize) {
        let before = self.timeline.recording().clone();
        self.timeline.switch_branch(index);
        let shared = shared_until(&before, self.timeline.recording());
        let playhead = self.playhead();
        self.history
            .cut(self.timeline.sim().trace(), shared.min(playhead));
        self.history.extend(self.timeline.sim().trace());
        self.seek(playhead);
    }

    /// Runs up to `target` or until time is up. Gives whether it is late, and the entry that met
    /// the condition for stopping.
    fn run(&mut self, target: SimTime, clock: &dyn Fn() -> f64) -> (bool, Option<u64>) {
        let started_ms = clock();
        let step = Span(micros(self.speed.micros(FRAME_MS) / SAMPLES_PER_FRAME).max(SAMPLE.0));
        loop {
            let sampled = self
                .history
                .series()
                .sampled_until()
                .unwrap_or(SimTime::ZERO);
            let sample_at = sampled + step;
            let is_new = self.playhead() < sample_at;
            let to = if is_new {
                target.min(sample_at)
            } else {
                target
            };
            let (progress, met) = match &self.stop_when {
                Some(condition) => self.timeline.advance_until(to, SLICE_EVENTS, condition),
                None => (self.timeline.advance(to, SLICE_EVENTS), None),
            };
            self.history.extend(self.timeline.sim().trace());
            if met.is_some() {
                return (false, met);
            }
            if progress.reached {
                if to == sample_at {
                    self.catch_up(to);
                }
                if target <= to {
                    return (false, None);
                }
            }
            if BUDGET_MS < clock() - started_ms {
                return (true, None);
            }
        }
    }

    fn stepped(&mut self, step: impl FnOnce(&mut Timeline) -> bool) -> bool {
        let has_moved = step(&mut self.timeline);
        self.owed_us = 0.0;
        self.history.extend(self.timeline.sim().trace());
        let playhead = self.playhead();
        let sampled = self.history.series().sampled_until();
        if sampled.is_none_or(|sampled| sampled + SAMPLE <= playhead) {
            self.catch_up(playhead);
        }
        self.revision += 1;
        has_moved
    }

    /// Reads what the trace has brought, and notes the numbers of this instant for the plots.
    fn catch_up(&mut self, at: SimTime) {
        let sim = self.timeline.sim();
        if let Some(topic) = sim.topic_id(CONSUMER_OFFSETS) {
            self.history.set_internal(topic);
        }
        self.history.extend(sim.trace());
        if self
            .history
            .series()
            .sampled_until()
            .is_some_and(|last| at <= last)
        {
            return;
        }
        let values = values_of(&sim.stage(), self.history.stopped_now());
        self.history.series_mut().sample(at, values);
    }
}

impl fmt::Debug for Playback {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Playback")
            .field("playhead", &self.timeline.playhead())
            .field("is_playing", &self.is_playing)
            .field("speed", &self.speed)
            .finish_non_exhaustive()
    }
}

/// What the plots show, at one instant.
fn values_of(stage: &StageView, stopped: usize) -> Vec<(SeriesKey, i64)> {
    let mut values = vec![(
        SeriesKey::Stopped,
        i64::try_from(stopped).unwrap_or(i64::MAX),
    )];
    let leaders = || {
        stage
            .brokers
            .iter()
            .flat_map(|broker| &broker.replicas)
            .filter(|r| r.is_leader)
    };
    for replica in leaders() {
        let is_internal = stage
            .topics
            .iter()
            .any(|topic| topic.topic_id == replica.topic_partition.topic && topic.is_internal);
        if is_internal {
            continue;
        }
        for follower in &replica.followers {
            let (partition, broker) = (replica.topic_partition, follower.broker);
            let records = follower.lag_records.max(0);
            values.push((SeriesKey::ReplicaLagRecords(partition, broker), records));
            let millis = i64::try_from(follower.lag.as_millis()).unwrap_or(i64::MAX);
            values.push((SeriesKey::ReplicaLagMs(partition, broker), millis));
        }
    }
    for group in &stage.groups {
        for topic in stage.topics.iter().filter(|topic| !topic.is_internal) {
            for partition in topic.partitions.iter().map(|known| known.topic_partition) {
                let leader = leaders()
                    .filter(|replica| replica.topic_partition == partition)
                    .max_by_key(|replica| replica.leader_epoch);
                let offset = group_offset(stage, group, partition);
                if let (Some(leader), Some(offset)) = (leader, offset) {
                    let lag = (leader.high_watermark - offset).max(0);
                    values.push((
                        SeriesKey::ConsumerLag(group.group_id.clone(), partition),
                        lag,
                    ));
                }
            }
        }
    }
    values
}

/// Where a group stands on a partition: the offset that it has committed or, before its first
/// commit, the one up to which its consumer has processed.
fn group_offset(stage: &StageView, group: &GroupView, partition: TopicPartition) -> Option<Offset> {
    let committed = group
        .committed
        .iter()
        .find(|(known, _)| *known == partition);
    if let Some((_, offset)) = committed {
        return Some(*offset);
    }
    let members = stage.consumers.iter();
    let members = members.filter(|consumer| consumer.group_id.as_ref() == Some(&group.group_id));
    let owned = members.flat_map(|consumer| &consumer.partitions);
    let mut owned = owned.filter(|owned| owned.topic_partition == partition);
    owned.find_map(|owned| owned.processed.or(owned.position))
}

/// Up to which instant two recordings of one scenario run alike.
fn shared_until(one: &Recording, other: &Recording) -> SimTime {
    let mut pairs = one.actions.iter().zip(&other.actions);
    if let Some(((at, _), (other_at, _))) = pairs.find(|(a, b)| a != b) {
        return (*at).min(*other_at);
    }
    let longer = if one.actions.len() < other.actions.len() {
        other
    } else {
        one
    };
    let first = longer
        .actions
        .get(one.actions.len().min(other.actions.len()));
    first.map_or(SimTime::MAX, |(at, _)| *at)
}

fn micros(length_us: f64) -> u64 {
    whole(length_us)
}

/// A longer gap between two frames counts as this, in milliseconds.
const GAP_MS_MAX: f64 = 100.0;
/// Events between two looks at the clock.
const SLICE_EVENTS: u32 = 256;
/// Time that a frame may spend on simulating, in milliseconds.
const BUDGET_MS: f64 = 6.0;
/// The usual time between two frames, in milliseconds.
const FRAME_MS: f64 = 1_000.0 / 60.0;
/// Samples for the plots that a frame may take at high speed.
const SAMPLES_PER_FRAME: f64 = 4.0;
/// Simulated time between two samples for the plots.
const SAMPLE: Span = Span(100_000);
/// Events that a step to the next change may take.
const STEPS_MAX: u32 = 50_000;

#[cfg(test)]
pub(crate) mod tests;
