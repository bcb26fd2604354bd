//! The reader of one answer: it turns events into what they carry.

use std::fmt;

use super::told::Told;
use super::{Backend, chat, completions, messages, responses};

/// What kind of output an event carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Text of the answer.
    Content,
    /// Reasoning before it.
    Reasoning,
    /// A call of a tool.
    Tool,
    /// Anything else that a model makes: a refusal, sound.
    Other,
}

/// What one event carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Output by Weir's rule; `None`: it carries none.
    pub output: Option<Output>,
    /// Whether `vllm bench serve` takes it for a token.
    pub is_vllm_token: bool,
    /// Tokens in it, where it tells: by token ids, log probabilities or running usage.
    pub tokens: Option<u32>,
}

/// Reads one answer.
#[derive(Debug)]
pub struct Reader {
    backend: Backend,
    told: Told,
    /// Output tokens that running usage has told of so far.
    running: u64,
}

/// An event or a body that is not what its API says.
#[derive(Debug)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        Malformed(error.to_string())
    }
}

impl Reader {
    /// A reader of an answer of `backend`; the text of the answer is kept if `keeps_text` says so.
    pub fn new(backend: Backend, keeps_text: bool) -> Self {
        let told = Told { text: keeps_text.then(String::new), ..Told::default() };
        Reader { backend, told, running: 0 }
    }

    /// Reads the data of an event; `None` for the `[DONE]` that ends a stream.
    pub fn event(&mut self, data: &str) -> Result<Option<Piece>, Malformed> {
        if data.starts_with("[DONE]") {
            self.told.is_terminal = true;
            return Ok(None);
        }
        let before = self.told.usage.output;
        let mut piece = match self.backend {
            Backend::Chat => chat::event(data, &mut self.told)?,
            Backend::Completions => completions::event(data, &mut self.told)?,
            Backend::Responses => responses::event(data, &mut self.told)?,
            Backend::Messages => messages::event(data, &mut self.told)?,
        };
        if piece.output.is_some() && piece.tokens.is_none() && self.told.usage.output != before {
            piece.tokens = self.ran_on();
        }
        Ok(Some(piece))
    }

    /// Reads an answer that is no stream.
    pub fn whole(&mut self, body: &str) -> Result<(), Malformed> {
        match self.backend {
            Backend::Chat => chat::whole(body, &mut self.told)?,
            Backend::Completions => completions::whole(body, &mut self.told)?,
            Backend::Responses => responses::whole(body, &mut self.told)?,
            Backend::Messages => messages::whole(body, &mut self.told)?,
        }
        self.told.is_terminal = true;
        Ok(())
    }

    /// What the answer has told so far.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// What the answer has told in the end.
    pub fn into_told(self) -> Told {
        self.told
    }

    /// The tokens that running usage has gone up by.
    fn ran_on(&mut self) -> Option<u32> {
        let now = self.told.usage.output?;
        let tokens = now.checked_sub(self.running)?;
        self.running = now;
        u32::try_from(tokens).ok().filter(|tokens| *tokens > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_usage_tells_the_tokens_of_an_event() {
        let mut reader = Reader::new(Backend::Chat, true);
        let mut tokens = Vec::new();
        for (text, total) in [("a", 1), ("b c", 3), ("d", 4)] {
            let data = format!(
                r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}],"usage":{{"completion_tokens":{total}}}}}"#
            );
            tokens.push(reader.event(&data).unwrap().unwrap().tokens);
        }
        assert_eq!(tokens, [Some(1), Some(2), Some(1)]);
        assert!(reader.event("[DONE]").unwrap().is_none());
        let told = reader.into_told();
        assert!(told.is_terminal);
        assert_eq!((told.text.as_deref(), told.usage.output), (Some("ab cd"), Some(4)));
        // All of it stood on tokens, where vLLM's bench does not look.
        assert_eq!(told.vllm_output, None);
    }

    #[test]
    fn what_is_no_json_is_malformed() {
        for backend in Backend::ALL {
            assert!(Reader::new(backend, false).event("{\"choices\":").is_err(), "{backend}");
            assert!(Reader::new(backend, false).whole("<html>").is_err(), "{backend}");
        }
    }
}
