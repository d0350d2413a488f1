//! Between the whole numbers of the simulation and the fractions of clocks and coordinates.

/// A whole number as a coordinate. Exact up to 2^53, far beyond what a picture shows.
#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds of 30 days fit 53 bits"
)]
pub(crate) fn real(number: u64) -> f64 {
    number as f64
}

/// A signed whole number as a coordinate.
#[expect(clippy::cast_precision_loss, reason = "offsets of a run fit 53 bits")]
pub(crate) fn real_signed(number: i64) -> f64 {
    number as f64
}

/// A length as a coordinate.
pub(crate) fn count(number: usize) -> f64 {
    real(u64::try_from(number).unwrap_or(u64::MAX))
}

/// A coordinate as a whole number; what is negative or no number is 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, which is what is wanted"
)]
pub(crate) fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}

/// A coordinate as an index.
pub(crate) fn index(number: f64) -> usize {
    usize::try_from(whole(number)).unwrap_or(usize::MAX)
}
