//! A replica's log on one broker.

pub mod epoch_cache;
pub mod partition_log;
pub mod producer_state;
