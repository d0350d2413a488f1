//! The picture on the home page: a run that stands still before the question.

use super::scale::TimeScale;
use super::shape::Scene;
use super::space_time::{self, LaneFilter, Window};
use super::view::View;
use terrarium_core::kernel::time::SimTime;

/// Draws the group's lanes up to the playhead, and a question mark beyond; `until` is the right
/// edge.
pub(crate) fn build(view: &View<'_>, until: SimTime, hides_future: bool) -> (Scene, TimeScale) {
    let to_us = super::scale::real(until.0).max(1_000_000.0);
    let window = Window {
        from_us: 0.0,
        to_us,
        lanes: LaneFilter::Group,
        hides_future,
    };
    space_time::build(view, &window)
}
