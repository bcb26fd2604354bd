//! The actions of a file: `actions:`, by name.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_core::policy::ThrottleTo;

use super::action::{
    Action, ActionConfig, BUILT_IN, CallConfig, Format, PushConfig, ScaleUpConfig, WebhookConfig,
};
use super::environment::{Environment, is_sensitive};
use super::fields::{Fields, texts};
use super::mistake::{Mistakes, quoted};
use super::naming::is_name;
use super::secret::{Endpoint, Secret};
use super::unit::Written;
use super::yaml::{Node, Value};

/// How many actions may be set up.
const MAX_ACTIONS: usize = 64;
/// A template may be this long.
const MAX_TEMPLATE_BYTES: usize = 16 * 1024;
const MAX_TEXT_BYTES: usize = 2_048;
/// An action is begun at most this often for one alert, unless said otherwise.
const MIN_INTERVAL: Duration = Duration::from_secs(300);
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RETRIES: u32 = 3;

/// The kinds of actions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Webhook,
    Alertmanager,
    Throttle,
    FallbackModel,
    ScaleUp,
    Investigate,
}

const KINDS: [(&str, Kind); 6] = [
    ("webhook", Kind::Webhook),
    ("alertmanager", Kind::Alertmanager),
    ("throttle", Kind::Throttle),
    ("fallback_model", Kind::FallbackModel),
    ("scale_up", Kind::ScaleUp),
    ("investigate", Kind::Investigate),
];

impl Kind {
    /// The kind of an action with a name that says it.
    fn usual(name: &str) -> Option<Self> {
        Some(match name {
            "notify_team" => Self::Webhook,
            "throttle_requests" => Self::Throttle,
            "fallback_model" => Self::FallbackModel,
            "scale_up" => Self::ScaleUp,
            "investigate" => Self::Investigate,
            _ => return None,
        })
    }

    /// Its own keys.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Webhook => {
                &["url", "format", "template", "secret", "headers", "send_resolved", "timeout", "max_retries"]
            }
            Self::Alertmanager => &["url", "headers", "timeout", "max_retries"],
            Self::Throttle => &["to", "model"],
            Self::FallbackModel => &["to", "model"],
            Self::ScaleUp => &[
                "url",
                "format",
                "template",
                "secret",
                "headers",
                "timeout",
                "max_retries",
                "step",
                "max_replicas",
            ],
            Self::Investigate => &["exchanges"],
        }
    }
}

/// An action that is set up, by its name.
pub(super) type Actions = BTreeMap<Box<str>, ActionConfig>;

/// Reads `actions:`. Returns the names, too, of those that are wrong: they are set up all the same.
pub(super) fn actions(
    node: &Node,
    env: Environment<'_>,
    mistakes: &mut Mistakes,
) -> (Actions, Vec<Box<str>>) {
    let mut actions = Actions::new();
    let mut names: Vec<Box<str>> = Vec::new();
    let Value::Map(entries) = &node.value else {
        mistakes.add(node.place, format!("actions is a mapping of actions by name, not {}", node.kind()));
        return (actions, names);
    };
    if entries.len() > MAX_ACTIONS {
        mistakes.add(node.place, format!("there are {} actions; at most {MAX_ACTIONS}", entries.len()));
    }
    for (key, value) in entries.iter().take(MAX_ACTIONS) {
        let Some(name) = key.text().filter(|name| is_name(name)) else {
            let name = key.text().map_or(key.kind().to_owned(), quoted);
            mistakes.add(
                key.place,
                format!("{name} cannot name an action: write 1 to 128 of A-Z a-z 0-9 _ : . -"),
            );
            continue;
        };
        if names.iter().any(|before| **before == *name) {
            mistakes.add(key.place, format!("{name} stands twice"));
            continue;
        }
        names.push(name.into());
        if let Some(config) = action(name, value, env, mistakes) {
            actions.insert(name.into(), config);
        }
    }
    (actions, names)
}

fn action(name: &str, node: &Node, env: Environment<'_>, mistakes: &mut Mistakes) -> Option<ActionConfig> {
    let what = format!("action {name}");
    let kind = kind(name, node, mistakes)?;
    let known: Vec<_> = ["type", "dry_run", "min_interval"].iter().chain(kind.keys()).copied().collect();
    let fields = Fields::new(node, &what, &known, mistakes)?;
    let mut reader = Reader { fields, what, env, mistakes };
    let action = match kind {
        Kind::Webhook => reader.webhook().map(Action::Webhook),
        Kind::Alertmanager => reader.call(true).map(|call| Action::AlertmanagerPush(PushConfig { call })),
        Kind::Throttle => reader.throttle(),
        Kind::FallbackModel => reader.fallback(),
        Kind::ScaleUp => reader.scale_up().map(Action::ScaleUp),
        Kind::Investigate => reader.investigate(),
    };
    let Reader { fields, mistakes, .. } = reader;
    let dry_run = fields.switch("dry_run", mistakes).unwrap_or(false);
    let min_interval = fields.duration("min_interval", mistakes).unwrap_or(MIN_INTERVAL);
    Some(ActionConfig { action: action?, dry_run, min_interval })
}

/// What `type` says, or else the name. Looked up first, for the other keys depend on it.
fn kind(name: &str, node: &Node, mistakes: &mut Mistakes) -> Option<Kind> {
    let entries = match &node.value {
        Value::Map(entries) => entries.as_slice(),
        _ => {
            mistakes.add(node.place, format!("action {name} is a mapping, not {}", node.kind()));
            return None;
        }
    };
    let named = entries.iter().find(|(key, _)| key.text() == Some("type"));
    if named.is_some() {
        let typed = Node { value: Value::Map(named.into_iter().cloned().collect()), place: node.place };
        return Fields::new(&typed, name, &["type"], mistakes)?.choice("type", &KINDS, mistakes);
    }
    let usual = Kind::usual(name);
    if usual.is_none() {
        let kinds = KINDS.map(|(kind, _)| kind).join(", ");
        mistakes.add(node.place, format!("action {name} has no type (types are {kinds})"));
    }
    usual
}

/// Reads the keys of one action.
struct Reader<'a, 'm> {
    fields: Fields<'a>,
    what: String,
    env: Environment<'a>,
    mistakes: &'m mut Mistakes,
}

impl Reader<'_, '_> {
    fn webhook(&mut self) -> Option<WebhookConfig> {
        let format = self.format();
        let send_resolved = self.fields.switch("send_resolved", self.mistakes).unwrap_or(true);
        Some(WebhookConfig { call: self.call(true)?, format: format?, send_resolved })
    }

    fn scale_up(&mut self) -> Option<ScaleUpConfig> {
        let format = self.format();
        let step = self.fields.number("step", 1..=1_000, self.mistakes).unwrap_or(1);
        let max_replicas = self.fields.number("max_replicas", 1..=100_000, self.mistakes);
        let call = self.call(false);
        if call.is_none() && self.fields.node("url").is_some() {
            return None;
        }
        Some(ScaleUpConfig { call, format: format?, step, max_replicas })
    }

    fn throttle(&mut self) -> Option<Action> {
        let model = self.fields.text("model", 128, self.mistakes).map(Into::into);
        let Some(node) = self.fields.node("to") else {
            return Some(Action::Throttle { model, to: ThrottleTo::Share(0.5) });
        };
        let written = self.fields.text("to", 64, self.mistakes)?;
        let to = Written::parse(written).and_then(|to| match to.unit {
            "%" if to.number > 0.0 && to.number <= 100.0 => Some(ThrottleTo::Share(to.number / 100.0)),
            "" => written.parse().ok().filter(|count| (1..=1_000_000).contains(count)).map(ThrottleTo::Count),
            _ => None,
        });
        if to.is_none() {
            let written = quoted(written);
            self.mistakes.add(
                node.place,
                format!("to is a share such as 50% or a number of requests such as 16, not {written}"),
            );
        }
        Some(Action::Throttle { model, to: to? })
    }

    fn fallback(&mut self) -> Option<Action> {
        let model = self.fields.text("model", 128, self.mistakes).map(Into::into);
        self.require("to", "to: the model that is asked instead")?;
        let to = self.fields.text("to", 128, self.mistakes)?.into();
        Some(Action::FallbackModel { to, model })
    }

    fn investigate(&mut self) -> Option<Action> {
        let exchanges = self.fields.number("exchanges", 1..=100, self.mistakes).unwrap_or(10);
        Some(Action::Investigate { exchanges: exchanges as usize })
    }

    fn format(&mut self) -> Option<Format> {
        let choices = [("alertmanager", 0), ("slack", 1), ("template", 2)];
        let template = self.fields.node("template");
        let said = self.fields.node("format");
        let choice = match said {
            Some(_) => self.fields.choice("format", &choices, self.mistakes)?,
            None => 0,
        };
        match (choice, template) {
            (2, None) => {
                let place = said.map_or(self.fields.node.place, |said| said.place);
                self.mistakes.add(place, "format: template needs template: its text");
                None
            }
            (2, Some(_)) => {
                let text = self.fields.text("template", MAX_TEMPLATE_BYTES, self.mistakes)?;
                Some(Format::Template(text.into()))
            }
            (_, Some(template)) => {
                self.mistakes.add(template.place, "template is of use only with format: template");
                None
            }
            (0, None) => Some(Format::Alertmanager),
            (_, None) => Some(Format::Slack),
        }
    }

    /// How an address is called. `None`: something is wrong, or there is no `url` and it need not be.
    fn call(&mut self, required: bool) -> Option<CallConfig> {
        let headers = self.headers();
        let secret = self.secret();
        let timeout = self.fields.duration("timeout", self.mistakes).unwrap_or(TIMEOUT);
        if timeout.is_zero() {
            let place = self.fields.node("timeout").map_or(self.fields.node.place, |node| node.place);
            self.mistakes.add(place, "timeout: 0s leaves no time to call");
        }
        let max_retries = self.fields.number("max_retries", 0..=10, self.mistakes).unwrap_or(MAX_RETRIES);
        if required {
            self.require("url", "url: where it is called")?;
        }
        Some(CallConfig { url: self.url()?, headers, secret, timeout, max_retries })
    }

    fn require(&mut self, key: &str, needed: &str) -> Option<()> {
        let there = self.fields.node(key).map(|_| ());
        if there.is_none() {
            self.mistakes.add(self.fields.node.place, format!("{} needs {needed}", self.what));
        }
        there
    }

    fn url(&mut self) -> Option<Endpoint> {
        let node = self.fields.node("url")?;
        let written = self.fields.text("url", MAX_TEXT_BYTES, self.mistakes)?;
        if Endpoint::holds_password(written) {
            let message = "a password in a url stands in the environment: write ${NAME} for it";
            self.mistakes.add(node.place, message);
            return None;
        }
        let url = self.env.fill(node, written, self.mistakes)?;
        Endpoint::new(&url).map_err(|message| self.mistakes.add(node.place, message)).ok()
    }

    fn secret(&mut self) -> Option<Secret> {
        let node = self.fields.node("secret")?;
        let written = self.fields.text("secret", MAX_TEXT_BYTES, self.mistakes)?;
        self.env.secret(node, "secret", written, self.mistakes)
    }

    fn headers(&mut self) -> BTreeMap<Box<str>, Secret> {
        let Some(node) = self.fields.node("headers") else { return BTreeMap::new() };
        let mut headers = BTreeMap::new();
        for (key, name, value, written) in texts(node, "headers", MAX_TEXT_BYTES, self.mistakes) {
            if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)) {
                self.mistakes.add(key.place, format!("{} is no name of a header", quoted(name)));
                continue;
            }
            let filled = if is_sensitive(name) {
                self.env.secret(value, name, written, self.mistakes)
            } else {
                self.env.fill(value, written, self.mistakes).map(|filled| Secret::new(&filled))
            };
            let Some(filled) = filled else { continue };
            if filled.reveal().chars().any(char::is_control) {
                self.mistakes.add(value.place, format!("{name} holds control characters"));
            }
            headers.insert(name.to_lowercase().into(), filled);
        }
        headers
    }
}

/// The built-in names that nothing sets up.
pub(super) fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name)
}
