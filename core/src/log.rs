//! A replica's log on one broker.

pub mod cleaner;
mod durability;
pub mod epoch_cache;
pub mod lookup;
pub mod partition_log;
pub mod producer_state;
pub mod retention;
pub mod segment;

#[cfg(test)]
mod tests;
