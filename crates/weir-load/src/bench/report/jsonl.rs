//! One line of JSON for each request.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use crate::bench::backend::{Server, Usage};
use crate::bench::run::{Asked, End, Outcome, Sample, Times, Wire};
use crate::bench::semantics::Semantics;

/// A line. Times that end with `_ns` are nanoseconds after the start of the run, those with `_s` durations in
/// seconds under the semantics of the report.
#[derive(Serialize)]
struct Line<'a> {
    index: u64,
    id: &'a str,
    #[serde(flatten)]
    asked: Asked,
    #[serde(flatten)]
    times: Times,
    end: Cow<'static, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    finish: Option<&'a str>,
    #[serde(flatten)]
    wire: Wire,
    usage: Usage,
    server: Server,
    #[serde(flatten)]
    seen: Seen,
}

/// The figures of one request.
#[derive(Serialize)]
struct Seen {
    is_success: bool,
    ttft_s: Option<f64>,
    tpot_s: Option<f64>,
    e2e_s: Option<f64>,
    input_len: Option<u64>,
    output_len: Option<u64>,
    itls_s: Vec<f64>,
}

/// Writes the requests of a run in the order of the data set.
pub fn write(to: &mut impl Write, outcome: &Outcome, semantics: Semantics) -> io::Result<()> {
    for sample in &outcome.samples {
        serde_json::to_writer(&mut *to, &line(sample, semantics))?;
        to.write_all(b"\n")?;
    }
    Ok(())
}

fn line(sample: &Sample, semantics: Semantics) -> Line<'_> {
    let view = semantics.view(sample);
    let message = match &sample.end {
        End::Failed(_, text) => text.as_str(),
        End::Complete | End::Left | End::Cancelled => "",
    };
    Line {
        index: sample.index,
        id: &sample.id,
        asked: sample.asked,
        times: sample.times,
        end: sample.end.name(),
        message,
        finish: sample.finish.as_deref(),
        wire: sample.wire,
        usage: sample.usage,
        server: sample.server,
        seen: Seen {
            is_success: view.is_success,
            ttft_s: view.ttft_s,
            tpot_s: view.tpot_s,
            e2e_s: view.e2e_s,
            input_len: view.input.tokens(),
            output_len: view.output.tokens(),
            itls_s: view.itls_s,
        },
    }
}
