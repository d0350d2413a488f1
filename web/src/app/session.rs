//! The run behind the page: playback, grading, pictures, and what is read off them.

mod judge;
mod open;

use super::effects::storage_notice;
use crate::driver::playback::Playback;
use crate::driver::selection::Selection;
use crate::model::effect::{Effect, RunOrder};
use crate::model::inspect::{Reading, command_error};
use crate::model::msg::Msg;
use crate::model::panels::{BranchRow, Clock, Compare, Panels};
use crate::model::route::{Route, RunLink};
use crate::model::saved::{SavedAnswer, SavedPage, SavedRun};
use crate::model::ui::{Answer, Lanes, RecordForm, RunPlace, StepUnit, UiModel, UpperTab, Words};
use crate::paint::stage::{LaneFilter, Picture, Shows, Stage, StageInput};
use crate::platform::storage::{self, StorageError};
use crate::platform::{download, media, rescue, tip};
use crate::scene::theme::ThemeName;
use crate::view::picture::PictureEvent;
use judge::Judge;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::lesson::Lesson;
use terrarium_core::lesson::compare::Comparison;
use terrarium_core::sim::action;
use terrarium_core::sim::command::Command;
use terrarium_core::sim::scenario::Scenario;
use yew::prelude::Callback;

/// Panels are published no more often, in milliseconds.
const PANELS_EVERY_MS: f64 = 100.0;
/// A stretch of the trace that is longer than this is not told to a screen reader.
const UNTOLD_MAX: u64 = 5_000;
/// While it plays, the run is kept so often, in milliseconds.
const SAVE_EVERY_MS: f64 = 5_000.0;

/// Experiments that are compared run on for so long in a frame, in milliseconds.
const COMPARE_MS: f64 = 5.0;
/// How many events of one are handled at once.
const COMPARE_EVENTS: u32 = 200;

/// The run behind the page.
pub(crate) struct Session {
    send: Callback<Msg>,
    stage: Stage,
    run: Option<Run>,
    look: Look,
    /// The canvases that stand in the document, to place a hint beside the pointer.
    canvases: BTreeMap<Picture, web_sys::HtmlCanvasElement>,
    hovered: Option<Selection>,
    panels: Rc<Panels>,
    /// Whether the panels must be read again although the run has not changed.
    is_stale: bool,
    /// Whether the page has asked for them, and wants an answer even if they are the same.
    is_asked: bool,
    /// What the panels were read from.
    read_revision: Option<u64>,
    read_at_ms: f64,
    saved_at_ms: f64,
    /// Trace entries up to here have been told to a screen reader.
    narrated: u64,
    /// The number of the run that was asked for last.
    order_number: u32,
    /// What has been said of the storage; it is not said again.
    warned: Option<StorageError>,
    is_ready: bool,
}

/// A run that is open.
struct Run {
    place: RunPlace,
    lesson: Rc<Lesson>,
    scenario: Arc<Scenario>,
    variant: Option<String>,
    settings: Vec<(String, String)>,
    /// The seed of the link, if it is not the lesson's own.
    seed: Option<u64>,
    playback: Playback,
    judge: Judge,
    /// The experiments of the lesson as they would go on with what has been done; unset while nobody
    /// compares them.
    comparison: Option<(RunLink, Result<Comparison, String>)>,
    /// How long the learner has worked on it, in milliseconds.
    worked_ms: f64,
    attempts: u32,
}

impl Run {
    fn is_sandbox(&self) -> bool {
        self.place == RunPlace::Sandbox
    }

    /// The lesson, where its rules hold.
    fn rules(&self) -> Option<&Lesson> {
        (!self.is_sandbox()).then_some(&self.lesson)
    }
}

/// How the page wants to be looked at.
#[derive(Clone, Debug, Default)]
struct Look {
    words: Words,
    theme: ThemeName,
    reduced_motion: bool,
    selection: Option<Selection>,
    lanes: Lanes,
    upper: UpperTab,
    pause: Span,
    is_deep: bool,
    asked: String,
    answers: Vec<Answer>,
    hints_open: BTreeMap<String, u32>,
    progress: Rc<crate::model::ui::Progress>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Session")
            .field("look", &self.look)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Nothing runs yet.
    pub(crate) fn new(send: Callback<Msg>) -> Self {
        Self {
            send,
            stage: Stage::new(),
            run: None,
            look: Look::default(),
            canvases: BTreeMap::new(),
            hovered: None,
            panels: Rc::default(),
            is_stale: false,
            is_asked: false,
            read_revision: None,
            read_at_ms: 0.0,
            saved_at_ms: 0.0,
            narrated: 0,
            order_number: 0,
            warned: None,
            is_ready: false,
        }
    }

    /// Takes over how the page wants to be looked at.
    pub(crate) fn look_at(&mut self, model: &UiModel) {
        let is_other_language = self.look.words != model.words;
        self.look.words = model.words.clone();
        self.look.theme = model.theme_name();
        self.look.reduced_motion = model.reduced_motion;
        self.look.progress = Rc::clone(&model.progress);
        if let Some(run) = &model.run {
            self.look.selection.clone_from(&run.selection);
            self.look.lanes = run.lanes;
            self.look.upper = run.upper;
            self.look.pause = run.pause;
            self.look.is_deep = run.is_deep;
            self.look.asked.clone_from(&run.asked);
            self.look.answers.clone_from(&run.answers);
            self.look.hints_open.clone_from(&run.hints_open);
            if let Some(open) = &mut self.run {
                open.attempts = run.attempts;
            }
        }
        if is_other_language {
            self.is_stale = true;
            self.stage.invalidate();
        }
    }

    /// A run has been asked for: its number. The one that is open stays until the other is there.
    pub(crate) fn expect_run(&mut self) -> u32 {
        self.order_number += 1;
        self.order_number
    }

    /// Whether the run with this number is still wanted.
    pub(crate) const fn expects(&self, number: u32) -> bool {
        self.order_number == number
    }

    /// Whether a run is open.
    pub(crate) const fn has_run(&self) -> bool {
        self.run.is_some()
    }

    /// Lets the run go.
    pub(crate) fn close(&mut self) {
        self.save();
        self.run = None;
        self.hovered = None;
        self.panels = Rc::default();
        self.read_revision = None;
        self.narrated = 0;
        self.order_number += 1;
        self.stage.reset();
        tip::hide();
    }

    /// A frame: first the run, then the panels, then the pictures.
    pub(crate) fn frame(&mut self, now_ms: f64) {
        let Some(run) = &mut self.run else {
            return;
        };
        let advance = run.playback.frame(now_ms, &media::now_ms);
        if advance.stopped.is_some() {
            self.is_stale = true;
            self.settle();
            self.save();
        } else if advance.moved && SAVE_EVERY_MS < now_ms - self.saved_at_ms {
            self.saved_at_ms = now_ms;
            self.save();
        }
        self.compare();
        if PANELS_EVERY_MS <= now_ms - self.read_at_ms {
            self.publish(now_ms);
        }
        self.paint();
    }

    /// Runs the experiments on, while somebody compares them.
    fn compare(&mut self) {
        let Some(run) = &mut self.run else {
            return;
        };
        if self.look.upper != UpperTab::Compare || run.is_sandbox() || run.lesson.variants.len() < 2
        {
            run.comparison = None;
            return;
        }
        let link = run_link(run);
        if run.comparison.as_ref().is_none_or(|(of, _)| *of != link) {
            let core = link.to_core(&run.lesson.id);
            let comparison = Comparison::new(&run.lesson, &core);
            run.comparison = Some((link, comparison.map_err(|error| error.to_string())));
        }
        if let Some((_, Ok(comparison))) = &mut run.comparison {
            let started = media::now_ms();
            while media::now_ms() - started < COMPARE_MS {
                if comparison.advance(COMPARE_EVENTS) {
                    return;
                }
            }
            self.is_stale = true;
        }
    }

    /// Reads the panels, and tells the page if they are others.
    fn publish(&mut self, now_ms: f64) {
        let Some(run) = &mut self.run else {
            return;
        };
        if !self.look.words.has("nav.home") {
            return;
        }
        let gap_ms = (now_ms - self.read_at_ms).clamp(0.0, 1_000.0);
        run.worked_ms += gap_ms;
        self.read_at_ms = now_ms;
        let revision = run.playback.revision();
        // Hints open with time, so a lesson is looked at again once a second even at rest.
        let is_due = self.read_revision != Some(revision) || self.is_stale;
        if !is_due && !(run.worked_ms / 1_000.0).fract().le(&(gap_ms / 1_000.0)) {
            return;
        }
        self.read_revision = Some(revision);
        self.is_stale = false;
        let panels = self.read();
        if *self.panels != panels || std::mem::take(&mut self.is_asked) {
            self.panels = Rc::new(panels);
            self.send.emit(Msg::Panels(Rc::clone(&self.panels)));
        }
    }

    /// Reads the panels off the run.
    fn read(&mut self) -> Panels {
        let untold = self.untold();
        let Some(run) = &mut self.run else {
            return Panels::default();
        };
        let is_news = run.judge.follow(&run.playback, run.scenario.until);
        if is_news {
            // Patterns that name a topic can be met from now on; the home page knows its end.
            let now = run.playback.playhead();
            let stops = run
                .judge
                .stops(&run.lesson, &run.place, &self.look.answers, now);
            run.playback.stop_at(stops.at);
            run.playback.stop_when(stops.when);
        }
        let stage = run.playback.sim().stage();
        let reading = Reading {
            sim: run.playback.sim(),
            stage: &stage,
            catalog: &self.look.words,
            selection: self.look.selection.as_ref(),
            lesson: run.rules(),
            pause: self.look.pause,
            is_deep: self.look.is_deep,
            asked: &self.look.asked,
        };
        let inspector = reading.inspector();
        let tables = match self.look.upper {
            UpperTab::Table => Some(Rc::new(reading.tables())),
            UpperTab::Metrics => Some(Rc::new(reading.metric_tables())),
            UpperTab::Topology | UpperTab::Group | UpperTab::Compare => None,
        };
        let alarms = reading.alarm_count();
        let compare = (self.look.upper == UpperTab::Compare).then(|| {
            let is_answered = self.look.answers.iter().all(|one| one.locked_at.is_some());
            let says = |text: String| Compare {
                text,
                ..Compare::default()
            };
            Rc::new(match &run.comparison {
                _ if !is_answered => says(self.look.words.t("compare.answer-first")),
                Some((_, Ok(comparison))) => reading.compare(comparison),
                Some((_, Err(reason))) => says(reason.clone()),
                None => says(self.look.words.t("compare.none")),
            })
        });
        let faults = reading.faults();
        let branches = run
            .playback
            .branches()
            .iter()
            .enumerate()
            .map(|(index, branch)| BranchRow {
                index,
                forked_at: branch.forked_at,
                horizon: branch.horizon,
                actions: branch.recording.actions.len(),
            });
        let goals = run.judge.goals(&run.lesson);
        if let Some(id) = run.place.lesson_id() {
            let known = self
                .look
                .progress
                .lessons
                .get(id)
                .cloned()
                .unwrap_or_default();
            let done = run.judge.progress(&run.lesson, known.clone());
            if done != known {
                self.send.emit(Msg::Progressed(id.to_owned(), done));
            }
        }
        let now = run.playback.playhead();
        Panels {
            clock: Clock {
                now,
                horizon: run.playback.horizon(),
                end: scrub_end(run),
                is_playing: run.playback.is_playing(),
                awaits: run.judge.awaits(&self.look.answers),
                event_count: run.playback.sim().event_count(),
            },
            inspector: kept(&self.panels.inspector, inspector),
            tables,
            alarms,
            compare,
            goals: kept(&self.panels.goals, goals),
            outcomes: kept(&self.panels.outcomes, run.judge.outcomes(&run.lesson)),
            faults: kept(&self.panels.faults, faults),
            branches: kept(&self.panels.branches, branches.collect()),
            step_index: run.judge.step_index(now),
            debrief: run.judge.debrief(&self.look.words, &run.place),
            hints_allowed: kept(
                &self.panels.hints_allowed,
                judge::hints_allowed(&run.lesson, run.worked_ms, run.attempts),
            ),
            narration: Rc::from(
                untold
                    .map(|from| reading.narration(from))
                    .unwrap_or_default(),
            ),
        }
    }

    /// From which trace entry on a screen reader is to be told; unset for nothing.
    fn untold(&mut self) -> Option<u64> {
        let next = self.run.as_ref()?.playback.sim().trace().next_index();
        let from = std::mem::replace(&mut self.narrated, next);
        // After going back, or far ahead, nothing is told again until time passes.
        (from < next && next - from < UNTOLD_MAX).then_some(from)
    }

    fn paint(&mut self) {
        let Some(run) = &self.run else {
            return;
        };
        if !self.look.words.has("nav.home") {
            return;
        }
        let words = self.look.words.clone();
        let texts = move |key: &str, args: &[(&str, &str)]| words.text(key, args);
        let input = input(run, &self.look, self.hovered.as_ref(), &texts);
        let has_texts = run.is_sandbox() || self.look.words.lesson() == run.place.lesson_id();
        if self.stage.paint(&input) && has_texts && !self.is_ready {
            self.is_ready = true;
            media::mark_root("data-ready", "1");
        }
    }

    /// What happens on a canvas. Tells whether it was used.
    pub(crate) fn on_picture(&mut self, event: PictureEvent) -> bool {
        match event {
            PictureEvent::Mounted(picture, canvas) => {
                self.canvases.insert(picture, canvas.clone());
                self.stage.mount(picture, canvas);
            }
            PictureEvent::Unmounted(picture) => {
                self.canvases.remove(&picture);
                self.stage.unmount(picture);
            }
            PictureEvent::Hover(picture, x, y) => self.hover(picture, x, y),
            PictureEvent::Leave => {
                self.hovered = None;
                tip::hide();
            }
            PictureEvent::Click(Picture::Scrubber, x, _)
            | PictureEvent::Drag {
                picture: Picture::Scrubber,
                x,
                ..
            } => self.seek_by_pointer(x),
            PictureEvent::Click(picture, x, y) => {
                let selection = self.stage.pick(picture, x, y);
                if picture != Picture::Home {
                    self.send.emit(Msg::Select(selection));
                }
            }
            PictureEvent::Drag { picture, dx, .. } => {
                tip::hide();
                self.stage.drag(picture, dx);
            }
            PictureEvent::Wheel {
                picture,
                at,
                way,
                zooms,
            } => {
                // Without a key the wheel scrolls the page, unless the picture fills it.
                return (zooms || picture == Picture::SpaceTime)
                    && self.stage.wheel(picture, at.0, way);
            }
            PictureEvent::Zoom(picture, inward, x) => {
                let way = if inward { -250.0 } else { 250.0 };
                self.stage.wheel(picture, x, (0.0, way));
            }
            PictureEvent::Fit(picture) => self.stage.zoom_fit(picture),
        }
        true
    }

    fn seek_by_pointer(&self, x: f64) {
        if let Some(at) = self.stage.time_at(Picture::Scrubber, x) {
            self.send.emit(Msg::Seek(at));
        }
    }

    fn hover(&mut self, picture: Picture, x: f64, y: f64) {
        let hovered = self.stage.pick(picture, x, y);
        let Some(run) = &self.run else {
            return;
        };
        let words = self.look.words.clone();
        let texts = move |key: &str, args: &[(&str, &str)]| words.text(key, args);
        let input = input(run, &self.look, hovered.as_ref(), &texts);
        let line = self
            .stage
            .hover(picture, (x, y), &input)
            .unwrap_or_default();
        if let Some(canvas) = self.canvases.get(&picture) {
            tip::show(&line, canvas, x, y);
        }
        self.hovered = hovered;
    }

    /// Carries out what concerns the run.
    pub(crate) fn run(&mut self, effect: Effect) {
        self.is_stale = true;
        self.remember();
        let Some(run) = &mut self.run else {
            return;
        };
        let playback = &mut run.playback;
        match effect {
            Effect::Play => {
                self.settle();
                if let Some(run) = &mut self.run
                    && run.judge.awaits(&self.look.answers).is_none()
                {
                    run.playback.play();
                }
            }
            Effect::Pause => playback.pause(),
            Effect::Step(unit, selection) => {
                playback.pause();
                match (unit, selection) {
                    (StepUnit::Change, Some(selection)) => playback.step_change(&selection),
                    (StepUnit::Message, _) => playback.step_message(),
                    (StepUnit::Event | StepUnit::Change, _) => playback.step_event(),
                };
                self.settle();
            }
            Effect::StepBack => {
                playback.pause();
                playback.step_back();
                self.settle();
            }
            Effect::Seek(at) => {
                playback.seek(at.min(run.scenario.until));
                self.settle();
            }
            Effect::SeekEntry(index) => {
                playback.pause();
                playback.seek_entry(index);
                self.settle();
            }
            Effect::SeekHorizon => {
                let horizon = playback.horizon();
                playback.seek(horizon);
                self.settle();
            }
            Effect::SetSpeed(speed) => playback.set_speed(speed),
            Effect::Act(command) => {
                self.act(command);
            }
            Effect::TakeAction(text) => self.take_action(&text),
            Effect::SendRecord(form) => self.send_record(&form),
            Effect::SwitchBranch(index) => {
                playback.switch_branch(index);
                self.settle();
            }
            Effect::LockAnswer(..) => self.settle(),
            Effect::Download => self.download(),
            Effect::Upload(text) => self.upload(&text),
            Effect::RefreshPanels => {
                self.read_at_ms = 0.0;
                self.is_asked = true;
            }
            Effect::Redraw => self.stage.invalidate(),
            _ => {}
        }
    }

    /// After the playhead has moved: a question that is not answered is not passed, and play will
    /// stop at what comes next.
    fn settle(&mut self) {
        let Some(run) = &mut self.run else {
            return;
        };
        run.judge.follow(&run.playback, run.scenario.until);
        if let Some(at) = run
            .judge
            .passed_question(&self.look.answers, run.playback.playhead())
        {
            run.playback.seek(at);
            run.judge.follow(&run.playback, run.scenario.until);
        }
        let stops = run.judge.stops(
            &run.lesson,
            &run.place,
            &self.look.answers,
            run.playback.playhead(),
        );
        run.playback.stop_at(stops.at);
        run.playback.stop_when(stops.when);
        self.is_stale = true;
    }

    /// Takes an action. False if it was refused, and nothing has changed.
    fn act(&mut self, command: Command) -> bool {
        let Some(run) = &mut self.run else {
            return false;
        };
        let scenario = Arc::clone(run.playback.sim().scenario());
        match run.playback.act(command) {
            Ok(()) => {
                self.settle();
                self.send.emit(Msg::Done);
                true
            }
            Err(error) => {
                let reason = command_error(&self.look.words, &scenario, &error);
                self.send.emit(Msg::Refused(Rc::from(reason)));
                false
            }
        }
    }

    fn take_action(&mut self, text: &str) {
        let Some(run) = &self.run else {
            return;
        };
        let is_allowed = |command: &Command| run.is_sandbox() || run.lesson.allows_action(command);
        match action::parse(text, &run.scenario) {
            Ok(command) if is_allowed(&command) => {
                if self.act(command) {
                    self.send.emit(Msg::TypeAction(String::new()));
                }
            }
            Ok(_) => {
                let reason = self.look.words.t("faults.not-allowed");
                self.send.emit(Msg::Refused(Rc::from(reason)));
            }
            Err(error) => self.send.emit(Msg::Refused(Rc::from(error.to_string()))),
        }
    }

    fn send_record(&mut self, form: &RecordForm) {
        let Some(run) = &self.run else {
            return;
        };
        let words = &self.look.words;
        let partition = match form.partition.trim() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_not_a_number| {
                words.text("command-error.bad-partition", &[("text", text)])
            }),
        };
        let first = run.scenario.topics.first().map_or("", |topic| &topic.name);
        let topic = if form.topic.is_empty() {
            first
        } else {
            &form.topic
        };
        let command = match partition {
            _ if form.value.is_empty() => Err(words.t("command-error.no-value")),
            Err(reason) => Err(reason),
            Ok(partition) => Ok(Command::Send {
                topic: Arc::from(topic),
                key: (!form.key.is_empty()).then(|| Arc::from(form.key.as_str())),
                value: Some(Arc::from(form.value.as_str())),
                partition,
                count: 1,
            }),
        };
        match command {
            Ok(command) => {
                self.act(command);
            }
            Err(reason) => self.send.emit(Msg::Refused(Rc::from(reason))),
        }
    }

    /// The run as it is kept.
    fn saved(&self) -> Option<SavedRun> {
        let run = self.run.as_ref()?;
        let answers = run.lesson.questions.iter().zip(&self.look.answers);
        let answers = answers.filter_map(|(question, answer)| {
            let option = question.options.get(answer.chosen?)?;
            Some(SavedAnswer {
                question: question.id.to_string(),
                option: option.id.to_string(),
                locked_us: answer.locked_at.map(|at| at.0),
            })
        });
        Some(SavedRun {
            link: run_link(run).to_core(&run.lesson.id),
            page: SavedPage {
                playhead_us: run.playback.playhead().0,
                answers: answers.collect(),
                hints: self.look.hints_open.clone(),
            },
        })
    }

    /// Notes what to bring back if the next step panics.
    fn remember(&self) {
        let key = self.run.as_ref().and_then(|run| run.place.storage_key());
        if let (Some(key), Some(saved)) = (key, self.saved()) {
            rescue::remember(&key, saved.to_text());
        }
    }

    /// Keeps the run. What cannot be kept is said once; the run goes on.
    pub(crate) fn save(&mut self) {
        let key = self.run.as_ref().and_then(|run| run.place.storage_key());
        let (Some(key), Some(saved)) = (key, self.saved()) else {
            return;
        };
        // A run that has not begun would only hide an earlier one.
        if saved.page == SavedPage::default() && saved.link.log.is_empty() {
            return;
        }
        let text = saved.to_text();
        rescue::remember(&key, text.clone());
        if let Err(error) = storage::save(&key, &text)
            && self.warned != Some(error)
        {
            self.warned = Some(error);
            self.send.emit(Msg::Tell(storage_notice(error)));
        }
    }

    /// The link to this run at this instant.
    pub(crate) fn link(&self) -> Option<String> {
        let run = self.run.as_ref()?;
        let link = RunLink {
            at: Some(run.playback.playhead()),
            ..run_link(run)
        };
        let route = match &run.place {
            RunPlace::Home(id) | RunPlace::Lesson(id) => Route::Lesson {
                id: id.clone(),
                link,
            },
            RunPlace::Sandbox => Route::Sandbox { link },
        };
        Some(route.hash())
    }

    fn download(&self) {
        let Some(saved) = self.saved() else {
            return;
        };
        let name = format!("terrarium-{}.txt", saved.link.lesson);
        download::offer(&name, &saved.to_text()).ok();
    }

    /// A recording takes the place of the run, if it belongs here.
    fn upload(&mut self, text: &str) {
        let Some(run) = &self.run else {
            return;
        };
        let place = run.place.clone();
        let lesson = (*run.lesson).clone();
        let saved = match SavedRun::parse(text, &lesson) {
            Ok(saved) => saved,
            Err(detail) => {
                self.send.emit(Msg::UploadFailed(detail));
                return;
            }
        };
        let order = RunOrder {
            place,
            link: RunLink::default(),
            may_resume: true,
        };
        // The run that is there stays until the other one is known to be sound.
        match self.open(order, lesson, Some(saved)) {
            Ok(ready) => self.send.emit(Msg::RunReady(Box::new(ready))),
            Err((_, detail)) => self.send.emit(Msg::UploadFailed(detail)),
        }
    }
}

/// What was set and done.
fn run_link(run: &Run) -> RunLink {
    RunLink {
        seed: run.seed,
        rev: Some(run.lesson.revision),
        variant: run.variant.clone(),
        settings: run.settings.clone(),
        log: actions(run),
        at: None,
    }
}

/// What was done, in the text form of actions.
fn actions(run: &Run) -> Vec<String> {
    let recording = run.playback.timeline().recording();
    let texts = recording.actions.iter();
    texts
        .map(|(at, command)| action::print_timed(*at, command, &run.scenario))
        .collect()
}

/// Gives the old part if the new one is the same, so that nothing is drawn again.
fn kept<T: PartialEq>(old: &Rc<T>, new: T) -> Rc<T> {
    if **old == new {
        Rc::clone(old)
    } else {
        Rc::new(new)
    }
}

/// Where the scrubber ends: with the lesson; in the sandbox a little beyond what has happened, in
/// steps, so that its scale seldom changes.
fn scrub_end(run: &Run) -> SimTime {
    if !run.is_sandbox() {
        return run.scenario.until;
    }
    let reached = run.playback.horizon().0 / 1_000_000 * 11 / 10;
    let steps = [
        60, 120, 300, 600, 1_200, 3_600, 7_200, 18_000, 43_200, 86_400,
    ];
    let end = steps.into_iter().find(|step| reached < *step);
    end.map_or(run.scenario.until, |seconds| SimTime(seconds * 1_000_000))
}

fn input<'a>(
    run: &'a Run,
    look: &'a Look,
    hovered: Option<&'a Selection>,
    words: &'a dyn crate::scene::words::Words,
) -> StageInput<'a> {
    let is_open = look.answers.iter().any(|answer| answer.locked_at.is_none());
    let view_end = match &run.place {
        RunPlace::Home(_) => Some(Judge::home_end(&run.lesson)),
        RunPlace::Lesson(_) => Some(run.scenario.until),
        RunPlace::Sandbox => None,
    };
    StageInput {
        playback: &run.playback,
        selection: look.selection.as_ref(),
        hovered,
        lanes: match look.lanes {
            Lanes::Group => LaneFilter::Group,
            Lanes::Replication => LaneFilter::Replication,
            Lanes::All => LaneFilter::All,
        },
        words,
        theme: look.theme,
        view_end,
        scrub_end: scrub_end(run),
        shows: Shows {
            reduced_motion: look.reduced_motion,
            hide_future: is_open && !run.is_sandbox(),
            internal: false,
        },
    }
}
