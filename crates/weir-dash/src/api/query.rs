//! The query of `/api/exchanges`.

use std::time::Duration;

use weir_analysis::api::ExchangeFilter;
use weir_analysis::time::Moment;
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::timeline::Offset;

use crate::refusal::Refusal;

/// As many parameters are read.
const MAX_PARAMETERS: usize = 32;

/// How many exchanges are given unless more or fewer are asked for, and how many at most.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// As much of what was given is told back.
const SHOWN: usize = 64;

/// Every parameter there is.
const KNOWN: [&str; 9] = [
    "model",
    "upstream",
    "outcome",
    "error_type",
    "min_ttft_ms",
    "min_e2e_ms",
    "since",
    "request_id",
    "limit",
];

/// What the query asks for, at `now`.
pub(super) fn filter(query: &str, now: Moment) -> Result<ExchangeFilter, Refusal> {
    let mut filter = ExchangeFilter { limit: DEFAULT_LIMIT, ..ExchangeFilter::default() };
    let mut given = Vec::new();
    for (nth, (name, value)) in form_urlencoded::parse(query.as_bytes()).enumerate() {
        if nth == MAX_PARAMETERS {
            return Err(Refusal::Parameter(format!("more than {MAX_PARAMETERS} parameters")));
        }
        let Some(known) = KNOWN.into_iter().find(|known| *known == name) else {
            let (name, known) = (shown(&name), KNOWN.join(", "));
            return Err(Refusal::UnknownParameter(format!("unknown parameter `{name}`; there are {known}")));
        };
        if given.contains(&known) {
            return Err(Refusal::Parameter(format!("{known}: given twice")));
        }
        given.push(known);
        set(&mut filter, known, &value, now).map_err(|allowed| {
            Refusal::Parameter(format!("{known}: `{}` is not {allowed}", shown(&value)))
        })?;
    }
    Ok(filter)
}

/// Takes in one parameter; the error says what is allowed.
fn set(filter: &mut ExchangeFilter, name: &str, value: &str, now: Moment) -> Result<(), String> {
    match name {
        "model" => filter.model = Some(text(value)?),
        "upstream" => filter.upstream = Some(text(value)?),
        "request_id" => filter.request_id = Some(text(value)?),
        "outcome" => filter.outcome = Some(member(Outcome::ALL, Outcome::as_str, value)?),
        "error_type" => filter.error_type = Some(member(ErrorType::ALL, ErrorType::as_str, value)?),
        "min_ttft_ms" => filter.min_ttft = Some(milliseconds(value)?),
        "min_e2e_ms" => filter.min_e2e = Some(milliseconds(value)?),
        "since" => filter.since = Some(moment(value, now)?),
        _ => filter.limit = limit(value)?,
    }
    Ok(())
}

fn text(value: &str) -> Result<String, String> {
    if value.is_empty() { Err("a name".into()) } else { Ok(value.to_owned()) }
}

fn member<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, value: &str) -> Result<T, String> {
    all.iter().copied().find(|member| name(*member) == value).ok_or_else(|| {
        let names: Vec<&str> = all.iter().copied().map(&name).collect();
        format!("one of {}", names.join(", "))
    })
}

fn milliseconds(value: &str) -> Result<Offset, String> {
    let seconds = value.parse::<f64>().ok().map(|milliseconds| milliseconds / 1e3);
    let length = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    length.map(Offset::from).ok_or_else(|| "a number of milliseconds".into())
}

/// Nanoseconds since the Unix epoch, as answers give them, or how long ago.
fn moment(value: &str, now: Moment) -> Result<Moment, String> {
    if let Ok(nanoseconds) = value.parse() {
        return Ok(Moment(nanoseconds));
    }
    let ago = humantime::parse_duration(value);
    ago.map(|ago| now.minus(ago))
        .map_err(|_| "nanoseconds since the Unix epoch, or how long ago, such as 15m".into())
}

fn limit(value: &str) -> Result<usize, String> {
    let limit = value.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| format!("a number from 1 to {MAX_LIMIT}"))
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_analysis::api::ExchangeFilter;
    use weir_analysis::time::Moment;
    use weir_core::outcome::{ErrorType, Outcome};
    use weir_core::timeline::Offset;

    use super::{KNOWN, MAX_LIMIT, filter};
    use crate::refusal::Refusal;

    const NOW: Moment = Moment(1_000_000_000_000);

    #[test]
    fn every_parameter_is_read() {
        let query = "model=a%2Fb+c&upstream=default&outcome=truncated&error_type=stream_truncated&min_ttft_ms=1.5\
            &min_e2e_ms=2000&since=15m&request_id=%E2%82%AC&limit=1000";
        let expected = ExchangeFilter {
            model: Some("a/b c".into()),
            upstream: Some("default".into()),
            outcome: Some(Outcome::Truncated),
            error_type: Some(ErrorType::StreamTruncated),
            min_ttft: Some(Offset(1_500_000)),
            min_e2e: Some(Offset(2_000_000_000)),
            since: Some(Moment(100_000_000_000)),
            request_id: Some("€".into()),
            limit: 1_000,
        };
        assert_eq!(filter(query, NOW), Ok(expected));
        assert_eq!(filter("since=17", NOW).unwrap().since, Some(Moment(17)));
        assert_eq!(filter("since=1h", NOW).unwrap().since, Some(Moment(0)));
        assert_eq!(filter("", NOW), Ok(ExchangeFilter { limit: 100, ..ExchangeFilter::default() }));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_allowed() {
        for (query, said) in [
            ("limit=0", "limit: `0` is not a number from 1 to 1000"),
            ("limit=1001", "limit: `1001` is not a number from 1 to 1000"),
            ("model=", "model: `` is not a name"),
            ("model=a&model=b", "model: given twice"),
            ("min_ttft_ms=-1", "min_ttft_ms: `-1` is not a number of milliseconds"),
            ("min_ttft_ms=NaN", "min_ttft_ms: `NaN` is not a number of milliseconds"),
            ("min_e2e_ms=1e999", "min_e2e_ms: `1e999` is not a number of milliseconds"),
            ("since=-5", "since: `-5` is not nanoseconds since the Unix epoch, or how long ago, such as 15m"),
        ] {
            assert_eq!(filter(query, NOW), Err(Refusal::Parameter(said.into())), "{query}");
        }
        let Err(Refusal::Parameter(said)) = filter("outcome=COMPLETED", NOW) else { unreachable!() };
        assert!(said.starts_with("outcome: `COMPLETED` is not one of completed, truncated, "), "{said}");
        let Err(Refusal::UnknownParameter(said)) = filter("modl=a", NOW) else { unreachable!() };
        assert!(said.starts_with("unknown parameter `modl`; there are model, upstream, "), "{said}");
        let many = "&limit=1".repeat(40);
        assert!(matches!(filter(&many, NOW), Err(Refusal::Parameter(_))));
    }

    proptest! {
        #[test]
        fn no_query_breaks_it_and_its_answer_is_within_bounds(query in ".{0,200}") {
            match filter(&query, NOW) {
                Ok(filter) => prop_assert!((1..=MAX_LIMIT).contains(&filter.limit)),
                Err(refusal) => prop_assert!(refusal.to_string().chars().count() < 1_024),
            }
        }

        #[test]
        fn no_value_breaks_it(name in prop::sample::select(&KNOWN[..]), value in ".{0,100}") {
            let query: String = form_urlencoded::Serializer::new(String::new()).append_pair(name, &value).finish();
            match filter(&query, NOW) {
                Ok(filter) => {
                    prop_assert!((1..=MAX_LIMIT).contains(&filter.limit));
                    // What is a name comes through as it was written.
                    let text = match name {
                        "model" => filter.model,
                        "upstream" => filter.upstream,
                        "request_id" => filter.request_id,
                        _ => Some(value.clone()),
                    };
                    prop_assert_eq!(text, Some(value));
                }
                Err(Refusal::Parameter(said)) => prop_assert!(said.starts_with(name)),
                Err(other) => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn lengths_come_through(milliseconds in 0_u32..1_000_000_000) {
            let filter = filter(&format!("min_ttft_ms={milliseconds}"), NOW).unwrap();
            prop_assert_eq!(filter.min_ttft, Some(Offset(u64::from(milliseconds) * 1_000_000)));
        }
    }
}
