//! Integration tests.

mod clients;
mod durability;
mod group_incidents;
mod incidents;
mod replay;
mod replication;
mod scripts;
mod seeds;
mod tables;
