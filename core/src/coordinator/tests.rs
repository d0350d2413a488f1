//! Tests of the group coordinator: storyboards, and tables of its pure rules.

mod bench;
mod seeds;
mod storyboards;
mod tables;
