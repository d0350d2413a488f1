use super::{Link, LinkError};
use crate::kernel::rng::Stream;
use crate::kernel::time::SimTime;
use crate::lesson::Lesson;
use crate::sim::action::parse_timed;
use std::sync::Arc;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn lesson() -> Lesson {
    let text = r#"
format = 1
id = "small"
revision = 3
kafka = "4.0"
until = "60s"
fidelity = ["x"]
cluster = { brokers = [{ id = 1 }, { id = 2 }] }
topic = [{ name = "orders" }]
consumer = [{ name = "c1", topics = ["orders"] }]
allow = { actions = ["kill-broker", "send"], settings = ["consumer.*.start"] }
variant = [{ id = "one" }, { id = "two", set = { "consumer.c1.client.id" = "x" } }]
"#;
    Lesson::parse("a.toml", text).expect("a lesson")
}

fn link(lesson: &Lesson, actions: &[&str]) -> Link {
    let set = [(Arc::from("consumer.c1.start"), Arc::from("12s"))];
    let actions: Vec<_> = actions
        .iter()
        .map(|text| parse_timed(text, &lesson.base).expect("an action"))
        .collect();
    Link::new(lesson, Some("two"), &set, Some(9), &actions)
}

#[test]
fn a_short_link_is_plain_and_reads_back() {
    let lesson = lesson();
    let link = link(
        &lesson,
        &[
            "8.5s kill-broker 2",
            "9s send orders key=a;b value=\"1 + 1 = 2 & 中\"",
        ],
    );
    let text = link.print();
    assert_eq!(
        text,
        "#/lesson/small?rev=3&seed=9&variant=two&set=consumer.c1.start=12s\
         &log=8.5s+kill-broker+2;9s+send+orders+key=a%3Bb+value=\"1+%2B+1+=+2+%26+%E4%B8%AD\"",
        "it can be read by a person"
    );
    assert_eq!(Link::parse(&text), Ok(link.clone()), "it reads back");
    assert_eq!(
        Link::parse(&format!("https://example.org/x/{text}")),
        Ok(link.clone()),
        "whole"
    );
    assert_eq!(
        Link::from_text(&link.to_text(), &lesson),
        Ok(link.clone()),
        "as a text"
    );
    assert_eq!(
        Link::from_text(&format!("# mine\n\n{text}\n"), &lesson),
        Ok(link.clone()),
        "file"
    );
    let opened = link.open(&lesson).expect("it opens");
    assert_eq!(opened.scenario.seed, 9, "seed");
    assert_eq!(
        opened.scenario.consumers[0].start_at,
        Some(SimTime::from_millis(12_000)),
        "set"
    );
    assert_eq!(
        opened.scenario.consumers[0].config.client_id.as_deref(),
        Some("x"),
        "variant"
    );
    assert_eq!(opened.actions.len(), 2, "actions");
}

#[test]
fn a_long_link_is_compressed_and_reads_back() {
    let lesson = lesson();
    let lines: Vec<String> = (0..400)
        .map(|n| format!("{n}s send orders key=user-{n} value=v{}", n * n))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let link = link(&lesson, &lines);
    let text = link.print();
    assert!(text.contains("&log=z1."), "compressed");
    assert!(
        text.len() < 6_000,
        "{} characters for 400 actions",
        text.len()
    );
    assert_eq!(Link::parse(&text), Ok(link), "it reads back");
    let cut = &text[..text.len() - 40];
    assert_eq!(
        Link::parse(cut),
        Err(LinkError::DamagedLog),
        "a link that was cut short"
    );
}

#[test]
fn a_wrong_link_is_refused_by_the_entry_that_is_wrong() {
    let lesson = lesson();
    let cases = [
        ("#/sandbox", "expected a link such as #/lesson/ID?rev=1"),
        (
            "#/lesson/?rev=1",
            "expected a link such as #/lesson/ID?rev=1",
        ),
        ("#/lesson/small?rev=x", "`rev=x`: expected a whole number"),
        (
            "#/lesson/small?rev=3&sed=1",
            "`sed=1`: unknown part sed; did you mean seed?",
        ),
        (
            "#/lesson/small?rev=3&set=a",
            "`set=a`: expected set=PATH=VALUE",
        ),
        (
            "#/lesson/small?rev=3&log=8s+kill%2-broker",
            "expected two hexadecimal digits",
        ),
        ("#/lesson/small?rev=3&variant=%ff", "expected text in UTF-8"),
        (
            "#/lesson/small?rev=2",
            "revision 2 of the lesson, which has revision 3 now",
        ),
        (
            "#/lesson/other?rev=3",
            "it belongs to the lesson other, not to small",
        ),
        (
            "#/lesson/small?rev=3&variant=three",
            "unknown variant three; expected one, two",
        ),
        (
            "#/lesson/small?rev=3&set=seed=2",
            "seed is not a setting that this lesson lets you change",
        ),
        (
            "#/lesson/small?rev=3&set=consumer.c1.start=x",
            "consumer.c1.start = x: expected a time",
        ),
        (
            "#/lesson/small?rev=3&log=1s+kill-broker+1;2s+kill-broker+7",
            "entry 2: action `2s kill-broker 7`: expected a broker's id: 1, 2, found `7`",
        ),
        (
            "#/lesson/small?rev=3&log=1s+restart-broker+1",
            "entry 1: `1s restart-broker 1` is not allowed",
        ),
    ];
    for (text, expected) in cases {
        let error = Link::parse(text)
            .and_then(|link| link.open(&lesson))
            .expect_err(text);
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
    let error = Link::from_text("sed 9", &lesson).expect_err("a word that nothing begins with");
    assert_eq!(
        error.to_string(),
        "`sed 9`: unknown part sed; did you mean seed?",
        "named"
    );
}

#[test]
fn no_link_brings_the_reader_down() {
    let lesson = lesson();
    let mut stream = Stream::new(8, "links");
    let good = link(&lesson, &["8.5s kill-broker 2"]).print();
    for _ in 0..20_000 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..=stream.below(3) {
            let place = usize::try_from(stream.below(u64::try_from(bytes.len()).unwrap_or(1)));
            bytes[place.unwrap_or(0)] = u8::try_from(stream.between(32, 126)).unwrap_or(b'x');
        }
        let text = String::from_utf8(bytes).expect("ASCII");
        let opened = Link::parse(&text).and_then(|link| link.open(&lesson));
        assert!(
            opened.is_ok() || opened.is_err_and(|error| !error.to_string().is_empty()),
            "{text}"
        );
    }
}
