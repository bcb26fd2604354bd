//! Embeddings: vectors that depend on the input's text alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::api::script::CREATED;
use super::ask::Prompt;
use super::fields::Fields;
use super::refusal::Refusal;
use crate::draw;

/// Numbers in a vector, unless the request says how many.
const DIMENSIONS: u32 = 16;

/// The most numbers in a vector.
const MAX_DIMENSIONS: u32 = 4096;

/// The most inputs of one request.
const MAX_INPUTS: usize = 4096;

/// OpenAI's answer.
pub(crate) fn openai(fields: &Fields<'_>, model: &str, id: &str) -> Result<Value, Refusal> {
    let packed = match fields.text("encoding_format")? {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(Refusal::of_value("encoding_format", other, "allowed are float and base64"));
        }
    };
    let inputs = inputs(fields)?;
    let dimensions = dimensions(fields)?;
    let tokens: u64 = inputs.iter().map(|input| input.tokens).sum();
    let data: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(index, input)| {
            let vector = vector(&input.text, dimensions);
            let embedding = if packed { json!(pack(&vector)) } else { json!(vector) };
            json!({"object": "embedding", "index": index, "embedding": embedding})
        })
        .collect();
    Ok(json!({
        "id": format!("embd-{id}"),
        "object": "list",
        "created": CREATED,
        "model": model,
        "data": data,
        "usage": {
            "prompt_tokens": tokens,
            "total_tokens": tokens,
            "completion_tokens": 0,
            "prompt_tokens_details": null,
        },
    }))
}

/// Ollama's answer.
pub(crate) fn ollama(fields: &Fields<'_>, model: &str) -> Result<Value, Refusal> {
    let inputs = inputs(fields)?;
    let dimensions = dimensions(fields)?;
    let vectors: Vec<Vec<f32>> = inputs.iter().map(|input| vector(&input.text, dimensions)).collect();
    Ok(json!({
        "model": model,
        "embeddings": vectors,
        "total_duration": 0,
        "load_duration": 0,
        "prompt_eval_count": inputs.iter().map(|input| input.tokens).sum::<u64>(),
    }))
}

fn inputs(fields: &Fields<'_>) -> Result<Vec<Prompt>, Refusal> {
    let input = match fields.value("input") {
        // A conversation is one input.
        Value::Null => vec![Prompt::of(fields.value("messages"))],
        input => Prompt::each_of(input),
    };
    if fields.value("input").is_null() && fields.value("messages").is_null() {
        fields.needed("input")?;
    }
    if input.len() > MAX_INPUTS {
        return Err(Refusal::invalid(format!("at most {MAX_INPUTS} inputs")));
    }
    Ok(input)
}

fn dimensions(fields: &Fields<'_>) -> Result<u32, Refusal> {
    Ok(fields.count("dimensions", 1, MAX_DIMENSIONS)?.unwrap_or(DIMENSIONS))
}

/// A vector of length 1.
fn vector(text: &str, dimensions: u32) -> Vec<f32> {
    let key = text.bytes().fold(0, |key, byte| draw::mix(key ^ u64::from(byte)));
    let raw: Vec<f64> = (0..u64::from(dimensions))
        .map(|dimension| f64::from(draw::mix(key ^ dimension) as i32) / f64::from(i32::MIN))
        .collect();
    let length = raw.iter().map(|number| number * number).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    raw.iter().map(|number| (number / length) as f32).collect()
}

/// The numbers as 32-bit floats, low byte first, in base64.
fn pack(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(body: &Value) -> Result<Value, Refusal> {
        openai(&Fields::of(body).unwrap(), "sim", "1")
    }

    #[test]
    fn each_input_has_a_vector_of_its_own() {
        let answer = render(&json!({"input": ["one two", "three"]})).unwrap();
        assert_eq!(answer["data"].as_array().unwrap().len(), 2);
        assert_eq!(answer["data"][1]["index"], 1);
        assert_ne!(answer["data"][0]["embedding"], answer["data"][1]["embedding"]);
        assert_eq!(answer["usage"]["total_tokens"], 5);
        assert_eq!(answer["model"], "sim");
    }

    #[test]
    fn a_text_and_its_tokens_are_one_input() {
        for (input, tokens) in [(json!("a text"), 3), (json!([1, 2, 3, 4]), 4)] {
            let answer = render(&json!({"input": input})).unwrap();
            assert_eq!(answer["data"].as_array().unwrap().len(), 1);
            assert_eq!(answer["usage"]["prompt_tokens"], tokens);
        }
    }

    #[test]
    fn vectors_have_the_length_one() {
        for dimensions in [1, 16, 384] {
            let vector = vector("a text", dimensions);
            assert_eq!(vector.len(), dimensions as usize);
            let length: f32 = vector.iter().map(|number| number * number).sum();
            assert!((length - 1.0).abs() < 1e-5, "{length}");
        }
    }

    #[test]
    fn packed_numbers_are_the_numbers() {
        let plain = render(&json!({"input": "x", "dimensions": 3})).unwrap();
        let packed = render(&json!({"input": "x", "dimensions": 3, "encoding_format": "base64"})).unwrap();
        let bytes = STANDARD.decode(packed["data"][0]["embedding"].as_str().unwrap()).unwrap();
        let numbers: Vec<f32> =
            bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        assert_eq!(json!(numbers), plain["data"][0]["embedding"]);
        assert_eq!(numbers.len(), 3);
    }

    #[test]
    fn what_cannot_be_embedded_is_refused() {
        for body in [
            json!({}),
            json!({"input": "x", "dimensions": 0}),
            json!({"input": "x", "dimensions": 5000}),
            json!({"input": "x", "encoding_format": "octal"}),
            json!({"input": vec!["x"; 4097]}),
        ] {
            assert!(render(&body).is_err(), "{body}");
        }
        assert!(render(&json!({"messages": [{"role": "user", "content": "x"}]})).is_ok());
    }
}
