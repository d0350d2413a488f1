//! The state of the page.

use super::panels::Panels;
use super::route::Route;
use crate::driver::selection::Selection;
use crate::driver::speed::Speed;
use crate::i18n::{Catalog, Locale};
use crate::scene::theme::ThemeName;
use std::collections::BTreeMap;
use std::rc::Rc;
use terrarium_core::kernel::time::{SimTime, Span};

/// The texts in use. Two are equal when they are the same list: comparing them costs nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words(pub(crate) Rc<Catalog>);

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl std::ops::Deref for Words {
    type Target = Catalog;
    fn deref(&self) -> &Catalog {
        &self.0
    }
}

/// Everything that the page shows, but for the pictures.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UiModel {
    /// The language that was asked for; the words follow when they have come.
    pub(crate) locale: Locale,
    /// The words.
    pub(crate) words: Words,
    /// The theme that was chosen.
    pub(crate) theme: ThemeChoice,
    /// Whether the system prefers dark colours.
    pub(crate) system_is_dark: bool,
    /// Whether the system asks for less motion.
    pub(crate) reduced_motion: bool,
    /// Whether the page stands in somebody else's frame: the stage alone.
    pub(crate) embed: bool,
    /// Where we are.
    pub(crate) route: Route,
    /// The lessons that exist, by concept.
    pub(crate) map: Rc<LessonMap>,
    /// What the learner has done, by lesson.
    pub(crate) progress: Rc<Progress>,
    /// A quiet line above everything; unset when there is nothing to say.
    pub(crate) notice: Option<Notice>,
    /// What is open over the page.
    pub(crate) sheet: Option<Sheet>,
    /// The run on the stage; unset on pages without one.
    pub(crate) run: Option<RunUi>,
    /// What is read off the run, at most ten times a second.
    pub(crate) panels: Rc<Panels>,
}

/// A choice of theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThemeChoice {
    /// As the system has it.
    #[default]
    System,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

impl ThemeChoice {
    /// The name in storage and in `?theme=`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The choice of a name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        [Self::System, Self::Light, Self::Dark]
            .into_iter()
            .find(|choice| choice.name() == name)
    }
}

impl UiModel {
    /// The theme that shows.
    pub(crate) const fn theme_name(&self) -> ThemeName {
        match (self.theme, self.system_is_dark) {
            (ThemeChoice::Dark, _) | (ThemeChoice::System, true) => ThemeName::Dark,
            (ThemeChoice::Light, _) | (ThemeChoice::System, false) => ThemeName::Light,
        }
    }
}

/// The lessons that exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LessonMap {
    /// Concepts in teaching order, each with the ids of its lessons.
    pub(crate) concepts: Vec<(String, Vec<String>)>,
}

impl LessonMap {
    /// Every lesson, in teaching order.
    pub(crate) fn lessons(&self) -> impl Iterator<Item = &str> {
        self.concepts
            .iter()
            .flat_map(|(_, lessons)| lessons.iter().map(String::as_str))
    }

    /// The lesson after `id`.
    pub(crate) fn after(&self, id: &str) -> Option<&str> {
        self.lessons().skip_while(|lesson| *lesson != id).nth(1)
    }
}

/// What a learner has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// By lesson.
    pub(crate) lessons: BTreeMap<String, LessonProgress>,
}

/// What a learner has done of a lesson.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LessonProgress {
    /// Goals that have passed in some run.
    pub(crate) goals: Vec<String>,
    /// Goals in all.
    pub(crate) goal_count: u32,
    /// Locked answers: question, option.
    pub(crate) answers: Vec<(String, String)>,
}

impl LessonProgress {
    /// Whether every goal has passed.
    pub(crate) fn is_done(&self) -> bool {
        0 < self.goal_count
            && u32::try_from(self.goals.len()).is_ok_and(|passed| self.goal_count <= passed)
    }
}

/// A quiet line above everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The key of its text.
    pub(crate) key: &'static str,
    /// The arguments of its text.
    pub(crate) args: Vec<(&'static str, String)>,
    /// Whether it tells of something that went wrong.
    pub(crate) is_fault: bool,
    /// A button beside it.
    pub(crate) offer: Option<Offer>,
}

impl Notice {
    /// A line that merely tells.
    pub(crate) const fn tell(key: &'static str) -> Self {
        Self {
            key,
            args: Vec::new(),
            is_fault: false,
            offer: None,
        }
    }

    /// A line about something that went wrong.
    pub(crate) const fn fault(key: &'static str, args: Vec<(&'static str, String)>) -> Self {
        Self {
            key,
            args,
            is_fault: true,
            offer: None,
        }
    }
}

/// What a notice offers to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Download the recording.
    Download,
    /// Start the run over.
    StartOver,
    /// Fetch again what could not be fetched.
    Retry,
}

/// What is open over the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sheet {
    /// The keys.
    Keys,
    /// The link to this run, for when there is no clipboard.
    Link,
}

/// A run on the stage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunUi {
    /// What is run.
    pub(crate) place: RunPlace,
    /// Whether it is there.
    pub(crate) state: RunState,
    /// What the lesson says; unset in the sandbox and until it has been read.
    pub(crate) lesson: Option<Rc<LessonModel>>,
    /// The variant of the lesson; unset where it has none.
    pub(crate) variant: Option<String>,
    /// Settings that the learner has changed: path and value.
    pub(crate) settings: Vec<(String, String)>,
    /// Variant and settings of the run that is still open while another one is asked for.
    pub(crate) before: (Option<String>, Vec<(String, String)>),
    /// The seed; unset leaves the lesson's own.
    pub(crate) seed: Option<u64>,
    /// How fast time goes.
    pub(crate) speed: Speed,
    /// What a step is.
    pub(crate) unit: StepUnit,
    /// What is selected.
    pub(crate) selection: Option<Selection>,
    /// What the upper picture shows.
    pub(crate) upper: UpperTab,
    /// Which lanes the space-time picture has.
    pub(crate) lanes: Lanes,
    /// Which plot is shown.
    pub(crate) narrow: NarrowTab,
    /// Answers by question.
    pub(crate) answers: Vec<Answer>,
    /// Rungs of help that are open, by goal; the lesson itself is the empty name.
    pub(crate) hints_open: BTreeMap<String, u32>,
    /// Attempts that were started over before their goals were met.
    pub(crate) attempts: u32,
    /// What the action line holds.
    pub(crate) action: String,
    /// What the record form holds.
    pub(crate) record: RecordForm,
    /// How long a pause is.
    pub(crate) pause: Span,
    /// Why the last action was impossible; unset after one that was not.
    pub(crate) refusal: Option<Rc<str>>,
    /// Whether the engine's whole state of what is selected is open.
    pub(crate) is_deep: bool,
    /// What is looked for in the selected replica's log.
    pub(crate) asked: String,
}

/// Where a run belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunPlace {
    /// The home page: the first question of this lesson.
    Home(String),
    /// A lesson.
    Lesson(String),
    /// The sandbox.
    Sandbox,
}

impl RunPlace {
    /// The lesson, if it is one.
    pub(crate) fn lesson_id(&self) -> Option<&str> {
        match self {
            Self::Home(id) | Self::Lesson(id) => Some(id),
            Self::Sandbox => None,
        }
    }

    /// The name under which the run is kept; unset for the home page, which starts afresh.
    pub(crate) fn storage_key(&self) -> Option<String> {
        match self {
            Self::Home(_) => None,
            Self::Lesson(id) => Some(format!("saved.lesson.{id}")),
            Self::Sandbox => Some(String::from("saved.sandbox")),
        }
    }
}

/// Whether a run is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunState {
    /// It is being fetched.
    Loading,
    /// It can be played.
    Ready,
    /// It cannot be had.
    Failed {
        /// The key of the text that says so.
        key: &'static str,
        /// What exactly is wrong, and where.
        detail: String,
    },
}

/// What a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StepUnit {
    /// One event of the engine.
    #[default]
    Event,
    /// Up to the next message that arrives.
    Message,
    /// Up to the next change of what is selected.
    Change,
}

impl StepUnit {
    /// Every unit, in the order of the switch.
    pub(crate) const ALL: [Self; 3] = [Self::Event, Self::Message, Self::Change];
}

/// What the upper picture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum UpperTab {
    /// Brokers, partitions, clients.
    #[default]
    Topology,
    /// A group with its trays.
    Group,
    /// The same as tables: the accessible twin.
    Table,
    /// What a monitoring system would show.
    Metrics,
    /// The experiments of a lesson, side by side.
    Compare,
}

impl UpperTab {
    /// Every tab, in order.
    pub(crate) const ALL: [Self; 5] = [
        Self::Topology,
        Self::Group,
        Self::Table,
        Self::Metrics,
        Self::Compare,
    ];

    /// Its name in keys and marks.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Topology => "topology",
            Self::Group => "group",
            Self::Table => "table",
            Self::Metrics => "metrics",
            Self::Compare => "compare",
        }
    }
}

/// Which lanes the space-time picture has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// The group, its coordinator and its members.
    #[default]
    Group,
    /// Brokers and the controller.
    Replication,
    /// Everybody.
    All,
}

impl Lanes {
    /// Every choice, in order.
    pub(crate) const ALL: [Self; 3] = [Self::Group, Self::Replication, Self::All];

    /// Its name in keys and marks.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Replication => "replication",
            Self::All => "all",
        }
    }
}

/// Which part a narrow screen shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NarrowTab {
    /// The lesson's text, or the sandbox's tools.
    #[default]
    Text,
    /// The upper picture.
    Cluster,
    /// The space-time picture.
    SpaceTime,
    /// The plots.
    Plots,
    /// The inspector.
    Inspect,
}

impl NarrowTab {
    /// Every tab, in order.
    pub(crate) const ALL: [Self; 5] = [
        Self::Text,
        Self::Cluster,
        Self::SpaceTime,
        Self::Plots,
        Self::Inspect,
    ];

    /// Its name in keys and marks.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Cluster => "cluster",
            Self::SpaceTime => "space-time",
            Self::Plots => "plots",
            Self::Inspect => "inspect",
        }
    }
}

/// An answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The option that is marked.
    pub(crate) chosen: Option<usize>,
    /// When it was locked, on the run's clock; unset while it can be changed.
    pub(crate) locked_at: Option<SimTime>,
}

/// What the record form holds, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordForm {
    /// The topic; empty for the first.
    pub(crate) topic: String,
    /// The key; empty for none.
    pub(crate) key: String,
    /// The value.
    pub(crate) value: String,
    /// The partition; empty leaves it to key or partitioner.
    pub(crate) partition: String,
}

/// What a lesson says, without its texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LessonModel {
    /// Its id.
    pub(crate) id: String,
    /// Its revision.
    pub(crate) revision: u32,
    /// The Kafka version that it models.
    pub(crate) kafka: String,
    /// The seed that it runs with.
    pub(crate) seed: u64,
    /// Its variants; empty when it has one form alone.
    pub(crate) variants: Vec<String>,
    /// Its steps.
    pub(crate) steps: Vec<String>,
    /// Its questions.
    pub(crate) questions: Vec<QuestionModel>,
    /// Its goals.
    pub(crate) goals: Vec<GoalSpec>,
    /// Its hints, in rungs.
    pub(crate) hints: Vec<HintModel>,
    /// Replies to misconceptions: id, question, option.
    pub(crate) traps: Vec<(String, String, String)>,
    /// Ids of what it leaves out.
    pub(crate) fidelity: Vec<String>,
    /// Verbs of actions that it allows; unset allows all.
    pub(crate) verbs: Option<Vec<String>>,
    /// Settings that may be changed: path and the value that it starts from.
    pub(crate) settings: Vec<(String, String)>,
}

/// A question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuestionModel {
    /// Its id.
    pub(crate) id: String,
    /// Ids of its options.
    pub(crate) options: Vec<String>,
}

/// A goal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GoalSpec {
    /// Its id.
    pub(crate) id: String,
    /// What the learner does for it: watch, respond, change or construct.
    pub(crate) task: String,
    /// The variant that alone can reach it; unset for any.
    pub(crate) variant: Option<String>,
}

/// A hint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HintModel {
    /// The goal that it helps with; empty for the lesson.
    pub(crate) goal: String,
    /// Its rung.
    pub(crate) rung: String,
}

impl RunUi {
    /// Whether the lesson has experiments to be compared.
    pub(crate) fn can_compare(&self) -> bool {
        let lesson = self.lesson.as_ref();
        lesson.is_some_and(|lesson| 1 < lesson.variants.len())
    }

    /// A run that is being fetched.
    pub(crate) fn loading(place: RunPlace) -> Self {
        Self {
            place,
            state: RunState::Loading,
            lesson: None,
            variant: None,
            settings: Vec::new(),
            before: (None, Vec::new()),
            seed: None,
            speed: Speed::REAL,
            unit: StepUnit::default(),
            selection: None,
            upper: UpperTab::default(),
            lanes: Lanes::default(),
            narrow: NarrowTab::default(),
            answers: Vec::new(),
            hints_open: BTreeMap::new(),
            attempts: 0,
            action: String::new(),
            record: RecordForm::default(),
            pause: Span::from_millis(5_000),
            refusal: None,
            is_deep: false,
            asked: String::new(),
        }
    }

    /// Whether it can be played.
    pub(crate) fn is_ready(&self) -> bool {
        self.state == RunState::Ready
    }
}
