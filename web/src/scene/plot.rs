//! Which lines a plot shows, where their scale ends, and where their names stand.

use super::scale::nice_top;
use super::theme::Ink;
use super::view::View;
use crate::driver::history::series::{Point, SeriesKey};
use std::cmp::Reverse;
use terrarium_core::kernel::time::SimTime;

/// A plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plot {
    /// Records that groups have not committed yet.
    ConsumerLag,
    /// Records that followers lack.
    ReplicaLagRecords,
    /// Time since followers were caught up.
    ReplicaLagMs,
}

/// A plot, ready to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chart {
    /// What it shows.
    pub title: String,
    /// In what unit.
    pub unit: String,
    /// The highest value on the axis.
    pub top: u64,
    /// From one label of the axis to the next.
    pub step: u64,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// A line of a plot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// What stands at its end.
    pub name: String,
    /// Its colour.
    pub ink: Ink,
    /// Its points, in microseconds and units.
    pub points: Vec<(f64, f64)>,
    /// Whether it is pushed into the background by what is chosen.
    pub is_dim: bool,
}

/// Prepares a plot of the time from `from` to `to`.
pub(crate) fn build(view: &View<'_>, plot: Plot, from: SimTime, to: SimTime) -> Chart {
    let (title, unit) = match plot {
        Plot::ConsumerLag => (
            view.say("stage.consumer-lag", &[]),
            view.say("stage.records", &[]),
        ),
        Plot::ReplicaLagRecords => (
            view.say("stage.replica-lag", &[]),
            view.say("stage.records", &[]),
        ),
        Plot::ReplicaLagMs => (view.say("stage.replica-lag", &[]), String::from("ms")),
    };
    let to = to.min(view.now());
    let mut lines: Vec<(i64, Line)> = view
        .history
        .series()
        .lines()
        .filter_map(|(key, points)| {
            let (name, ink, is_dim) = name_of(view, plot, key)?;
            let (points, highest) = seen(points, from, to);
            let is_empty = points.is_empty();
            (!is_empty).then_some((
                highest,
                Line {
                    name,
                    ink,
                    points,
                    is_dim,
                },
            ))
        })
        .collect();
    lines.sort_by_key(|(highest, _)| Reverse(*highest));
    lines.truncate(LINES_MAX);
    let highest = lines.first().map_or(0, |(highest, _)| *highest);
    let (top, step) = nice_top(u64::try_from(highest).unwrap_or_default().max(4));
    // The lowest lines come first. Of many, those that lie on the axis now have no name.
    lines.reverse();
    let is_many = NAMES_MAX < lines.len();
    let named = lines.into_iter().map(|(highest, line)| {
        let is_flat = line.points.last().is_none_or(|(_, value)| *value <= 0.0);
        let is_silent = highest == 0 || (is_many && is_flat);
        let name = if is_silent {
            String::new()
        } else {
            line.name.clone()
        };
        Line { name, ..line }
    });
    let lines = named.collect();
    Chart {
        title,
        unit,
        top,
        step,
        lines,
    }
}

/// A line's name and colour, if the plot shows it.
fn name_of(view: &View<'_>, plot: Plot, key: &SeriesKey) -> Option<(String, Ink, bool)> {
    let partition = match (plot, key) {
        (Plot::ConsumerLag, SeriesKey::ConsumerLag(_, partition))
        | (Plot::ReplicaLagRecords, SeriesKey::ReplicaLagRecords(partition, _))
        | (Plot::ReplicaLagMs, SeriesKey::ReplicaLagMs(partition, _)) => *partition,
        _ => return None,
    };
    let is_shown = view
        .partitions()
        .any(|known| known.topic_partition == partition);
    if !is_shown {
        return None;
    }
    let name = view.partition_name(partition);
    let name = match key {
        SeriesKey::ReplicaLagRecords(_, broker) | SeriesKey::ReplicaLagMs(_, broker) => view.say(
            "stage.line-replica",
            &[("partition", &name), ("broker", &broker.to_string())],
        ),
        SeriesKey::ConsumerLag(..) | SeriesKey::Stopped => name,
    };
    let chosen = view
        .selection
        .and_then(crate::driver::selection::Selection::partition);
    let is_dim = chosen.is_some_and(|chosen| chosen != partition);
    Some((name, Ink::Hue(view.hue(partition)), is_dim))
}

/// The points of a line between two instants, with its values at the edges, and the highest.
fn seen(points: &[Point], from: SimTime, to: SimTime) -> (Vec<(f64, f64)>, i64) {
    let real = |at: SimTime| super::scale::real(at.0);
    let value = |point: &Point| super::scale::real_signed(point.value);
    let first = points.partition_point(|point| point.at < from);
    let last = points.partition_point(|point| point.at <= to);
    let mut shown: Vec<(f64, f64)> = Vec::new();
    let mut highest = 0;
    let between = |a: &Point, b: &Point, at: SimTime| {
        let all = (real(b.at) - real(a.at)).max(1.0);
        value(a) + (value(b) - value(a)) * (real(at) - real(a.at)) / all
    };
    if let (Some(before), Some(after)) = (points.get(first.wrapping_sub(1)), points.get(first))
        && from <= to
    {
        shown.push((real(from), between(before, after, from)));
    }
    for point in points.get(first..last.max(first)).unwrap_or_default() {
        shown.push((real(point.at), value(point)));
        highest = highest.max(point.value);
    }
    if let Some(before) = points.get(last.wrapping_sub(1)) {
        match points.get(last) {
            Some(after) => shown.push((real(to), between(before, after, to))),
            // Not sampled yet: the last value holds.
            None => shown.push((real(to), value(before))),
        }
        highest = highest.max(before.value);
    }
    (shown, highest)
}

/// Leaves out points that lie within `slack` of the line between those that stay (Ramer, Douglas,
/// Peucker). Points come and go in pixels.
pub(crate) fn simplified(points: &[(f64, f64)], slack: f64) -> Vec<(f64, f64)> {
    let Some(last) = points.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut stays = vec![false; points.len()];
    let mut open = vec![(0, last)];
    for end in [0, last] {
        if let Some(stay) = stays.get_mut(end) {
            *stay = true;
        }
    }
    while let Some((from, to)) = open.pop() {
        let (Some(start), Some(stop)) = (points.get(from), points.get(to)) else {
            continue;
        };
        let between = points.iter().enumerate().take(to).skip(from + 1);
        let furthest = between
            .map(|(index, point)| (index, height_over(*point, *start, *stop)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((index, height)) = furthest
            && slack < height
        {
            if let Some(stay) = stays.get_mut(index) {
                *stay = true;
            }
            open.push((from, index));
            open.push((index, to));
        }
    }
    points
        .iter()
        .zip(stays)
        .filter(|(_, stay)| *stay)
        .map(|(point, _)| *point)
        .collect()
}

/// How far above or below the line from `start` to `stop` a point is.
fn height_over(point: (f64, f64), start: (f64, f64), stop: (f64, f64)) -> f64 {
    let width = stop.0 - start.0;
    let share = if width.abs() < f64::EPSILON {
        0.0
    } else {
        (point.0 - start.0) / width
    };
    (point.1 - start.1 - (stop.1 - start.1) * share).abs()
}

/// Where the names at the ends of lines stand, so that none covers another: wanted places in, and
/// free ones out, in the same order.
pub(crate) fn spread(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    let place = |index: &usize| wanted.get(*index).copied().unwrap_or_default();
    order.sort_by(|a, b| place(a).total_cmp(&place(b)));
    let mut spread = wanted.to_vec();
    let mut floor = top;
    for index in &order {
        if let Some(y) = spread.get_mut(*index) {
            *y = y.max(floor);
            floor = *y + gap;
        }
    }
    let mut ceiling = bottom;
    for index in order.iter().rev() {
        if let Some(y) = spread.get_mut(*index) {
            *y = y.min(ceiling);
            ceiling = *y - gap;
        }
    }
    spread
}

/// More lines than this nobody tells apart.
const LINES_MAX: usize = 8;
/// So many lines may all have their names.
const NAMES_MAX: usize = 4;
