//! Connections over which nothing is answered (`acks=0`): whether a broker is there shows when one is
//! opened, and when it closes.

use super::Producer;
use crate::base::config::Acks;
use crate::base::ids::{BrokerId, CorrelationId, NodeId};
use crate::kernel::time::Span;
use crate::trace::event::Disconnect;
use crate::trace::out::Out;
use crate::wire::api::{ApiVersionsRequest, Request, Response};
use serde::Serialize;

/// How far the connection to a broker is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) enum Connection {
    /// There is none.
    #[default]
    Closed,
    /// Its handshake has no answer yet.
    Opening(CorrelationId),
    /// Batches may go.
    Open,
}

impl Producer {
    /// Whether batches may go to a broker; if not yet, its connection is opened. No batch leaves the
    /// queue before that, so a producer without acknowledgements loses what is on its way when the
    /// broker dies, not what it has still to send.
    ///
    /// # Source
    /// `Sender.sendProducerData`, `NetworkClient.ready`.
    ///
    /// # Simplified
    /// Only with `acks=0` does the picture show how a connection is opened (`ApiVersions`); other
    /// requests learn from their own failure that nobody is there.
    pub(super) fn is_connected(&mut self, broker: BrokerId, out: &mut Out) -> bool {
        if self.config.acks != Acks::None {
            return true;
        }
        let node = self.nodes.entry(broker).or_default();
        if node.connection == Connection::Closed {
            let timeout = Span::from_millis(self.config.request_timeout_ms);
            let body = Request::ApiVersions(ApiVersionsRequest {});
            let correlation = out.request(NodeId::Broker(broker), body, timeout);
            node.connection = Connection::Opening(correlation);
        }
        node.connection == Connection::Open
    }

    /// Takes in that a connection is ready. False if it is not one of these.
    pub(super) fn on_connected(
        &mut self,
        from: BrokerId,
        correlation: CorrelationId,
        response: &Response,
    ) -> bool {
        let Some(node) = self.nodes.get_mut(&from) else {
            return false;
        };
        let is_wanted = node.connection == Connection::Opening(correlation);
        if is_wanted && matches!(response, Response::ApiVersions(_)) {
            node.connection = Connection::Open;
        }
        is_wanted
    }

    /// Takes in that a connection is gone, or could not be opened. False if it is not one of these.
    pub(super) fn on_connection_closed(
        &mut self,
        peer: BrokerId,
        correlation: CorrelationId,
        reason: Disconnect,
    ) -> bool {
        let Some(node) = self.nodes.get_mut(&peer) else {
            return false;
        };
        let is_gone = match node.connection {
            Connection::Closed => false,
            Connection::Opening(opening) => opening == correlation,
            Connection::Open => reason == Disconnect::Closed,
        };
        if is_gone {
            node.connection = Connection::Closed;
        }
        is_gone
    }
}
