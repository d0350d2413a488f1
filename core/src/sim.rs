//! A run: the nodes, what joins them, and what can be read of them.

pub mod command;
pub mod measure;
pub mod scenario;
pub mod view;
