//! Alerts: rules as users write them, and the states that they go through.
