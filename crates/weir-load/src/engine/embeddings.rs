//! Embeddings: vectors that depend on the input's text alone.

use bytes::Bytes;
use http::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shared;
use super::ask::{count_tokens, text_of};
use super::call::{Call, refused};
use super::http::Answer;
use super::refusal::Refusal;
use super::whole::Whole;
use crate::draw;

/// Numbers in a vector.
const DIMENSIONS: u64 = 16;

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    input: Value,
}

/// Answers an embeddings request.
pub(crate) async fn answer(shared: &Shared, call: Call) -> Response<Answer> {
    let body = serde_json::from_slice::<Body>(&call.body)
        .map_err(|error| Refusal::invalid(error.to_string()))
        .and_then(|body| match &body.model {
            Some(model) => shared.knows(model).map(|()| body),
            None => Ok(body),
        });
    let body = match body {
        Ok(body) => body,
        Err(refusal) => return refused(call.visit, &refusal),
    };
    let model = body.model.as_deref().or(shared.config.models.first().map(String::as_str));
    let bytes = Bytes::from(render(&body.input, model).to_string());
    let turn = shared.scheduler.enter();
    let whole = Whole { turn, link: call.link, visit: call.visit, fault: call.fault };
    whole.answer(bytes, call.behaviour.ttft).await
}

fn render(input: &Value, model: Option<&str>) -> Value {
    // A list of numbers is one text in tokens; any other list is several inputs.
    let inputs: Vec<String> = match input {
        Value::Array(items) if !items.iter().all(Value::is_number) => items.iter().map(text_of).collect(),
        one => vec![text_of(one)],
    };
    let tokens: u64 = inputs.iter().map(|text| count_tokens(text)).sum();
    let data: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}))
        .collect();
    json!({
        "object": "list",
        "data": data,
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })
}

/// Numbers between -1 and 1.
fn vector(text: &str) -> Vec<f64> {
    let key = text.bytes().fold(0, |key, byte| draw::mix(key ^ u64::from(byte)));
    (0..DIMENSIONS)
        .map(|dimension| f64::from(draw::mix(key ^ dimension) as i32) / f64::from(i32::MIN))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_input_has_a_vector_of_its_own() {
        let answer = render(&json!(["one two", "three"]), Some("sim"));
        assert_eq!(answer["data"].as_array().unwrap().len(), 2);
        assert_eq!(answer["data"][1]["index"], 1);
        assert_ne!(answer["data"][0]["embedding"], answer["data"][1]["embedding"]);
        assert_eq!(answer["usage"]["total_tokens"], 5);
        assert_eq!(answer["model"], "sim");
    }

    #[test]
    fn a_text_and_its_tokens_are_one_input() {
        for input in [json!("a text"), json!([1, 2, 3])] {
            assert_eq!(render(&input, None)["data"].as_array().unwrap().len(), 1);
        }
        assert!(vector("a text").iter().all(|number| (-1.0..=1.0).contains(number)));
        assert_eq!(vector("a text").len(), 16);
    }
}
