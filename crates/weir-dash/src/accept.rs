//! Which format of the metrics page a client prefers, by its `Accept` header.

use http::HeaderMap;
use http::header::ACCEPT;
use weir_core::page::PageFormat;

/// How well a format is accepted: the weight in thousandths, then how closely the client names it.
type Rank = (u16, u8);

/// The format that the client prefers. Text is given to whoever does not say, or likes both as well.
pub(crate) fn preferred(headers: &HeaderMap) -> PageFormat {
    let values = || headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = || values().flat_map(|value| value.split(','));
    let rank = |format: PageFormat| -> Rank {
        // The closest of the ranges that fit tells the weight: `text/plain;q=0, */*` does without text.
        let fitting = ranges().filter_map(|range| fit(range, format));
        let (closeness, weight) = fitting.max().unwrap_or_default();
        if weight > 0 { (weight, closeness) } else { (0, 0) }
    };
    match rank(PageFormat::OpenMetrics) > rank(PageFormat::Text) {
        true => PageFormat::OpenMetrics,
        false => PageFormat::Text,
    }
}

/// How closely a media range names a format, and its weight in thousandths. Absent where it does not.
fn fit(range: &str, format: PageFormat) -> Option<(u8, u16)> {
    let (kind, name, version) = match format {
        PageFormat::Text => ("text", "plain", "0.0.4"),
        PageFormat::OpenMetrics => ("application", "openmetrics-text", "1.0.0"),
    };
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next()?;
    let mut closeness = match media.split_once('/')? {
        ("*", "*") => 1,
        (this, "*") if this.eq_ignore_ascii_case(kind) => 2,
        (this, that) if this.eq_ignore_ascii_case(kind) && that.eq_ignore_ascii_case(name) => 3,
        _ => return None,
    };
    let mut weight = 1_000;
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        if name.eq_ignore_ascii_case("q") {
            // What is no weight is no wish either.
            weight = value.parse::<f32>().map_or(0, |q| (q.clamp(0.0, 1.0) * 1_000.0).round() as u16);
        } else if name.eq_ignore_ascii_case("version") {
            if value != version {
                return None;
            }
            closeness = 4;
        }
    }
    Some((closeness, weight))
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT;
    use http::{HeaderMap, HeaderValue};
    use weir_core::page::PageFormat::{OpenMetrics, Text};

    use super::preferred;

    #[test]
    fn the_preferred_format_is_given() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
            application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,\
            text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        for (accept, expected) in [
            (prometheus, OpenMetrics),
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                 text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                OpenMetrics,
            ),
            ("application/openmetrics-text", OpenMetrics),
            ("Application/OpenMetrics-Text; Version=\"1.0.0\"", OpenMetrics),
            ("application/openmetrics-text, */*", OpenMetrics),
            ("application/openmetrics-text;q=0.9,text/plain;q=0.8", OpenMetrics),
            ("text/plain;q=0,*/*", OpenMetrics),
            ("application/*", OpenMetrics),
            ("application/openmetrics-text;q=0.8,text/plain;q=0.9", Text),
            ("application/openmetrics-text,text/plain", Text),
            ("application/openmetrics-text;version=0.0.1", Text),
            ("application/openmetrics-text;version=2.0.0,text/plain;q=0.1", Text),
            ("application/openmetrics-text;q=0", Text),
            ("application/openmetrics-text;q=x,text/*;q=0.1", Text),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Text),
            ("*/*", Text),
            ("", Text),
            (";;,/,=", Text),
        ] {
            let headers: HeaderMap = [(ACCEPT, HeaderValue::from_static(accept))].into_iter().collect();
            assert_eq!(preferred(&headers), expected, "{accept}");
        }
        assert_eq!(preferred(&HeaderMap::new()), Text);
    }

    #[test]
    fn several_headers_are_one_list() {
        let mut headers = HeaderMap::new();
        headers.append(ACCEPT, HeaderValue::from_static("text/plain;q=0.5"));
        headers.append(ACCEPT, HeaderValue::from_static("application/openmetrics-text"));
        assert_eq!(preferred(&headers), OpenMetrics);
    }
}
