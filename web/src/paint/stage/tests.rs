use super::{LaneFilter, Picture, Shows, Stage, StageInput};
use crate::driver::playback::Playback;
use crate::scene::theme::ThemeName;
use std::sync::Arc;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::lesson::format::Lesson;
use terrarium_core::sim::timeline::Timeline;
use wasm_bindgen::JsCast;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{Document, HtmlCanvasElement};

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

const PICTURES: [Picture; 6] = [
    Picture::Cluster,
    Picture::Group,
    Picture::SpaceTime,
    Picture::Plots,
    Picture::Scrubber,
    Picture::Home,
];

fn playback() -> Playback {
    let text = include_str!("../../../../static/lessons/the-barrier.toml");
    let lesson = Lesson::parse("the-barrier.toml", text).expect("the lesson is well formed");
    let scenario = lesson.scenario(None, &[]).expect("the lesson has a start");
    Playback::new(Timeline::new(Arc::new(scenario)).expect("the scenario holds"))
}

fn canvas(document: &Document, size: (u32, u32)) -> HtmlCanvasElement {
    let canvas: HtmlCanvasElement = document
        .create_element("canvas")
        .expect("an element")
        .unchecked_into();
    let style = format!("display:block;width:{}px;height:{}px", size.0, size.1);
    canvas.set_attribute("style", &style).expect("a style");
    document
        .body()
        .expect("a body")
        .append_child(&canvas)
        .expect("it is in the page");
    canvas
}

fn input(playback: &Playback) -> StageInput<'_> {
    StageInput {
        playback,
        selection: None,
        hovered: None,
        lanes: LaneFilter::Group,
        words: &|key: &str, _args: &[(&str, &str)]| key.to_owned(),
        theme: ThemeName::Light,
        view_end: None,
        scrub_end: SimTime::from_millis(64_000),
        shows: Shows::default(),
    }
}

#[wasm_bindgen_test]
fn every_picture_is_painted_once_for_each_change() {
    let document = web_sys::window()
        .and_then(|window| window.document())
        .expect("a page");
    let mut playback = playback();
    let mut stage = Stage::new();
    let canvases = PICTURES.map(|picture| (picture, canvas(&document, (640, 300))));
    let blank = canvas(&document, (640, 300))
        .to_data_url()
        .expect("an empty picture");
    for (picture, canvas) in &canvases {
        stage.mount(*picture, canvas.clone());
    }
    playback.seek(SimTime::from_millis(30_000));
    assert!(
        stage.paint(&input(&playback)),
        "the first picture is painted"
    );
    for (picture, canvas) in &canvases {
        assert_ne!(
            canvas.to_data_url().expect("a picture"),
            blank,
            "{picture:?} is empty"
        );
    }
    assert!(
        !stage.paint(&input(&playback)),
        "nothing has changed, nothing is painted"
    );
    let before = canvases
        .each_ref()
        .map(|(_, canvas)| canvas.to_data_url().expect("a picture"));
    assert!(playback.step_message(), "a message arrives");
    stage.invalidate();
    assert!(stage.paint(&input(&playback)), "something has changed");
    let dark = StageInput {
        theme: ThemeName::Dark,
        ..input(&playback)
    };
    assert!(stage.paint(&dark), "another theme is another picture");
    for ((picture, canvas), before) in canvases.iter().zip(before) {
        // Plots wait for their turn: ten times a second at most.
        if *picture != Picture::Plots {
            assert_ne!(
                canvas.to_data_url().expect("a picture"),
                before,
                "{picture:?} is light"
            );
        }
    }
    assert!(
        stage.pick(Picture::Cluster, 320.0, 60.0).is_some(),
        "a broker is where it is seen"
    );
    let at = stage
        .time_at(Picture::Scrubber, 320.0)
        .expect("the scrubber has a scale");
    assert!(
        at.0.abs_diff(32_000_000) < 500_000,
        "the middle of the scrubber is {at}"
    );
    stage.unmount(Picture::Cluster);
    assert!(
        stage.pick(Picture::Cluster, 320.0, 60.0).is_none(),
        "it is gone"
    );
}

#[wasm_bindgen_test]
fn a_canvas_without_size_is_left_alone() {
    let document = web_sys::window()
        .and_then(|window| window.document())
        .expect("a page");
    let playback = playback();
    let mut stage = Stage::new();
    for picture in PICTURES {
        stage.mount(picture, canvas(&document, (0, 0)));
    }
    assert!(
        !stage.paint(&input(&playback)),
        "there is nothing to paint on"
    );
}

#[wasm_bindgen_test]
fn a_frame_of_the_default_lesson_is_short() {
    let window = web_sys::window().expect("a page");
    let document = window.document().expect("a page");
    let clock = || js_sys::Date::now();
    let mut playback = playback();
    let mut stage = Stage::new();
    for picture in [
        Picture::Cluster,
        Picture::SpaceTime,
        Picture::Plots,
        Picture::Scrubber,
    ] {
        stage.mount(picture, canvas(&document, (800, 360)));
    }
    playback.seek(SimTime::from_millis(40_000));
    playback.play();
    let started = clock();
    for frame in 0..120_u32 {
        playback.frame(f64::from(frame) * 16.7, &clock);
        stage.paint(&input(&playback));
    }
    let each = (clock() - started) / 120.0;
    wasm_bindgen_test::console_log!("{each:.2} ms for a frame, 800 pixels wide");
    assert!(each < 120.0, "{each:.1} ms for a frame, even unoptimised");
}
