//! What flows down from the data path and the sensors to the recorders.

use serde::{Deserialize, Serialize};

use crate::exchange::{Exchange, Pulse};

/// One observation. Record files hold one a line, tagged by its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Observation {
    /// An exchange is over.
    Exchange(Box<Exchange>),
    /// An exchange put out tokens.
    Pulse(Box<Pulse>),
}
