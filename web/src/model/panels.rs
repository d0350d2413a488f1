//! What the panels show of a run: small models, published at most ten times a second and only
//! when they differ from the last.

use std::rc::Rc;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::sim::action::ActionInfo;
use terrarium_core::sim::command::Command;

/// All panels. Each part is compared and drawn by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Panels {
    /// The clock and the transport.
    pub(crate) clock: Clock,
    /// The inspector.
    pub(crate) inspector: Rc<Inspector>,
    /// The tables; unset while nobody looks at them.
    pub(crate) tables: Option<Rc<Vec<Table>>>,
    /// The experiments side by side; unset while nobody looks at them.
    pub(crate) compare: Option<Rc<Compare>>,
    /// How many alarms a monitoring system would show.
    pub(crate) alarms: usize,
    /// Verdicts of the goals, in the lesson's order.
    pub(crate) goals: Rc<Vec<Goal>>,
    /// What is known of the questions, in the lesson's order.
    pub(crate) outcomes: Rc<Vec<Outcome>>,
    /// What can be done to the selected thing.
    pub(crate) faults: Rc<Faults>,
    /// Runs that were left for another future.
    pub(crate) branches: Rc<Vec<BranchRow>>,
    /// The step of the lesson in which the playhead stands.
    pub(crate) step_index: usize,
    /// The text of the lesson's end, with its numbers; empty before.
    pub(crate) debrief: Rc<str>,
    /// Rungs of help that may be opened now, by hint.
    pub(crate) hints_allowed: Rc<Vec<bool>>,
    /// The latest thing worth telling a screen reader; empty for nothing.
    pub(crate) narration: Rc<str>,
}

/// The clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The playhead.
    pub(crate) now: SimTime,
    /// The furthest instant that has been simulated.
    pub(crate) horizon: SimTime,
    /// Where the run ends.
    pub(crate) end: SimTime,
    /// Whether it plays.
    pub(crate) is_playing: bool,
    /// Whether the playhead waits for an answer: the question's place in the lesson.
    pub(crate) awaits: Option<usize>,
    /// Kernel events handled up to the playhead.
    pub(crate) event_count: u64,
}

/// The inspector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inspector {
    /// What is selected; empty for nothing.
    pub(crate) title: String,
    /// What it is, in a line.
    pub(crate) subtitle: String,
    /// Its fields.
    pub(crate) fields: Rc<Vec<Field>>,
    /// The whole state of its process, while it is looked at.
    pub(crate) deep: Rc<Vec<Field>>,
    /// Its settings: name, value, what it does.
    pub(crate) settings: Rc<Vec<Setting>>,
    /// Its pending timers, the next one first.
    pub(crate) timers: Rc<Vec<TimerRow>>,
    /// Its recent events, newest first.
    pub(crate) events: Rc<Vec<EventRow>>,
    /// Why the selected or last event happened: the chain of causes, the first cause first.
    pub(crate) why: Rc<Vec<EventRow>>,
    /// The rule behind the last event of the chain.
    pub(crate) rule: Option<Rule>,
    /// The log lines of its process, newest first.
    pub(crate) log: Rc<Vec<EventRow>>,
    /// The steps of looking up an offset; unset when no replica is selected.
    pub(crate) lookup: Option<Rc<Vec<String>>>,
}

/// A field of what is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// How deep it lies.
    pub(crate) depth: u8,
    /// Its name.
    pub(crate) name: String,
    /// Its value; empty when its fields follow.
    pub(crate) value: String,
}

/// A setting of what is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Kafka's name.
    pub(crate) name: &'static str,
    /// Its value.
    pub(crate) value: String,
    /// What it does.
    pub(crate) doc: &'static str,
}

/// A pending timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimerRow {
    /// Its name.
    pub(crate) name: String,
    /// When it fires.
    pub(crate) due_at: SimTime,
    /// The time left, in words.
    pub(crate) left: String,
    /// How much is left of it, in hundredths.
    pub(crate) percent: u8,
    /// The action that lets it run out now; unset where it may not be taken.
    pub(crate) expire: Option<Command>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventRow {
    /// Its place in the trace.
    pub(crate) index: u64,
    /// When.
    pub(crate) at: SimTime,
    /// What, in words.
    pub(crate) text: String,
}

/// A rule of Kafka.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The name of the event.
    pub(crate) event: &'static str,
    /// What the rule says.
    pub(crate) doc: &'static str,
    /// The class.
    pub(crate) source: &'static str,
    /// The KIPs that it names.
    pub(crate) kips: Vec<u32>,
}

/// The experiments of a lesson on one clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compare {
    /// What is to be said above: where they part first, how far they are, or why there is nothing.
    pub(crate) text: String,
    /// The experiments.
    pub(crate) runs: Vec<ComparedRun>,
    /// Instants under the strips: where, in thousandths of the width, and what they are called.
    pub(crate) marks: Vec<(u32, String)>,
    /// Where the playhead stands, in thousandths of the width.
    pub(crate) now: u32,
    /// What each costs.
    pub(crate) table: Option<Table>,
}

/// An experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedRun {
    /// Its id.
    pub(crate) id: String,
    /// Its name.
    pub(crate) title: String,
    /// How long partitions were stopped, added up.
    pub(crate) stopped: String,
    /// A strip a partition: its name and its stretches.
    pub(crate) strips: Vec<(String, Vec<Stretch>)>,
}

/// A stretch of time in which one works on a partition, or nobody does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Its beginning, in thousandths of the width.
    pub(crate) from: u32,
    /// Its length, in thousandths of the width.
    pub(crate) length: u32,
    /// Who; empty for nobody.
    pub(crate) who: String,
    /// The number of the colour.
    pub(crate) hue: u32,
    /// From when to when, in words.
    pub(crate) hint: String,
}

/// A table for those who do not see the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// The key of its caption; also its name.
    pub(crate) key: &'static str,
    /// Keys of the column heads.
    pub(crate) heads: Vec<&'static str>,
    /// Rows; the first cell is the row's head.
    pub(crate) rows: Vec<Vec<String>>,
}

/// A goal's verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nobody knows yet.
    #[default]
    Open,
    /// Met.
    Pass,
    /// Missed.
    Fail,
}

/// A goal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Goal {
    /// Its verdict so far.
    pub(crate) verdict: Verdict,
    /// The trace entry that decided; unset while it is open.
    pub(crate) decided_by: Option<u64>,
    /// When it was decided.
    pub(crate) decided_at: Option<SimTime>,
}

/// What is known of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether it can still be answered.
    pub(crate) is_open: bool,
    /// The options that are right; unset before the moment at which that is shown.
    pub(crate) right: Option<Vec<usize>>,
}

/// What can be done to the selected thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// The name of the thing; empty when nothing can be done to what is selected.
    pub(crate) target: String,
    /// The tools.
    pub(crate) tools: Vec<Tool>,
    /// Topics to which a record can be sent.
    pub(crate) topics: Vec<String>,
    /// Names of all brokers and clients, for the list of things to select.
    pub(crate) nodes: Vec<(crate::driver::selection::Selection, String)>,
    /// Actions that can be typed.
    pub(crate) actions: Vec<ActionInfo>,
    /// Whether the lesson lets records be sent.
    pub(crate) can_send: bool,
}

/// A tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// Its name: `kill`, `restart`, `pause`, `start`, `stop`.
    pub(crate) name: &'static str,
    /// Why it cannot be used now, in words; unset when it can.
    pub(crate) refusal: Option<String>,
    /// The action.
    pub(crate) command: Command,
}

/// A run that was left for another future.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BranchRow {
    /// Its place in the list.
    pub(crate) index: usize,
    /// Where it was left.
    pub(crate) forked_at: SimTime,
    /// How far it goes.
    pub(crate) horizon: SimTime,
    /// How many actions it has.
    pub(crate) actions: usize,
}
