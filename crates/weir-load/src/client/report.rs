//! What the client saw, counted.

/// How one request ended for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A complete answer.
    Ok,
    /// Status 429.
    Throttled,
    /// Another status from 400 to 499.
    ClientError,
    /// A status from 500 to 599, or one that answers nothing.
    ServerError,
    /// The client left on purpose.
    Cancelled,
    /// No answer, an incomplete one, or an error in the middle of it.
    Broken,
}

/// Counts by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Requests sent.
    pub sent: u64,
    /// Complete answers.
    pub ok: u64,
    /// Answers with status 429.
    pub throttled: u64,
    /// Answers with another status from 400 to 499.
    pub client_errors: u64,
    /// Answers with a status from 500 to 599.
    pub server_errors: u64,
    /// Streams that the client left on purpose.
    pub cancelled: u64,
    /// Requests without an answer, or with one that broke off or held an error.
    pub broken: u64,
    /// Events received.
    pub events: u64,
    /// Arrivals that had to wait, because the most allowed were in flight.
    pub held_back: u64,
}

impl Report {
    /// Requests that have ended.
    pub fn ended(&self) -> u64 {
        let errors = self.throttled + self.client_errors + self.server_errors;
        self.ok + errors + self.cancelled + self.broken
    }

    /// Counts the end of a request.
    pub(crate) fn count(&mut self, outcome: Outcome, events: u64) {
        self.events += events;
        let counter = match outcome {
            Outcome::Ok => &mut self.ok,
            Outcome::Throttled => &mut self.throttled,
            Outcome::ClientError => &mut self.client_errors,
            Outcome::ServerError => &mut self.server_errors,
            Outcome::Cancelled => &mut self.cancelled,
            Outcome::Broken => &mut self.broken,
        };
        *counter += 1;
    }
}
