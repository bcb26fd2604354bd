//! What the engine shows of itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::Shared;
use super::api::script::CREATED;
use super::api::{MODEL, Page, ollama, tgi};
use super::http::{Answer, refuse, whole_body};
use super::metrics;
use super::refusal::{ErrorShape, Refusal};

/// The release of Ollama whose endpoints these are.
const OLLAMA: &str = "0.12.6";

/// Shows a page.
pub(crate) async fn answer(shared: &Arc<Shared>, page: Page, path: &str) -> Response<Answer> {
    let names = &shared.config.models;
    let text = match page {
        Page::Models => match path.strip_prefix(MODEL) {
            None => models(names, shared.context()).to_string(),
            Some(name) if names.iter().any(|known| known == name) => {
                model(name, shared.context()).to_string()
            }
            Some(name) => return refuse(&Refusal::model_not_found(name), ErrorShape::OpenAi),
        },
        Page::Health => {
            let mut response = whole_body(StatusCode::OK, "application/json", "");
            response.headers_mut().remove(CONTENT_TYPE);
            return response;
        }
        Page::Version => json!({"version": env!("CARGO_PKG_VERSION")}).to_string(),
        Page::Load => {
            let counters = &shared.counters;
            let load = [&counters.active, &counters.queued].map(|counter| counter.load(Ordering::Relaxed));
            json!({"server_load": load.iter().sum::<u64>()}).to_string()
        }
        Page::Metrics => return metrics::answer(shared).await,
        Page::OllamaTags => ollama::tags(names),
        Page::OllamaVersion => json!({"version": OLLAMA}).to_string(),
        Page::TgiInfo => tgi::info(shared.model(), shared.context()).to_string(),
    };
    whole_body(StatusCode::OK, "application/json", text)
}

fn models(names: &[String], context: u64) -> Value {
    let models: Vec<Value> = names.iter().map(|name| model(name, context)).collect();
    json!({"object": "list", "data": models})
}

fn model(name: &str, context: u64) -> Value {
    json!({
        "id": name,
        "object": "model",
        "created": CREATED,
        "owned_by": "sim",
        "root": name,
        "parent": null,
        "max_model_len": context,
        "permission": [],
    })
}
