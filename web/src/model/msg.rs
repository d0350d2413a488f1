//! What can happen to the page.

use super::panels::Panels;
use super::ui::{
    Lanes, LessonMap, LessonModel, LessonProgress, NarrowTab, Notice, Offer, RecordForm, Sheet,
    StepUnit, UpperTab, Words,
};
use crate::driver::selection::Selection;
use crate::driver::speed::Speed;
use crate::i18n::Locale;
use std::rc::Rc;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::command::Command;

/// Something that happened to the page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Msg {
    /// The address has another hash.
    HashChanged(String),
    /// The texts of a language have come.
    WordsReady(Words),
    /// The texts of a language could not be had: why.
    WordsFailed(String),
    /// The list of lessons has come.
    MapReady(Rc<LessonMap>),
    /// Another language.
    SetLocale(Locale),
    /// The next theme.
    NextTheme,
    /// The system prefers other colours now.
    SystemTheme {
        /// Whether it prefers dark ones.
        is_dark: bool,
    },
    /// The run is there.
    RunReady(Box<RunReady>),
    /// The run cannot be had.
    RunFailed {
        /// The key of the text that says so.
        key: &'static str,
        /// What exactly is wrong, and where.
        detail: String,
    },
    /// Another start of the run is impossible, and the run that was there goes on: why.
    RunKept(String),
    /// The panels have changed.
    Panels(Rc<Panels>),
    /// Play, or pause.
    Toggle,
    /// One step ahead.
    Step,
    /// One step back.
    StepBack,
    /// To the start.
    ToStart,
    /// To the furthest instant that has been simulated.
    ToHorizon,
    /// To an instant.
    Seek(SimTime),
    /// To a trace entry, which becomes the selection.
    SeekEntry(u64),
    /// Another speed.
    SetSpeed(Speed),
    /// The next faster or slower speed.
    Faster(bool),
    /// Another size of steps.
    SetUnit(StepUnit),
    /// Something is selected, or nothing.
    Select(Option<Selection>),
    /// The engine's whole state of what is selected is opened or closed.
    SetDeep(bool),
    /// An offset or a time is looked for in the selected replica's log.
    LookUp(String),
    /// Another upper picture.
    SetUpper(UpperTab),
    /// Other lanes.
    SetLanes(Lanes),
    /// Another part of a narrow screen.
    SetNarrow(NarrowTab),
    /// An option is marked: question, option.
    Choose(usize, usize),
    /// The answer to a question is locked.
    Lock(usize),
    /// The next hint of a goal is opened; the empty name is the lesson.
    OpenHint(String),
    /// Another variant of the lesson.
    SetVariant(String),
    /// Another value of a setting: path, value.
    SetSetting(String, String),
    /// An action.
    Act(Command),
    /// What the action line holds.
    TypeAction(String),
    /// Take the action that the line holds.
    TakeAction,
    /// The record form has another content.
    EditRecord(RecordForm),
    /// The record of the form is sent.
    SendRecord,
    /// Another length of pauses.
    SetPause(Span),
    /// The action was impossible: why, in words.
    Refused(Rc<str>),
    /// The action was done.
    Done,
    /// Everything from the start.
    StartOver,
    /// Another branch of the run.
    SwitchBranch(usize),
    /// Copy the link to this run.
    Share,
    /// The link was copied, or could not be.
    Shared(bool),
    /// Download the recording.
    Download,
    /// A file was chosen: its text.
    Upload(String),
    /// The file is no recording of this run: why.
    UploadFailed(String),
    /// What was done of a lesson.
    Progressed(String, LessonProgress),
    /// A line to tell.
    Tell(Notice),
    /// The line is read.
    DismissNotice,
    /// The button beside the line.
    TakeOffer(Offer),
    /// Open or close what lies over the page.
    SetSheet(Option<Sheet>),
    /// A key that no control took.
    Key(Key),
}

/// A run that is there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunReady {
    /// What the lesson says; unset in the sandbox.
    pub(crate) lesson: Option<Rc<LessonModel>>,
    /// The variant that runs.
    pub(crate) variant: Option<String>,
    /// Settings that were changed.
    pub(crate) settings: Vec<(String, String)>,
    /// Answers of an earlier visit: option and instant of the lock, by question.
    pub(crate) answers: Vec<super::ui::Answer>,
    /// Whether it goes on from an earlier visit.
    pub(crate) is_resumed: bool,
    /// What to select at first.
    pub(crate) selection: Option<Selection>,
    /// The lanes that suit it.
    pub(crate) lanes: Lanes,
    /// The speed that suits it.
    pub(crate) speed: Speed,
    /// Rungs of help that were open.
    pub(crate) hints_open: std::collections::BTreeMap<String, u32>,
}

/// A key that means something anywhere on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The space bar.
    Space,
    /// Arrow to the left.
    Left,
    /// Arrow to the right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// The question mark.
    Question,
    /// Escape.
    Escape,
    /// Plus: faster.
    Plus,
    /// Minus: slower.
    Minus,
    /// A number from 1 on: a tab.
    Digit(u8),
    /// `u`: the next unit of steps.
    Unit,
}
