//! What chat and text completions share: who gets usage, which tool is called, and the members that
//! stand in both.

use serde_json::Value;

use super::script::{CREATED, FINGERPRINT};
use crate::engine::ask::{Content, Terms, Wish};
use crate::engine::fields::Fields;
use crate::engine::generation::{Finish, Generation, Usage, quote};
use crate::engine::refusal::Refusal;

/// The last event of a stream.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// An error in the middle of a stream, as vLLM writes it.
pub(crate) const ERROR: &str = "data: {\"error\":{\"message\":\"simulated failure\",\
    \"type\":\"InternalServerError\",\"param\":null,\"code\":500}}\n\n";

/// Which events of a stream carry usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageWanted {
    Never,
    AtEnd,
    OnEvery,
}

impl UsageWanted {
    /// As in vLLM, usage on every event needs usage at the end as well.
    pub(crate) fn of(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let options = fields.inner("stream_options")?;
        let running = options.flag("continuous_usage_stats")?;
        Ok(match options.flag("include_usage")? {
            true if running => UsageWanted::OnEvery,
            true => UsageWanted::AtEnd,
            false => UsageWanted::Never,
        })
    }
}

/// The members that both endpoints read in the same way.
pub(crate) fn wish(fields: &Fields<'_>) -> Result<Wish, Refusal> {
    fields.check_temperature()?;
    Ok(Wish {
        model: fields.text("model")?.map(str::to_owned),
        stream: fields.flag("stream")?,
        choices: fields.count("n", 1, crate::engine::ask::MAX_CHOICES)?.unwrap_or(1),
        limit: fields.tokens("max_tokens")?,
        least: fields.count("min_tokens", 0, u32::MAX)?.unwrap_or(0),
        past_end: fields.flag("ignore_eos")?,
        seed: fields.integer("seed")?,
        ..Wish::default()
    })
}

/// What a request's tools come to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tools {
    None,
    /// The model may call that function.
    Free(String),
    /// The model has to call that function.
    Forced(String),
}

impl Tools {
    /// The tools as OpenAI's endpoints have them: the name of a function, in the list as in the
    /// choice, lies at `name` below each. No choice means `auto`.
    pub(crate) fn of(fields: &Fields<'_>, name: &str) -> Result<Self, Refusal> {
        let first = fields.value("tools").pointer(&format!("/0{name}")).and_then(Value::as_str);
        let choice = fields.value("tool_choice");
        let forced = match choice.as_str() {
            Some("required") => true,
            Some("none") => return Ok(Tools::None),
            _ => choice.is_object(),
        };
        let Some(first) = first else {
            return if forced {
                Err(Refusal::invalid("When using `tool_choice`, `tools` must be set."))
            } else {
                Ok(Tools::None)
            };
        };
        let named = choice.pointer(name).and_then(Value::as_str).unwrap_or(first);
        Ok(if forced { Tools::Forced(named.to_owned()) } else { Tools::Free(first.to_owned()) })
    }

    /// Adds them to a wish for text; a model that has a tool's answer before it does not call again.
    pub(crate) fn add_to(self, wish: &mut Wish, answered: bool) {
        match self {
            Tools::Forced(function) => wish.content = Content::ToolCall(function),
            Tools::Free(function) if !answered => wish.callable = Some(function),
            Tools::Free(_) | Tools::None => {}
        }
    }
}

/// Everything up to the choices, the same in every event.
pub(crate) fn head(id: &str, object: &str, model: &str) -> String {
    format!(r#"{{"id":{},"object":"{object}","created":{CREATED},"model":{},"#, quote(id), quote(model))
}

/// The model's name in an answer.
pub(crate) fn model_of<'a>(wish: &'a Wish, terms: &Terms<'a>) -> &'a str {
    wish.model.as_deref().unwrap_or(terms.model)
}

/// How a chunk of a choice ends, as vLLM has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Why the choice ends, where it ends here.
    pub(crate) finish: Option<Finish>,
    /// Whether it is the last choice.
    pub(crate) last: bool,
}

impl Ending {
    /// The end of the chunk that is the last of the first `steps`: a choice that is cut by its limit
    /// ends with its last token, any other one with an event of its own.
    pub(crate) fn of_chunk(generation: &Generation, choice: u32, steps: u32) -> Self {
        let cut = steps == generation.steps() && generation.finish() == Finish::Length;
        let last = choice + 1 == generation.ask.choices;
        Ending { finish: cut.then_some(Finish::Length), last }
    }

    /// The end of a choice that has an event of its own for it.
    pub(crate) fn of_choice(generation: &Generation, choice: u32) -> Self {
        Ending { finish: Some(generation.finish()), last: choice + 1 == generation.ask.choices }
    }

    /// Events of an answer's choices that only end them.
    pub(crate) fn events(generation: &Generation) -> u64 {
        match generation.finish() {
            Finish::Length => 0,
            Finish::Stop | Finish::ToolCalls => u64::from(generation.ask.choices),
        }
    }

    /// The finish reason as JSON.
    pub(crate) fn reason(self) -> String {
        self.finish.map_or_else(|| "null".to_owned(), |finish| format!("\"{}\"", reason(finish)))
    }

    /// The member that follows the choices where this ends the last of them and no usage comes.
    pub(crate) fn fingerprint(self, usage: UsageWanted) -> String {
        match self.finish {
            Some(_) if self.last && usage == UsageWanted::Never => format!(",{}", fingerprint()),
            _ => String::new(),
        }
    }
}

/// The finish reason's word.
pub(crate) fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
    }
}

/// The `usage` member of an event.
pub(crate) fn usage(usage: Usage) -> String {
    let Usage { prompt, completion, reasoning, cached } = usage;
    let total = prompt + completion;
    let cached = cached
        .map(|tokens| format!(r#","prompt_tokens_details":{{"cached_tokens":{tokens}}}"#))
        .unwrap_or_default();
    let reasoning = reasoning
        .map(|tokens| format!(r#","completion_tokens_details":{{"reasoning_tokens":{tokens}}}"#))
        .unwrap_or_default();
    format!(
        r#""usage":{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}{cached}{reasoning}}}"#
    )
}

/// The `usage` member of an answer in one piece, which names what is not known as well.
pub(crate) fn whole_usage(usage: Usage) -> String {
    let Usage { prompt, completion, reasoning, cached } = usage;
    let details = |name: &str, tokens: Option<u64>| {
        tokens.map_or_else(|| "null".to_owned(), |tokens| format!(r#"{{"{name}":{tokens}}}"#))
    };
    format!(
        r#""usage":{{"prompt_tokens":{prompt},"total_tokens":{},"completion_tokens":{completion},"prompt_tokens_details":{},"completion_tokens_details":{}}}"#,
        prompt + completion,
        details("cached_tokens", cached),
        details("reasoning_tokens", reasoning),
    )
}

/// The `system_fingerprint` member.
pub(crate) fn fingerprint() -> String {
    format!(r#""system_fingerprint":"{FINGERPRINT}""#)
}

/// Numbers as a JSON list.
pub(crate) fn list(numbers: impl Iterator<Item = u64>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(body: &Value) -> Result<Tools, Refusal> {
        Tools::of(&Fields::of(body).unwrap(), "/function/name")
    }

    #[test]
    fn usage_is_wanted_as_asked() {
        let wanted = |options| UsageWanted::of(&Fields::of(&json!({"stream_options": options})).unwrap());
        assert_eq!(wanted(json!(null)), Ok(UsageWanted::Never));
        assert_eq!(wanted(json!({"include_usage": true})), Ok(UsageWanted::AtEnd));
        assert_eq!(wanted(json!({"continuous_usage_stats": true})), Ok(UsageWanted::Never));
        let every = json!({"include_usage": true, "continuous_usage_stats": true});
        assert_eq!(wanted(every), Ok(UsageWanted::OnEvery));
    }

    #[test]
    fn tools_are_free_or_forced() {
        let list = json!([{"type": "function", "function": {"name": "gauge"}}]);
        let named = json!({"type": "function", "function": {"name": "other"}});
        for (choice, expected) in [
            (json!(null), Tools::Free("gauge".into())),
            (json!("auto"), Tools::Free("gauge".into())),
            (json!("none"), Tools::None),
            (json!("required"), Tools::Forced("gauge".into())),
            (named, Tools::Forced("other".into())),
        ] {
            assert_eq!(tools(&json!({"tools": list, "tool_choice": choice})), Ok(expected));
        }
        assert_eq!(tools(&json!({})), Ok(Tools::None));
        assert!(tools(&json!({"tool_choice": "required"})).is_err());
    }

    #[test]
    fn usage_tells_what_is_known() {
        let known = Usage { prompt: 5, completion: 3, reasoning: Some(1), cached: Some(4) };
        assert_eq!(
            usage(known),
            r#""usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}"#
        );
        let bare = Usage { reasoning: None, cached: None, ..known };
        assert_eq!(
            whole_usage(bare),
            r#""usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3,"prompt_tokens_details":null,"completion_tokens_details":null}"#
        );
    }
}
