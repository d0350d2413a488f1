use super::fixture::{Seat, at, broker, consumer, partition, reconciling};
use super::shape::{Geometry, Scene};
use super::space_time::{LaneFilter, Window};
use super::theme::ThemeName;
use super::view::View;
use super::{cluster, group, hit, home, plot, scrubber, space_time, svg};
use crate::driver::playback::Playback;
use crate::driver::selection::Selection;
use std::path::PathBuf;
use terrarium_core::base::ids::{BrokerId, ClientId, GroupId, NodeId};
use terrarium_core::kernel::rng::Stream;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::command::Command;

/// Compares with a stored text; `UPDATE_EXPECT=1` rewrites it. `TERRARIUM_SVG=folder` writes
/// pictures to look at.
fn expect(name: &str, scene: &Scene) {
    if let Ok(folder) = std::env::var("TERRARIUM_SVG") {
        for theme in [ThemeName::Light, ThemeName::Dark] {
            let file = PathBuf::from(&folder).join(format!("{name}-{theme:?}.svg"));
            std::fs::write(file, svg::render(scene, theme)).unwrap();
        }
    }
    let file =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("src/scene/expect/{name}.txt"));
    let printed = scene.print();
    if std::env::var("UPDATE_EXPECT").is_ok() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &printed).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        known == printed,
        "{name} differs; UPDATE_EXPECT=1 rewrites {}",
        file.display()
    );
}

fn whole(lanes: LaneFilter) -> Window {
    Window {
        from_us: 0.0,
        to_us: 64_000_000.0,
        lanes,
        hides_future: false,
    }
}

fn extent() -> scrubber::Extent<'static> {
    scrubber::Extent {
        end: at(64_000),
        horizon: at(46_700),
        branches: &[(SimTime(12_000_000), SimTime(39_000_000))],
        hides_future: false,
    }
}

#[test]
fn pictures_are_as_they_were_looked_at() {
    let seat = Seat::new();
    expect("cluster-824", &cluster::build(&seat.view(824.0, 360.0)));
    expect("cluster-390", &cluster::build(&seat.view(390.0, 340.0)));
    expect(
        "space-time-824",
        &space_time::build(&seat.view(824.0, 330.0), &whole(LaneFilter::Group)).0,
    );
    expect(
        "space-time-390",
        &space_time::build(&seat.view(390.0, 330.0), &whole(LaneFilter::Group)).0,
    );
    expect(
        "replication-824",
        &space_time::build(&seat.view(824.0, 330.0), &whole(LaneFilter::Replication)).0,
    );
    expect(
        "all-824",
        &space_time::build(&seat.view(824.0, 420.0), &whole(LaneFilter::All)).0,
    );
    expect("group-824", &group::build(&seat.view(824.0, 330.0)));
    expect("group-390", &group::build(&seat.view(390.0, 330.0)));
    let mut regrouped = Seat::new();
    regrouped.stage.groups = vec![reconciling()];
    let view = regrouped.view(824.0, 330.0);
    expect("group-consumer-824", &group::build(&view));
    expect(
        "home-720",
        &home::build(&seat.view(720.0, 330.0), at(64_000), true).0,
    );
    expect(
        "scrubber-800",
        &scrubber::build(&seat.view(800.0, 40.0), &extent()).0,
    );
}

#[test]
fn nothing_leaves_the_picture_and_no_two_texts_overlap() {
    let seat = Seat::new();
    for (width, height) in [
        (824.0, 360.0),
        (620.0, 300.0),
        (390.0, 340.0),
        (1_600.0, 500.0),
    ] {
        let view = seat.view(width, height);
        for (name, scene) in [
            ("cluster", cluster::build(&view)),
            ("group", group::build(&view)),
            (
                "space-time",
                space_time::build(&view, &whole(LaneFilter::Group)).0,
            ),
            ("all", space_time::build(&view, &whole(LaneFilter::All)).0),
        ] {
            check_texts(&format!("{name} {width}x{height}"), &scene, &view);
        }
    }
}

fn check_texts(name: &str, scene: &Scene, view: &View<'_>) {
    let texts: Vec<([f64; 4], String)> = scene
        .shapes
        .iter()
        .filter_map(|shape| match &shape.geometry {
            Geometry::Text(_, text, _) => Some((shape.text_box(view.measure)?, text.clone())),
            _ => None,
        })
        .collect();
    assert!(!texts.is_empty(), "{name} says nothing");
    for (place, ([x, y, width, height], text)) in texts.iter().enumerate() {
        assert!(
            -1.0 <= *x && x + width <= scene.width + 1.0,
            "{name}: {text:?} leaves at {x:.0}"
        );
        assert!(
            0.0 <= *y && y + height <= scene.height + 1.0,
            "{name}: {text:?} leaves at {y:.0}"
        );
        for ([ox, oy, other_width, other_height], other) in texts.iter().skip(place + 1) {
            let is_apart = x + width <= *ox + 0.5
                || ox + other_width <= *x + 0.5
                || y + height <= *oy + 0.5
                || oy + other_height <= *y + 0.5;
            assert!(
                is_apart,
                "{name}: {text:?} at {x:.0},{y:.0} covers {other:?} at {ox:.0},{oy:.0}"
            );
        }
    }
}

#[test]
fn a_pointer_finds_what_it_points_at() {
    let seat = Seat::new();
    let view = seat.view(824.0, 360.0);
    let scene = cluster::build(&view);
    let mut found = Vec::new();
    for x in (0..824).step_by(3) {
        for y in (0..360).step_by(3) {
            if let Some(selection) = hit::pick(&scene, f64::from(x), f64::from(y))
                && !found.contains(selection)
            {
                found.push(selection.clone());
            }
        }
    }
    let wanted = [
        Selection::Node(consumer(0)),
        Selection::Node(consumer(3)),
        Selection::Node(broker(2)),
        Selection::Replica(BrokerId(1), partition(0)),
        Selection::Replica(BrokerId(3), partition(3)),
        Selection::Partition(partition(2)),
        Selection::Group(GroupId::new("billing")),
    ];
    for selection in wanted {
        assert!(
            found.contains(&selection),
            "{selection:?} cannot be pointed at"
        );
    }
    let kinds = |is: fn(&Selection) -> bool| found.iter().filter(|selection| is(selection)).count();
    assert_eq!(
        kinds(|s| matches!(s, Selection::Parked { .. })),
        3,
        "three requests wait"
    );
    assert_eq!(
        kinds(|s| matches!(s, Selection::Packet { .. })),
        2,
        "two messages travel"
    );
    assert_eq!(hit::pick(&scene, 5.0, 355.0), None, "the corner is empty");
    for selection in &found {
        assert!(
            hit::hint(&view, selection).is_some_and(|hint| !hint.is_empty()),
            "{selection:?}"
        );
    }
}

#[test]
fn the_barrier_names_its_seats_and_who_is_missing() {
    let seat = Seat::new();
    let (scene, scale) = space_time::build(&seat.view(824.0, 330.0), &whole(LaneFilter::Group));
    let printed = scene.print();
    for text in [
        "3 of 4 joined, c3 missing",
        "p0 stopped 31.8 s",
        "p1 stopped 33.3 s",
        "JoinGroup",
    ] {
        assert!(printed.contains(text), "{text:?} is not said:\n{printed}");
    }
    assert!(
        printed.contains("48.2 s of work"),
        "the long record is named:\n{printed}"
    );
    let gate = scale.x(at(60_000));
    assert!(
        printed.contains(&format!("line {gate:.1},")),
        "the gate stands where c3 will be done"
    );
}

#[test]
fn what_lies_beyond_the_playhead_is_not_drawn() {
    let mut seat = Seat::new();
    // The same history, seen from an earlier instant: only entries before the first join.
    let clip = seat
        .film
        .trace
        .since(0)
        .position(|entry| at(12_000) <= entry.at)
        .unwrap();
    let mut early = terrarium_core::trace::buffer::TraceBuffer::default();
    for entry in seat.film.trace.since(0).take(clip) {
        early.push(entry.clone());
    }
    seat.film.trace = early;
    seat.stage.now = at(11_900);
    let view = seat.view(824.0, 330.0);
    let printed = space_time::build(&view, &whole(LaneFilter::Group))
        .0
        .print();
    assert!(
        !printed.contains("stopped"),
        "nothing has stopped yet:\n{printed}"
    );
    assert!(!printed.contains("joined"), "no barrier yet:\n{printed}");
    let mut fresh = crate::driver::history::History::new(&seat.film.scenario);
    fresh.extend(&seat.film.trace);
    let known = View {
        history: &fresh,
        ..view
    };
    assert_eq!(
        printed,
        space_time::build(&known, &whole(LaneFilter::Group))
            .0
            .print(),
        "a history that knows the future draws the past as one that does not"
    );
}

#[test]
fn a_chosen_partition_is_lit_in_every_picture() {
    let mut seat = Seat::new();
    let plain = cluster::build(&seat.view(824.0, 360.0));
    seat.selection = Some(Selection::Replica(BrokerId(1), partition(2)));
    let lit = cluster::build(&seat.view(824.0, 360.0));
    let halos = |scene: &Scene| scene.print().matches("Glow").count();
    assert_eq!(halos(&plain), 0, "nothing is chosen");
    assert_eq!(halos(&lit), 3, "each copy has a halo");
    let (lanes, _) = space_time::build(&seat.view(824.0, 330.0), &whole(LaneFilter::Group));
    assert!(
        lanes.print().contains("alpha 0.40"),
        "the other partitions step back"
    );
}

#[test]
fn reduced_motion_puts_messages_at_their_ends() {
    let seat = Seat::new();
    let mut view = seat.view(824.0, 360.0);
    let moving = cluster::build(&view);
    view.options.is_motion_reduced = true;
    let still = cluster::build(&view);
    let token = |scene: &Scene| {
        let target = scene
            .targets
            .iter()
            .position(|t| matches!(t, Selection::Packet { .. }));
        scene.shapes.iter().find_map(|shape| match shape.geometry {
            Geometry::Circle(centre, _) if shape.target == target => Some(centre),
            _ => None,
        })
    };
    assert!(token(&moving).is_some(), "a message is on its way");
    assert_ne!(
        token(&moving),
        token(&still),
        "it does not travel with reduced motion"
    );
    view.stage = &seat.stage;
    let later = terrarium_core::sim::view::StageView {
        now: at(46_750),
        ..seat.stage.clone()
    };
    view.stage = &later;
    assert_eq!(
        token(&cluster::build(&view)),
        token(&still),
        "time does not move it either"
    );
}

#[test]
fn plots_spread_the_names_at_the_ends_of_their_lines() {
    let seat = Seat::new();
    let chart = plot::build(
        &seat.view(824.0, 128.0),
        plot::Plot::ConsumerLag,
        SimTime::ZERO,
        at(64_000),
    );
    assert_eq!(chart.lines.len(), 4, "a line for each partition");
    assert_eq!(
        (chart.top, chart.step),
        (400, 200),
        "the axis ends at a round number"
    );
    let spread = plot::spread(&[50.0, 51.0, 90.0, 51.5], 12.0, 10.0, 100.0);
    let mut sorted = spread.clone();
    sorted.sort_by(f64::total_cmp);
    assert!(
        sorted.windows(2).all(|pair| 12.0 <= pair[1] - pair[0]),
        "{spread:?} are apart"
    );
    assert!(
        sorted[0] >= 10.0 && sorted[3] <= 100.0,
        "{spread:?} stay inside"
    );
}

#[test]
fn a_line_keeps_its_corners_and_loses_what_lies_between() {
    let saw: Vec<(f64, f64)> = (0..=40_u8)
        .map(|step| {
            (
                f64::from(step),
                f64::from(if step < 20 { step } else { 40 - step }),
            )
        })
        .collect();
    assert_eq!(
        plot::simplified(&saw, 0.5),
        vec![(0.0, 0.0), (20.0, 20.0), (40.0, 0.0)]
    );
    assert_eq!(
        plot::simplified(&saw[..1], 0.5),
        vec![(0.0, 0.0)],
        "one point is a line, too"
    );
    assert!(plot::simplified(&[], 0.5).is_empty(), "no point is none");
}

#[test]
fn every_word_is_in_both_tables() {
    let keys = |text: &str| -> Vec<String> {
        text.parse::<toml::Table>()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    let english = keys(include_str!("../../../static/strings/en/stage.toml"));
    let chinese = keys(include_str!("../../../static/strings/zh-CN/stage.toml"));
    assert_eq!(english, chinese, "both languages say the same things");
    let _unused: NodeId = broker(1);
}

#[test]
fn a_hundred_thousand_events_are_a_picture_still() {
    let mut seat = Seat::new();
    for step in 0..40_000_u64 {
        let request = terrarium_core::wire::api::HeartbeatRequest {
            group_id: GroupId::new("billing"),
            generation_id: 3,
            member_id: terrarium_core::base::ids::MemberId::new("m"),
            group_instance_id: None,
        };
        let body = terrarium_core::wire::api::Request::Heartbeat(request);
        seat.film.send(47_000 + step, consumer(1), broker(2), body);
    }
    seat.history.extend(&seat.film.trace);
    seat.stage.now = at(90_000);
    let window = Window {
        to_us: 90_000_000.0,
        ..whole(LaneFilter::Group)
    };
    let started = std::time::Instant::now();
    let (scene, _) = space_time::build(&seat.view(824.0, 330.0), &window);
    let spent = started.elapsed();
    assert!(scene.shapes.len() < 3_000, "{} shapes", scene.shapes.len());
    assert!(
        spent.as_millis() < 500,
        "{spent:?} for one picture, even unoptimised"
    );
}

#[test]
fn texts_keep_apart_all_through_a_real_run() {
    let mut playback = crate::driver::playback::tests::playback(7);
    let instants = [
        1_300, 4_700, 5_001, 9_000, 11_700, 12_500, 15_000, 47_000, 59_700, 75_000,
    ];
    watch("barrier", &mut playback, &instants);
}

/// Looks at every picture of a run at some instants.
fn watch(title: &str, playback: &mut Playback, instants: &[u64]) {
    let words = super::fixture::English::new();
    for millis in instants {
        playback.seek(at(*millis));
        let stage = playback.sim().stage();
        for size in [(824.0, 360.0), (390.0, 330.0), (1_300.0, 420.0)] {
            let view = View {
                stage: &stage,
                scenario: playback.sim().scenario(),
                trace: playback.sim().trace(),
                history: playback.history(),
                words: &words,
                measure: &super::fixture::Estimate,
                selection: None,
                hovered: None,
                size,
                options: super::view::Options {
                    afterglow: Span(120_000),
                    ..super::view::Options::default()
                },
            };
            let end = super::scale::real(playback.sim().scenario().until.0);
            let window = |lanes| Window {
                to_us: end,
                ..whole(lanes)
            };
            for (name, scene) in [
                ("cluster", cluster::build(&view)),
                ("group", group::build(&view)),
                (
                    "lanes",
                    space_time::build(&view, &window(LaneFilter::Group)).0,
                ),
                (
                    "replication",
                    space_time::build(&view, &window(LaneFilter::Replication)).0,
                ),
                ("all", space_time::build(&view, &window(LaneFilter::All)).0),
            ] {
                let name = format!("{title}-{name}-{millis}-{:.0}", size.0);
                if let Ok(folder) = std::env::var("TERRARIUM_SVG") {
                    let file = PathBuf::from(&folder).join(format!("real-{name}.svg"));
                    std::fs::write(file, svg::render(&scene, ThemeName::Light)).unwrap();
                }
                check_texts(&name, &scene, &view);
            }
        }
    }
}

/// An action at random; most of them are possible at some time.
fn fault(random: &mut Stream) -> Command {
    let broker_id = BrokerId(1 + u32::try_from(random.below(3)).unwrap());
    let client = ClientId(u32::try_from(random.below(5)).unwrap());
    let span = Span(random.below(8_000_000));
    match random.below(9) {
        0 => Command::KillBroker(broker_id),
        1 => Command::RestartBroker(broker_id),
        2 => Command::PauseBroker(broker_id, span),
        3 => Command::StartClient(client),
        4 => Command::StopClient(client),
        5 => Command::KillClient(client),
        6 => Command::RestartClient(client),
        7 => Command::PauseClient(client, span),
        _ => {
            let other = NodeId::Broker(BrokerId(1 + broker_id.0 % 3));
            Command::CutLink(NodeId::Broker(broker_id), other)
        }
    }
}

#[test]
fn whatever_happens_is_a_picture() {
    for seed in 0..3 {
        let mut playback = crate::driver::playback::tests::playback(seed);
        let mut random = Stream::new(seed, "faults");
        let mut instants = Vec::new();
        playback.seek(at(6_000));
        for _ in 0..14 {
            playback.seek(playback.playhead() + Span(random.below(5_000_000)));
            // An action that is impossible now is refused, and nothing has changed.
            playback.act(fault(&mut random)).ok();
            instants.push(playback.playhead().as_millis() + random.below(1_000));
        }
        watch(&format!("faults-{seed}"), &mut playback, &instants);
    }
}

#[test]
fn a_parked_produce_points_at_the_replicas_that_it_waits_for() {
    let mut seat = Seat::new();
    let which = partition(0);
    let holds = |broker: &&terrarium_core::sim::view::BrokerView| {
        let mut replicas = broker.replicas.iter();
        replicas.any(|replica| replica.topic_partition == which && replica.is_leader)
    };
    let leader = seat
        .stage
        .brokers
        .iter()
        .find(holds)
        .expect("p0 has a leader")
        .id;
    let others = seat.stage.brokers.iter().map(|broker| broker.id);
    let follower = others.filter(|id| *id != leader).max().expect("a follower");
    let mut parked = seat.stage.parked.first().expect("one waits").clone();
    parked.at = leader;
    parked.from = NodeId::Client(ClientId(0));
    parked.waiting = terrarium_core::trace::event::Waiting::Produce;
    parked.partitions = vec![which];
    seat.stage.parked = vec![parked];
    let of_parked = |seat: &Seat| {
        let printed = cluster::build(&seat.view(824.0, 360.0)).print();
        printed
            .lines()
            .filter(|line| line.contains("Parked"))
            .count()
    };
    let alone = of_parked(&seat);
    seat.stage.parked[0].waiting_for = vec![follower];
    assert_eq!(
        of_parked(&seat),
        alone + 2,
        "a thread and a ring for the replica"
    );
    let printed = cluster::build(&seat.view(1_200.0, 420.0)).print();
    assert!(
        printed.contains("1 produce wait"),
        "and the leader says how many: {printed}"
    );
}

#[test]
fn a_quorum_says_who_is_active_and_who_is_down() {
    use terrarium_core::base::ids::ControllerId;
    use terrarium_core::sim::view::ProcessState;
    use terrarium_core::trace::event::QuorumState;
    let mut seat = Seat::new();
    let one = seat
        .stage
        .controller
        .voters
        .first()
        .expect("a voter")
        .clone();
    let states = [Some(QuorumState::Leader), Some(QuorumState::Follower), None];
    let voters = states.into_iter().zip(3_000_u32..).map(|(state, id)| {
        let mut voter = one.clone();
        voter.id = ControllerId(id);
        voter.state = state;
        voter.epoch = 4;
        if state.is_none() {
            voter.process = ProcessState::Dead;
        }
        voter
    });
    seat.stage.controller.voters = voters.collect();
    seat.stage.controller.active = Some(ControllerId(3_000));
    let printed = cluster::build(&seat.view(1_200.0, 420.0)).print();
    for text in [
        "controller 3000",
        "controller 3002",
        "active \u{b7} epoch 4",
        "down",
    ] {
        assert!(printed.contains(text), "{text} is not in\n{printed}");
    }
}
