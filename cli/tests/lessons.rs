//! Every lesson keeps what it promises, and has its texts in every language.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use terrarium_cli::{Ending, check};
use terrarium_core::lesson::Lesson;
use terrarium_core::lesson::grade::{self, Fault};
use terrarium_core::lesson::strings::Strings;

fn static_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../static")
}

fn lesson_files() -> Vec<PathBuf> {
    let folder = static_folder().join("lessons");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of lessons")
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .filter(|path| path.file_name().is_some_and(|name| name != "index.toml"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds lessons", folder.display());
    files
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lesson(path: &Path) -> Lesson {
    Lesson::parse(&path.display().to_string(), &read(path)).unwrap_or_else(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}

#[test]
fn every_solution_passes_and_every_wrong_attempt_fails_for_its_goal() {
    // A lesson each on its own thread: together they simulate hours.
    std::thread::scope(|scope| {
        for path in lesson_files() {
            scope.spawn(move || {
                let options = check::Options {
                    files: vec![path.display().to_string()],
                };
                let mut output = Vec::new();
                let ending = check::run(&options, &mut output);
                let output = String::from_utf8_lossy(&output);
                assert_eq!(ending.ok(), Some(Ending::Met), "{output}");
            });
        }
    });
}

#[test]
fn the_catalog_lists_every_lesson() {
    let path = static_folder().join("lessons/index.toml");
    let options = check::Options {
        files: vec![path.display().to_string()],
    };
    let ending = check::run(&options, &mut Vec::new());
    assert!(matches!(ending, Ok(Ending::Met)), "{ending:?}");
}

#[test]
fn a_lesson_whose_attempts_do_not_do_what_they_say_is_found_out() {
    let path = static_folder().join("lessons/short-pause-long-pause.toml");
    let mut broken = lesson(&path);
    // The recorded solution of one goal becomes the wrong attempt of another, and the reverse.
    let solution = broken
        .solutions
        .iter_mut()
        .find(|s| &*s.id == "four-hundred");
    let wrong = broken
        .wrong
        .iter_mut()
        .find(|wrong| &*wrong.id == "too-long");
    let (solution, wrong) = solution.zip(wrong).expect("both are recorded");
    std::mem::swap(&mut solution.attempt, &mut wrong.attempt);
    broken
        .solutions
        .retain(|solution| &*solution.id == "four-hundred");
    broken.wrong.retain(|wrong| &*wrong.id == "too-long");
    let faults: Vec<Fault> = grade::check(&broken)
        .into_iter()
        .flat_map(|checked| checked.faults)
        .collect();
    assert!(
        matches!(faults.as_slice(), [Fault::DoesNotPass(pass, _), Fault::DoesNotFail(fail, _)]
            if &**pass == "edge" && &**fail == "edge"),
        "{faults:?}"
    );
}

#[test]
fn every_lesson_has_the_tasks_and_attempts_that_the_teaching_rules_ask_for() {
    for path in lesson_files() {
        let lesson = lesson(&path);
        let id = &lesson.id;
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        assert_eq!(stem.as_deref(), Some(&**id), "a lesson's file has its name");
        let tasks: BTreeSet<_> = lesson.goals.iter().map(|goal| goal.task).collect();
        assert_eq!(tasks.len(), 4, "{id}: watch, respond, change and construct");
        assert!(!lesson.questions.is_empty(), "{id}: a prediction");
        assert!(2 <= lesson.wrong.len(), "{id}: two wrong attempts");
        assert!(!lesson.traps.is_empty(), "{id}: named misconceptions");
        assert!(!lesson.debrief.is_empty(), "{id}: numbers for the debrief");
        for question in &lesson.questions {
            let trapped = lesson
                .traps
                .iter()
                .filter(|trap| trap.question == question.id);
            assert!(
                question.options.len() <= trapped.count() + 1,
                "{id}: a reply for each"
            );
        }
    }
}

#[test]
fn every_text_is_there_in_every_language_and_none_is_left_over() {
    let strings = static_folder().join("strings");
    for path in lesson_files() {
        let lesson = lesson(&path);
        let wanted: BTreeSet<String> = lesson.text_keys().into_iter().collect();
        for locale in ["en", "zh-CN"] {
            let file = strings.join(locale).join(format!("{}.toml", lesson.id));
            let texts = Strings::parse(&file.display().to_string(), &read(&file))
                .unwrap_or_else(|errors| panic!("{}", errors[0]));
            let given: BTreeSet<String> = texts.iter().map(|(key, _)| key.to_owned()).collect();
            let missing: Vec<&String> = wanted.difference(&given).collect();
            let extra: Vec<&String> = given.difference(&wanted).collect();
            assert!(
                missing.is_empty(),
                "{}: missing {missing:?}",
                file.display()
            );
            assert!(extra.is_empty(), "{}: not used {extra:?}", file.display());
            for (key, text) in texts.iter() {
                assert!(!text.is_empty(), "{}: {key} is empty", file.display());
                assert_eq!(
                    text.matches('`').count() % 2,
                    0,
                    "{}: {key}: a pair",
                    file.display()
                );
                assert_eq!(
                    text.matches("**").count() % 2,
                    0,
                    "{}: {key}: a pair",
                    file.display()
                );
            }
            let numbers = |name: &str| {
                lesson
                    .debrief
                    .iter()
                    .any(|(id, _)| **id == *name)
                    .then(|| String::from("7"))
            };
            let debrief = texts.fill("debrief", numbers).expect("the debrief");
            assert!(!debrief.contains('{'), "{}: {debrief}", file.display());
            for (id, _) in &lesson.debrief {
                let place = format!("{{{id}}}");
                let shown = texts
                    .get("debrief")
                    .is_some_and(|text| text.contains(&place));
                assert!(shown, "{}: the debrief shows {place}", file.display());
            }
        }
    }
}
