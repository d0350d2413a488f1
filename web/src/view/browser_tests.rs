//! Components in a real browser: what they show, what they send, what they do with keys.

use super::compare::CompareView;
use super::control::{Tab, Tabs};
use super::inspector::InspectorDetails;
use super::lesson::{LessonPanel, LessonProps, Question};
use super::other::BadLink;
use super::transport::Transport;
use super::{Send, header};
use crate::driver::speed::Speed;
use crate::i18n::{Catalog, Locale};
use crate::model::msg::{Key, Msg};
use crate::model::panels::{
    Clock, Compare, ComparedRun, EventRow, Field, Goal, Inspector, Outcome, Panels, Rule, Stretch,
    TimerRow, Verdict,
};
use crate::model::route::{LinkError, LinkFault, Route};
use crate::model::ui::{
    Answer, GoalSpec, LessonModel, Notice, Offer, QuestionModel, RunPlace, RunUi, StepUnit,
    ThemeChoice, UpperTab, Words,
};
use crate::platform::keys::KeyWatch;
use crate::platform::storage::{self, StorageError};
use std::cell::RefCell;
use std::rc::Rc;
use terrarium_core::kernel::time::SimTime;
use wasm_bindgen::JsCast;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::{Element, HtmlElement};
use yew::prelude::{Callback, ContextProvider, Html, Properties, component, html};

wasm_bindgen_test_configure!(run_in_browser);

/// Puts something on the page with words around it, and collects what it sends.
#[derive(Properties, PartialEq)]
struct BenchProps {
    words: Words,
    send: Callback<Msg>,
    body: Html,
}

#[component]
fn Bench(props: &BenchProps) -> Html {
    html! {
        <ContextProvider<Send> context={Send(props.send.clone())}>
            <ContextProvider<Words> context={props.words.clone()}>{ props.body.clone() }</ContextProvider<Words>>
        </ContextProvider<Send>>
    }
}

struct Shown {
    root: Element,
    sent: Rc<RefCell<Vec<Msg>>>,
    handle: yew::AppHandle<Bench>,
    send: Callback<Msg>,
}

fn words(locale: Locale) -> Words {
    let mut catalog = Catalog::new(locale);
    let (ui, lesson) = match locale {
        Locale::En => (
            include_str!("../../../static/strings/en/ui.toml"),
            include_str!("../../../static/strings/en/the-barrier.toml"),
        ),
        Locale::ZhCn => (
            include_str!("../../../static/strings/zh-CN/ui.toml"),
            include_str!("../../../static/strings/zh-CN/the-barrier.toml"),
        ),
    };
    catalog.add("", ui).expect("the texts");
    catalog.add("lesson.", lesson).expect("the lesson's texts");
    Words(Rc::new(catalog))
}

async fn show(body: Html) -> Shown {
    let document = web_sys::window()
        .expect("a window")
        .document()
        .expect("a document");
    let root = document.create_element("div").expect("an element");
    document
        .body()
        .expect("a body")
        .append_child(&root)
        .expect("it is in the page");
    let heard: Rc<RefCell<Vec<Msg>>> = Rc::default();
    let send = {
        let heard = Rc::clone(&heard);
        Callback::from(move |msg: Msg| heard.borrow_mut().push(msg))
    };
    let props = BenchProps {
        words: words(Locale::En),
        send: send.clone(),
        body,
    };
    let handle = yew::Renderer::<Bench>::with_root_and_props(root.clone(), props).render();
    yew::scheduler::flush().await;
    Shown {
        root,
        sent: heard,
        handle,
        send,
    }
}

impl Shown {
    fn find(&self, css: &str) -> HtmlElement {
        let found = self.root.query_selector(css).expect("a selector");
        let found = found.unwrap_or_else(|| panic!("no {css} in {}", self.root.inner_html()));
        found.dyn_into().expect("an HTML element")
    }

    fn text(&self, css: &str) -> String {
        self.find(css).text_content().unwrap_or_default()
    }

    async fn click(&self, css: &str) {
        self.find(css).click();
        yew::scheduler::flush().await;
    }

    async fn press(&self, css: &str, key: &str) {
        press(&self.find(css), key);
        yew::scheduler::flush().await;
    }

    fn sent(&self) -> Vec<Msg> {
        self.sent.borrow().clone()
    }

    async fn show(&mut self, words: Words, body: Html) {
        self.handle.update(BenchProps {
            words,
            send: self.send.clone(),
            body,
        });
        yew::scheduler::flush().await;
    }
}

fn press(target: &HtmlElement, key: &str) {
    let options = js_sys::Object::new();
    for (name, value) in [
        ("key", key.into()),
        ("bubbles", true.into()),
        ("cancelable", true.into()),
    ] {
        js_sys::Reflect::set(&options, &name.into(), &value).expect("a plain object");
    }
    let kind = js_sys::Reflect::get(&js_sys::global(), &"KeyboardEvent".into()).expect("a class");
    let args = js_sys::Array::of2(&"keydown".into(), &options);
    let event = js_sys::Reflect::construct(kind.unchecked_ref::<js_sys::Function>(), &args)
        .expect("an event");
    target
        .dispatch_event(event.unchecked_ref())
        .expect("it is sent");
}

fn barrier() -> Rc<LessonModel> {
    let options = ["own", "all", "none"].map(String::from).to_vec();
    let goal = |id: &str| GoalSpec {
        id: id.to_owned(),
        ..GoalSpec::default()
    };
    Rc::new(LessonModel {
        id: String::from("the-barrier"),
        kafka: String::from("4.0"),
        steps: vec![String::from("flow")],
        questions: vec![QuestionModel {
            id: String::from("which"),
            options,
        }],
        goals: vec![goal("watch"), goal("free"), goal("short")],
        traps: vec![(
            String::from("own"),
            String::from("which"),
            String::from("own"),
        )],
        ..LessonModel::default()
    })
}

fn question(answer: Answer, outcome: Outcome) -> Html {
    html! { <Question lesson={barrier()} index={0} {answer} {outcome} /> }
}

#[wasm_bindgen_test]
async fn a_prediction_is_chosen_locked_and_kept_beside_the_outcome() {
    let mut shown = show(question(Answer::default(), Outcome::default())).await;
    shown.click("[data-test=lock-answer]").await;
    assert_eq!(
        shown.sent(),
        [],
        "nothing can be locked before something is chosen"
    );
    shown.click("[data-test=answer-0]").await;
    let chosen = Answer {
        chosen: Some(0),
        locked_at: None,
    };
    shown
        .show(words(Locale::En), question(chosen, Outcome::default()))
        .await;
    shown.click("[data-test=lock-answer]").await;
    assert_eq!(
        shown.sent(),
        [Msg::Choose(0, 0), Msg::Lock(0)],
        "chosen, then locked"
    );
    let locked = Answer {
        chosen: Some(0),
        locked_at: Some(SimTime(12_000_000)),
    };
    shown
        .show(
            words(Locale::En),
            question(locked.clone(), Outcome::default()),
        )
        .await;
    assert!(
        shown.text("[data-test=locked]").contains("12.000 s"),
        "since when"
    );
    shown.click("[data-test=answer-1]").await;
    assert_eq!(shown.sent().len(), 2, "a locked answer takes no other");
    let told = Outcome {
        is_open: false,
        right: Some(vec![1]),
    };
    shown.show(words(Locale::En), question(locked, told)).await;
    assert_eq!(
        shown
            .find("[data-test=verdict]")
            .dataset()
            .get("right")
            .as_deref(),
        Some("false"),
        "said in a mark, too"
    );
    assert!(
        shown.text("[data-test=answer-0]").contains("your answer"),
        "the answer that was kept"
    );
    assert!(
        shown.text("[data-test=answer-1]").contains("happened"),
        "the outcome beside it"
    );
    assert!(
        shown.text("[data-test=verdict]").contains("eager protocol"),
        "the trap's reply"
    );
}

#[wasm_bindgen_test]
async fn arrows_choose_an_option_as_radio_buttons_do() {
    let chosen = Answer {
        chosen: Some(2),
        locked_at: None,
    };
    let shown = show(question(chosen, Outcome::default())).await;
    shown.press("[data-test=answer-2]", "ArrowDown").await;
    shown.press("[data-test=answer-2]", "ArrowUp").await;
    assert_eq!(
        shown.sent(),
        [Msg::Choose(0, 0), Msg::Choose(0, 1)],
        "round, and back"
    );
}

#[wasm_bindgen_test]
async fn goals_say_in_words_and_shape_what_became_of_them() {
    let mut run = RunUi::loading(RunPlace::Lesson(String::from("the-barrier")));
    run.lesson = Some(barrier());
    let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::Open];
    let goals = verdicts.map(|verdict| Goal {
        verdict,
        decided_by: (verdict == Verdict::Pass).then_some(77),
        decided_at: (verdict == Verdict::Pass).then_some(SimTime(59_500_000)),
    });
    let panels = Panels {
        goals: Rc::new(goals.to_vec()),
        ..Panels::default()
    };
    let props = LessonProps::of(&run, &panels, None).expect("a lesson");
    let shown = show(html! { <LessonPanel ..props /> }).await;
    for (id, state, word) in [
        ("watch", "pass", "met"),
        ("free", "fail", "missed"),
        ("short", "open", "open"),
    ] {
        let css = format!("[data-test=goal-{id}]");
        assert_eq!(
            shown.find(&css).dataset().get("verdict").as_deref(),
            Some(state),
            "{id}"
        );
        assert!(
            shown.text(&css).starts_with(word),
            "{id} says {:?}",
            shown.text(&css)
        );
    }
    shown.click("[data-test=goal-watch] button").await;
    assert_eq!(shown.sent(), [Msg::SeekEntry(77)], "its instant is a link");
}

fn transport(clock: Clock) -> Html {
    html! {
        <Transport {clock} speed={Speed::REAL} unit={StepUnit::Event} has_selection=false branches={Rc::default()} />
    }
}

fn at(seconds: u64) -> Clock {
    Clock {
        now: SimTime(seconds * 1_000_000),
        horizon: SimTime(60_000_000),
        end: SimTime(100_000_000),
        ..Clock::default()
    }
}

#[wasm_bindgen_test]
async fn the_transport_works_by_keys_and_says_where_it_is() {
    let shown = show(transport(at(20))).await;
    assert_eq!(shown.text("[data-test=clock]"), "20.000 s", "the clock");
    let slider = shown.find("[data-test=scrubber]");
    let told = slider.get_attribute("aria-valuetext").unwrap_or_default();
    assert!(
        told.contains("20.000 s") && told.contains("100.000 s"),
        "{told}"
    );
    for key in [
        "ArrowRight",
        "ArrowLeft",
        "PageUp",
        "PageDown",
        "Home",
        "End",
        "x",
    ] {
        shown.press("[data-test=scrubber]", key).await;
    }
    let seek = |seconds: u64| Msg::Seek(SimTime(seconds * 1_000_000));
    let expected = [seek(21), seek(19), seek(30), seek(10), seek(0), seek(60)];
    assert_eq!(shown.sent(), expected, "a hundredth, a tenth, the ends");
}

#[wasm_bindgen_test]
async fn play_is_refused_with_its_reason_while_a_question_waits() {
    let shown = show(transport(Clock {
        awaits: Some(0),
        ..at(12)
    }))
    .await;
    shown.click("[data-test=play]").await;
    shown.click("[data-test=step]").await;
    assert_eq!(shown.sent(), [], "time does not pass the question");
    let play = shown.find("[data-test=play]");
    assert_eq!(
        play.get_attribute("aria-disabled").as_deref(),
        Some("true"),
        "said to be off"
    );
    let why = play.get_attribute("aria-description").unwrap_or_default();
    assert!(why.contains("Lock your answer first"), "{why}");
}

#[wasm_bindgen_test]
async fn keys_of_the_page_leave_fields_and_buttons_alone() {
    let shown = show(html! { <div><input data-test="field" /><button data-test="button" /><p data-test="text" /></div> }).await;
    let pressed: Rc<RefCell<Vec<Key>>> = Rc::default();
    let watch = {
        let pressed = Rc::clone(&pressed);
        KeyWatch::start(move |key| pressed.borrow_mut().push(key))
    };
    for (css, key) in [
        ("field", " "),
        ("field", "ArrowRight"),
        ("button", " "),
        ("button", "ArrowRight"),
        ("text", " "),
        ("text", "?"),
        ("text", "x"),
    ] {
        press(&shown.find(&format!("[data-test={css}]")), key);
    }
    drop(watch);
    press(&shown.find("[data-test=text]"), " ");
    assert_eq!(
        *pressed.borrow(),
        [Key::Right, Key::Space, Key::Question],
        "what is the page's own"
    );
}

#[wasm_bindgen_test]
async fn tabs_are_one_stop_and_arrows_move_between_them() {
    let tabs: Vec<Tab> = UpperTab::ALL
        .into_iter()
        .map(|tab| Tab {
            msg: Msg::SetUpper(tab),
            key: "stage-page.table",
            name: tab.name(),
            is_on: tab == UpperTab::Topology,
            alarms: usize::from(tab == UpperTab::Metrics) * 2,
        })
        .collect();
    let shown = show(html! { <Tabs label="stage-page.cluster" {tabs} test="tab" /> }).await;
    let stops = shown
        .root
        .query_selector_all("[tabindex='0']")
        .expect("a selector")
        .length();
    assert_eq!(stops, 1, "one stop for the tab key");
    shown.press("[data-test=tab-topology]", "ArrowLeft").await;
    assert_eq!(
        shown.sent(),
        [Msg::SetUpper(UpperTab::Compare)],
        "round the end"
    );
}

fn event(index: u64, text: &str) -> EventRow {
    EventRow {
        index,
        at: SimTime(index * 1_000),
        text: text.to_owned(),
    }
}

#[wasm_bindgen_test]
async fn the_inspector_shows_fields_timers_causes_and_takes_the_playhead_there() {
    let inspector = Inspector {
        title: String::from("c1"),
        subtitle: String::from("waits in JoinGroup, 31.8 s"),
        fields: Rc::new(vec![Field {
            depth: 0,
            name: String::from("generation_id"),
            value: String::from("3"),
        }]),
        timers: Rc::new(vec![TimerRow {
            name: String::from("heartbeat"),
            due_at: SimTime(9),
            left: String::from("2.1 s"),
            percent: 70,
            expire: None,
        }]),
        why: Rc::new(vec![
            event(12, "c4 sends JoinGroup"),
            event(40, "c1 gives up p0"),
        ]),
        rule: Some(Rule {
            event: "member-added",
            doc: "A member enters a group.",
            source: "ClassicGroup.add (KIP-62)",
            kips: vec![62],
        }),
        log: Rc::new(vec![event(13, "Preparing to rebalance group billing")]),
        ..Inspector::default()
    };
    let body = html! { <InspectorDetails inspector={Rc::new(inspector)} is_deep=false /> };
    let shown = show(body).await;
    assert!(
        shown.text("[data-test=fields]").contains("generation_id"),
        "a field"
    );
    assert!(
        shown.text("[data-test=timers]").contains("2.1 s"),
        "a timer"
    );
    let link = shown
        .find("[data-test=rule] a")
        .get_attribute("href")
        .unwrap_or_default();
    assert!(link.ends_with("/KIP-62"), "{link}");
    assert!(
        shown
            .text("[data-test=log]")
            .contains("Preparing to rebalance"),
        "the log"
    );
    shown.click("[data-test=why-link]").await;
    assert_eq!(
        shown.sent(),
        [Msg::SeekEntry(12)],
        "the first cause is a link"
    );
}

#[wasm_bindgen_test]
async fn another_language_replaces_every_word() {
    let body = || html! { <header::Header has_run=true theme={ThemeChoice::System} /> };
    let mut shown = show(body()).await;
    assert!(shown.text("header").contains("Sandbox"), "English");
    shown.click("[data-test=lang-zh-CN]").await;
    assert_eq!(shown.sent(), [Msg::SetLocale(Locale::ZhCn)], "asked for");
    shown.show(words(Locale::ZhCn), body()).await;
    let text = shown.text("header");
    assert!(text.contains("沙盒") && !text.contains("Sandbox"), "{text}");
    assert_eq!(
        shown
            .find("[data-test=lang-zh-CN]")
            .get_attribute("aria-pressed")
            .as_deref(),
        Some("true"),
        "the switch shows it"
    );
}

#[wasm_bindgen_test]
async fn a_bad_link_shows_the_entry_and_the_remedy() {
    let Route::Bad(error) = Route::parse("#/sandbox?sed=7") else {
        panic!("it must be refused");
    };
    assert_eq!(
        error.fault,
        LinkFault::UnknownName(Some("seed")),
        "what is wrong"
    );
    let shown = show(html! { <BadLink error={error} /> }).await;
    assert_eq!(
        shown.text("pre"),
        "sed=7",
        "the entry as it stands in the link"
    );
    assert!(
        shown.text("[role=alert]").contains("seed"),
        "the nearest name"
    );
    let entry = LinkError {
        entry: String::from("<b>x</b>"),
        fault: LinkFault::NotATime,
    };
    let shown = show(html! { <BadLink error={entry} /> }).await;
    assert_eq!(
        shown.text("pre"),
        "<b>x</b>",
        "what a link says is text, never markup"
    );
}

#[wasm_bindgen_test]
async fn a_storage_that_is_full_or_blocked_is_told_and_keeps_what_was_there() {
    storage::save("test", "before").expect("the test's own storage works");
    let kind = js_sys::Reflect::get(&js_sys::global(), &"Storage".into()).expect("a class");
    let prototype = js_sys::Reflect::get(&kind, &"prototype".into()).expect("a prototype");
    let own = js_sys::Reflect::get(&prototype, &"setItem".into()).expect("a method");
    let throws =
        js_sys::Function::new_no_args("throw new DOMException('full', 'QuotaExceededError')");
    js_sys::Reflect::set(&prototype, &"setItem".into(), &throws).expect("it can be replaced");
    let saved = storage::save("test", "after");
    js_sys::Reflect::set(&prototype, &"setItem".into(), &own).expect("it can be put back");
    assert_eq!(saved, Err(StorageError::Full), "said to be full");
    assert_eq!(
        storage::load("test"),
        Ok(Some(String::from("before"))),
        "nothing is lost"
    );
    storage::remove("test");
    let mut notice = Notice::fault("notice.storage-full", Vec::new());
    notice.offer = Some(Offer::Download);
    let shown = show(html! { <header::NoticeLine notice={Some(notice)} /> }).await;
    assert!(
        shown.text("[data-test=notice]").contains("The run goes on"),
        "quiet, and clear"
    );
    shown.click("[data-test=notice-offer]").await;
    assert_eq!(
        shown.sent(),
        [Msg::TakeOffer(Offer::Download)],
        "the download is offered"
    );
}

#[wasm_bindgen_test]
async fn experiments_stand_on_one_clock() {
    let stretch = |from: u32, length: u32, who: &str| Stretch {
        from,
        length,
        who: who.to_owned(),
        hue: 1,
        hint: format!("{who}, {from}"),
    };
    let run = |id: &str, spans: Vec<Stretch>| ComparedRun {
        id: id.to_owned(),
        title: id.to_owned(),
        stopped: String::from("3.0 s"),
        strips: vec![(String::from("orders-0"), spans)],
    };
    let compare = Compare {
        text: String::from("First difference"),
        runs: vec![
            run(
                "eager",
                vec![
                    stretch(0, 250, "c1"),
                    stretch(250, 500, ""),
                    stretch(750, 250, "c2"),
                ],
            ),
            run("cooperative", vec![stretch(0, 1_000, "c1")]),
        ],
        marks: vec![(0, String::from("0 ms")), (1_000, String::from("30 s"))],
        now: 100,
        table: None,
    };
    let shown = show(html! { <CompareView compare={Rc::new(compare)} /> }).await;
    let eager = shown.find("[data-test=compared-eager]");
    let dark = eager
        .query_selector_all(".dark")
        .expect("a selector")
        .length();
    assert_eq!(dark, 1, "one stretch in which nobody works on it");
    let style = eager
        .query_selector(".dark")
        .expect("a selector")
        .and_then(|one| one.get_attribute("style"));
    assert_eq!(
        style.as_deref(),
        Some("left:25.0%;width:50.0%"),
        "where it lies"
    );
    let other = shown.find("[data-test=compared-cooperative]");
    assert!(
        other.query_selector(".dark").expect("a selector").is_none(),
        "nothing stops"
    );
}
