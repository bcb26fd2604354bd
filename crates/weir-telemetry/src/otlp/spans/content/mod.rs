//! What both sides said, on the span of the call: as OpenTelemetry's conventions have it, and as
//! OpenInference does, which Langfuse reads too.

mod asked;
mod redact;
mod said;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use weir_core::content::{Content, Input, Output, Said};
use weir_core::dialect::Dialect;
use weir_core::exchange::Exchange;

use super::{Attributes, Subject};
use redact::Redaction;

/// Adds what was kept of an exchange. Where nothing was to be kept, that is nothing.
pub(super) fn add(subject: &Subject<'_>, list: &mut Attributes) {
    let Some(Content { input, output }) = subject.exchange.content.as_deref() else { return };
    let redaction = Redaction(&subject.rules.redact);
    if let Some(input) = input {
        add_input(subject.exchange.request.dialect, input, redaction, list);
    }
    add_output(subject.exchange, output, redaction, list);
}

/// Adds what both sides said as it stands on the call, without the convention's messages: lists of
/// traces show what their roots have.
pub(super) fn add_to_root(subject: &Subject<'_>, list: &mut Attributes) {
    let Some(Content { input, output }) = subject.exchange.content.as_deref() else { return };
    let redaction = Redaction(&subject.rules.redact);
    if let Some(input) = input {
        input_value(redaction.object(&input.fields()), list);
    }
    output_value(&redacted(output, redaction), list);
}

fn add_input(dialect: Dialect, input: &Input, redaction: Redaction<'_>, list: &mut Attributes) {
    let body = redaction.object(&input.fields());
    // What is embedded or ranked is no message.
    if dialect.is_generation() {
        let instructions = asked::instructions(&body);
        if !instructions.is_empty() {
            list.text("gen_ai.system_instructions", Value::Array(instructions).to_string());
        }
        let messages = asked::messages(&body);
        if !messages.is_empty() {
            list.text("gen_ai.input.messages", Value::Array(messages).to_string());
        }
    }
    input_value(body, list);
    if input.cut {
        list.flag("weir.content.input_cut", true);
    }
}

fn add_output(exchange: &Exchange, output: &Output, redaction: Redaction<'_>, list: &mut Attributes) {
    let choices = redacted(output, redaction);
    if !choices.is_empty() {
        let messages = choices.iter().map(|choice| said::message(choice, exchange.outcome)).collect();
        list.text("gen_ai.output.messages", Value::Array(messages).to_string());
    }
    output_value(&choices, list);
    if output.cut {
        list.flag("weir.content.output_cut", true);
    }
}

fn input_value(body: Map<String, Value>, list: &mut Attributes) {
    match only_text(&body) {
        Some(text) => value(list, "input", "text/plain", text.to_owned()),
        None => value(list, "input", "application/json", Value::Object(body).to_string()),
    }
}

/// Told though there be none: without it, Phoenix makes one up.
fn output_value(choices: &[Said], list: &mut Attributes) {
    let (mime, text) = said::value(choices);
    value(list, "output", mime, text);
}

fn redacted(output: &Output, redaction: Redaction<'_>) -> Vec<Said> {
    output.choices.iter().map(|choice| redaction.choice(choice)).collect()
}

fn value(list: &mut Attributes, side: &str, mime: &str, text: String) {
    list.text(&format!("{side}.value"), text);
    list.text(&format!("{side}.mime_type"), mime);
}

/// A body that is nothing but one text.
fn only_text(body: &Map<String, Value>) -> Option<&str> {
    let mut values = body.values();
    let only = values.next().and_then(Value::as_str)?;
    values.next().is_none().then_some(only)
}
