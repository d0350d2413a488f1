//! The stage: the pictures in the middle, with text on the left and the inspector on the right.

use super::compare::CompareView;
use super::control::{Tab, Tabs};
use super::faults::FaultTools;
use super::icon::{Icon, icon};
use super::inspector::{InspectorDetails, InspectorHead};
use super::lesson::{LessonPanel, LessonProps};
use super::picture::{Canvas, PictureEvent, PicturePort};
use super::table::Tables;
use super::transport::Transport;
use super::use_words;
use crate::model::msg::Msg;
use crate::model::panels::Panels;
use crate::model::ui::{Lanes, NarrowTab, RunUi, UpperTab};
use crate::paint::stage::Picture;
use std::rc::Rc;
use yew::prelude::{
    Html, MouseEvent, Properties, classes, component, html, use_callback, use_context,
};

/// What the [`Stage`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct StageProps {
    /// The run.
    pub(crate) run: RunUi,
    /// Its panels.
    pub(crate) panels: Rc<Panels>,
    /// The lesson after this one.
    #[prop_or_default]
    pub(crate) next: Option<String>,
    /// Whether the pictures stand alone, in somebody else's frame.
    #[prop_or_default]
    pub(crate) is_embedded: bool,
}

/// The stage of a lesson or of the sandbox.
#[component]
pub(crate) fn Stage(props: &StageProps) -> Html {
    let words = use_words();
    let run = &props.run;
    let class = classes!(
        "stage",
        format!("show-{}", run.narrow.name()),
        props.is_embedded.then_some("alone")
    );
    html! {
        <>
            <NarrowTabs now={run.narrow} is_sandbox={run.lesson.is_none()} />
            <main id="main" {class}>
                if !props.is_embedded {
                    <aside class="panel left" aria-label={words.t("stage-page.text")}>
                        <LeftPanel run={run.clone()} panels={Rc::clone(&props.panels)} next={props.next.clone()} />
                    </aside>
                }
                <div class="pictures">
                    <Upper now={run.upper} panels={Rc::clone(&props.panels)} can_compare={run.can_compare()} />
                    <Lower lanes={run.lanes} />
                    <section class="view plots" aria-label={words.t("stage-page.plots")}>
                        <Canvas picture={Picture::Plots} label="stage-page.plots-picture" test="picture-plots" />
                    </section>
                </div>
                if !props.is_embedded {
                    <aside class="panel right" aria-label={words.t("inspect.label")}>
                        <InspectorHead inspector={Rc::clone(&props.panels.inspector)} faults={Rc::clone(&props.panels.faults)} />
                        <FaultTools faults={Rc::clone(&props.panels.faults)} pause={run.pause}
                            action={run.action.clone()} record={run.record.clone()} refusal={run.refusal.clone()} />
                        <InspectorDetails inspector={Rc::clone(&props.panels.inspector)} is_deep={run.is_deep} asked={run.asked.clone()} />
                    </aside>
                }
            </main>
            <Transport clock={props.panels.clock.clone()} speed={run.speed} unit={run.unit}
                has_selection={run.selection.is_some()} branches={Rc::clone(&props.panels.branches)} />
        </>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct LeftProps {
    run: RunUi,
    panels: Rc<Panels>,
    next: Option<String>,
}

/// The lesson's panel, or in the sandbox a few words and the files.
#[component]
fn LeftPanel(props: &LeftProps) -> Html {
    let words = use_words();
    if words.lesson() != props.run.place.lesson_id() && props.run.lesson.is_some() {
        // The run is there before its texts: nothing is better than the names of texts.
        return html! { <div aria-busy="true"></div> };
    }
    match LessonProps::of(&props.run, &props.panels, props.next.clone()) {
        Some(lesson) => html! {
            <>
                <LessonPanel ..lesson />
                <super::overlay::Files />
            </>
        },
        None => html! {
            <>
                <h2 class="lead">{ words.t("sandbox.title") }</h2>
                <super::text::Rich text={words.t("sandbox.intro")} />
                <p class="row">
                    <super::control::Press class="btn quiet" msg={Msg::StartOver} text={words.t("lesson-page.start-over")} test="start-over" />
                </p>
                <super::overlay::Files />
            </>
        },
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct UpperProps {
    now: UpperTab,
    panels: Rc<Panels>,
    can_compare: bool,
}

#[component]
fn Upper(props: &UpperProps) -> Html {
    let words = use_words();
    let tabs: Vec<Tab> = UpperTab::ALL
        .into_iter()
        .filter(|tab| *tab != UpperTab::Compare || props.can_compare)
        .map(|tab| Tab {
            msg: Msg::SetUpper(tab),
            key: match tab {
                UpperTab::Topology => "stage-page.topology",
                UpperTab::Group => "stage-page.group",
                UpperTab::Table => "stage-page.table",
                UpperTab::Metrics => "stage-page.metrics",
                UpperTab::Compare => "stage-page.compare",
            },
            name: tab.name(),
            is_on: tab == props.now,
            alarms: if tab == UpperTab::Metrics {
                props.panels.alarms
            } else {
                0
            },
        })
        .collect();
    html! {
        <section class="view cluster" aria-label={words.t("stage-page.cluster")}>
            <div class="view-head"><h2>{ words.t("stage-page.cluster") }</h2>
                <Tabs label="stage-page.cluster" {tabs} test="tab" /></div>
            { match props.now {
                UpperTab::Topology => html! {
                    <Canvas key="cluster" picture={Picture::Cluster} label="stage-page.cluster-picture" test="picture-cluster" />
                },
                UpperTab::Group => html! {
                    <Canvas key="group" picture={Picture::Group} label="stage-page.group-picture" test="picture-group" />
                },
                UpperTab::Compare => html! {
                    <CompareView key="compare" compare={props.panels.compare.clone().unwrap_or_default()} />
                },
                UpperTab::Table | UpperTab::Metrics => html! {
                    <Tables key="tables" tables={props.panels.tables.clone().unwrap_or_default()} />
                },
            } }
        </section>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct LowerProps {
    lanes: Lanes,
}

#[component]
fn Lower(props: &LowerProps) -> Html {
    let words = use_words();
    let tabs: Vec<Tab> = Lanes::ALL
        .into_iter()
        .map(|lanes| Tab {
            msg: Msg::SetLanes(lanes),
            key: match lanes {
                Lanes::Group => "stage-page.lanes-group",
                Lanes::Replication => "stage-page.lanes-replication",
                Lanes::All => "stage-page.lanes-all",
            },
            name: lanes.name(),
            is_on: lanes == props.lanes,
            alarms: 0,
        })
        .collect();
    html! {
        <section class="view space-time" aria-label={words.t("stage-page.space-time")}>
            <div class="view-head"><h2>{ words.t("stage-page.space-time") }</h2>
                <ZoomButtons />
                <Tabs label="stage-page.lanes" {tabs} test="lanes" /></div>
            <Canvas picture={Picture::SpaceTime} label="stage-page.space-time-picture" test="picture-space-time" />
        </section>
    }
}

/// Zoom without a wheel.
#[component]
fn ZoomButtons() -> Html {
    let words = use_words();
    let port = use_context::<PicturePort>();
    let zoom = |inward: bool| PictureEvent::Zoom(Picture::SpaceTime, inward, 400.0);
    let into = use_callback(port.clone(), move |_: MouseEvent, port| {
        tell(port.as_ref(), zoom(true));
    });
    let out = use_callback(port.clone(), move |_: MouseEvent, port| {
        tell(port.as_ref(), zoom(false));
    });
    let fit = use_callback(port, |_: MouseEvent, port| {
        tell(port.as_ref(), PictureEvent::Fit(Picture::SpaceTime));
    });
    html! {
        <div class="zoom" role="group" aria-label={words.t("stage-page.zoom")}>
            <button type="button" class="tool" onclick={into} aria-label={words.t("stage-page.zoom-in")} data-test="zoom-in">{ "+" }</button>
            <button type="button" class="tool" onclick={out} aria-label={words.t("stage-page.zoom-out")} data-test="zoom-out">{ "−" }</button>
            <button type="button" class="tool" onclick={fit} aria-label={words.t("stage-page.zoom-fit")} title={words.t("stage-page.zoom-fit")} data-test="zoom-fit">{ icon(Icon::Arrow) }</button>
        </div>
    }
}

fn tell(port: Option<&PicturePort>, event: PictureEvent) {
    if let Some(port) = port {
        port.0.emit(event);
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct NarrowProps {
    now: NarrowTab,
    is_sandbox: bool,
}

/// On a narrow screen the parts of the stage are tabs.
#[component]
fn NarrowTabs(props: &NarrowProps) -> Html {
    let tabs: Vec<Tab> = NarrowTab::ALL
        .into_iter()
        .map(|tab| Tab {
            msg: Msg::SetNarrow(tab),
            key: match tab {
                NarrowTab::Text if props.is_sandbox => "narrow.sandbox",
                NarrowTab::Text => "narrow.text",
                NarrowTab::Cluster => "narrow.cluster",
                NarrowTab::SpaceTime => "narrow.space-time",
                NarrowTab::Plots => "narrow.plots",
                NarrowTab::Inspect => "narrow.inspect",
            },
            name: tab.name(),
            is_on: tab == props.now,
            alarms: 0,
        })
        .collect();
    html! { <Tabs label="narrow.label" {tabs} test="narrow" class="narrow-tabs" /> }
}
