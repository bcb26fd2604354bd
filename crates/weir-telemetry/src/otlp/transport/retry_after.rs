//! How long a server asks to be left alone.

use std::time::Duration;

use prost::Message;
use weir_core::exchange::WallTime;

/// A server may ask for no more than this.
const LONGEST: Duration = Duration::from_secs(60);

/// The value of an HTTP `Retry-After`: seconds, or a date.
pub(crate) fn of_header(value: &str, now: WallTime) -> Option<Duration> {
    let value = value.trim();
    let seconds = value.parse().ok().map(Duration::from_secs);
    seconds.or_else(|| until(value, now)).map(|after| after.min(LONGEST))
}

fn until(date: &str, now: WallTime) -> Option<Duration> {
    let date = jiff::fmt::rfc2822::parse(date).ok()?;
    let nanos = date.timestamp().as_nanosecond().saturating_sub(now.0.into());
    Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
}

/// The `google.rpc.RetryInfo` among the details of a gRPC status.
pub(super) fn of_details(details: &[u8]) -> Option<Duration> {
    let status = Status::decode(details).ok()?;
    let info = status.details.iter().find(|any| any.type_url.ends_with("/google.rpc.RetryInfo"))?;
    let delay = RetryInfo::decode(&*info.value).ok()?.delay.unwrap_or_default();
    let seconds = u64::try_from(delay.seconds).ok()?;
    let nanos = u32::try_from(delay.nanos).ok()?;
    Some(Duration::new(seconds, nanos.min(999_999_999)).min(LONGEST))
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    delay: Option<Delay>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Delay {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prost::Message;

    use weir_core::exchange::WallTime;

    use super::{Any, Delay, RetryInfo, Status, of_details, of_header};

    #[test]
    fn seconds_and_dates_are_taken_up_to_a_bound() {
        let now = WallTime(946_684_790_000_000_000);
        assert_eq!(of_header(" 3 ", now), Some(Duration::from_secs(3)));
        assert_eq!(of_header("86400", now), Some(Duration::from_secs(60)));
        assert_eq!(of_header("Fri, 31 Dec 1999 23:59:59 GMT", now), Some(Duration::from_secs(9)));
        assert_eq!(of_header("Fri, 31 Dec 1999 23:59:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(of_header("soon", now), None);
    }

    #[test]
    fn a_status_tells_it_among_its_details() {
        let info = RetryInfo { delay: Some(Delay { seconds: 1, nanos: 500_000_000 }) };
        let other = Any { type_url: "type.googleapis.com/google.rpc.ErrorInfo".into(), value: vec![9, 9] };
        let any =
            Any { type_url: "type.googleapis.com/google.rpc.RetryInfo".into(), value: info.encode_to_vec() };
        let status = Status { details: vec![other.clone(), any] };
        assert_eq!(of_details(&status.encode_to_vec()), Some(Duration::from_millis(1_500)));
        assert_eq!(of_details(&Status { details: vec![other] }.encode_to_vec()), None);
        assert_eq!(of_details(b"\xff\xff"), None);
    }
}
