//! Integration tests.

mod clients;
mod durability;
mod incidents;
mod replay;
mod replication;
mod scripts;
mod seeds;
mod tables;
