//! A run: the nodes, what joins them, and what can be read of them.

pub mod action;
pub mod command;
pub mod measure;
pub mod metrics;
pub mod scenario;
pub mod simulation;
pub mod timeline;
pub mod view;

pub use simulation::{Node, ScenarioError, Sim};
