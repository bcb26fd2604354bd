//! The formats of the metrics page: whoever serves it asks for one, whoever writes it has them.

/// A format of the metrics page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageFormat {
    /// Prometheus' text format, version 0.0.4.
    #[default]
    Text,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl PageFormat {
    /// The media type of a page in this format.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}
