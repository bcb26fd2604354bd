//! The members of a request's JSON object, each read with the check that an API server makes of it.

use serde_json::{Map, Value};

use super::refusal::Refusal;

/// What stands for a member that is not there.
static ABSENT: Value = Value::Null;

/// A JSON object of a request. A member that is `null` counts as absent.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    members: Option<&'a Map<String, Value>>,
    /// Where the object stands in the request, for the errors.
    at: String,
}

/// Parses a body; what is not JSON is refused.
pub(crate) fn json(body: &[u8]) -> Result<Value, Refusal> {
    if body.is_empty() {
        return Err(Refusal::of_field("missing", "body", "Field required"));
    }
    serde_json::from_slice(body).map_err(|error| {
        let at = format!("body.{}", error.column());
        Refusal::of_field("json_invalid", &at, "JSON decode error")
    })
}

impl<'a> Fields<'a> {
    /// The members of a whole request.
    pub(crate) fn of(body: &'a Value) -> Result<Self, Refusal> {
        match body {
            Value::Object(members) => Ok(Fields { members: Some(members), at: "body".to_owned() }),
            _ => Err(Refusal::of_field("dict_type", "body", "Input should be a valid dictionary")),
        }
    }

    /// The members of a member, of which there are none where it is absent.
    pub(crate) fn inner(&self, name: &str) -> Result<Fields<'a>, Refusal> {
        let members = match self.value(name) {
            Value::Object(members) => Some(members),
            Value::Null => None,
            _ => return Err(self.wrong(name, "dict_type", "Input should be a valid dictionary")),
        };
        Ok(Fields { members, at: format!("{}.{name}", self.at) })
    }

    /// A member as it stands, `null` where it is absent.
    pub(crate) fn value(&self, name: &str) -> &'a Value {
        self.members.and_then(|members| members.get(name)).unwrap_or(&ABSENT)
    }

    /// A member that has to be there.
    pub(crate) fn needed(&self, name: &str) -> Result<&'a Value, Refusal> {
        match self.value(name) {
            Value::Null => Err(self.wrong(name, "missing", "Field required")),
            value => Ok(value),
        }
    }

    /// A list that has to be there.
    pub(crate) fn needed_list(&self, name: &str) -> Result<&'a Vec<Value>, Refusal> {
        let value = self.needed(name)?;
        value.as_array().ok_or_else(|| self.wrong(name, "list_type", "Input should be a valid list"))
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        match self.value(name) {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            _ => Err(self.wrong(name, "string_type", "Input should be a valid string")),
        }
    }

    /// A flag, down where it is absent.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        self.flag_or(name, false)
    }

    /// A flag with another default.
    pub(crate) fn flag_or(&self, name: &str, absent: bool) -> Result<bool, Refusal> {
        match self.value(name) {
            Value::Null => Ok(absent),
            Value::Bool(flag) => Ok(*flag),
            _ => Err(self.wrong(name, "bool_type", "Input should be a valid boolean")),
        }
    }

    /// A whole number of any sign.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, Refusal> {
        match self.value(name) {
            Value::Null => Ok(None),
            Value::Number(number) if number.is_i64() => Ok(number.as_i64()),
            _ => Err(self.wrong(name, "int_parsing", "Input should be a valid integer")),
        }
    }

    /// A whole number that lies within these bounds.
    pub(crate) fn count(&self, name: &str, least: u32, most: u32) -> Result<Option<u32>, Refusal> {
        let Some(number) = self.integer(name)? else {
            return Ok(None);
        };
        match u32::try_from(number) {
            Ok(count) if (least..=most).contains(&count) => Ok(Some(count)),
            _ => Err(Refusal::of_value(
                name,
                &number.to_string(),
                &format!("{name} must be between {least} and {most}"),
            )),
        }
    }

    /// A token limit: at least one.
    pub(crate) fn tokens(&self, name: &str) -> Result<Option<u32>, Refusal> {
        match self.integer(name)? {
            None => Ok(None),
            Some(number) if number < 1 => Err(Refusal::of_value(
                name,
                &number.to_string(),
                &format!("{name} must be at least 1, got {number}"),
            )),
            // What lies beyond 32 bits lies beyond every context, and is refused as such.
            Some(number) => Ok(Some(u32::try_from(number).unwrap_or(u32::MAX))),
        }
    }

    /// The sampling temperature: only its sign is looked at, since nothing is sampled.
    pub(crate) fn check_temperature(&self) -> Result<(), Refusal> {
        match self.value("temperature") {
            Value::Null => Ok(()),
            Value::Number(number) => match number.as_f64().filter(|value| *value < 0.0) {
                None => Ok(()),
                Some(value) => Err(Refusal::of_value(
                    "temperature",
                    &format!("{value:?}"),
                    &format!("temperature must be non-negative, got {value:?}"),
                )),
            },
            _ => Err(self.wrong("temperature", "float_parsing", "Input should be a valid number")),
        }
    }

    fn wrong(&self, name: &str, kind: &str, says: &str) -> Refusal {
        Refusal::of_field(kind, &format!("{}.{name}", self.at), says)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(refusal: Result<impl std::fmt::Debug, Refusal>) -> String {
        refusal.unwrap_err().message
    }

    #[test]
    fn what_is_absent_or_null_has_its_default() {
        let body = json!({"stream": null});
        let fields = Fields::of(&body).unwrap();
        assert_eq!(fields.flag("stream"), Ok(false));
        assert_eq!(fields.flag_or("stream", true), Ok(true));
        assert_eq!(fields.tokens("max_tokens"), Ok(None));
        assert_eq!(fields.text("model"), Ok(None));
        assert_eq!(fields.inner("options").unwrap().integer("seed"), Ok(None));
    }

    #[test]
    fn what_is_there_is_read() {
        let body = json!({"stream": true, "n": 2, "model": "m", "options": {"seed": -7}});
        let fields = Fields::of(&body).unwrap();
        assert_eq!(fields.flag("stream"), Ok(true));
        assert_eq!(fields.count("n", 1, 128), Ok(Some(2)));
        assert_eq!(fields.text("model"), Ok(Some("m")));
        assert_eq!(fields.inner("options").unwrap().integer("seed"), Ok(Some(-7)));
    }

    #[test]
    fn a_mistake_says_where_it_is() {
        let body = json!({"max_tokens": "many", "n": 0, "temperature": -3, "options": {"seed": 0.5}});
        let fields = Fields::of(&body).unwrap();
        let wrong = "1 validation error:\n  {'type': 'int_parsing', 'loc': 'body.max_tokens', \
                     'msg': 'Input should be a valid integer'}";
        assert_eq!(message(fields.tokens("max_tokens")), wrong);
        assert_eq!(message(fields.count("n", 1, 128)), "n must be between 1 and 128 (parameter=n, value=0)");
        let cold = "temperature must be non-negative, got -3.0 (parameter=temperature, value=-3.0)";
        assert_eq!(message(fields.check_temperature()), cold);
        assert!(message(fields.needed("messages")).contains("'missing', 'loc': 'body.messages'"));
        assert!(message(fields.inner("options").unwrap().integer("seed")).contains("body.options.seed"));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        assert!(message(json(b"")).contains("'missing', 'loc': 'body'"));
        assert!(message(json(br#"{"model":"#)).contains("'json_invalid', 'loc': 'body.9'"));
        assert!(message(Fields::of(&json!([]))).contains("dict_type"));
    }
}
