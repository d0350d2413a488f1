//! From a message to the next state and what follows: pure.

#[cfg(test)]
mod tests;

use super::effect::{Effect, RunOrder};
use super::msg::{Key, Msg, RunReady};
use super::route::{Route, RunLink};
use super::ui::{
    Answer, NarrowTab, Notice, Offer, RunPlace, RunState, RunUi, Sheet, StepUnit, ThemeChoice,
    UiModel, UpperTab,
};
use crate::driver::speed::Speed;
use std::rc::Rc;
use terrarium_core::kernel::time::SimTime;

/// The lesson whose first question stands on the home page.
pub(crate) const HOME_LESSON: &str = "the-barrier";

/// How fast the home page goes once its question is answered.
const HOME_SPEED: Speed = Speed(10_000);

/// Applies `msg` and says what is to be done.
pub(crate) fn update(model: &mut UiModel, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::HashChanged(hash) => go_to(model, &hash),
        Msg::WordsReady(_)
        | Msg::WordsFailed(_)
        | Msg::MapReady(_)
        | Msg::SetLocale(_)
        | Msg::NextTheme
        | Msg::SystemTheme { .. } => on_page(model, msg),
        Msg::Tell(_)
        | Msg::DismissNotice
        | Msg::TakeOffer(_)
        | Msg::SetSheet(_)
        | Msg::Shared(_)
        | Msg::Progressed(..)
        | Msg::UploadFailed(_) => on_notice(model, msg),
        Msg::Panels(panels) => on_panels(model, panels),
        Msg::Key(key) => on_key(model, key),
        Msg::RunReady(_)
        | Msg::RunFailed { .. }
        | Msg::RunKept(_)
        | Msg::Toggle
        | Msg::Step
        | Msg::StepBack
        | Msg::ToStart
        | Msg::ToHorizon
        | Msg::Seek(_)
        | Msg::SeekEntry(_)
        | Msg::SetSpeed(_)
        | Msg::Faster(_)
        | Msg::SetUnit(_)
        | Msg::Select(_)
        | Msg::SetDeep(_)
        | Msg::LookUp(_)
        | Msg::SetUpper(_)
        | Msg::SetLanes(_)
        | Msg::SetNarrow(_)
        | Msg::Choose(..)
        | Msg::Lock(_)
        | Msg::OpenHint(_)
        | Msg::SetVariant(_)
        | Msg::SetSetting(..)
        | Msg::Act(_)
        | Msg::TypeAction(_)
        | Msg::TakeAction
        | Msg::EditRecord(_)
        | Msg::SendRecord
        | Msg::SetPause(_)
        | Msg::Refused(_)
        | Msg::Done
        | Msg::StartOver
        | Msg::SwitchBranch(_)
        | Msg::Share
        | Msg::Download
        | Msg::Upload(_) => match model.run.take() {
            Some(mut run) => {
                let effects = on_run(model, &mut run, msg);
                model.run = Some(run);
                effects
            }
            // A message of a run that has been left meanwhile.
            None => Vec::new(),
        },
    }
}

/// Another address: another page, or another run.
fn go_to(model: &mut UiModel, hash: &str) -> Vec<Effect> {
    let route = Route::parse(hash);
    if route == model.route && (model.run.is_some() || !has_run(&route)) {
        return Vec::new();
    }
    let (place, link) = match &route {
        Route::Home => (
            Some(RunPlace::Home(HOME_LESSON.to_owned())),
            RunLink::default(),
        ),
        Route::Lesson { id, link } => (Some(RunPlace::Lesson(id.clone())), link.clone()),
        Route::Sandbox { link } => (Some(RunPlace::Sandbox), link.clone()),
        Route::Fidelity | Route::Help | Route::Bad(_) => (None, RunLink::default()),
    };
    model.route = route;
    model.sheet = None;
    model.notice = None;
    model.panels = Rc::default();
    let Some(place) = place else {
        model.run = None;
        return vec![Effect::CloseRun];
    };
    let mut run = RunUi::loading(place.clone());
    run.variant.clone_from(&link.variant);
    run.seed = link.seed;
    model.run = Some(run);
    let mut effects = vec![Effect::CloseRun];
    if place.lesson_id().is_some() && place.lesson_id() != model.words.lesson() {
        effects.push(Effect::LoadWords(
            model.locale,
            place.lesson_id().map(str::to_owned),
        ));
    }
    effects.push(Effect::LoadRun(Box::new(RunOrder {
        place,
        link,
        may_resume: true,
    })));
    effects
}

const fn has_run(route: &Route) -> bool {
    matches!(
        route,
        Route::Home | Route::Lesson { .. } | Route::Sandbox { .. }
    )
}

/// Language, theme, and what came from storage.
fn on_page(model: &mut UiModel, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::WordsReady(words) => {
            // A language or a lesson that was left again while its texts were on their way. Texts
            // without a lesson are better than none.
            let is_other =
                words.lesson().is_some() && words.lesson() != lesson_of(model).as_deref();
            let is_less = words.lesson().is_none()
                && model.words.lesson().is_some()
                && model.words.locale() == words.locale();
            if words.locale() != model.locale || is_other || is_less {
                return Vec::new();
            }
            model.words = words;
            if model
                .notice
                .as_ref()
                .is_some_and(|notice| notice.offer == Some(Offer::Retry))
            {
                model.notice = None;
            }
            vec![Effect::RefreshPanels, Effect::Redraw]
        }
        // Without any words there is no page that could say so.
        Msg::WordsFailed(detail) if !model.words.has("nav.home") => {
            vec![Effect::FailToStart(detail)]
        }
        Msg::WordsFailed(detail) => {
            let mut notice = Notice::fault("notice.words-failed", vec![("detail", detail)]);
            notice.offer = Some(Offer::Retry);
            model.notice = Some(notice);
            Vec::new()
        }
        Msg::MapReady(map) => {
            model.map = map;
            Vec::new()
        }
        Msg::SetLocale(locale) => {
            if locale == model.locale {
                return Vec::new();
            }
            model.locale = locale;
            let dress = Effect::Dress(model.theme, locale);
            vec![dress, Effect::LoadWords(locale, lesson_of(model))]
        }
        Msg::NextTheme => {
            // The first press must change what is seen, whatever the system has.
            model.theme = match model.theme_name() {
                crate::scene::theme::ThemeName::Light => ThemeChoice::Dark,
                crate::scene::theme::ThemeName::Dark => ThemeChoice::Light,
            };
            vec![Effect::Dress(model.theme, model.locale), Effect::Redraw]
        }
        Msg::SystemTheme { is_dark } => {
            model.system_is_dark = is_dark;
            vec![Effect::Dress(model.theme, model.locale), Effect::Redraw]
        }
        _ => Vec::new(),
    }
}

fn lesson_of(model: &UiModel) -> Option<String> {
    model
        .run
        .as_ref()
        .and_then(|run| run.place.lesson_id())
        .map(str::to_owned)
}

/// The quiet line, and what lies over the page.
fn on_notice(model: &mut UiModel, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Tell(notice) => model.notice = Some(notice),
        Msg::DismissNotice => model.notice = None,
        Msg::TakeOffer(offer) => {
            model.notice = None;
            return match offer {
                Offer::Download => vec![Effect::Download],
                Offer::StartOver => update(model, Msg::StartOver),
                Offer::Retry => vec![Effect::LoadWords(model.locale, lesson_of(model))],
            };
        }
        Msg::SetSheet(sheet) => model.sheet = sheet,
        Msg::Shared(true) => model.notice = Some(Notice::tell("notice.link-copied")),
        Msg::Shared(false) => model.sheet = Some(Sheet::Link),
        Msg::UploadFailed(detail) => {
            model.notice = Some(Notice::fault(
                "notice.upload-failed",
                vec![("detail", detail)],
            ));
        }
        Msg::Progressed(lesson, done) if model.progress.lessons.get(&lesson) != Some(&done) => {
            Rc::make_mut(&mut model.progress)
                .lessons
                .insert(lesson, done);
            return vec![Effect::SaveProgress];
        }
        _ => {}
    }
    Vec::new()
}

fn on_panels(model: &mut UiModel, panels: Rc<super::panels::Panels>) -> Vec<Effect> {
    let mut effects = Vec::new();
    if !panels.narration.is_empty() && panels.narration != model.panels.narration {
        effects.push(Effect::Announce(Rc::clone(&panels.narration)));
    }
    model.panels = panels;
    effects
}

/// A key that no control took.
fn on_key(model: &mut UiModel, key: Key) -> Vec<Effect> {
    match key {
        Key::Question => {
            let is_open = model.sheet == Some(Sheet::Keys);
            model.sheet = (!is_open).then_some(Sheet::Keys);
            return Vec::new();
        }
        Key::Escape => {
            if model.sheet.take().is_none() {
                return update(model, Msg::Select(None));
            }
            return Vec::new();
        }
        _ => {}
    }
    // Under an open sheet the run does not listen.
    if model.sheet.is_some() {
        return Vec::new();
    }
    let msg = match key {
        Key::Space => Msg::Toggle,
        Key::Left => Msg::StepBack,
        Key::Right => Msg::Step,
        Key::Home => Msg::ToStart,
        Key::End => Msg::ToHorizon,
        Key::Plus => Msg::Faster(true),
        Key::Minus => Msg::Faster(false),
        Key::Digit(number) => match usize::from(number).checked_sub(1) {
            Some(place) => match UpperTab::ALL.get(place) {
                Some(tab) => Msg::SetUpper(*tab),
                None => return Vec::new(),
            },
            None => return Vec::new(),
        },
        Key::Unit => Msg::SetUnit(next_unit(model)),
        Key::Question | Key::Escape => return Vec::new(),
    };
    update(model, msg)
}

fn next_unit(model: &UiModel) -> StepUnit {
    let unit = model
        .run
        .as_ref()
        .map_or_else(StepUnit::default, |run| run.unit);
    let next = StepUnit::ALL
        .into_iter()
        .cycle()
        .skip_while(|one| *one != unit)
        .nth(1);
    next.unwrap_or_default()
}

/// What happens to a run.
fn on_run(model: &mut UiModel, run: &mut RunUi, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::RunReady(ready) => on_ready(model, run, *ready),
        Msg::RunFailed { key, detail } => {
            run.state = RunState::Failed { key, detail };
            vec![Effect::CloseRun]
        }
        Msg::RunKept(detail) => {
            run.state = RunState::Ready;
            (run.variant, run.settings) = std::mem::take(&mut run.before);
            let args = vec![("detail", detail)];
            model.notice = Some(Notice::fault("notice.setting-refused", args));
            vec![Effect::RefreshPanels, Effect::Redraw]
        }
        _ if !run.is_ready() => Vec::new(),
        Msg::Toggle
        | Msg::Step
        | Msg::StepBack
        | Msg::ToStart
        | Msg::ToHorizon
        | Msg::Seek(_)
        | Msg::SeekEntry(_) => on_transport(model, run, &msg),
        Msg::SetSpeed(speed) => set_speed(run, speed),
        Msg::Faster(up) => {
            let next = if up {
                Speed::ALL.into_iter().find(|speed| run.speed < *speed)
            } else {
                Speed::ALL
                    .into_iter()
                    .rev()
                    .find(|speed| *speed < run.speed)
            };
            next.map_or_else(Vec::new, |speed| set_speed(run, speed))
        }
        Msg::SetUnit(unit) => {
            run.unit = unit;
            Vec::new()
        }
        Msg::Select(selection) => {
            if run.selection == selection {
                return Vec::new();
            }
            run.selection = selection;
            run.refusal = None;
            vec![Effect::RefreshPanels, Effect::Redraw]
        }
        Msg::SetDeep(is_deep) => {
            run.is_deep = is_deep;
            vec![Effect::RefreshPanels]
        }
        Msg::LookUp(asked) => {
            run.asked = asked;
            vec![Effect::RefreshPanels]
        }
        Msg::SetUpper(UpperTab::Compare) if !run.can_compare() => Vec::new(),
        Msg::SetUpper(tab) => {
            run.upper = tab;
            run.narrow = NarrowTab::Cluster;
            vec![Effect::RefreshPanels, Effect::Redraw]
        }
        Msg::SetLanes(lanes) => {
            run.lanes = lanes;
            vec![Effect::Redraw]
        }
        Msg::SetNarrow(tab) => {
            run.narrow = tab;
            vec![Effect::Redraw]
        }
        Msg::Choose(..) | Msg::Lock(_) | Msg::OpenHint(_) => on_lesson(model, run, msg),
        Msg::SetVariant(_) | Msg::SetSetting(..) | Msg::StartOver => restart(run, msg),
        Msg::Act(_)
        | Msg::TypeAction(_)
        | Msg::TakeAction
        | Msg::EditRecord(_)
        | Msg::SendRecord
        | Msg::SetPause(_) => on_action(model, run, msg),
        Msg::Refused(reason) => {
            run.refusal = Some(Rc::clone(&reason));
            vec![Effect::Announce(reason)]
        }
        Msg::Done => {
            run.refusal = None;
            vec![Effect::SaveRun, Effect::RefreshPanels, Effect::Redraw]
        }
        Msg::SwitchBranch(index) => {
            vec![
                Effect::SwitchBranch(index),
                Effect::SaveRun,
                Effect::RefreshPanels,
                Effect::Redraw,
            ]
        }
        Msg::Share => vec![Effect::CopyLink],
        Msg::Download => vec![Effect::Download],
        Msg::Upload(text) => vec![Effect::Upload(text)],
        _ => Vec::new(),
    }
}

fn on_ready(model: &mut UiModel, run: &mut RunUi, ready: RunReady) -> Vec<Effect> {
    let questions = ready
        .lesson
        .as_ref()
        .map_or(0, |lesson| lesson.questions.len());
    run.state = RunState::Ready;
    run.answers = ready.answers;
    run.answers.resize_with(questions, Answer::default);
    run.lesson = ready.lesson;
    run.variant = ready.variant;
    run.settings = ready.settings;
    run.selection = ready.selection;
    run.lanes = ready.lanes;
    run.speed = ready.speed;
    run.hints_open = ready.hints_open;
    run.refusal = None;
    if ready.is_resumed {
        let mut notice = Notice::tell("notice.resumed");
        notice.offer = Some(Offer::StartOver);
        model.notice = Some(notice);
    }
    let mut effects = vec![
        Effect::SetSpeed(run.speed),
        Effect::RefreshPanels,
        Effect::Redraw,
    ];
    // The home page moves by itself, up to its question; elsewhere pause is the resting state.
    if matches!(run.place, RunPlace::Home(_)) {
        effects.push(Effect::Play);
    }
    effects
}

/// The transport. While a question waits for its answer, time does not pass it.
fn on_transport(model: &mut UiModel, run: &mut RunUi, msg: &Msg) -> Vec<Effect> {
    let awaits = model.panels.clock.awaits;
    let effect = match msg {
        Msg::Toggle if model.panels.clock.is_playing => {
            return vec![Effect::Pause, Effect::SaveRun];
        }
        Msg::Toggle | Msg::Step if awaits.is_some() => {
            run.narrow = NarrowTab::Text;
            model.notice = Some(Notice::tell("notice.answer-first"));
            return Vec::new();
        }
        Msg::Toggle => Effect::Play,
        Msg::Step => Effect::Step(run.unit, run.selection.clone()),
        Msg::StepBack => Effect::StepBack,
        Msg::ToStart => Effect::Seek(SimTime::ZERO),
        Msg::ToHorizon => Effect::SeekHorizon,
        Msg::Seek(at) => {
            // Ahead of what has been simulated lies what the question asks for.
            let clock = &mut Rc::make_mut(&mut model.panels).clock;
            let to = if awaits.is_some() {
                (*at).min(clock.horizon)
            } else {
                *at
            };
            // The next key of the slider counts from here; the run tells where it really stands.
            clock.now = to;
            Effect::Seek(to)
        }
        Msg::SeekEntry(index) => {
            run.selection = Some(crate::driver::selection::Selection::Entry(*index));
            Effect::SeekEntry(*index)
        }
        _ => return Vec::new(),
    };
    vec![effect, Effect::RefreshPanels]
}

fn set_speed(run: &mut RunUi, speed: Speed) -> Vec<Effect> {
    run.speed = speed;
    vec![Effect::SetSpeed(speed)]
}

/// Questions and hints.
fn on_lesson(model: &mut UiModel, run: &mut RunUi, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Choose(question, option) => {
            if let Some(answer) = run.answers.get_mut(question)
                && answer.locked_at.is_none()
            {
                answer.chosen = Some(option);
            }
            Vec::new()
        }
        Msg::Lock(question) => {
            let now = model.panels.clock.now;
            let Some(answer) = run.answers.get_mut(question) else {
                return Vec::new();
            };
            let (Some(option), None) = (answer.chosen, answer.locked_at) else {
                return Vec::new();
            };
            answer.locked_at = Some(now);
            if model
                .notice
                .as_ref()
                .is_some_and(|notice| notice.key == "notice.answer-first")
            {
                model.notice = None;
            }
            let mut effects = vec![Effect::LockAnswer(question, option), Effect::SaveRun];
            // On the home page the answer comes within seconds; a lesson takes its time.
            if matches!(run.place, RunPlace::Home(_)) {
                effects.extend(set_speed(run, HOME_SPEED));
            }
            effects.extend([Effect::Play, Effect::RefreshPanels]);
            effects
        }
        Msg::OpenHint(goal) => {
            let rungs = run.lesson.as_ref().map_or(0, |lesson| {
                lesson.hints.iter().filter(|hint| hint.goal == goal).count()
            });
            let open = run.hints_open.entry(goal).or_default();
            if usize::try_from(*open).is_ok_and(|open| open < rungs) {
                *open += 1;
            }
            vec![Effect::SaveRun]
        }
        _ => Vec::new(),
    }
}

/// The same lesson again: in another variant, with another setting, or as it was.
fn restart(run: &mut RunUi, msg: Msg) -> Vec<Effect> {
    let mut forget = false;
    run.before = (run.variant.clone(), run.settings.clone());
    match msg {
        Msg::SetVariant(variant) => {
            if run.variant.as_ref() == Some(&variant) {
                return Vec::new();
            }
            run.variant = Some(variant);
            run.settings.clear();
        }
        Msg::SetSetting(path, value) => {
            run.settings.retain(|(known, _)| *known != path);
            let own = run.lesson.as_ref().and_then(|lesson| {
                lesson
                    .settings
                    .iter()
                    .find(|(known, _)| *known == path)
                    .map(|(_, value)| value)
            });
            if own != Some(&value) {
                run.settings.push((path, value));
            }
        }
        _ => {
            forget = true;
            run.settings.clear();
        }
    }
    run.attempts += 1;
    run.state = RunState::Loading;
    let link = RunLink {
        seed: run.seed,
        variant: run.variant.clone(),
        settings: run.settings.clone(),
        ..RunLink::default()
    };
    let order = RunOrder {
        place: run.place.clone(),
        link,
        may_resume: false,
    };
    let mut effects = Vec::new();
    if forget {
        effects.push(Effect::ForgetRun(run.place.clone()));
    }
    effects.push(Effect::LoadRun(Box::new(order)));
    effects
}

/// Actions and the forms for them.
fn on_action(model: &mut UiModel, run: &mut RunUi, msg: Msg) -> Vec<Effect> {
    match msg {
        // What a person does before an answer is locked would be an answer of another kind.
        Msg::Act(_) | Msg::TakeAction | Msg::SendRecord if model.panels.clock.awaits.is_some() => {
            model.notice = Some(Notice::tell("notice.answer-first"));
            Vec::new()
        }
        Msg::Act(command) => vec![Effect::Act(command)],
        Msg::TakeAction => vec![Effect::TakeAction(run.action.clone())],
        Msg::TypeAction(text) => {
            run.action = text;
            Vec::new()
        }
        Msg::SendRecord => vec![Effect::SendRecord(run.record.clone())],
        Msg::EditRecord(form) => {
            run.record = form;
            Vec::new()
        }
        Msg::SetPause(span) => {
            run.pause = span;
            vec![Effect::RefreshPanels]
        }
        _ => Vec::new(),
    }
}
