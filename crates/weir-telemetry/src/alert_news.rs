//! What whoever carries out the actions of alerts is told.

use weir_analysis::alert::{AlertStatus, Rules, Transition};

/// What happened to the alerts.
#[derive(Debug)]
pub enum AlertNews {
    /// Where all of them stand at the start. Those that fire did so before, and were told of.
    Standing(Vec<AlertStatus>),
    /// Some changed.
    Changed(Vec<Transition>),
    /// Other rules hold from now on; these alerts ended by that.
    Replaced(Box<Rules>, Vec<Transition>),
}
