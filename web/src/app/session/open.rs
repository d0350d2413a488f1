//! Opens a run: from a lesson, a link, and what was kept of an earlier visit.

use super::judge::Judge;
use super::{Run, Session};
use crate::driver::playback::Playback;
use crate::driver::speed::Speed;
use crate::model::effect::RunOrder;
use crate::model::msg::RunReady;
use crate::model::route::RunLink;
use crate::model::saved::SavedRun;
use crate::model::ui::{Answer, GoalSpec, HintModel, Lanes, LessonModel, QuestionModel, RunPlace};
use std::rc::Rc;
use std::sync::Arc;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::lesson::format::{SetupError, Task};
use terrarium_core::lesson::link::{Link, LinkError};
use terrarium_core::lesson::{Lesson, settings};
use terrarium_core::sim::scenario::Scenario;
use terrarium_core::sim::timeline::{Recording, Timeline};

/// Why a run cannot be opened: the key of the text that says so, and what exactly is wrong.
pub(super) type Refusal = (&'static str, String);

impl Session {
    /// Opens a run; the one that is there stays if this fails.
    pub(crate) fn open(
        &mut self,
        order: RunOrder,
        lesson: Lesson,
        saved: Option<SavedRun>,
    ) -> Result<RunReady, Refusal> {
        let is_resumed = saved.is_some();
        let (link, playhead) = start_of(&order, &lesson, saved.as_ref());
        let opened = link.open(&lesson).map_err(|error| refusal(&error))?;
        let scenario = Arc::new(opened.scenario);
        let recording = Recording {
            actions: opened.actions,
        };
        let timeline = Timeline::replay(Arc::clone(&scenario), recording)
            .map_err(|error| ("run.scenario-bad", error.to_string()))?;
        let mut playback = Playback::new(timeline);
        playback.set_end(Some(scenario.until));
        let lesson = Rc::new(lesson);
        let variant = lesson.variant(link.variant.as_deref()).ok().flatten();
        let variant = variant.map(|variant| variant.id.to_string());
        let settings = RunLink::of_core(&link).settings;
        let mut run = Run {
            judge: Judge::new(&lesson, variant.as_deref(), &scenario),
            place: order.place,
            lesson: Rc::clone(&lesson),
            scenario: Arc::clone(&scenario),
            variant: variant.clone(),
            settings: settings.clone(),
            seed: link.seed.filter(|seed| *seed != lesson.base.seed),
            playback,
            comparison: None,
            worked_ms: 0.0,
            attempts: 0,
        };
        // A lesson opens where its cluster runs already, unless a place is asked for.
        let playhead = playhead.unwrap_or(lesson.opens);
        run.playback.seek(playhead.min(scenario.until));
        let answers = saved
            .as_ref()
            .map_or_else(Vec::new, |saved| answers_of(&lesson, saved));
        let ready = RunReady {
            lesson: (!run.is_sandbox()).then(|| Rc::new(model_of(&lesson, &scenario))),
            variant,
            settings,
            answers: answers.clone(),
            is_resumed,
            selection: None,
            // A consumer alone only reads along.
            lanes: if scenario.consumers.len() < 2 {
                Lanes::Replication
            } else {
                Lanes::Group
            },
            speed: speed_of(&run),
            hints_open: saved.map(|saved| saved.page.hints).unwrap_or_default(),
        };
        self.run = Some(run);
        self.look.answers = answers;
        self.look
            .answers
            .resize_with(lesson.questions.len(), Answer::default);
        self.look.selection = None;
        self.narrated = self
            .run
            .as_ref()
            .map_or(0, |run| run.playback.sim().trace().next_index());
        self.read_revision = None;
        self.stage.reset();
        self.settle();
        Ok(ready)
    }
}

/// What a run starts from: a run of an earlier visit, or what a link says.
fn start_of(
    order: &RunOrder,
    lesson: &Lesson,
    saved: Option<&SavedRun>,
) -> (Link, Option<SimTime>) {
    if let Some(saved) = saved {
        return (saved.link.clone(), Some(SimTime(saved.page.playhead_us)));
    }
    let mut link = order.link.to_core(&lesson.id);
    link.revision = order.link.rev.unwrap_or(lesson.revision);
    (link, order.link.at)
}

/// The key of the text that says why a link is refused, and what exactly is wrong.
fn refusal(error: &LinkError) -> Refusal {
    let key = match error {
        LinkError::OtherRevision { .. } => "run.other-revision",
        LinkError::OtherLesson { .. } => "run.other-lesson",
        LinkError::Setup(SetupError::UnknownVariant { .. }) => "run.variant-unknown",
        LinkError::Setup(SetupError::Set(_)) => "run.setting-bad",
        LinkError::Setup(SetupError::Scenario(_)) => "run.scenario-bad",
        LinkError::Setup(SetupError::Action(_))
        | LinkError::Entry { .. }
        | LinkError::NotAllowed { .. } => "run.action-bad",
        LinkError::NotALessonLink | LinkError::Part { .. } | LinkError::DamagedLog => {
            "run.recording-bad"
        }
    };
    (key, error.to_string())
}

fn answers_of(lesson: &Lesson, saved: &SavedRun) -> Vec<Answer> {
    let questions = lesson.questions.iter();
    questions
        .map(|question| {
            let kept = saved
                .page
                .answers
                .iter()
                .find(|answer| *answer.question == *question.id);
            let chosen = kept.and_then(|kept| {
                question
                    .options
                    .iter()
                    .position(|option| *option.id == *kept.option)
            });
            let locked_at = kept.and_then(|kept| kept.locked_us).map(SimTime);
            Answer {
                chosen,
                locked_at: locked_at.filter(|_| chosen.is_some()),
            }
        })
        .collect()
}

/// What a lesson says, as the views want it.
pub(crate) fn model_of(lesson: &Lesson, scenario: &Scenario) -> LessonModel {
    let task = |task: Task| match task {
        Task::Watch => "watch",
        Task::Respond => "respond",
        Task::Change => "change",
        Task::Construct => "construct",
    };
    LessonModel {
        id: lesson.id.to_string(),
        revision: lesson.revision,
        kafka: lesson.kafka.to_string(),
        seed: scenario.seed,
        variants: lesson
            .variants
            .iter()
            .map(|variant| variant.id.to_string())
            .collect(),
        steps: lesson
            .steps
            .iter()
            .map(|step| step.id.to_string())
            .collect(),
        questions: lesson
            .questions
            .iter()
            .map(|question| QuestionModel {
                id: question.id.to_string(),
                options: question
                    .options
                    .iter()
                    .map(|option| option.id.to_string())
                    .collect(),
            })
            .collect(),
        goals: lesson
            .goals
            .iter()
            .map(|goal| GoalSpec {
                id: goal.id.to_string(),
                task: task(goal.task).to_owned(),
                variant: goal.variant.as_ref().map(ToString::to_string),
            })
            .collect(),
        hints: lesson
            .hints
            .iter()
            .map(|hint| HintModel {
                goal: hint
                    .goal
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                rung: hint.rung.name().to_owned(),
            })
            .collect(),
        traps: lesson
            .traps
            .iter()
            .map(|trap| {
                (
                    trap.id.to_string(),
                    trap.question.to_string(),
                    trap.option.to_string(),
                )
            })
            .collect(),
        fidelity: lesson
            .fidelity
            .iter()
            .map(|key| key.strip_prefix("fidelity.").unwrap_or(key).to_owned())
            .collect(),
        verbs: Some(
            lesson
                .allow
                .actions
                .iter()
                .map(ToString::to_string)
                .collect(),
        ),
        settings: lesson
            .allow
            .settings
            .iter()
            .filter_map(|path| Some((path.to_string(), settings::value(scenario, path)?)))
            .collect(),
    }
}

/// A speed at which the run takes about half a minute; the home page must be at its question
/// within seconds.
fn speed_of(run: &Run) -> Speed {
    if matches!(run.place, RunPlace::Home(_)) {
        return Speed(4_000);
    }
    if run.is_sandbox() {
        return Speed::REAL;
    }
    let wanted = run.scenario.until.0 / 25_000;
    let speeds = Speed::ALL
        .into_iter()
        .filter(|speed| u64::from(speed.0) <= wanted);
    speeds.max().unwrap_or(Speed::REAL).max(Speed(100))
}
