//! Every recorder of the pipeline, as one.

use std::sync::Arc;
use std::time::Duration;

use weir_core::exchange::Exchange;
use weir_core::observation::Observation;

use crate::access_log::AccessLog;
use crate::metrics::{Metrics, Snapshot};
use crate::otlp::Otlp;
use crate::record_file::RecordFile;
use crate::recorder::{Beside, Recorder};
use crate::valued::Valued;

/// Every recorder there is.
#[derive(Debug)]
pub(crate) struct Recorders {
    pub(crate) metrics: Metrics,
    pub(crate) access_log: Option<AccessLog>,
    pub(crate) record: Option<RecordFile>,
    pub(crate) otlp: Option<Otlp>,
}

impl Recorders {
    /// Hands an observation to all of them.
    pub(crate) fn record(&mut self, observation: &Observation, beside: &Beside) {
        self.metrics.record(observation, beside);
        if let Some(access_log) = &mut self.access_log {
            access_log.record(observation, beside);
        }
        if let Some(record) = &mut self.record {
            record.record(observation, beside);
        }
    }

    /// Whether the export is to have an exchange.
    pub(crate) fn keeps(&self, exchange: &Exchange) -> bool {
        self.otlp.as_ref().is_some_and(|otlp| otlp.keeps(exchange))
    }

    /// Hands an exchange to the export.
    pub(crate) fn offer(&mut self, valued: &Arc<Valued>, kept: bool) {
        if let Some(otlp) = &mut self.otlp {
            otlp.offer(valued, kept);
        }
    }

    /// Writes and sends what is left, with the metrics as they stand last.
    pub(crate) async fn finish(self, last: Snapshot, limit: Duration) {
        let access_log = async {
            if let Some(access_log) = self.access_log {
                access_log.writer.finish(limit).await;
            }
        };
        let record = async {
            if let Some(record) = self.record {
                record.writer.finish(limit).await;
            }
        };
        let otlp = async {
            if let Some(otlp) = self.otlp {
                otlp.finish(last, limit).await;
            }
        };
        tokio::join!(access_log, record, otlp);
    }
}
