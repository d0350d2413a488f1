//! What the cross-crate tests share: dice, the language of storyboards, and the invariants of a cluster.

pub mod dice;
pub mod fuzz;
pub mod invariants;
pub mod storyboard;
