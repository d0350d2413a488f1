//! Processes: each joins the roles that one process has, and hands messages to them.

pub mod broker;
pub mod client;
pub mod purgatory;
pub mod replica_manager;
