//! Exports by OTLP, OpenTelemetry's protocol.

pub(crate) mod metrics;
