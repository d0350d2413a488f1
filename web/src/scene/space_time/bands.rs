//! What fills a lane: owned or led partitions, standstill, long records.

use super::{Lane, Lanes, Role};
use crate::driver::history::lane::{Lane as Past, Standstill, Work};
use crate::driver::history::track::{Interval, Track};
use crate::driver::selection::Selection;
use crate::scene::fit::Taken;
use crate::scene::place::Place;
use crate::scene::scale::{TimeScale, count};
use crate::scene::shape::{Align, Font, Layer, Scene, Stroke, Style, Type};
use crate::scene::theme::Ink;
use crate::scene::view::View;
use crate::scene::words;
use terrarium_core::base::ids::TopicPartition;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::trace::event::MemberState;

/// Draws the bands of all lanes.
pub(super) fn draw(
    scene: &mut Scene,
    view: &View<'_>,
    scale: &TimeScale,
    lanes: &Lanes,
    taken: &mut Taken,
) {
    for lane in &lanes.all {
        let Some(past) = view.history.lane(lane.node) else {
            continue;
        };
        let mut brush = Brush {
            scene,
            view,
            scale,
            lane,
            past,
        };
        match lane.role {
            Role::Consumer => brush.draw_consumer(lanes, taken),
            Role::Broker => brush.draw_broker(taken),
            Role::Coordinator | Role::Controller | Role::Producer => brush.draw_still(taken),
        }
    }
}

/// What is needed to fill one lane.
struct Brush<'a, 'b> {
    scene: &'b mut Scene,
    view: &'b View<'a>,
    scale: &'b TimeScale,
    lane: &'b Lane,
    past: &'b Past,
}

impl Brush<'_, '_> {
    fn draw_consumer(&mut self, lanes: &Lanes, taken: &mut Taken) {
        let owned = spans(self, &self.past.owned, |partition| *partition);
        self.draw_stripes(&owned, taken);
        self.draw_waits();
        self.draw_still(taken);
        self.draw_work(lanes, taken);
        self.draw_stops(taken);
    }

    fn draw_broker(&mut self, taken: &mut Taken) {
        let shown: Vec<TopicPartition> = self
            .view
            .partitions()
            .map(|partition| partition.topic_partition)
            .collect();
        let mut led = spans(self, &self.past.leads, |(partition, _)| *partition);
        led.retain(|held| shown.contains(&held.partition));
        // Copies are faded; of many, only what a broker leads shows.
        if shown.len() <= COPIES_MAX {
            let copies = spans(self, &self.past.follows, |partition| *partition);
            let copies = copies
                .into_iter()
                .filter(|held| shown.contains(&held.partition));
            led.extend(copies.map(|held| Held {
                is_copy: true,
                ..held
            }));
        }
        self.draw_stripes(&led, taken);
        self.draw_still(taken);
        self.draw_out_of_isr(taken);
    }

    /// Paints the lane with the colours of the partitions that are held at each time.
    fn draw_stripes(&mut self, held: &[Held], taken: &mut Taken) {
        let mut edges: Vec<f64> = held.iter().flat_map(|held| [held.from, held.to]).collect();
        edges.sort_by(f64::total_cmp);
        // What is narrower than a pixel joins its neighbour.
        edges.dedup_by(|next, kept| *next - *kept < 0.8);
        let lane = *self.lane;
        for pair in edges.windows(2) {
            let [from, to] = pair else { continue };
            let middle = (from + to) / 2.0;
            let mut now: Vec<&Held> = held
                .iter()
                .filter(|held| held.from <= middle && middle < held.to)
                .collect();
            now.sort_by_key(|held| held.partition);
            let height = 2.0 * lane.half / count(now.len().max(1));
            for (line, held) in now.iter().enumerate() {
                let y = lane.y - lane.half + count(line) * height;
                let place = Place::new(*from, y, to - from, height);
                let target = self.scene.target(Selection::Entry(held.entry));
                let hue = self.view.hue(held.partition);
                let is_dim = self.view.selection.and_then(Selection::partition).is_some()
                    && !self.view.is_partition_lit(held.partition);
                let alpha = match (held.is_copy, is_dim) {
                    (false, false) => 1.0,
                    (false, true) => 0.4,
                    (true, false) => 0.26,
                    (true, true) => 0.12,
                };
                let style = Style::fill(Ink::Hue(hue)).alpha(alpha);
                self.scene
                    .push_for(target, Layer::Body, place.rect(1.5), style);
                if 11.0 <= height && !held.is_copy {
                    self.write_in_stripe(held.partition, place);
                }
            }
            now.retain(|held| !held.is_copy);
            if height < 11.0 && !now.is_empty() {
                self.write_over_stripes(&now, (*from, *to), taken);
            }
        }
    }

    fn write_in_stripe(&mut self, partition: TopicPartition, place: Place) {
        let name = self.view.partition_name(partition);
        let font = Font::text(95);
        if self.view.measure.width(&name, font) + 10.0 < place.width {
            let at = (place.x + 5.0, place.centre().1 + 3.4);
            let ink = Ink::OnHue(self.view.hue(partition));
            self.scene.text(
                at,
                name,
                Type {
                    font,
                    align: Align::Start,
                },
                ink,
            );
        }
    }

    fn write_over_stripes(&mut self, now: &[&Held], (from, to): (f64, f64), taken: &mut Taken) {
        let font = Font::text(95);
        let text = words::list(
            now.iter()
                .map(|held| self.view.partition_name(held.partition)),
        );
        let width = self.view.measure.width(&text, font);
        let y = self.lane.y - self.lane.half - 4.0;
        if width + 4.0 < to - from && taken.take([from, y - 9.0, width + 4.0, 11.0]) {
            self.scene.text(
                (from + 1.0, y),
                text,
                Type {
                    font,
                    align: Align::Start,
                },
                Ink::Mute,
            );
        }
    }

    /// Hatches the lane while the consumer waits for the group with nothing in its hands. What a
    /// cooperative member keeps goes on meanwhile.
    fn draw_waits(&mut self) {
        let (from, to) = (self.scale.from(), self.scale.to());
        let waits: Vec<(f64, f64, u64)> = self
            .past
            .member
            .seen(from, to, self.view.clip())
            .filter(|state| {
                matches!(
                    state.what,
                    MemberState::PreparingRebalance | MemberState::CompletingRebalance
                )
            })
            .map(|state| (self.x(state.from.at), self.end_x(state), state.from.index))
            .collect();
        let owned = spans(self, &self.past.owned, |partition| *partition);
        for (from, to, entry) in without(merged(waits), &owned) {
            let target = self.scene.target(Selection::Entry(entry));
            self.hatch((from, to), target, 1.0);
        }
    }

    /// Hatches the lane while the process does not run.
    fn draw_still(&mut self, taken: &mut Taken) {
        let stills: Vec<(f64, f64, &Interval<Standstill>)> = self
            .past
            .still
            .seen(self.scale.from(), self.scale.to(), self.view.clip())
            .filter(|still| !matches!(still.what, Standstill::Closed { .. }))
            .map(|still| (self.x(still.from.at), self.end_x(still), still))
            .collect();
        for (from, to, still) in stills {
            let target = self.scene.target(Selection::Entry(still.from.index));
            let is_pause = matches!(still.what, Standstill::Paused { .. });
            self.hatch(
                (from, to.max(from + 1.5)),
                target,
                if is_pause { 0.72 } else { 1.0 },
            );
            let word = match &still.what {
                Standstill::Down { .. } => self.view.say("stage.down", &[]),
                Standstill::Closed { .. } => self.view.say("stage.closed", &[]),
                Standstill::Paused { .. } => self.view.say("stage.paused", &[]),
            };
            let font = Font::text(100);
            let width = self.view.measure.width(&word, font) + 8.0;
            if width + 8.0 < to - from && 5.0 <= self.lane.half {
                let plate = Place::new(from + 4.0, self.lane.y - 6.5, width, 13.0);
                self.scene
                    .push(Layer::Mark, plate.rect(3.0), Style::fill(Ink::Panel));
                let set = Type {
                    font,
                    align: Align::Start,
                };
                self.scene
                    .text((from + 8.0, self.lane.y + 3.5), word, set, Ink::Warn);
                taken.hold(plate.boxed());
            }
        }
    }

    fn hatch(&mut self, (from, to): (f64, f64), target: usize, alpha: f64) {
        if to - from < 0.6 {
            return;
        }
        let lane = self.lane;
        let place = Place::new(from, lane.y - lane.half, to - from, 2.0 * lane.half);
        let style = Style::fill(Ink::Hatch).alpha(alpha);
        self.scene
            .push_for(target, Layer::Body, place.rect(1.5), style);
    }

    /// Outlines records that take long, and says how long.
    fn draw_work(&mut self, lanes: &Lanes, taken: &mut Taken) {
        let works: Vec<Interval<Work>> = self
            .past
            .work
            .seen(self.scale.from(), self.scale.to(), self.view.clip())
            .filter(|work| 14.0 <= self.scale.x(work.what.until) - self.scale.x(work.from.at))
            .cloned()
            .collect();
        for work in works.iter().rev().take(40) {
            let ended = work.end(self.view.clip());
            let until = ended.unwrap_or(work.what.until);
            let (from, to) = (self.x(work.from.at), self.x(until));
            let now = self.scale.x_held(self.view.now()).clamp(from, to);
            let place = |from: f64, to: f64| {
                let lane = self.lane;
                Place::new(
                    from,
                    lane.y - lane.half - 4.0,
                    to - from,
                    2.0 * lane.half + 8.0,
                )
            };
            let target = self.scene.target(Selection::Entry(work.from.index));
            let whole = place(from, to);
            self.scene
                .push_for(target, Layer::Body, whole.rect(5.0), Style::GHOST);
            let mut style = Style::line(Ink::Warn, 1.4);
            if now - from < 3.0 {
                style.stroke = Some(Stroke {
                    ink: Ink::Warn,
                    width: 1.4,
                    dash: Some((4.0, 4.0)),
                });
            }
            self.scene
                .push_for(target, Layer::Mark, whole.rect(5.0), style);
            self.write_work(work, (from, to), lanes, taken);
        }
    }

    fn write_work(
        &mut self,
        work: &Interval<Work>,
        (from, to): (f64, f64),
        lanes: &Lanes,
        taken: &mut Taken,
    ) {
        if lanes.pitch < 34.0 {
            return;
        }
        let view = self.view;
        let offset = work.what.offset.to_string();
        let time = words::span(work.what.until.since(work.from.at));
        let args = [
            ("offset", offset.as_str()),
            ("time", &time),
            ("value", &work.what.value),
        ];
        let has_value = !work.what.value.is_empty() && work.what.value.chars().count() <= 8;
        let short = if has_value {
            view.say("stage.work-value", &args)
        } else {
            view.say("stage.work", &args)
        };
        let others: Vec<TopicPartition> = self
            .past
            .owned
            .current(view.clip())
            .map(|owned| owned.what)
            .filter(|partition| *partition != work.what.topic_partition)
            .collect();
        let lasts = work.end(view.clip()).is_none();
        let mut texts = vec![short, time];
        if lasts && !others.is_empty() && Span(2_000_000) < work.what.until.since(work.from.at) {
            let names = words::list(others.iter().map(|p| view.partition_name(*p)));
            let behind = view.say("stage.work-behind", &[("partitions", &names)]);
            texts.insert(
                0,
                format!("{}{behind}", texts.first().cloned().unwrap_or_default()),
            );
        }
        let font = Font::text(110);
        let y = self.lane.y + self.lane.half + 18.0;
        for text in texts {
            let width = view.measure.width(&text, font);
            let room = if lasts {
                self.scale.x_to - from
            } else {
                to - from
            };
            if width <= room - 6.0 && taken.take([from, y - 11.0, width + 8.0, 14.0]) {
                let set = Type {
                    font,
                    align: Align::Start,
                };
                self.scene.text((from + 5.0, y), text, set, Ink::Warn);
                return;
            }
        }
    }

    /// Writes over hatched stretches which partitions stand still, and how long.
    fn draw_stops(&mut self, taken: &mut Taken) {
        let clip = self.view.clip();
        let (from, to) = (self.scale.from(), self.scale.to());
        let mut groups: Vec<(SimTime, Option<SimTime>, Vec<TopicPartition>)> = Vec::new();
        for stop in self.past.stopped.seen(from, to, clip) {
            let key = (stop.from.at, stop.end(clip));
            match groups.iter_mut().find(|(from, to, _)| (*from, *to) == key) {
                Some((.., partitions)) => partitions.push(stop.what.topic_partition),
                None => groups.push((key.0, key.1, vec![stop.what.topic_partition])),
            }
        }
        let font = Font::text(110);
        for (begin, end, partitions) in groups.into_iter().rev().take(60) {
            let time = words::span(end.unwrap_or(self.view.now()).since(begin));
            let names = words::list(partitions.iter().map(|p| self.view.partition_name(*p)));
            let args = [("partitions", names.as_str()), ("time", &time)];
            let (left, right) = (self.x(begin), self.x(end.unwrap_or(self.view.now())));
            let y = self.lane.y - self.lane.half - 5.0;
            for text in [self.view.say("stage.stopped", &args), time.clone()] {
                let width = self.view.measure.width(&text, font);
                let middle = f64::midpoint(left, right);
                let place = [middle - width / 2.0, y - 10.0, width, 12.0];
                if width < right - left && taken.take(place) {
                    let set = Type {
                        font,
                        align: Align::Middle,
                    };
                    self.scene.text((middle, y), text, set, Ink::Mute);
                    break;
                }
            }
        }
    }

    /// Says in whose ISR a broker is missing.
    fn draw_out_of_isr(&mut self, taken: &mut Taken) {
        let shown: Vec<TopicPartition> = self
            .view
            .partitions()
            .map(|partition| partition.topic_partition)
            .collect();
        let mut out = spans(self, &self.past.out_of_isr, |partition| *partition);
        out.retain(|held| shown.contains(&held.partition));
        let font = Font::text(105);
        let mut groups: Vec<(f64, f64, u64, Vec<TopicPartition>)> = Vec::new();
        for Held {
            partition,
            from,
            to,
            entry,
            ..
        } in out
        {
            match groups
                .iter_mut()
                .find(|g| (g.0 - from).abs() < 3.0 && (g.1 - to).abs() < 3.0)
            {
                Some((.., partitions)) => partitions.push(partition),
                None => groups.push((from, to, entry, vec![partition])),
            }
        }
        for (from, to, entry, partitions) in groups {
            let target = self.scene.target(Selection::Entry(entry));
            let lane = self.lane;
            let y = lane.y - lane.half - 3.0;
            let place = Place::new(from, y, (to - from).max(2.0), 2.0 * lane.half + 6.0);
            let style = Style::dashed(Ink::Warn, 1.2, (4.0, 3.0));
            self.scene
                .push_for(target, Layer::Mark, place.rect(4.0), style);
            let names = words::list(partitions.iter().map(|p| self.view.partition_name(*p)));
            let long = self
                .view
                .say("stage.out-of-isr-of", &[("partitions", &names)]);
            for text in [long, self.view.say("stage.out-of-isr", &[])] {
                let width = self.view.measure.width(&text, font);
                // The playhead must not strike the words through.
                let now_x = self.scale.x(self.view.now());
                let is_struck = from < now_x && now_x < from + width + 6.0;
                let left = if is_struck { now_x - width - 8.0 } else { from };
                let box_ = [left, lane.y + lane.half + 4.0, width + 4.0, 13.0];
                if width < (to - from).max(90.0) && taken.take(box_) {
                    let set = Type {
                        font,
                        align: Align::Start,
                    };
                    self.scene.text(
                        (left + 2.0, lane.y + lane.half + 14.0),
                        text,
                        set,
                        Ink::Warn,
                    );
                    break;
                }
            }
        }
    }

    fn x(&self, at: SimTime) -> f64 {
        self.scale.x_held(at)
    }

    fn end_x<T>(&self, interval: &Interval<T>) -> f64 {
        self.scale
            .x_held(interval.end_or(self.view.clip(), self.view.now()))
    }
}

/// A partition that a lane holds for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    partition: TopicPartition,
    /// Left edge.
    from: f64,
    /// Right edge.
    to: f64,
    /// The entry that began it.
    entry: u64,
    /// Whether it is a follower's copy.
    is_copy: bool,
}

/// A track's intervals that show.
fn spans<T>(
    brush: &Brush<'_, '_>,
    track: &Track<T>,
    partition: impl Fn(&T) -> TopicPartition,
) -> Vec<Held> {
    let seen = track.seen(brush.scale.from(), brush.scale.to(), brush.view.clip());
    let held = seen.map(|held| Held {
        partition: partition(&held.what),
        from: brush.x(held.from.at),
        to: brush.end_x(held),
        entry: held.from.index,
        is_copy: false,
    });
    held.collect()
}

/// Joins stretches that touch.
fn merged(stretches: Vec<(f64, f64, u64)>) -> Vec<(f64, f64, u64)> {
    let mut joined: Vec<(f64, f64, u64)> = Vec::new();
    for (from, to, entry) in stretches {
        match joined.last_mut() {
            Some(last) if from - last.1 < 0.8 => last.1 = last.1.max(to),
            _ => joined.push((from, to, entry)),
        }
    }
    joined
}

/// What is left of stretches without the times at which something is held.
fn without(stretches: Vec<(f64, f64, u64)>, held: &[Held]) -> Vec<(f64, f64, u64)> {
    let mut left = stretches;
    for held in held {
        let mut rest = Vec::with_capacity(left.len());
        for (from, to, entry) in left {
            if held.to <= from || to <= held.from {
                rest.push((from, to, entry));
                continue;
            }
            if from < held.from {
                rest.push((from, held.from, entry));
            }
            if held.to < to {
                rest.push((held.to, to, entry));
            }
        }
        left = rest;
    }
    left
}

/// More copies than this make stripes that nobody tells apart.
const COPIES_MAX: usize = 6;

#[cfg(test)]
mod tests {
    use super::{Held, without};
    use terrarium_core::base::ids::{TopicId, TopicPartition};

    #[test]
    fn a_lane_waits_only_while_nothing_is_held() {
        let held = |from: f64, to: f64| Held {
            partition: TopicPartition::new(TopicId(0), 0),
            from,
            to,
            entry: 0,
            is_copy: false,
        };
        let left = |held: &[Held]| {
            let left = without(vec![(10.0, 50.0, 7)], held).into_iter();
            left.map(|(from, to, _)| (from, to)).collect::<Vec<_>>()
        };
        assert_eq!(left(&[]), [(10.0, 50.0)], "nothing is held");
        assert_eq!(left(&[held(0.0, 90.0)]), [], "a cooperative member");
        assert_eq!(
            left(&[held(0.0, 20.0), held(30.0, 35.0)]),
            [(20.0, 30.0), (35.0, 50.0)],
            "before and between"
        );
    }
}
