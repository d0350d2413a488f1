//! An administrator's tools: one request each, sent again until it is answered or its time is up.

use crate::base::ids::{BrokerId, CorrelationId, NodeId};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::TraceEvent;
use crate::trace::out::Out;
use crate::wire::api::{ElectLeadersResponse, Request, Response};
use crate::wire::error_code::ErrorCode;
use serde::Serialize;
use std::fmt::Write as _;
use std::sync::Arc;

/// What an administrator waits for (`KafkaAdminClient`).
#[derive(Clone, Debug, Serialize)]
pub struct Admin {
    bootstrap: Vec<BrokerId>,
    #[serde(skip)]
    calls: Vec<Call>,
    /// The broker to ask next.
    next: usize,
}

#[derive(Clone, Debug)]
struct Call {
    request: Request,
    /// Set while an answer is awaited.
    correlation: Option<CorrelationId>,
    /// When it has had its time.
    deadline: SimTime,
}

/// `retry.backoff.ms`.
const RETRY: Span = Span(100_000);
/// `request.timeout.ms`.
const REQUEST_TIMEOUT: Span = Span(30_000_000);
/// `default.api.timeout.ms`.
const CALL_TIMEOUT: Span = Span(60_000_000);

impl Admin {
    /// Nothing has been asked yet.
    pub const fn new(bootstrap: Vec<BrokerId>) -> Self {
        Self {
            bootstrap,
            calls: Vec::new(),
            next: 0,
        }
    }

    /// Asks for something.
    pub fn submit(&mut self, request: Request, out: &mut Out) {
        self.calls.push(Call {
            request,
            correlation: None,
            deadline: out.now + CALL_TIMEOUT,
        });
        self.send_all(out);
    }

    /// Sends what waits to be sent. A broker passes it on to the active controller.
    pub fn send_all(&mut self, out: &mut Out) {
        let now = out.now;
        for call in std::mem::take(&mut self.calls) {
            if call.correlation.is_none() && call.deadline <= now {
                let text = "Call timed out waiting for a node assignment.";
                report(&call.request, ErrorCode::RequestTimedOut, text, out);
            } else {
                self.calls.push(call);
            }
        }
        let count = self.bootstrap.len().max(1);
        for call in &mut self.calls {
            if call.correlation.is_none()
                && let Some(broker) = self.bootstrap.get(self.next % count)
            {
                self.next += 1;
                let to = NodeId::Broker(*broker);
                let correlation = out.request(to, call.request.clone(), REQUEST_TIMEOUT);
                call.correlation = Some(correlation);
            }
        }
    }

    /// Takes in an answer. False if nothing here was sent with this id.
    pub fn on_response(
        &mut self,
        correlation: CorrelationId,
        response: &Response,
        out: &mut Out,
    ) -> bool {
        let Some(at) = self.position(correlation) else {
            return false;
        };
        if response.error_code() == ErrorCode::NotController {
            self.retry(at, out);
            return true;
        }
        let call = self.calls.remove(at);
        let text = printed(&call.request, response);
        report(&call.request, response.error_code(), &text, out);
        true
    }

    /// Takes in that a request gets no answer. False if it was not sent from here.
    pub fn on_disconnect(&mut self, correlation: CorrelationId, out: &mut Out) -> bool {
        let Some(at) = self.position(correlation) else {
            return false;
        };
        self.retry(at, out);
        true
    }

    fn position(&self, correlation: CorrelationId) -> Option<usize> {
        self.calls
            .iter()
            .position(|call| call.correlation == Some(correlation))
    }

    fn retry(&mut self, at: usize, out: &mut Out) {
        if let Some(call) = self.calls.get_mut(at) {
            call.correlation = None;
        }
        out.arm(Timer::AdminRetry, RETRY);
    }
}

fn report(request: &Request, error_code: ErrorCode, text: &str, out: &mut Out) {
    out.trace(TraceEvent::AdminAnswered {
        api: request.api_key(),
        error_code,
        text: Arc::from(text),
    });
}

/// What Kafka's tool prints.
fn printed(request: &Request, response: &Response) -> String {
    let message = if let Response::CreateTopics(response) = response {
        response.error_message.as_ref()
    } else if let Response::DeleteTopics(response)
    | Response::CreatePartitions(response)
    | Response::IncrementalAlterConfigs(response) = response
    {
        response.error_message.as_ref()
    } else {
        None
    };
    if let (Request::ElectLeaders(request), Response::ElectLeaders(response)) = (request, response)
    {
        elections(request.unclean, response)
    } else if let Some(message) = message {
        if let Request::IncrementalAlterConfigs(_) = request {
            format!("Error while executing config command with args: {message}")
        } else {
            format!("Error while executing topic command : {message}")
        }
    } else if let Request::CreateTopics(request) = request {
        format!("Created topic {}.", request.name)
    } else if let Request::IncrementalAlterConfigs(request) = request {
        format!("Completed updating config for topic {}.", request.name)
    } else {
        String::new()
    }
}

/// What `kafka-leader-election.sh` prints.
fn elections(unclean: bool, response: &ElectLeadersResponse) -> String {
    let kind = if unclean { "UNCLEAN" } else { "PREFERRED" };
    let (mut done, mut not_needed, mut failed) = (String::new(), String::new(), String::new());
    for one in &response.results {
        let partition = format!("{}-{}", one.name, one.partition);
        let list = if one.error_code.is_none() {
            &mut done
        } else if one.error_code == ErrorCode::ElectionNotNeeded {
            &mut not_needed
        } else {
            let (class, default) = exception(one.error_code);
            let text = one.error_message.as_deref().unwrap_or(default);
            let _ = write!(
                failed,
                "\nError completing leader election ({kind}) for partition: {partition}: \
                 org.apache.kafka.common.errors.{class}: {text}"
            );
            continue;
        };
        if !list.is_empty() {
            list.push_str(", ");
        }
        list.push_str(&partition);
    }
    let mut text = String::new();
    if !done.is_empty() {
        text = format!("\nSuccessfully completed leader election ({kind}) for partitions {done}");
    }
    if !not_needed.is_empty() {
        text.push_str("\nValid replica already elected for partitions ");
        text.push_str(&not_needed);
    }
    text.push_str(&failed);
    text.trim_start().to_owned()
}

fn exception(error_code: ErrorCode) -> (&'static str, &'static str) {
    if error_code == ErrorCode::PreferredLeaderNotAvailable {
        (
            "PreferredLeaderNotAvailableException",
            "The preferred leader was not available.",
        )
    } else if error_code == ErrorCode::EligibleLeadersNotAvailable {
        (
            "EligibleLeadersNotAvailableException",
            "Eligible topic partition leaders are not available.",
        )
    } else {
        (
            "UnknownTopicOrPartitionException",
            "This server does not host this topic-partition.",
        )
    }
}
