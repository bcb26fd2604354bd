//! What is worked out without generating: embeddings, relevance, tokens.

use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};

use super::Shared;
use super::api::Compute;
use super::api::messages;
use super::ask::{count_tokens, text_of};
use super::call::{Call, refused};
use super::embeddings;
use super::fields::{Fields, json as parse};
use super::generation::{plain, text_ids, word_of};
use super::http::Answer;
use super::pace::Pace;
use super::pack::Packer;
use super::refusal::Refusal;
use super::whole::Whole;
use crate::draw;

/// The most documents that one request may have ranked.
const MAX_DOCUMENTS: usize = 4096;

/// Answers a request.
pub(crate) async fn answer(shared: &Shared, call: Call, compute: Compute) -> Response<Answer> {
    let rendered = parse(&call.body).and_then(|body| {
        let packer = Packer::read(&call.headers)?;
        let fields = Fields::of(&body)?;
        let model = fields.text("model")?.unwrap_or(shared.model());
        shared.knows(model)?;
        let json = render(compute, &fields, model, &call.draw.id, shared.context())?;
        Ok((json, packer))
    });
    let (json, packer) = match rendered {
        Ok(rendered) => rendered,
        Err(refusal) => return refused(call.visit, &refusal, call.shape),
    };
    let pace = Pace::new(&call.behaviour, call.draw.gaps);
    let turn = shared.scheduler.enter_beside(pace);
    let whole = Whole {
        turn,
        link: call.link,
        visit: call.visit,
        fault: call.fault,
        shape: call.shape,
        media: "application/json",
        packer,
    };
    whole.answer(0, || Bytes::from(json.to_string())).await
}

fn render(
    compute: Compute,
    fields: &Fields<'_>,
    model: &str,
    id: &str,
    context: u64,
) -> Result<Value, Refusal> {
    match compute {
        Compute::Embeddings => embeddings::openai(fields, model, id),
        Compute::OllamaEmbed => embeddings::ollama(fields, model),
        Compute::Rerank => rerank(fields, model, id),
        Compute::Score => score(fields, model, id),
        Compute::Tokenize => tokenize(fields, context),
        Compute::Detokenize => detokenize(fields),
        Compute::CountTokens => Ok(json!({"input_tokens": messages::prompt(fields)?.tokens})),
    }
}

fn rerank(fields: &Fields<'_>, model: &str, id: &str) -> Result<Value, Refusal> {
    let query = text_of(fields.needed("query")?);
    let documents = texts(fields.needed("documents")?)?;
    let top = fields.count("top_n", 0, u32::MAX)?.filter(|top| *top > 0);
    let tokens = pairs(&query, &documents);
    let mut results: Vec<(f64, Value)> = documents
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let score = relevance(&query, text);
            (score, json!({"index": index, "document": {"text": text}, "relevance_score": score}))
        })
        .collect();
    results.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    results.truncate(top.map_or(usize::MAX, |top| top as usize));
    let results: Vec<Value> = results.into_iter().map(|(_, result)| result).collect();
    Ok(json!({
        "id": format!("rerank-{id}"),
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "results": results,
    }))
}

fn score(fields: &Fields<'_>, model: &str, id: &str) -> Result<Value, Refusal> {
    let given = |names: [&'static str; 3]| names.into_iter().find(|name| !fields.value(name).is_null());
    let query = given(["queries", "data_1", "text_1"]).unwrap_or("text_1");
    let item = given(["documents", "data_2", "text_2"]).or(given(["items"; 3])).unwrap_or("text_2");
    let queries = texts(fields.needed(query)?)?;
    let items = texts(fields.needed(item)?)?;
    if queries.len() != 1 && queries.len() != items.len() {
        return Err(Refusal::invalid("Input lengths must be either 1:1, 1:N or N:N"));
    }
    let mut tokens = 0;
    let each: Vec<Value> = items
        .iter()
        .enumerate()
        .filter_map(|(index, text)| {
            let query = queries.get(index).or(queries.first())?;
            tokens += count_tokens(query) + count_tokens(text);
            Some(json!({"index": index, "object": "score", "score": relevance(query, text)}))
        })
        .collect();
    Ok(json!({
        "id": format!("score-{id}"),
        "object": "list",
        "created": super::api::script::CREATED,
        "model": model,
        "data": each,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }))
}

fn texts(value: &Value) -> Result<Vec<String>, Refusal> {
    let texts: Vec<String> = match value {
        Value::Array(items) => items.iter().map(text_of).collect(),
        one => vec![text_of(one)],
    };
    if texts.len() > MAX_DOCUMENTS {
        return Err(Refusal::invalid(format!("at most {MAX_DOCUMENTS} documents")));
    }
    Ok(texts)
}

fn pairs(query: &str, documents: &[String]) -> u64 {
    documents.iter().map(|text| count_tokens(query) + count_tokens(text)).sum()
}

/// Between 0 and 1: the more words two texts share, the higher, and never twice the same.
fn relevance(query: &str, text: &str) -> f64 {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let shared = text.split_whitespace().filter(|word| words.contains(&word.to_lowercase())).count();
    let of = words.len().max(1);
    let bits = text.bytes().fold(1, |key, byte| draw::mix(key ^ u64::from(byte)));
    let noise = f64::from((bits >> 32) as u32) / f64::from(u32::MAX);
    (0.9 * shared.min(of) as f64 + 0.1 * noise * of as f64) / of as f64
}

fn tokenize(fields: &Fields<'_>, context: u64) -> Result<Value, Refusal> {
    let text = match fields.value("messages") {
        Value::Null => text_of(fields.needed("prompt")?),
        messages => text_of(messages),
    };
    let tokens: Vec<u64> = text_ids(&text).collect();
    let words: Vec<&str> = std::iter::once("<s>").chain(text.split_whitespace()).collect();
    let words = if fields.flag("return_token_strs")? { json!(words) } else { Value::Null };
    Ok(json!({
        "count": tokens.len(),
        "max_model_len": context,
        "tokens": tokens,
        "token_strs": words,
    }))
}

/// The words of a tokenizer that knows no more words than the engine ever says.
fn detokenize(fields: &Fields<'_>) -> Result<Value, Refusal> {
    let tokens = fields.needed_list("tokens")?;
    let words: String = tokens.iter().filter_map(Value::as_u64).map(|id| plain(word_of(id))).collect();
    Ok(json!({"prompt": words}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ask::Prompt;

    fn rendered(compute: Compute, body: &Value) -> Result<Value, Refusal> {
        render(compute, &Fields::of(body).unwrap(), "sim", "1", 2048)
    }

    #[test]
    fn what_shares_more_words_ranks_higher() {
        let body = json!({
            "query": "how high is the river",
            "documents": ["a dry field", "The river is high", "a river"],
            "top_n": 2,
        });
        let answer = rendered(Compute::Rerank, &body).unwrap();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        assert_eq!((&results[0]["index"], &results[1]["index"]), (&json!(1), &json!(2)));
        assert_eq!(results[0]["document"]["text"], "The river is high");
        assert_eq!(answer["usage"]["total_tokens"], 3 * 6 + 4 + 5 + 3);
        let scores: Vec<f64> = results.iter().map(|one| one["relevance_score"].as_f64().unwrap()).collect();
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
    }

    #[test]
    fn pairs_are_scored() {
        let answer = rendered(Compute::Score, &json!({"text_1": "a b", "text_2": ["a b", "c"]})).unwrap();
        assert_eq!(answer["data"][1]["object"], "score");
        assert!(answer["data"][0]["score"].as_f64() > answer["data"][1]["score"].as_f64());
        let uneven = json!({"text_1": ["a", "b"], "text_2": ["a", "b", "c"]});
        assert!(rendered(Compute::Score, &uneven).is_err());
        assert!(rendered(Compute::Score, &json!({})).unwrap_err().message.contains("text_1"));
    }

    #[test]
    fn tokens_are_counted_as_everywhere() {
        let answer = rendered(Compute::Tokenize, &json!({"prompt": "two words"})).unwrap();
        assert_eq!((&answer["count"], &answer["max_model_len"]), (&json!(3), &json!(2048)));
        assert_eq!(answer["tokens"].as_array().unwrap().len(), 3);
        assert_eq!(answer["token_strs"], Value::Null);
        let prompt = Prompt::of(&json!("two words"));
        assert_eq!(answer["count"], prompt.tokens);
        let words = rendered(Compute::Detokenize, &json!({"tokens": [0, 2281]})).unwrap();
        assert_eq!(words, json!({"prompt": " weir river"}));
        let messages = json!({"system": "be brief", "messages": [{"role": "user", "content": "hello"}]});
        assert_eq!(rendered(Compute::CountTokens, &messages).unwrap(), json!({"input_tokens": 4}));
    }
}
