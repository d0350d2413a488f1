use super::{HOME_LESSON, update};
use crate::driver::selection::Selection;
use crate::driver::speed::Speed;
use crate::i18n::{Catalog, Locale};
use crate::model::effect::Effect;
use crate::model::msg::{Key, Msg, RunReady};
use crate::model::panels::{Clock, Panels};
use crate::model::route::{Route, RunLink};
use crate::model::ui::{
    Answer, Lanes, LessonModel, LessonProgress, Notice, Offer, QuestionModel, RunPlace, RunState,
    RunUi, Sheet, StepUnit, ThemeChoice, UiModel, UpperTab, Words,
};
use crate::scene::theme::ThemeName;
use std::rc::Rc;
use terrarium_core::base::ids::{BrokerId, NodeId};
use terrarium_core::kernel::time::SimTime;
use terrarium_core::sim::command::Command;

fn ready(questions: usize) -> Msg {
    let question = QuestionModel {
        id: String::from("which"),
        options: vec![String::from("one"), String::from("all")],
    };
    Msg::RunReady(Box::new(RunReady {
        lesson: Some(Rc::new(LessonModel {
            questions: vec![question; questions],
            settings: vec![(String::from("seed"), String::from("7"))],
            ..LessonModel::default()
        })),
        variant: None,
        settings: Vec::new(),
        answers: Vec::new(),
        is_resumed: false,
        selection: None,
        lanes: Lanes::Group,
        speed: Speed::REAL,
        hints_open: std::collections::BTreeMap::new(),
    }))
}

/// A lesson that can be played, with one question.
fn lesson() -> UiModel {
    let mut model = UiModel::default();
    update(
        &mut model,
        Msg::HashChanged(String::from("#/lesson/the-barrier")),
    );
    update(&mut model, ready(1));
    model
}

/// Time stands before a question.
fn waiting() -> UiModel {
    let mut model = lesson();
    let clock = Clock {
        now: SimTime(12_000_000),
        horizon: SimTime(12_000_000),
        end: SimTime(100_000_000),
        awaits: Some(0),
        ..Clock::default()
    };
    let panels = Rc::new(Panels {
        clock,
        ..Panels::default()
    });
    update(&mut model, Msg::Panels(panels));
    model
}

fn key_of(model: &UiModel) -> Option<&'static str> {
    model.notice.as_ref().map(|notice| notice.key)
}

#[test]
fn an_address_opens_its_run_and_fetches_its_words() {
    let mut model = UiModel::default();
    let effects = update(
        &mut model,
        Msg::HashChanged(String::from("#/lesson/the-barrier?seed=9")),
    );
    let [
        Effect::CloseRun,
        Effect::LoadWords(Locale::En, Some(lesson)),
        Effect::LoadRun(order),
    ] = &effects[..]
    else {
        panic!("{effects:?}");
    };
    assert_eq!(lesson, "the-barrier", "its words");
    assert_eq!(
        order.link,
        RunLink {
            seed: Some(9),
            ..RunLink::default()
        },
        "the link's wishes"
    );
    assert!(order.may_resume, "an earlier visit may go on");
    let again = update(
        &mut model,
        Msg::HashChanged(String::from("#/lesson/the-barrier?seed=9")),
    );
    assert_eq!(again, [], "the same address does nothing");
}

#[test]
fn a_bad_link_lets_the_run_go_and_keeps_the_entry() {
    let mut model = lesson();
    let effects = update(
        &mut model,
        Msg::HashChanged(String::from("#/lesson/x?sed=1")),
    );
    assert_eq!(effects, [Effect::CloseRun], "nothing is loaded");
    let entry = match &model.route {
        Route::Bad(error) => error.entry.as_str(),
        route => panic!("{route:?}"),
    };
    assert_eq!(
        (entry, model.run.is_none()),
        ("sed=1", true),
        "the entry that is wrong"
    );
}

#[test]
fn home_plays_by_itself_and_faster_once_it_is_answered() {
    let mut model = UiModel::default();
    update(&mut model, Msg::HashChanged(String::new()));
    let place = model.run.as_ref().map(|run| run.place.clone());
    assert_eq!(
        place,
        Some(RunPlace::Home(HOME_LESSON.to_owned())),
        "the run behind the question"
    );
    let effects = update(&mut model, ready(1));
    assert_eq!(effects.last(), Some(&Effect::Play), "moment 1 runs");
    update(&mut model, Msg::Choose(0, 1));
    let effects = update(&mut model, Msg::Lock(0));
    let speed = effects
        .iter()
        .position(|one| *one == Effect::SetSpeed(Speed(10_000)));
    let play = effects.iter().position(|one| *one == Effect::Play);
    assert!(speed.is_some() && speed < play, "{effects:?}");
}

#[test]
fn a_lesson_rests_until_it_is_played() {
    let mut model = UiModel::default();
    update(
        &mut model,
        Msg::HashChanged(String::from("#/lesson/the-barrier")),
    );
    let effects = update(&mut model, ready(1));
    assert!(
        !effects.contains(&Effect::Play),
        "pause is the resting state: {effects:?}"
    );
    assert_eq!(
        update(&mut model, Msg::Toggle).first(),
        Some(&Effect::Play),
        "until it is played"
    );
}

#[test]
fn an_answer_is_locked_once_and_never_changed() {
    let mut model = waiting();
    assert_eq!(
        update(&mut model, Msg::Lock(0)),
        [],
        "nothing is chosen yet"
    );
    update(&mut model, Msg::Choose(0, 1));
    update(&mut model, Msg::Choose(0, 0));
    let effects = update(&mut model, Msg::Lock(0));
    let expected = [
        Effect::LockAnswer(0, 0),
        Effect::SaveRun,
        Effect::Play,
        Effect::RefreshPanels,
    ];
    assert_eq!(effects, expected, "it is locked and kept, and time goes on");
    update(&mut model, Msg::Choose(0, 1));
    assert_eq!(
        update(&mut model, Msg::Lock(0)),
        [],
        "a second time nothing happens"
    );
    let answers = model.run.map(|run| run.answers);
    let kept = Answer {
        chosen: Some(0),
        locked_at: Some(SimTime(12_000_000)),
    };
    assert_eq!(
        answers,
        Some(vec![kept]),
        "the first answer stays, with its instant"
    );
}

#[test]
fn time_does_not_pass_a_question_without_an_answer() {
    for msg in [
        Msg::Toggle,
        Msg::Step,
        Msg::Key(Key::Space),
        Msg::Key(Key::Right),
    ] {
        let mut model = waiting();
        assert_eq!(update(&mut model, msg.clone()), [], "{msg:?}");
        assert_eq!(
            key_of(&model),
            Some("notice.answer-first"),
            "{msg:?} says why"
        );
    }
    let mut model = waiting();
    let effects = update(&mut model, Msg::Seek(SimTime(60_000_000)));
    let expected = [Effect::Seek(SimTime(12_000_000)), Effect::RefreshPanels];
    assert_eq!(effects, expected, "no further than has been seen");
    let act = Msg::Act(Command::KillBroker(BrokerId(1)));
    assert_eq!(
        update(&mut model, act),
        [],
        "and nothing may be done meanwhile"
    );
    assert_eq!(
        update(&mut model, Msg::StepBack).first(),
        Some(&Effect::StepBack),
        "back is free"
    );
    update(&mut model, Msg::Choose(0, 0));
    update(&mut model, Msg::Lock(0));
    assert_eq!(key_of(&model), None, "the reminder goes with the answer");
}

#[test]
fn keys_do_what_the_controls_do() {
    let mut model = lesson();
    let play = [Effect::Play, Effect::RefreshPanels];
    assert_eq!(update(&mut model, Msg::Key(Key::Space)), play, "space");
    let back = [Effect::StepBack, Effect::RefreshPanels];
    assert_eq!(update(&mut model, Msg::Key(Key::Left)), back, "left");
    update(&mut model, Msg::Key(Key::Unit));
    let step = [Effect::Step(StepUnit::Message, None), Effect::RefreshPanels];
    assert_eq!(
        update(&mut model, Msg::Key(Key::Right)),
        step,
        "right, after another unit"
    );
    let start = [Effect::Seek(SimTime::ZERO), Effect::RefreshPanels];
    assert_eq!(update(&mut model, Msg::Key(Key::Home)), start, "home");
    assert_eq!(
        update(&mut model, Msg::Key(Key::Plus)),
        [Effect::SetSpeed(Speed(4_000))],
        "plus is faster"
    );
    update(&mut model, Msg::Key(Key::Digit(3)));
    assert_eq!(
        model.run.as_ref().map(|run| run.upper),
        Some(UpperTab::Table),
        "third tab"
    );
    update(&mut model, Msg::Key(Key::Question));
    assert_eq!(model.sheet, Some(Sheet::Keys), "the keys");
    assert_eq!(
        update(&mut model, Msg::Key(Key::Space)),
        [],
        "under a sheet nothing plays"
    );
    update(&mut model, Msg::Key(Key::Escape));
    assert_eq!(model.sheet, None, "closed");
}

#[test]
fn a_run_that_is_not_there_is_not_played() {
    let mut model = UiModel::default();
    update(&mut model, Msg::HashChanged(String::from("#/sandbox")));
    for msg in [
        Msg::Toggle,
        Msg::Step,
        Msg::Act(Command::KillBroker(BrokerId(1))),
    ] {
        assert_eq!(
            update(&mut model, msg.clone()),
            [],
            "{msg:?} while it loads"
        );
    }
    let failed = Msg::RunFailed {
        key: "run.lesson-missing",
        detail: String::from("x: 404"),
    };
    assert_eq!(
        update(&mut model, failed),
        [Effect::CloseRun],
        "it is let go"
    );
    let state = model.run.map(|run| run.state);
    let expected = RunState::Failed {
        key: "run.lesson-missing",
        detail: String::from("x: 404"),
    };
    assert_eq!(state, Some(expected), "and the page says why");
}

#[test]
fn starting_over_forgets_what_was_kept_and_a_variant_does_not() {
    let mut model = lesson();
    let effects = update(&mut model, Msg::SetVariant(String::from("static")));
    let [Effect::LoadRun(order)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(
        order.link.variant.as_deref(),
        Some("static"),
        "the variant that was chosen"
    );
    assert!(!order.may_resume, "it starts at its start");
    update(&mut model, ready(1));
    let effects = update(&mut model, Msg::StartOver);
    assert!(
        matches!(&effects[..], [Effect::ForgetRun(_), Effect::LoadRun(_)]),
        "{effects:?}"
    );
}

#[test]
fn a_setting_that_is_put_back_is_no_change() {
    let mut model = lesson();
    let set = |value: &str| Msg::SetSetting(String::from("seed"), value.to_owned());
    update(&mut model, set("8"));
    let changed = model.run.as_ref().map(|run| run.settings.clone());
    assert_eq!(
        changed,
        Some(vec![(String::from("seed"), String::from("8"))]),
        "a change"
    );
    update(&mut model, ready(1));
    update(&mut model, set("7"));
    assert_eq!(
        model.run.map(|run| run.settings),
        Some(Vec::new()),
        "put back"
    );
}

#[test]
fn the_first_press_on_the_theme_changes_what_is_seen() {
    for system_is_dark in [false, true] {
        let mut model = UiModel {
            system_is_dark,
            ..UiModel::default()
        };
        let before = model.theme_name();
        update(&mut model, Msg::NextTheme);
        assert_ne!(model.theme_name(), before, "system dark: {system_is_dark}");
        assert_ne!(
            model.theme,
            ThemeChoice::System,
            "it is a choice from now on"
        );
    }
    let mut model = UiModel::default();
    update(&mut model, Msg::SystemTheme { is_dark: true });
    assert_eq!(
        model.theme_name(),
        ThemeName::Dark,
        "without a choice the system decides"
    );
}

#[test]
fn words_that_come_too_late_are_not_taken() {
    let mut model = lesson();
    let mut english = Catalog::new(Locale::En);
    english.set_lesson("the-barrier");
    update(&mut model, Msg::WordsReady(Words(Rc::new(english))));
    assert_eq!(
        model.words.lesson(),
        Some("the-barrier"),
        "words of this lesson"
    );
    let bare = Words(Rc::new(Catalog::new(Locale::En)));
    update(&mut model, Msg::WordsReady(bare));
    assert_eq!(
        model.words.lesson(),
        Some("the-barrier"),
        "fewer words do not replace them"
    );
    let effects = update(&mut model, Msg::SetLocale(Locale::ZhCn));
    let wanted = Effect::LoadWords(Locale::ZhCn, Some(String::from("the-barrier")));
    assert!(effects.contains(&wanted), "{effects:?}");
    let stale = Words(Rc::new(Catalog::new(Locale::En)));
    assert_eq!(
        update(&mut model, Msg::WordsReady(stale)),
        [],
        "a language that was left again"
    );
}

#[test]
fn a_full_storage_is_told_and_the_run_goes_on() {
    let mut model = lesson();
    let mut notice = Notice::fault("notice.storage-full", Vec::new());
    notice.offer = Some(Offer::Download);
    update(&mut model, Msg::Tell(notice));
    assert!(
        model.run.as_ref().is_some_and(RunUi::is_ready),
        "it can still be played"
    );
    assert_eq!(
        update(&mut model, Msg::TakeOffer(Offer::Download)),
        [Effect::Download],
        "offered"
    );
    assert_eq!(key_of(&model), None, "the line is gone");
}

#[test]
fn an_impossible_action_says_why_until_one_is_possible() {
    let mut model = lesson();
    let reason: Rc<str> = Rc::from("Broker 2 is down already.");
    let effects = update(&mut model, Msg::Refused(Rc::clone(&reason)));
    assert_eq!(
        effects,
        [Effect::Announce(Rc::clone(&reason))],
        "a screen reader hears it"
    );
    assert_eq!(
        model.run.as_ref().and_then(|run| run.refusal.clone()),
        Some(reason),
        "shown"
    );
    let effects = update(&mut model, Msg::Done);
    assert!(
        effects.contains(&Effect::SaveRun),
        "what was done is kept: {effects:?}"
    );
    assert_eq!(model.run.and_then(|run| run.refusal), None, "gone");
}

#[test]
fn progress_is_kept_when_it_changes() {
    let mut model = UiModel::default();
    let done = LessonProgress {
        goals: vec![String::from("watch")],
        goal_count: 2,
        answers: vec![],
    };
    let msg = Msg::Progressed(String::from("the-barrier"), done);
    assert_eq!(
        update(&mut model, msg.clone()),
        [Effect::SaveProgress],
        "news"
    );
    assert_eq!(update(&mut model, msg), [], "no news");
    let lesson = model.progress.lessons.get("the-barrier");
    assert!(
        lesson.is_some_and(|lesson| !lesson.is_done()),
        "one of two goals"
    );
}

#[test]
fn narration_is_told_once() {
    let mut model = lesson();
    let panels = Rc::new(Panels {
        narration: Rc::from("c4 starts"),
        ..Panels::default()
    });
    let told = [Effect::Announce(Rc::from("c4 starts"))];
    assert_eq!(
        update(&mut model, Msg::Panels(Rc::clone(&panels))),
        told,
        "told"
    );
    assert_eq!(
        update(&mut model, Msg::Panels(panels)),
        [],
        "not told again"
    );
}

#[test]
fn selecting_refreshes_the_inspector_and_escape_lets_go() {
    let mut model = lesson();
    let node = Selection::Node(NodeId::Broker(BrokerId(2)));
    let effects = update(&mut model, Msg::Select(Some(node.clone())));
    assert_eq!(
        effects,
        [Effect::RefreshPanels, Effect::Redraw],
        "panels and pictures follow"
    );
    assert_eq!(
        update(&mut model, Msg::Select(Some(node))),
        [],
        "the same again does nothing"
    );
    update(&mut model, Msg::Key(Key::Escape));
    assert_eq!(
        model.run.and_then(|run| run.selection),
        None,
        "nothing is selected"
    );
}

#[test]
fn a_setting_that_does_not_fit_leaves_the_run_as_it_was() {
    let mut model = lesson();
    update(
        &mut model,
        Msg::SetSetting(String::from("seed"), String::from("x")),
    );
    update(
        &mut model,
        Msg::RunKept(String::from("seed = x: expected a number")),
    );
    let run = model.run.as_ref().expect("the run");
    assert!(
        run.is_ready() && run.settings.is_empty(),
        "it goes on with its own settings"
    );
    assert_eq!(
        key_of(&model),
        Some("notice.setting-refused"),
        "and the page says why"
    );
}

#[test]
fn a_typed_action_is_taken_as_it_stands_but_not_before_an_answer() {
    let mut model = lesson();
    let text = String::from("cut-link 1 2");
    assert_eq!(
        update(&mut model, Msg::TypeAction(text.clone())),
        [],
        "typing does nothing"
    );
    assert_eq!(
        update(&mut model, Msg::TakeAction),
        [Effect::TakeAction(text)],
        "taken"
    );
    let mut model = waiting();
    update(&mut model, Msg::TypeAction(String::from("kill-broker 1")));
    assert_eq!(update(&mut model, Msg::TakeAction), [], "a question waits");
    assert_eq!(
        key_of(&model),
        Some("notice.answer-first"),
        "and that is said"
    );
}
