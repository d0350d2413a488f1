use super::{SavedAnswer, SavedPage, SavedRun};
use std::sync::Arc;
use terrarium_core::lesson::Lesson;
use terrarium_core::lesson::link::Link;

fn barrier() -> Lesson {
    let text = include_str!("../../../../static/lessons/the-barrier.toml");
    Lesson::parse("the-barrier.toml", text).expect("the lesson")
}

fn saved() -> SavedRun {
    SavedRun {
        link: Link {
            lesson: Arc::from("the-barrier"),
            revision: 1,
            seed: Some(u64::MAX),
            variant: None,
            set: vec![(Arc::from("consumer.c4.start"), Arc::from("62s"))],
            log: vec![String::from("20s kill-consumer c3")],
        },
        page: SavedPage {
            playhead_us: 46_702_001,
            answers: vec![SavedAnswer {
                question: String::from("which"),
                option: String::from("all"),
                locked_us: Some(12_000_000),
            }],
            hints: [(String::from("short"), 2)].into(),
        },
    }
}

#[test]
fn what_is_kept_reads_back() {
    let saved = saved();
    assert_eq!(
        SavedRun::parse(&saved.to_text(), &barrier()),
        Ok(saved),
        "the whole run"
    );
}

#[test]
fn what_is_kept_is_a_submission_that_can_be_graded() {
    let saved = saved();
    let read = Link::from_text(&saved.to_text(), &barrier());
    assert_eq!(
        read,
        Ok(saved.link),
        "the page's own line says nothing to the grader"
    );
}

#[test]
fn a_recording_without_the_page_starts_at_its_start() {
    let read = SavedRun::parse("22s restart-consumer c3\n", &barrier()).expect("a recording");
    assert_eq!(read.page, SavedPage::default(), "no answers, no playhead");
    assert_eq!(read.link.log, ["22s restart-consumer c3"], "its action");
}

#[test]
fn what_is_not_a_recording_is_refused_with_its_line() {
    let words = SavedRun::parse("hello there", &barrier()).unwrap_err();
    assert!(words.contains("hello there"), "{words}");
    let page = SavedRun::parse("# page {\"answers\":1}", &barrier()).unwrap_err();
    assert!(page.contains("# page"), "{page}");
}
