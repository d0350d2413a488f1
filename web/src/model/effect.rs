//! What follows from a message, outside of the model.

use super::ui::{RunPlace, StepUnit, ThemeChoice};
use crate::driver::selection::Selection;
use crate::driver::speed::Speed;
use crate::i18n::Locale;
use std::rc::Rc;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::sim::command::Command;

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Fetch the texts of a language; of a lesson too, if one is given.
    LoadWords(Locale, Option<String>),
    /// Fetch and build a run.
    LoadRun(Box<RunOrder>),
    /// The page cannot start, for want of its texts: have `index.html` say so.
    FailToStart(String),
    /// There is no run any more.
    CloseRun,
    /// Show this theme and this language on the document, and keep them.
    Dress(ThemeChoice, Locale),
    /// Play.
    Play,
    /// Pause.
    Pause,
    /// One step ahead.
    Step(StepUnit, Option<Selection>),
    /// One step back.
    StepBack,
    /// To an instant.
    Seek(SimTime),
    /// To a trace entry.
    SeekEntry(u64),
    /// To the furthest instant that has been simulated.
    SeekHorizon,
    /// Another speed.
    SetSpeed(Speed),
    /// An action, at the playhead.
    Act(Command),
    /// The action of this text, at the playhead.
    TakeAction(String),
    /// Send a record with what the form holds.
    SendRecord(super::ui::RecordForm),
    /// Another branch.
    SwitchBranch(usize),
    /// An answer is locked: question, option. The run may pass the question from now on.
    LockAnswer(usize, usize),
    /// Keep the run and the answers, soon.
    SaveRun,
    /// Forget what is kept of this run.
    ForgetRun(RunPlace),
    /// Put the link to this run on the clipboard.
    CopyLink,
    /// Offer the recording as a file.
    Download,
    /// Read a recording from this text.
    Upload(String),
    /// Read the panels off the run at once.
    RefreshPanels,
    /// Draw the pictures again.
    Redraw,
    /// Keep the progress.
    SaveProgress,
    /// Tell a screen reader.
    Announce(Rc<str>),
}

/// Which run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunOrder {
    /// Where it belongs.
    pub(crate) place: RunPlace,
    /// What the link asks of it.
    pub(crate) link: super::route::RunLink,
    /// Whether what is kept of an earlier visit may be brought back.
    pub(crate) may_resume: bool,
}
