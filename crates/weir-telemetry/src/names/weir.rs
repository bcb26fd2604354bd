//! Weir's own metrics, on the page and elsewhere.

use super::Kind::{Counter, Gauge, Histogram, UpDown};
use super::Unit::{Bytes, Count, Ratio, RequestsPerSecond, Seconds, Tokens, TokensPerSecond, Usd};
use super::{Listed, Metric, Naming};

/// Declares each metric once: its constant, and its place in [`ALL`].
macro_rules! metrics {
    ($($konst:ident = $kind:ident $unit:ident $(($thing:literal))? $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $konst: Metric<{ const LABELS: &[&str] = &[$($label),*]; LABELS.len() }> = Metric {
                name: $name,
                kind: $kind,
                unit: $unit $(($thing))?,
                labels: &[$($label),*],
                help: $help,
                naming: Naming::Own,
            };
        )*

        /// Every metric of Weir's own, in the order of the page.
        pub const ALL: &[Listed] = &[$($konst.listed(),)*];
    };
}

metrics! {
    // From exchanges, when they are over.
    REQUESTS = Counter Count("{request}") "weir_requests_total" ["model", "upstream", "dialect", "outcome"]
        "Exchanges that are over, by how they ended.";
    ERRORS = Counter Count("{error}") "weir_errors_total" ["model", "upstream", "dialect", "error_type"]
        "Exchanges in which something went wrong, by what it was.";
    TTFT = Histogram Seconds "weir_ttft_seconds" ["model", "upstream", "dialect"]
        "Time to first token as the client sees it, queue wait included.";
    UPSTREAM_TTFT = Histogram Seconds "weir_upstream_ttft_seconds" ["model", "upstream", "dialect"]
        "Time to first token as the upstream gives it, from the hand-over of the request.";
    TTFA = Histogram Seconds "weir_ttfa_seconds" ["model", "upstream", "dialect"]
        "Time to the first output that is not reasoning, as the client sees it.";
    TPOT = Histogram Seconds "weir_tpot_seconds" ["model", "upstream", "dialect"]
        "Time per output token after the first, one value an exchange.";
    TPS = Histogram TokensPerSecond "weir_tokens_per_second" ["model", "upstream", "dialect"]
        "Output tokens per second after the first token, one value an exchange.";
    E2E = Histogram Seconds "weir_e2e_seconds" ["model", "upstream", "dialect"]
        "Completed exchanges: to the last token of a stream, to the end of any other answer.";
    DURATION = Histogram Seconds "weir_duration_seconds" ["model", "upstream", "dialect"]
        "From the request head to the end, however the exchange ended.";
    QUEUE_WAIT = Histogram Seconds "weir_queue_wait_seconds" ["model", "upstream", "dialect"]
        "Time that admitted requests waited for admission.";
    OVERHEAD = Histogram Seconds "weir_overhead_seconds" ["model", "upstream", "dialect"]
        "Time that Weir itself took before the request was handed on.";
    INPUT_TOKENS = Counter Tokens "weir_input_tokens_total" ["model", "upstream", "dialect"]
        "Prompt tokens as the engine reported them.";
    OUTPUT_TOKENS = Counter Tokens "weir_output_tokens_total" ["model", "upstream", "dialect", "provenance"]
        "Output tokens, by where their number is known from.";
    CACHED_INPUT_TOKENS = Counter Tokens "weir_cached_input_tokens_total" ["model", "upstream", "dialect"]
        "Prompt tokens that the engine reported to come from a cache.";
    REASONING_TOKENS = Counter Tokens "weir_reasoning_tokens_total" ["model", "upstream", "dialect"]
        "Output tokens that the engine reported as reasoning.";
    REQUEST_BYTES = Counter Bytes "weir_request_bytes_total" ["model", "upstream", "dialect"]
        "Bytes of request bodies read.";
    RESPONSE_BYTES = Counter Bytes "weir_response_bytes_total" ["model", "upstream", "dialect"]
        "Bytes of response bodies relayed.";
    UPSTREAM_STALLS = Counter Count("{stall}") "weir_upstream_stalls_total" ["model", "upstream", "dialect"]
        "Gaps within streams in which the upstream sent no output for longer than stall_after.";
    UPSTREAM_STALL_SECONDS = Counter Seconds "weir_upstream_stall_seconds_total" ["model", "upstream", "dialect"]
        "Length of upstream stalls, summed.";
    DOWNSTREAM_STALLS = Counter Count("{stall}") "weir_downstream_stalls_total" ["model", "upstream", "dialect"]
        "Times in which a client took no bytes of its stream.";
    DOWNSTREAM_STALL_SECONDS = Counter Seconds "weir_downstream_stall_seconds_total" ["model", "upstream", "dialect"]
        "Length of downstream stalls, summed.";
    SSE_EVENTS = Counter Count("{event}") "weir_sse_events_total" ["model", "upstream", "dialect"]
        "Events with data in event streams.";
    SSE_BROKEN_EVENTS = Counter Count("{event}") "weir_sse_broken_events_total" ["model", "upstream", "dialect"]
        "Events whose data was not the JSON it should be.";
    SSE_OVERSIZED_EVENTS = Counter Count("{event}") "weir_sse_oversized_events_total" ["model", "upstream", "dialect"]
        "Events too long to be looked at.";
    COST = Counter Usd "weir_cost_usd_total" ["model", "upstream", "source"]
        "What exchanges cost, by where that is known from.";
    COST_UNPRICED = Counter Count("{request}") "weir_cost_unpriced_requests_total" ["model", "upstream"]
        "Exchanges that an engine worked for and of which no cost is known.";
    COST_SAVED_BY_CACHE = Counter Usd "weir_cost_saved_by_cache_usd_total" ["model", "upstream"]
        "What caches of prompts saved.";

    // From pulses, while streams run.
    ITL = Histogram Seconds "weir_itl_seconds" ["model"]
        "Inter-token latency: the gap before each token after the first.";
    INTER_CHUNK = Histogram Seconds "weir_inter_chunk_seconds" ["model"]
        "The gap from one chunk of output to the next.";
    CHUNKS = Counter Count("{chunk}") "weir_chunks_total" ["model"]
        "Chunks of output, counted as they flow.";
    STREAM_TOKENS = Counter Tokens "weir_stream_tokens_total" ["model"]
        "Tokens of streams, counted as they flow.";

    // From admission.
    LANE_QUEUE_DEPTH = UpDown Count("{request}") "weir_lane_queue_depth" ["lane"]
        "Requests waiting for admission.";
    LANE_IN_FLIGHT = UpDown Count("{request}") "weir_lane_in_flight" ["lane"]
        "Requests admitted and not over.";
    LANE_LIMIT = Gauge Count("{request}") "weir_lane_limit" ["lane"]
        "How many requests may be in flight; absent without a limit.";
    LANE_ARRIVALS = Counter Count("{request}") "weir_lane_arrivals_total" ["lane"]
        "Requests that asked for admission.";
    LANE_COMPLETIONS = Counter Count("{request}") "weir_lane_completions_total" ["lane"]
        "Admitted requests that are over.";
    LANE_REJECTED = Counter Count("{request}") "weir_lane_rejected_total" ["lane"]
        "Requests turned away because the queue was full.";
    LANE_TIMED_OUT = Counter Count("{request}") "weir_lane_timed_out_total" ["lane"]
        "Requests that left the queue because its timeout ran out.";
    LANE_ABANDONED = Counter Count("{request}") "weir_lane_abandoned_total" ["lane"]
        "Requests that left the queue because their client did.";
    LANE_WAIT_SECONDS = Counter Seconds "weir_lane_wait_seconds_total" ["lane"]
        "Waits of admitted requests, summed.";

    // From the table of exchanges in flight.
    INFLIGHT = UpDown Count("{request}") "weir_inflight" ["phase"]
        "Exchanges in flight, by where they stand.";
    INFLIGHT_OLDEST_SILENCE = Gauge Seconds "weir_inflight_oldest_silence_seconds" []
        "The longest time for which an admitted exchange has heard nothing from the upstream.";
    STALLED_STREAMS = UpDown Count("{stream}") "weir_stalled_streams" []
        "Streams with output that are silent for longer than stall_after.";
    INFLIGHT_UNLISTED = Counter Count("{request}") "weir_inflight_unlisted_total" []
        "Exchanges that found the table of those in flight full and ran unlisted.";

    // From the data path's own counters.
    CONNECTIONS_ACCEPTED = Counter Count("{connection}") "weir_connections_accepted_total" []
        "Client connections accepted.";
    CONNECTIONS_OPEN = UpDown Count("{connection}") "weir_connections_open" []
        "Client connections open.";
    ACCEPT_ERRORS = Counter Count("{error}") "weir_accept_errors_total" []
        "Failures to accept a client connection.";
    MALFORMED_REQUESTS = Counter Count("{request}") "weir_malformed_requests_total" []
        "Client connections that ended with bytes that are not HTTP, or with a head beyond its bounds.";
    TLS_HANDSHAKE_ERRORS = Counter Count("{error}") "weir_tls_handshake_errors_total" []
        "TLS handshakes with clients that failed.";
    TLS_RELOADS = Counter Count("{reload}") "weir_tls_reloads_total" []
        "Times that the certificate was exchanged for a new one.";
    TLS_RELOAD_ERRORS = Counter Count("{error}") "weir_tls_reload_errors_total" []
        "Changes of the certificate's files that could not be used.";
    UPSTREAM_CONNECTS = Counter Count("{connection}") "weir_upstream_connects_total" []
        "Upstream connections opened.";
    UPSTREAM_CONNECT_ERRORS = Counter Count("{error}") "weir_upstream_connect_errors_total" []
        "Upstream connections that could not be opened.";
    UPSTREAM_RETRIES = Counter Count("{retry}") "weir_upstream_retries_total" []
        "Requests sent again: their kept connection had died unused, or the server said that it had not begun with them.";
    UPSTREAM_DRAINED = Counter Count("{response}") "weir_upstream_drained_total" []
        "Answers read to their end after their client had left content.";

    // From the analysis: objectives and classes of errors.
    SLO_TARGET = Gauge Ratio "weir_slo_target_ratio" ["slo"]
        "The share of events that has to be good.";
    SLO_EVENTS = Gauge Count("{event}") "weir_slo_events" ["slo", "side"]
        "Good and bad events of the last 30 days.";
    SLO_BUDGET_REMAINING = Gauge Ratio "weir_slo_error_budget_remaining_ratio" ["slo"]
        "What is left of the error budget of 30 days; below 0 once it is overspent.";
    SLO_BURN_RATE = Gauge Count("{budget}") "weir_slo_burn_rate" ["slo", "window"]
        "How fast the error budget burns: at 1 it lasts just its 30 days.";
    SLO_ALERT_FIRING = Gauge Count("{alert}") "weir_slo_alert_firing" ["slo", "severity"]
        "1 while the error budget burns too fast over both windows of a pair, else 0.";
    ERROR_CLASS_SHARE = Gauge Ratio "weir_error_class_share_ratio" ["class", "window"]
        "Errors of a class as a share of all exchanges.";
    ERROR_CLASS_OVER_ALLOWED = Gauge Count("{class}") "weir_error_class_over_allowed" ["class", "window"]
        "1 while there are more errors of a class than are allowed, else 0.";

    // From the analysis: sliding windows over everything.
    WINDOW_LATENCY = Gauge Seconds "weir_window_latency_seconds" ["measure", "window", "statistic"]
        "Percentiles of latencies over a sliding window.";
    WINDOW_REQUESTS = Gauge RequestsPerSecond "weir_window_requests_per_second" ["window"]
        "Exchanges that ended, by time.";
    WINDOW_TOKENS = Gauge TokensPerSecond "weir_window_tokens_per_second" ["window", "direction"]
        "Tokens by time, as they flowed.";
    WINDOW_CONCURRENCY = Gauge Count("{request}") "weir_window_concurrency" ["window"]
        "Admitted exchanges at once, in the mean.";
    WINDOW_THROUGHPUT = Gauge Ratio "weir_window_throughput_ratio" ["window"]
        "Output tokens by time, over what the mean concurrency would give at the mean speed of a stream.";
    GOODPUT_REQUESTS = Gauge RequestsPerSecond "weir_goodput_requests_per_second" ["window"]
        "Exchanges that met every limit, by time.";
    GOODPUT_TOKENS = Gauge TokensPerSecond "weir_goodput_tokens_per_second" ["window"]
        "Output tokens of exchanges that met every limit, by time.";
    GOODPUT_ATTAINMENT = Gauge Ratio "weir_goodput_attainment_ratio" ["window"]
        "Exchanges that met every limit, of those that count.";

    // From the analysis: queues, progress, and hops that hold streams back.
    LANE_UTILISATION = Gauge Ratio "weir_lane_utilisation_ratio" ["lane"]
        "Requests at the upstream over the limit, in the mean of the last minute; absent without a limit.";
    LANE_PREDICTED_WAIT = Gauge Seconds "weir_lane_predicted_wait_seconds" ["lane"]
        "How long a newcomer would wait for admission.";
    LANE_LAW_RESIDUAL = Gauge Ratio "weir_lane_law_residual_ratio" ["lane", "stage"]
        "How far the last minute is off Little's law: (L - arrivals x time) / L; near 0 while steady.";
    LANE_QUEUE_STATE = Gauge Count("{lane}") "weir_lane_queue_state" ["lane", "state"]
        "1 for what a queue does, 0 for what it does not.";
    NO_PROGRESS = Gauge Seconds "weir_no_progress_seconds" []
        "How long requests have been at the upstream while not one of them got a token or an end.";
    NO_PROGRESS_ALARM = Gauge Count("{alarm}") "weir_no_progress_alarm" []
        "1 while that is longer than no_progress_after, else 0.";
    BUFFERING_FINDINGS = Gauge Count("{finding}") "weir_buffering_findings" ["upstream", "hop"]
        "Signs that a hop holds streams back.";

    // From the analysis: what it costs now.
    COST_PER_HOUR = Gauge Usd "weir_cost_usd_per_hour" []
        "What an hour costs, by the last one.";
    COST_PER_MILLION_TOKENS = Gauge Usd "weir_cost_usd_per_million_tokens" ["window"]
        "What a million tokens cost, of prompt and output together.";
    GPU_COST = Gauge Usd "weir_gpu_cost_usd" ["window", "state"]
        "What owned GPUs cost over a window, while anything was in flight and while nothing was.";

    // The analysis about itself.
    ANALYSIS_MEMORY = Gauge Bytes "weir_analysis_memory_bytes" []
        "What the sliding windows hold.";
    ANALYSIS_MEMORY_LIMIT = Gauge Bytes "weir_analysis_memory_limit_bytes" []
        "What they may hold.";
    ANALYSIS_OVERFLOW = Counter Count("{observation}") "weir_analysis_overflow_total" ["cause"]
        "What found no room in the analysis, and is in sums only.";

    // Alerts.
    ALERT_FIRING = Gauge Count("{alert}") "weir_alert_firing" ["alert", "severity"]
        "1 while an alert fires, else 0.";
    ALERT_NO_DATA = Gauge Count("{alert}") "weir_alert_no_data" ["alert"]
        "1 while there is no figure that could tell whether an alert's condition holds, else 0.";
    ALERT_ACTIONS = Counter Count("{action}") "weir_alert_actions_total" ["action", "fate"]
        "Actions of alerts, by what became of them.";
    DESIRED_REPLICAS = Gauge Count("{replica}") "weir_desired_replicas" []
        "How many replicas of the upstream alerts ask for.";
    NOTIFICATIONS = Counter Count("{notification}") "weir_notifications_total" ["target", "fate"]
        "Notifications that wait no longer, by what became of them.";

    // Weir about its telemetry.
    RECORDS_DROPPED = Counter Count("{record}") "weir_records_dropped_total" ["cause"]
        "Records that were lost, by where and why.";
    OTLP_EXCHANGES = Counter Count("{request}") "weir_otlp_exchanges_total" ["destination", "fate"]
        "Exchanges that were to be exported as spans, by what became of them.";
    OTLP_WAITING = UpDown Count("{request}") "weir_otlp_waiting" ["destination"]
        "Exchanges that wait to be exported, or are on their way.";
    OTLP_RETRIES = Counter Count("{retry}") "weir_otlp_retries_total" ["destination"]
        "Requests with spans that were sent again.";
    OTLP_SAMPLED_OUT = Counter Count("{request}") "weir_otlp_sampled_out_total" []
        "Exchanges that were not to be exported as spans.";
    OTLP_METRIC_ROUNDS = Counter Count("{request}") "weir_otlp_metric_rounds_total" ["destination", "fate"]
        "Rounds of metrics, by what became of them.";
    STATE_ROWS = UpDown Count("{row}") "weir_state_rows" []
        "Rows that the store of state holds.";
    STATE_ROWS_WRITTEN = Counter Count("{row}") "weir_state_rows_written_total" []
        "Changes of rows that were committed to the store of state.";
    STATE_ROWS_DROPPED = Counter Count("{row}") "weir_state_rows_dropped_total" []
        "Rows that were not kept: too many waited, too many are held, or one was too long.";
    STATE_WRITE_ERRORS = Counter Count("{error}") "weir_state_write_errors_total" []
        "Attempts to write state that failed; the rows wait for the next one.";
    LABEL_OVERFLOW = Counter Count("{observation}") "weir_label_overflow_total" []
        "Observations counted under the label `other` because the set of label values was full.";
    PIPELINE_LAG = Histogram Seconds "weir_pipeline_lag_seconds" []
        "Age of an exchange's end when the pipeline takes it in.";
    EVENT_LOOP_LAG = Histogram Seconds "weir_event_loop_lag_seconds" []
        "How late a task that sleeps 100 ms is woken.";
    BUILD_INFO = Gauge Count("{build}") "weir_build_info" ["version"]
        "Always 1; the label says which version this is.";
    PROCESS_START_TIME = Gauge Seconds "process_start_time_seconds" []
        "When the process began to record, in seconds since the Unix epoch.";
}
