//! What the weir that was asked has measured, beside what the client did: joined by request id.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use weir_analysis::api::ExchangeSummary;
use weir_load::bench::report::Summary;
use weir_load::bench::run::{End, Sample};
use weir_load::bench::semantics::Semantics;

use super::args::ReportArgs;
use crate::status::ask;

/// A weir keeps its last 1024 exchanges: so often it is asked for them.
const EVERY: Duration = Duration::from_millis(500);

/// Asked for at once.
const ASKED: &str = "/api/exchanges?limit=1000";

/// Asks a weir for its exchanges for as long as the run goes on.
#[derive(Debug)]
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<HashMap<String, Known>, String>>,
}

/// What the weir knows of a request.
#[derive(Clone, Copy, Debug)]
struct Known {
    ttft_s: Option<f64>,
    queue_wait_s: Option<f64>,
    cost_usd: Option<f64>,
}

/// What the join shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wire {
    /// Requests that both sides know.
    joined: usize,
    completed: usize,
    ttft: Option<Summary>,
    between: Option<Summary>,
    queue_wait: Option<Summary>,
    cost_usd: Option<f64>,
    priced: usize,
}

impl Watch {
    /// Begins, if the command line names a weir; asks it once, so that a wrong address is told before the run.
    pub(super) fn begin(args: &ReportArgs) -> Result<Option<Self>, String> {
        let Some(admin) = args.weir_admin else { return Ok(None) };
        let token = ask::token(args.weir_token_env.as_deref())?;
        exchanges(admin, token.as_deref())?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut known = HashMap::new();
            loop {
                let over = stopped.load(Relaxed);
                known.extend(exchanges(admin, token.as_deref())?);
                if over {
                    return Ok(known);
                }
                thread::park_timeout(EVERY);
            }
        });
        Ok(Some(Self { stop, thread }))
    }

    /// Ends, and joins what the weir knows to what the client saw.
    pub(super) fn join(
        self,
        samples: &[Sample],
        semantics: Semantics,
        percents: &[f64],
    ) -> Result<Wire, String> {
        self.stop.store(true, Relaxed);
        self.thread.thread().unpark();
        let known = self.thread.join().map_err(|_| "the weir could not be watched".to_owned())??;
        Ok(Wire::of(&known, samples, semantics, percents))
    }
}

fn exchanges(admin: SocketAddr, token: Option<&str>) -> Result<Vec<(String, Known)>, String> {
    let told = |error: String| format!("--weir-admin {admin}: {error}");
    let answer = ask::ask(admin, ASKED, token).map_err(told)?;
    let mut answer: Value = serde_json::from_str(&answer).map_err(|error| told(error.to_string()))?;
    let list: Vec<ExchangeSummary> =
        serde_json::from_value(answer["exchanges"].take()).map_err(|error| told(error.to_string()))?;
    let known = list.into_iter().map(|exchange| {
        let known = Known {
            ttft_s: exchange.timings.ttft_s,
            queue_wait_s: exchange.timings.queue_wait_s,
            cost_usd: exchange.cost_usd,
        };
        (exchange.request_id, known)
    });
    Ok(known.collect())
}

impl Wire {
    fn of(
        known: &HashMap<String, Known>,
        samples: &[Sample],
        semantics: Semantics,
        percents: &[f64],
    ) -> Self {
        let completed: Vec<&Sample> = samples.iter().filter(|sample| sample.end == End::Complete).collect();
        let both: Vec<(&Sample, Known)> =
            completed.iter().filter_map(|sample| Some((*sample, *known.get(&sample.id)?))).collect();
        let between =
            both.iter().filter_map(|(sample, known)| Some(semantics.view(sample).ttft_s? - known.ttft_s?));
        let costs: Vec<f64> = both.iter().filter_map(|(_, known)| known.cost_usd).collect();
        Self {
            joined: both.len(),
            completed: completed.len(),
            ttft: Summary::of(both.iter().filter_map(|(_, known)| known.ttft_s).collect(), percents),
            between: Summary::of(between.collect(), percents),
            queue_wait: Summary::of(
                both.iter().filter_map(|(_, known)| known.queue_wait_s).collect(),
                percents,
            ),
            cost_usd: (!costs.is_empty()).then(|| costs.iter().sum()),
            priced: costs.len(),
        }
    }

    /// For the terminal, below the table.
    pub(super) fn table(&self) -> String {
        let mut text = format!("{:-^50}\n", " Weir Between (by request id) ");
        let mut row = |label: &str, value: String| text.push_str(&format!("{label:<40} {value:<10}\n"));
        row("Requests joined:", format!("{} of {}", self.joined, self.completed));
        for (name, summary) in [
            ("TTFT on the wire", &self.ttft),
            ("TTFT client - wire", &self.between),
            ("Wait in Weir's queue", &self.queue_wait),
        ] {
            let Some(summary) = summary else { continue };
            row(&format!("Mean {name} (ms):"), format!("{:.2}", summary.mean_ms));
            row(&format!("Median {name} (ms):"), format!("{:.2}", summary.median_ms));
            if let Some((percent, value)) = summary.percentiles_ms.last() {
                row(&format!("P{percent} {name} (ms):"), format!("{value:.2}"));
            }
        }
        if let Some(cost) = self.cost_usd {
            row("Cost (USD):", format!("{cost:.6}"));
            row("Requests priced:", self.priced.to_string());
        }
        text.push_str(&format!("{:=<50}\n", ""));
        text
    }

    /// For the result file.
    pub(super) fn json(&self) -> Value {
        json!({
            "joined": self.joined, "completed": self.completed, "ttft": self.ttft,
            "client_minus_wire_ttft": self.between, "queue_wait": self.queue_wait,
            "cost_usd": self.cost_usd, "priced": self.priced,
        })
    }
}
