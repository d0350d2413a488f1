use super::*;

fn shell(script: &str) -> Tool {
    Tool::new("sh", Path::new(".")).args(["-c", script])
}

#[test]
fn a_command_is_shown_so_that_it_can_be_repeated() {
    let tool = Tool::new("cargo", Path::new("."))
        .args(["test", "it's", ""])
        .env("A", "b c")
        .path(Path::new("/x y"));
    assert_eq!(
        tool.shown(),
        r"$ PATH='/x y':$PATH A='b c' cargo test 'it'\''s' ''",
        "quoting"
    );
}

#[test]
fn output_and_status_are_collected() {
    let ended = shell("echo out; echo err >&2; exit 3")
        .collect(|_, _| ())
        .unwrap();
    assert_eq!(
        (ended.out.as_str(), ended.err.as_str()),
        ("out\n", "err\n"),
        "streams"
    );
    assert_eq!(
        ended.status.and_then(|status| status.code()),
        Some(3),
        "status"
    );
}

#[test]
fn a_failure_carries_what_the_program_complained_about() {
    let error = shell("echo why >&2; exit 1")
        .quiet()
        .unwrap_err()
        .to_string();
    assert!(error.contains("why"), "{error}");
}

#[test]
fn a_program_that_hangs_is_stopped_with_its_children() {
    let started = Instant::now();
    let ended = shell("sleep 100 & wait")
        .limit(Duration::from_millis(200))
        .collect(|_, _| ())
        .unwrap();
    assert!(ended.status.is_none() && !ended.success(), "stopped");
    assert!(started.elapsed() < Duration::from_secs(20), "in time");
}

#[test]
fn a_program_that_is_not_there_is_an_error_with_its_name() {
    let error = Tool::new("no-such-program", Path::new("."))
        .quiet()
        .unwrap_err()
        .to_string();
    assert_eq!(error, "cannot start no-such-program", "name");
}

#[test]
fn a_missing_thing_is_one_line_with_its_remedy() {
    let line = Missing::new("npm", "apt-get install npm").to_string();
    assert_eq!(line, "missing: npm; to get it: apt-get install npm", "line");
}
