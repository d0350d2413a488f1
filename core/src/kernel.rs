//! The discrete-event kernel: time, the event queue, randomness and the network.
//!
//! Nothing in here knows Kafka; the queue and the network are generic over what they carry.

pub mod digest;
pub mod limits;
pub mod network;
pub mod queue;
pub mod rng;
pub mod time;
