//! Attributes in the making.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};

/// A list of attributes. What is absent is left out.
#[derive(Debug, Default)]
pub(super) struct Attributes(Vec<KeyValue>);

impl Attributes {
    pub(super) fn with_room(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    pub(super) fn text(&mut self, key: &str, value: impl Into<String>) {
        self.push(key, Value::StringValue(value.into()));
    }

    pub(super) fn some_text(&mut self, key: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    /// A count. What does not fit is the greatest that does.
    pub(super) fn count(&mut self, key: &str, value: u64) {
        self.push(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    pub(super) fn some_count(&mut self, key: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.count(key, value);
        }
    }

    pub(super) fn integer(&mut self, key: &str, value: i64) {
        self.push(key, Value::IntValue(value));
    }

    pub(super) fn number(&mut self, key: &str, value: f64) {
        self.push(key, Value::DoubleValue(value));
    }

    pub(super) fn some_number(&mut self, key: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.number(key, value);
        }
    }

    pub(super) fn flag(&mut self, key: &str, value: bool) {
        self.push(key, Value::BoolValue(value));
    }

    pub(super) fn texts(&mut self, key: &str, values: impl IntoIterator<Item = String>) {
        let of = |value| AnyValue { value: Some(Value::StringValue(value)) };
        self.push(key, Value::ArrayValue(ArrayValue { values: values.into_iter().map(of).collect() }));
    }

    pub(super) fn list(self) -> Vec<KeyValue> {
        self.0
    }

    fn push(&mut self, key: &str, value: Value) {
        let value = Some(AnyValue { value: Some(value) });
        self.0.push(KeyValue { key: key.to_owned(), value, ..KeyValue::default() });
    }
}
