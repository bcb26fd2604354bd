//! Traffic that a weir has recorded, as a data set: when requests came, how long they were, and who left.

use std::path::Path;
use std::time::Duration;

use weir_core::dialect::Dialect;
use weir_core::exchange::Exchange;
use weir_core::observation::Observation;
use weir_core::outcome::Outcome;
use weir_load::bench::dataset::Recorded;
use weir_telemetry::{RecordError, read_records};

/// Reads the requests of a record file that asked a model for text. A line that cannot be read ends it with an
/// error; the last line may be cut.
pub(super) fn read(path: &Path) -> Result<Vec<Recorded>, String> {
    let name = path.display().to_string().replace(char::is_control, "?");
    let told = |error: RecordError| format!("{name}: {error}");
    let mut entries = Vec::new();
    for observation in read_records(path).map_err(told)? {
        if let Observation::Exchange(exchange) = observation.map_err(told)? {
            entries.extend(recorded(&exchange));
        }
    }
    if entries.is_empty() {
        return Err(format!("{name}: there is no request for text in it"));
    }
    Ok(entries)
}

fn recorded(exchange: &Exchange) -> Option<Recorded> {
    use Dialect::{Embeddings, Other, Rerank, Transcription};
    let (asked, answer) = (&exchange.request, &exchange.answer);
    if matches!(asked.dialect, Embeddings | Other | Rerank | Transcription) {
        return None;
    }
    let left = matches!(exchange.outcome, Outcome::ClientGoneBeforeFirstToken | Outcome::ClientGoneMidStream);
    let tokens = |count: Option<u64>| count.and_then(|count| u32::try_from(count).ok());
    let chunks = answer.output.as_ref().map(|output| output.chunks);
    Some(Recorded {
        at: Duration::from_nanos(exchange.received.0),
        input_tokens: tokens(answer.usage.and_then(|usage| usage.input)),
        // Who left has not seen how long the answer would have been.
        output_tokens: if left { None } else { tokens(answer.tokens.map(|tokens| tokens.count)) },
        stream: asked.stream,
        model: None,
        left_after: left.then(|| exchange.duration().as_duration()),
        left_after_output: if left { tokens(chunks).filter(|chunks| *chunks > 0) } else { None },
    })
}
