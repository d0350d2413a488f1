//! Journeys through the page: what a visitor does, in a real browser, on the site as it is shipped.

mod barrier;
mod compare;
mod narrow;
mod opening;
mod speed;
mod stage;
