//! The figures that are no statistic of a distribution.

use super::unit::Unit;
use crate::scope::Window;

/// For what a signal is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// For everything that passes only.
    Overall,
    /// For a model, too.
    Model,
    /// For an upstream, too.
    Upstream,
    /// For a model or an upstream, too.
    ModelOrUpstream,
    /// For what its SLO is about.
    Slo,
}

impl Reach {
    /// The labels that `where` may name, in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overall => "none",
            Self::Model => "model",
            Self::Upstream => "upstream",
            Self::ModelOrUpstream => "model, upstream",
            Self::Slo => "as its SLO",
        }
    }
}

/// Kept for every window.
const ALL: &[Window] = &Window::ALL;
/// Counted by whole minutes, so that one minute says too little.
const MINUTES: &[Window] = &[Window::FiveMinutes, Window::Hour];
/// A figure of the moment.
const NOW: &[Window] = &[];

macro_rules! figures {
    ($($variant:ident = $text:literal, $unit:ident, $windows:ident, $reach:ident, $description:literal;)+) => {
        /// A figure by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Figure { $(#[doc = $description] $variant,)+ }

        impl Figure {
            /// Every figure, in the order of the manual.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name as it stands in conditions.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// What it is counted in.
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)+ }
            }

            /// The windows it is kept for, the usual one first; empty: it is a figure of the moment.
            pub const fn windows(self) -> &'static [Window] {
                match self { $(Self::$variant => $windows,)+ }
            }

            /// For what it is told apart.
            pub const fn reach(self) -> Reach {
                match self { $(Self::$variant => Reach::$reach,)+ }
            }

            /// What it is, in one sentence.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)+ }
            }
        }
    };
}

figures! {
    Rps = "rps", RequestsPerSecond, ALL, ModelOrUpstream, "Exchanges that ended, per second.";
    InputTps = "input_tps", TokensPerSecond, ALL, ModelOrUpstream, "Prompt tokens per second, over all exchanges.";
    OutputTps = "output_tps", TokensPerSecond, ALL, ModelOrUpstream, "Output tokens per second, over all streams.";
    Concurrency = "concurrency", Requests, ALL, Overall, "Requests being served, averaged over the window.";
    Goodput = "goodput", RequestsPerSecond, ALL, ModelOrUpstream, "Requests per second that met every limit on latency.";
    GoodputTps = "goodput_tps", TokensPerSecond, ALL, ModelOrUpstream, "Output tokens per second of the requests that met every limit.";
    Attainment = "attainment", Share, ALL, ModelOrUpstream, "Share of the requests that met every limit on latency.";
    ErrorRate = "error_rate", Share, ALL, ModelOrUpstream, "Share of exchanges that failed for a reason that is not the client's.";
    ThroughputRatio = "throughput_ratio", Ratio, ALL, Overall, "Effective over theoretical throughput.";
    TimeoutRate = "timeout_rate", Share, MINUTES, Overall, "Share of exchanges that ran into the upstream's timeouts.";
    RateLimitRate = "rate_limit_rate", Share, MINUTES, Overall, "Share of exchanges that a rate limit or a quota turned away.";
    ContentFilterRate = "content_filter_rate", Share, MINUTES, Overall, "Share of exchanges that a content filter refused.";
    ModelErrorRate = "model_error_rate", Share, MINUTES, Overall, "Share of exchanges that failed in the model server or on the way to it.";
    ClientErrorRate = "client_error_rate", Share, MINUTES, Overall, "Share of exchanges that failed by the client's own mistake.";
    HourlyCost = "hourly_cost", UsdPerHour, ALL, Model, "What an hour costs at the rate of the window.";
    CostPer1kTokens = "cost_per_1k_tokens", Usd, ALL, Model, "What a thousand tokens cost in the window.";
    CostPer1mTokens = "cost_per_1m_tokens", Usd, ALL, Model, "What a million tokens cost in the window.";
    QueueDepth = "queue_depth", Requests, NOW, Model, "Requests that wait for admission.";
    InFlight = "in_flight", Requests, NOW, Model, "Requests admitted and not over.";
    StalledStreams = "stalled_streams", Streams, NOW, Overall, "Streams that have put out tokens and been silent for longer than `stall_after`.";
    OldestSilence = "oldest_silence", Seconds, NOW, Overall, "The longest silence among admitted exchanges.";
    NoProgress = "no_progress", Seconds, NOW, Overall, "Time without a token from any stream while requests were in flight.";
    Utilisation = "utilisation", Ratio, NOW, Model, "Load over what can be served; above 100 % the queue grows.";
    PredictedWait = "predicted_wait", Seconds, NOW, Model, "The wait for admission that a request would have that came now.";
    KvUsage = "kv_usage", Share, NOW, Upstream, "Share of the engine's KV cache that is in use; of several engines the fullest.";
    GpuUtil = "gpu_util", Share, NOW, Overall, "Share of time in which a GPU was busy; of several GPUs the busiest.";
    GpuMemUtil = "gpu_mem_util", Share, NOW, Overall, "Share of time in which a GPU's memory was being read or written; of several the busiest.";
    GpuMemUsage = "gpu_mem_usage", Share, NOW, Overall, "Share of a GPU's memory that is in use; of several GPUs the fullest.";
    GpuTemperature = "gpu_temperature", Celsius, NOW, Overall, "Temperature; of several GPUs the hottest.";
    GpuPower = "gpu_power", Watts, NOW, Overall, "Power drawn, of all GPUs together.";
}
