//! The engine for notebooks and course pages: no page, no DOM.

use crate::model::inspect::tree::Tree;
use std::fmt;
use std::sync::Arc;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::lesson::Lesson;
use terrarium_core::sim::action;
use terrarium_core::sim::timeline::Timeline;
use wasm_bindgen::prelude::{JsError, JsValue, wasm_bindgen};

/// What TypeScript sees of the values that are plain objects.
#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** A message, a change of state, an action: one entry of the trace. Times are microseconds. */
export interface TraceEntry {
  /** Its place in the trace, from 0 on without a gap. */
  index: number;
  /** When, in microseconds since the start. */
  at: number;
  /** Where. */
  node: { broker: number } | { client: number } | { controller: number };
  /** The entry that brought it about; null for a person's own actions and for the start. */
  cause: number | null;
  /** What: its name, and its fields by name. */
  event: { event: string; [field: string]: unknown };
}
/** The whole cluster at the playhead. Times are microseconds. */
export interface ClusterState {
  now: number;
  topics: object[];
  controller: object;
  brokers: object[];
  groups: object[];
  producers: object[];
  consumers: object[];
  packets: object[];
  parked: object[];
}
"#;

#[wasm_bindgen]
extern "C" {
    /// An array of trace entries.
    #[wasm_bindgen(typescript_type = "TraceEntry[]")]
    pub type TraceEntries;
    /// The state of the cluster.
    #[wasm_bindgen(typescript_type = "ClusterState")]
    pub type ClusterState;
}

/// A cluster that runs as fast as it is asked to. Times are in seconds.
#[wasm_bindgen]
pub struct Sandbox {
    timeline: Timeline,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sandbox")
            .field("now", &self.timeline.playhead())
            .finish()
    }
}

#[wasm_bindgen]
impl Sandbox {
    /// Loads a lesson or scenario file, at its start: its text, and optionally a variant and
    /// another seed.
    ///
    /// # Errors
    /// Every fault in the file with its line, or what is wrong with variant or seed.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "wasm-bindgen hands optional texts over by value"
    )]
    pub fn load(toml: &str, variant: Option<String>, seed: Option<u64>) -> Result<Self, JsError> {
        Self::start(toml, variant.as_deref(), seed).map_err(|sentence| JsError::new(&sentence))
    }

    /// Takes an action: `kill-broker 2` at the playhead, `8.5s kill-broker 2` at that time. Acting
    /// in the past leaves the old future.
    ///
    /// # Errors
    /// The action cannot be read, or is impossible; nothing has changed then.
    pub fn act(&mut self, text: &str) -> Result<(), JsError> {
        self.do_action(text)
            .map_err(|sentence| JsError::new(&sentence))
    }

    /// Handles one event. False when nothing is left to happen.
    pub fn step(&mut self) -> bool {
        self.timeline.step_event()
    }

    /// Runs on to an instant.
    #[wasm_bindgen(js_name = runUntil)]
    pub fn run_until(&mut self, seconds: f64) {
        let to = instant(seconds).max(self.timeline.playhead());
        self.timeline.seek(to);
    }

    /// Goes to any instant, back or ahead.
    pub fn seek(&mut self, seconds: f64) {
        self.timeline.seek(instant(seconds));
    }

    /// The playhead.
    #[wasm_bindgen(getter)]
    pub fn now(&self) -> f64 {
        crate::scene::scale::real(self.timeline.playhead().0) / 1e6
    }

    /// The whole cluster at the playhead.
    ///
    /// # Errors
    /// The browser cannot make an object of it.
    pub fn state(&self) -> Result<ClusterState, JsValue> {
        let json = Tree::of(&self.timeline.sim().stage()).json().to_string();
        js_sys::JSON::parse(&json).map(wasm_bindgen::JsCast::unchecked_into)
    }

    /// The trace entries from an index on.
    ///
    /// # Errors
    /// The browser cannot make an object of them.
    pub fn events(&self, since: f64) -> Result<TraceEntries, JsValue> {
        let trace = self.timeline.sim().trace();
        let entries = trace.since(crate::scene::scale::whole(since));
        let json: serde_json::Value = entries.map(|entry| Tree::of(entry).json()).collect();
        js_sys::JSON::parse(&json.to_string()).map(wasm_bindgen::JsCast::unchecked_into)
    }

    /// The hash of the whole trace up to the playhead, as `terrarium hash` prints it.
    #[wasm_bindgen(js_name = traceHash)]
    pub fn trace_hash(&self) -> String {
        format!("{:016x}", self.timeline.sim().trace().digest())
    }
}

impl Sandbox {
    fn start(toml: &str, variant: Option<&str>, seed: Option<u64>) -> Result<Self, String> {
        let lesson = Lesson::parse("the text", toml).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            lines.join("\n")
        })?;
        let set: Vec<(Arc<str>, Arc<str>)> = seed
            .map(|seed| (Arc::from("seed"), Arc::from(seed.to_string())))
            .into_iter()
            .collect();
        let scenario = lesson
            .scenario(variant, &set)
            .map_err(|error| error.to_string())?;
        let timeline = Timeline::new(Arc::new(scenario)).map_err(|error| error.to_string())?;
        Ok(Self { timeline })
    }

    fn do_action(&mut self, text: &str) -> Result<(), String> {
        let scenario = Arc::clone(self.timeline.sim().scenario());
        let is_timed = text
            .trim_start()
            .starts_with(|first: char| first.is_ascii_digit());
        let command = if is_timed {
            let timed = action::parse_timed(text, &scenario);
            let (at, command) = timed.map_err(|error| error.to_string())?;
            self.timeline.seek(at);
            command
        } else {
            action::parse(text, &scenario).map_err(|error| error.to_string())?
        };
        self.timeline
            .act(command)
            .map_err(|error| error.to_string())
    }
}

/// An instant in microseconds; what is no time counts as the start.
fn instant(seconds: f64) -> SimTime {
    SimTime(crate::scene::scale::whole((seconds * 1e6).max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::Sandbox;

    const FILE: &str = include_str!("../../static/sandbox.toml");

    #[test]
    fn a_sandbox_runs_acts_and_goes_back_to_the_same_trace() {
        let mut sandbox = Sandbox::start(FILE, None, Some(7)).expect("the scenario");
        sandbox.run_until(10.0);
        let before = sandbox.trace_hash();
        sandbox.do_action("kill-broker 2").expect("it runs");
        assert!(
            sandbox
                .do_action("kill-broker 2")
                .is_err_and(|error| error.contains("down already"))
        );
        sandbox.run_until(12.0);
        assert_ne!(sandbox.trace_hash(), before, "something happened");
        sandbox.seek(9.0);
        assert!((sandbox.now() - 9.0).abs() < 1e-9, "back in time");
        sandbox
            .do_action("9.5s pause-consumer c1 2s")
            .expect("at its own time");
        assert!((sandbox.now() - 9.5).abs() < 1e-9, "at the action");
    }

    #[test]
    fn a_bad_file_or_action_is_a_sentence() {
        let error = Sandbox::start("format = 1\nid = 3", None, None).unwrap_err();
        assert!(error.contains("the text:2"), "{error}");
        let mut sandbox = Sandbox::start(FILE, None, None).expect("the scenario");
        let error = sandbox.do_action("kill-brokr 2").unwrap_err();
        assert!(error.contains("kill-broker"), "{error}");
    }
}
