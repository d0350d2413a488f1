//! Flows through a controller, as `ReplicationControlManagerTest` has them.

mod flows;
