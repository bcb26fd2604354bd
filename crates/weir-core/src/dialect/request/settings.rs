//! How to generate, as far as a request body says so.

use crate::json::skim::Skim;
use crate::json::walk::{Kind, Walker};
use crate::setting::{SETTING_LIMIT, Setting, SettingName};

/// What a key sets, in whichever dialect. Of several for one thing the first counts.
const NAMES: [(&str, SettingName); 15] = [
    ("temperature", SettingName::Temperature),
    ("top_p", SettingName::TopP),
    ("top_k", SettingName::TopK),
    ("max_completion_tokens", SettingName::MaxTokens),
    ("max_output_tokens", SettingName::MaxTokens),
    ("max_tokens", SettingName::MaxTokens),
    ("max_new_tokens", SettingName::MaxTokens),
    ("num_predict", SettingName::MaxTokens),
    ("frequency_penalty", SettingName::FrequencyPenalty),
    ("presence_penalty", SettingName::PresencePenalty),
    ("seed", SettingName::Seed),
    ("stop", SettingName::Stop),
    ("stop_sequences", SettingName::Stop),
    ("service_tier", SettingName::ServiceTier),
    ("reasoning_effort", SettingName::ReasoningEffort),
];

/// Objects in which Ollama, TGI and SGLang keep their settings.
const NESTS: [&str; 3] = ["options", "parameters", "sampling_params"];

/// Objects of which one field is a setting.
const PARTS: [(&str, &[u8], SettingName); 2] = [
    ("reasoning", b"effort", SettingName::ReasoningEffort),
    ("response_format", b"type", SettingName::ResponseFormat),
];

/// The settings of a body, each once.
pub(super) fn read(skim: &Skim) -> Box<[Setting]> {
    let mut settings = Vec::new();
    for (key, name) in NAMES {
        if let Some(value) = skim.value(key) {
            add(&mut settings, name, value);
        }
    }
    for (nest, wanted, name) in PARTS {
        let walker = Walker::new(skim.value(nest).unwrap_or_default());
        each(walker, |key, value| {
            if key == wanted {
                add(&mut settings, name, value);
            }
        });
    }
    for nest in NESTS {
        let walker = Walker::new(skim.value(nest).unwrap_or_default());
        each(walker, |key, value| {
            if let Some((_, name)) = NAMES.iter().find(|(known, _)| known.as_bytes() == key) {
                add(&mut settings, *name, value);
            }
        });
    }
    settings.into()
}

fn each(mut walker: Walker<'_>, mut on: impl FnMut(&[u8], &[u8])) {
    walker.object(|walker, key| on(key, walker.raw()));
}

/// Adds a value that is a string, a number or a list, unless it is there already.
fn add(settings: &mut Vec<Setting>, name: SettingName, value: &[u8]) {
    let kind = Walker::new(value).peek();
    let told = matches!(kind, Kind::String | Kind::Number | Kind::Array) && value.len() <= SETTING_LIMIT;
    if let Ok(value) = std::str::from_utf8(value)
        && told
        && settings.iter().all(|setting| setting.name != name)
    {
        settings.push(Setting { name, value: value.into() });
    }
}
