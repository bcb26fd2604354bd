//! The bounds of buckets, fit for what is measured.

/// Upper bounds of the buckets of request latencies: 1 ms to 10 minutes.
pub(crate) const LATENCY: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0,
    5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0,
];

/// Upper bounds for the time per token. Each is an edge of [`weir_core::gaps::SCALE`]'s bins.
pub(crate) const PER_TOKEN: &[f64] = &[
    0.000_5, 0.001, 0.002, 0.003, 0.004, 0.005, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06,
    0.08, 0.1, 0.16, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2,
];

/// Upper bounds for the time per chunk. Each is an edge of [`weir_core::gaps::SCALE`]'s bins.
pub(crate) const PER_CHUNK: &[f64] = &[
    0.000_5, 0.001, 0.002, 0.003, 0.005, 0.008, 0.01, 0.016, 0.02, 0.028, 0.04, 0.056, 0.08, 0.112, 0.16,
    0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

/// Upper bounds for the time that Weir itself takes: 10 µs to 1 s.
pub(crate) const OVERHEAD: &[f64] = &[
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_2, 0.000_3, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025,
    0.05, 0.1, 0.25, 1.0,
];

/// Upper bounds for tokens per second.
pub(crate) const SPEED: &[f64] = &[
    1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 125.0, 150.0, 200.0, 300.0,
    400.0, 600.0, 1000.0, 2000.0,
];

/// Upper bounds for the lags of Weir's own parts: 0.1 ms to 10 s.
pub(crate) const LAG: &[f64] =
    &[0.000_1, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Upper bounds of the durations of GenAI operations, as the conventions advise. Each is an edge of
/// [`weir_core::gaps::SCALE`]'s bins.
pub(crate) const GENAI_SECONDS: &[f64] =
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// Upper bounds of token counts, as the conventions advise.
pub(crate) const GENAI_TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// Upper bounds of the durations of HTTP requests: those that the conventions advise, and beyond them as
/// many as generation needs.
pub(crate) const HTTP_SECONDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 30.0, 60.0, 120.0,
    300.0, 600.0,
];
