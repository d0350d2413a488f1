use super::{SavedAnswer, SavedRun};

#[test]
fn what_is_kept_reads_back() {
    let saved = SavedRun {
        format: 1,
        lesson: Some(String::from("the-barrier")),
        revision: 2,
        variant: None,
        seed: u64::MAX,
        settings: vec![(
            String::from("consumer.c1.max.poll.records"),
            String::from("1"),
        )],
        actions: vec![String::from("31s send orders key=\"a b\" value=wait")],
        playhead_us: 46_702_001,
        answers: vec![SavedAnswer {
            question: String::from("which"),
            option: String::from("all"),
            locked_us: Some(12_000_000),
        }],
        hints: [(String::from("short"), 2)].into(),
    };
    assert_eq!(
        SavedRun::parse(&saved.to_text()),
        Ok(saved),
        "the whole run"
    );
}

#[test]
fn what_is_not_a_recording_is_refused_with_its_place() {
    let missing = SavedRun::parse("{\"format\":1}").unwrap_err();
    assert!(missing.contains("seed"), "{missing}");
    let newer = SavedRun::parse("{\"format\":9,\"seed\":1,\"actions\":[],\"playhead_us\":0}");
    assert_eq!(
        newer,
        Err(String::from("format: expected 1, found 9")),
        "a newer file"
    );
    let broken = SavedRun::parse("{\"format\":1,\n\"seed\":x}").unwrap_err();
    assert!(broken.contains("line 2"), "{broken}");
}
