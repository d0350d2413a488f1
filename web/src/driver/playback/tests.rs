use super::{Advance, Playback, Stopped};
use crate::driver::history::History;
use crate::driver::selection::Selection;
use crate::driver::speed::Speed;
use crate::scene::cluster;
use crate::scene::fixture::{English, Estimate};
use crate::scene::space_time::{self, LaneFilter, Window};
use crate::scene::view::{Options, View};
use std::cell::Cell;
use terrarium_core::base::ids::{BrokerId, NodeId};
use terrarium_core::kernel::rng::Stream;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::lesson::format::Lesson;
use terrarium_core::sim::command::Command;
use terrarium_core::sim::timeline::Timeline;
use terrarium_core::trace::event::{TraceEntry, TraceEvent};

pub(crate) fn playback(seed: u64) -> Playback {
    lesson(
        include_str!("../../../../static/lessons/the-barrier.toml"),
        seed,
    )
}

pub(crate) fn lesson(text: &str, seed: u64) -> Playback {
    let lesson = Lesson::parse("the lesson", text).expect("the lesson is well formed");
    let mut scenario = lesson.scenario(None, &[]).expect("the lesson has a start");
    scenario.seed = seed;
    Playback::new(Timeline::new(std::sync::Arc::new(scenario)).expect("the scenario holds"))
}

/// A wall clock that goes 16 ms a frame, and does not move while a frame is computed.
fn frames(playback: &mut Playback, count: u32) -> Vec<Advance> {
    (0..=count)
        .map(|frame| playback.frame(f64::from(frame) * 16.0, &|| 0.0))
        .collect()
}

fn at(millis: u64) -> SimTime {
    SimTime::from_millis(millis)
}

/// What the pictures show at the playhead.
fn drawn(playback: &Playback) -> String {
    let stage = playback.sim().stage();
    let view = View {
        stage: &stage,
        scenario: playback.sim().scenario(),
        trace: playback.sim().trace(),
        history: playback.history(),
        words: &English::new(),
        measure: &Estimate,
        selection: None,
        hovered: None,
        size: (824.0, 360.0),
        options: Options {
            afterglow: Span(120_000),
            ..Options::default()
        },
    };
    let window = Window {
        from_us: 0.0,
        to_us: 64e6,
        lanes: LaneFilter::All,
        hides_future: false,
    };
    let lanes = space_time::build(&view, &window).0;
    format!("{}{}", cluster::build(&view).print(), lanes.print())
}

#[test]
fn time_goes_with_the_wall_at_any_speed() {
    for speed in Speed::ALL {
        let mut playback = playback(7);
        playback.set_speed(speed);
        playback.play();
        frames(&mut playback, 8);
        let expected = 8 * 16 * u64::from(speed.0);
        let passed = playback.playhead().0;
        assert!(
            passed.abs_diff(expected) <= 1,
            "{}: {passed} of {expected} us",
            speed.label()
        );
    }
}

#[test]
fn a_gap_between_two_frames_counts_as_a_tenth_of_a_second_at_most() {
    let mut playback = playback(7);
    playback.play();
    playback.frame(0.0, &|| 0.0);
    playback.frame(60_000.0, &|| 0.0);
    assert_eq!(
        playback.playhead(),
        at(100),
        "a minute in the background is no leap"
    );
    playback.pause();
    playback.frame(60_016.0, &|| 0.0);
    assert_eq!(playback.playhead(), at(100), "paused is paused");
}

#[test]
fn a_slow_machine_shows_slow_motion() {
    let mut playback = playback(7);
    playback.set_speed(Speed(1_000_000));
    playback.play();
    // Each look at the clock takes a millisecond: a frame gets a handful of slices.
    let clock = Cell::new(0.0);
    let slow = || {
        clock.set(clock.get() + 1.0);
        clock.get()
    };
    playback.frame(0.0, &slow);
    let advance = playback.frame(100.0, &slow);
    assert!(advance.is_late, "100 s of simulation do not fit into 6 ms");
    let reached = playback.playhead();
    assert!(reached < at(100_000), "the playhead waits, at {reached}");
    let advance = playback.frame(100.0, &slow);
    assert!(!advance.moved, "what is owed is forgiven, not made up for");
}

#[test]
fn play_stops_at_an_instant_at_a_condition_and_at_the_end() {
    let mut playback = playback(7);
    playback.set_speed(Speed(10_000));
    playback.stop_at(Some(at(1_234)));
    playback.play();
    let last = frames(&mut playback, 200)
        .into_iter()
        .find_map(|advance| advance.stopped);
    assert_eq!(
        (last, playback.playhead()),
        (Some(Stopped::Instant), at(1_234))
    );
    assert!(!playback.is_playing(), "it has paused");
    let is_joined = |entry: &TraceEntry| matches!(entry.event, TraceEvent::MemberAdded { .. });
    playback.stop_when(Some(Box::new(is_joined)));
    playback.play();
    let stopped = frames(&mut playback, 2_000)
        .into_iter()
        .find_map(|advance| advance.stopped);
    let Some(Stopped::Condition(index)) = stopped else {
        panic!("stopped: {stopped:?}")
    };
    let entry = playback
        .sim()
        .trace()
        .entry(index)
        .expect("it is in the trace");
    assert!(is_joined(entry), "the entry meets the condition: {entry:?}");
    assert_eq!(
        playback.playhead(),
        entry.at,
        "play stands where it happened"
    );
    assert_eq!(playback.horizon(), entry.at, "and has not looked beyond");
    playback.set_end(Some(at(20_000)));
    playback.play();
    let stopped = frames(&mut playback, 4_000)
        .into_iter()
        .find_map(|advance| advance.stopped);
    assert_eq!(
        (stopped, playback.playhead()),
        (Some(Stopped::End), at(20_000))
    );
}

#[test]
fn steps_go_by_event_by_message_and_by_change() {
    let mut playback = playback(7);
    playback.seek(at(5_000));
    let before = playback.sim().event_count();
    assert!(playback.step_event(), "there is an event");
    assert_eq!(playback.sim().event_count(), before + 1, "one event");
    let known = playback.sim().trace().next_index();
    assert!(playback.step_message(), "there is a message");
    let news: Vec<TraceEntry> = playback.sim().trace().since(known).cloned().collect();
    assert!(
        news.iter()
            .any(|entry| matches!(entry.event, TraceEvent::Delivered { .. }))
    );
    let consumer = playback
        .sim()
        .scenario()
        .client_by_name("c1")
        .expect("c1 is in the lesson");
    let selection = Selection::Node(NodeId::Client(consumer));
    let known = playback.sim().trace().next_index();
    assert!(playback.step_change(&selection), "c1 goes on");
    let mut news = playback
        .sim()
        .trace()
        .since(known)
        .cloned()
        .collect::<Vec<_>>()
        .into_iter();
    assert!(
        news.any(|entry| selection.is_changed_by(&entry)),
        "the step ends at a change"
    );
    let (now, digest) = (playback.playhead(), playback.sim().digest());
    let gone = Selection::Node(NodeId::Broker(BrokerId(99)));
    assert!(!playback.step_change(&gone), "nobody knows broker 99");
    assert_eq!(
        (playback.playhead(), playback.sim().digest()),
        (now, digest),
        "nothing moved"
    );
}

#[test]
fn any_instant_looks_the_same_whichever_way_it_was_reached() {
    let mut sought = playback(7);
    sought.seek(at(64_000));
    let mut instants = Stream::new(11, "seek");
    for _ in 0..6 {
        let to = SimTime(instants.below(60_000_000));
        sought.seek(to);
        let mut straight = playback(7);
        straight.seek(to);
        assert_eq!(drawn(&sought), drawn(&straight), "at {to}");
    }
}

#[test]
fn the_index_grown_bit_by_bit_equals_the_index_of_the_whole_trace() {
    for seed in 0..3 {
        let mut playback = playback(seed);
        let mut steps = Stream::new(seed, "steps");
        while playback.playhead() < at(62_000) {
            let step = Span(1 + steps.below(4_000_000));
            playback.seek(playback.playhead() + step);
        }
        let mut whole = History::new(playback.sim().scenario());
        whole.set_internal(
            playback
                .sim()
                .topic_id("__consumer_offsets")
                .expect("it exists"),
        );
        whole.extend(playback.sim().trace());
        assert_eq!(playback.history().facts(), whole.facts(), "seed {seed}");
        // Cut anywhere and read again, it is the same once more.
        for _ in 0..3 {
            let to = SimTime(steps.below(62_000_000));
            whole.cut(playback.sim().trace(), to);
            whole.extend(playback.sim().trace());
            assert_eq!(
                playback.history().facts(),
                whole.facts(),
                "seed {seed}, cut at {to}"
            );
        }
    }
}

#[test]
fn an_action_in_the_past_leaves_the_old_future_as_a_branch() {
    let mut playback = playback(7);
    playback.seek(at(40_000));
    let old = drawn(&playback);
    playback.seek(at(20_000));
    let consumer = playback
        .sim()
        .scenario()
        .client_by_name("c1")
        .expect("c1 is in the lesson");
    playback
        .act(Command::KillClient(consumer))
        .expect("c1 runs");
    assert_eq!(playback.branches().len(), 1, "the old future is kept");
    playback.seek(at(40_000));
    assert_ne!(drawn(&playback), old, "the new future is another one");
    let mut fresh = History::new(playback.sim().scenario());
    fresh.set_internal(
        playback
            .sim()
            .topic_id("__consumer_offsets")
            .expect("it exists"),
    );
    fresh.extend(playback.sim().trace());
    assert_eq!(
        playback.history().facts(),
        fresh.facts(),
        "the index knows this branch alone"
    );
    playback.switch_branch(0);
    playback.seek(at(40_000));
    assert_eq!(drawn(&playback), old, "the old future is as it was");
}

#[test]
fn the_plots_have_points_wherever_the_playhead_has_been() {
    let mut playback = playback(7);
    playback.seek(at(60_000));
    let lags: Vec<_> = playback.history().series().lines().collect();
    assert!(!lags.is_empty(), "there are lines");
    let highest = lags.iter().filter_map(|(key, points)| match key {
        crate::driver::history::series::SeriesKey::ConsumerLag(..) => {
            points.iter().map(|point| point.value).max()
        }
        _ => None,
    });
    assert!(
        50 < highest.max().unwrap_or(0),
        "consumers fall behind while they wait"
    );
    for (key, points) in lags {
        assert!(
            points.is_sorted_by_key(|point| point.at),
            "{key:?} goes with time"
        );
    }
}

#[test]
fn a_restarted_member_waits_for_its_own_ghost() {
    // RB9: c2 crashes and comes back as another member; the group waits for the former one.
    let text = include_str!("../../../../static/lessons/wait-and-crash.toml");
    let mut playback = lesson(text, 3);
    let is_second =
        |entry: &TraceEntry| matches!(entry.event, TraceEvent::ProcessStarted { incarnation: 2 });
    playback.seek(at(30_000));
    let (_, met) = playback
        .timeline
        .advance_until(at(60_000), 1_000_000, is_second);
    assert!(met.is_some(), "c2 comes back");
    let back = playback.playhead();
    playback.seek(back + Span(4_000_000));
    let clip = playback.sim().trace().next_index();
    let history = playback.history();
    let phase = history
        .phases()
        .current(clip)
        .last()
        .expect("the group is in some state");
    let barrier = history.barrier(phase, clip);
    let c2 = playback
        .sim()
        .scenario()
        .client_by_name("c2")
        .map(NodeId::Client);
    let own: Vec<_> = barrier
        .seats
        .iter()
        .filter(|seat| Some(seat.client) == c2)
        .collect();
    assert_eq!(
        own.len(),
        2,
        "the new member and the former one: {barrier:#?}"
    );
    assert!(
        own[0].is_former && own[0].joined.is_none(),
        "the ghost never joins: {own:#?}"
    );
    assert!(
        !own[1].is_former && own[1].joined.is_some(),
        "the new one waits: {own:#?}"
    );
    assert!(drawn(&playback).contains("former"), "the picture says so");
}
