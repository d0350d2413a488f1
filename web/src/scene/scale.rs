//! From simulated time and counts to pixels.

use terrarium_core::kernel::time::{SimTime, Span};

pub(crate) use crate::driver::number::{count, index, real, real_signed, whole};

/// A part of simulated time laid over a part of the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeScale {
    /// The instant at `x_from`, in microseconds; may lie before the start of the run.
    pub from_us: f64,
    /// The instant at `x_to`, in microseconds.
    pub to_us: f64,
    /// Left edge in pixels.
    pub x_from: f64,
    /// Right edge in pixels.
    pub x_to: f64,
}

impl TimeScale {
    /// Where an instant is.
    pub(crate) fn x(&self, at: SimTime) -> f64 {
        self.x_us(real(at.0))
    }

    /// Where a moment in microseconds is.
    pub(crate) fn x_us(&self, at_us: f64) -> f64 {
        let width_us = (self.to_us - self.from_us).max(1.0);
        self.x_from + (self.x_to - self.x_from) * (at_us - self.from_us) / width_us
    }

    /// The same, held within the edges.
    pub(crate) fn x_held(&self, at: SimTime) -> f64 {
        self.x(at).clamp(self.x_from, self.x_to)
    }

    /// The instant at a place.
    pub(crate) fn at(&self, x: f64) -> SimTime {
        let width = (self.x_to - self.x_from).max(1.0);
        let at_us = self.from_us + (self.to_us - self.from_us) * (x - self.x_from) / width;
        SimTime(whole(at_us.round()))
    }

    /// Microseconds that one pixel covers.
    pub(crate) fn us_per_pixel(&self) -> f64 {
        (self.to_us - self.from_us).max(1.0) / (self.x_to - self.x_from).max(1.0)
    }

    /// The first instant that shows.
    pub(crate) fn from(&self) -> SimTime {
        SimTime(whole(self.from_us))
    }

    /// The last instant that shows.
    pub(crate) fn to(&self) -> SimTime {
        SimTime(whole(self.to_us.ceil()))
    }

    /// Round instants to label, at least `gap` pixels apart, and the step between them.
    pub(crate) fn ticks(&self, gap: f64) -> (Vec<SimTime>, Span) {
        let wanted_us = self.us_per_pixel() * gap;
        let step = STEPS_US
            .iter()
            .copied()
            .find(|step| wanted_us <= real(*step))
            .unwrap_or_else(|| STEPS_US.last().copied().unwrap_or(1));
        let mut at = whole(self.from_us).div_ceil(step) * step;
        let mut ticks = Vec::new();
        while real(at) <= self.to_us && ticks.len() < 200 {
            ticks.push(SimTime(at));
            at += step;
        }
        (ticks, Span(step))
    }
}

/// A round number for the top of an axis that must hold `value`, and the step to it.
pub(crate) fn nice_top(value: u64) -> (u64, u64) {
    let mut unit: u64 = 1;
    loop {
        for (top, step) in [(2, 1), (4, 2), (6, 2), (10, 5), (16, 4)] {
            if value <= top * unit {
                return (top * unit, step * unit);
            }
        }
        match unit.checked_mul(10) {
            Some(next) => unit = next,
            None => return (u64::MAX, u64::MAX / 2),
        }
    }
}

const STEPS_US: &[u64] = &[
    10,
    50,
    100,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
    600_000_000,
    1_800_000_000,
    3_600_000_000,
    7_200_000_000,
    21_600_000_000,
    86_400_000_000,
    604_800_000_000,
];
