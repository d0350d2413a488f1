//! The coordinator's `uniform` assignor, for groups whose members subscribe alike and for others.

pub(super) mod heterogeneous;
pub(super) mod homogeneous;
