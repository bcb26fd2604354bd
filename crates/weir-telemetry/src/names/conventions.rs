//! The metrics of OpenTelemetry's semantic conventions that Weir records: for OTLP only.

use super::Kind::{Counter, Histogram};
use super::Unit::{Seconds, Tokens};
use super::{GenAiName, Listed, Metric, Naming};

/// Names one attribute more than `OPERATION` does.
macro_rules! operation_and {
    ($($more:literal)?) => {
        &[
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "gen_ai.response.model",
            "server.address",
            "server.port",
            $($more)?
        ]
    };
}

/// Which operation of which model at which server.
const OPERATION: &[&str; 6] = operation_and!();

/// The same, and what went wrong.
const OPERATION_ERROR: &[&str; 7] = operation_and!("error.type");

/// The same, and what kind of tokens.
const OPERATION_MODALITY: &[&str; 7] = operation_and!("gen_ai.token.modality");

/// What is said of a request to Weir.
const SERVER: &[&str; 6] = &[
    "http.request.method",
    "url.scheme",
    "http.response.status_code",
    "http.route",
    "network.protocol.version",
    "error.type",
];

/// What is said of a request to an upstream.
const CLIENT: &[&str; 5] =
    &["http.request.method", "server.address", "server.port", "http.response.status_code", "error.type"];

const fn called(name: &'static str) -> Option<GenAiName> {
    Some(GenAiName { name, token_type: None })
}

/// A metric that has another name in the next version.
const fn renamed(v1_41: &'static str, next: &'static str) -> Naming {
    Naming::GenAi { v1_41: called(v1_41), next: called(next) }
}

/// A metric that version 1.41 lacks.
const fn added(next: &'static str) -> Naming {
    Naming::GenAi { v1_41: None, next: called(next) }
}

/// One side of what version 1.41 has as a single metric.
const fn usage(token_type: &'static str, next: Option<GenAiName>) -> Naming {
    let both = GenAiName { name: "gen_ai.client.token.usage", token_type: Some(token_type) };
    Naming::GenAi { v1_41: Some(both), next }
}

/// Declares each metric once: its constant, and its place in [`CONVENTIONS`].
macro_rules! conventions {
    ($($konst:ident = $kind:ident $unit:ident $labels:ident $name:literal $naming:expr, $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $konst: Metric<{ $labels.len() }> =
                Metric { name: $name, kind: $kind, unit: $unit, labels: $labels, help: $help, naming: $naming };
        )*

        /// Every metric of the conventions.
        pub const CONVENTIONS: &[Listed] = &[$($konst.listed(),)*];
    };
}

conventions! {
    INFERENCE_DURATION = Histogram Seconds OPERATION_ERROR "gen_ai.client.inference.duration"
        renamed("gen_ai.client.operation.duration", "gen_ai.client.inference.duration"),
        "Operations that generate, from the request head to the end.";
    OPERATION_DURATION = Histogram Seconds OPERATION_ERROR "gen_ai.client.operation.duration"
        renamed("gen_ai.client.operation.duration", "gen_ai.client.operation.duration"),
        "Operations that do not generate, from the request head to the end.";
    TIME_TO_FIRST_CHUNK = Histogram Seconds OPERATION "gen_ai.client.inference.time_to_first_chunk"
        renamed("gen_ai.client.operation.time_to_first_chunk", "gen_ai.client.inference.time_to_first_chunk"),
        "Streams: from the request head to the first event, whatever it carries.";
    TIME_PER_OUTPUT_CHUNK = Histogram Seconds OPERATION "gen_ai.client.inference.time_per_output_chunk"
        renamed("gen_ai.client.operation.time_per_output_chunk", "gen_ai.client.inference.time_per_output_chunk"),
        "Streams: from one chunk of output to the next.";
    INFERENCE_INPUT_TOKENS = Histogram Tokens OPERATION "gen_ai.client.inference.operation.input_tokens"
        usage("input", called("gen_ai.client.inference.operation.input_tokens")),
        "Input tokens of an operation that generates.";
    INFERENCE_OUTPUT_TOKENS = Histogram Tokens OPERATION "gen_ai.client.inference.operation.output_tokens"
        usage("output", called("gen_ai.client.inference.operation.output_tokens")),
        "Output tokens of an operation that generates.";
    OPERATION_INPUT_TOKENS = Histogram Tokens OPERATION "gen_ai.client.token.usage"
        usage("input", None),
        "Input tokens of an operation that does not generate.";
    USAGE_INPUT = Counter Tokens OPERATION_MODALITY "gen_ai.client.inference.usage.input_tokens"
        added("gen_ai.client.inference.usage.input_tokens"),
        "Input tokens, cached ones included.";
    USAGE_OUTPUT = Counter Tokens OPERATION_MODALITY "gen_ai.client.inference.usage.output_tokens"
        added("gen_ai.client.inference.usage.output_tokens"),
        "Output tokens, reasoning included.";
    USAGE_CACHE_READ = Counter Tokens OPERATION_MODALITY "gen_ai.client.inference.usage.cache_read.input_tokens"
        added("gen_ai.client.inference.usage.cache_read.input_tokens"),
        "Input tokens that came from a cache.";
    USAGE_CACHE_WRITE = Counter Tokens OPERATION_MODALITY "gen_ai.client.inference.usage.cache_write.input_tokens"
        added("gen_ai.client.inference.usage.cache_write.input_tokens"),
        "Input tokens that were written to a cache.";
    USAGE_REASONING = Counter Tokens OPERATION_MODALITY "gen_ai.client.inference.usage.reasoning.output_tokens"
        added("gen_ai.client.inference.usage.reasoning.output_tokens"),
        "Output tokens spent on reasoning.";
    SERVER_DURATION = Histogram Seconds SERVER "http.server.request.duration"
        Naming::Convention,
        "Requests of clients, from the request head to the end of the answer.";
    CLIENT_DURATION = Histogram Seconds CLIENT "http.client.request.duration"
        Naming::Convention,
        "Requests to upstreams, from their hand-over to the end of the answer.";
}
