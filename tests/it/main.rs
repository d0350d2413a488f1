//! Integration tests.

mod clients;
mod durability;
mod incidents;
mod replay;
mod scripts;
mod seeds;
mod tables;
