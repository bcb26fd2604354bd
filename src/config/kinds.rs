//! Kinds of values: what each allows, how it is read and how it is written.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use weir_proxy::UpstreamUrl;
use weir_telemetry::Destination;

use super::units::{parse_duration, parse_size, quoted, show_duration, show_size};

/// A kind of value.
pub(super) trait Kind {
    type Value;

    /// What is allowed.
    fn allowed(&self) -> String;

    /// Reads a value; an error must not repeat it.
    fn read(&self, raw: &Raw<'_>) -> Result<Self::Value, Fault>;

    /// Writes a value so that it can be read again.
    fn show(&self, value: &Self::Value) -> String;

    /// Whether this text, as it stands in a file, gives away what only the environment may hold.
    fn gives_away(&self, _text: &str) -> bool {
        false
    }
}

/// A value as the file or a flag gives it.
pub(super) enum Raw<'a> {
    Text(&'a str),
    /// `None` is a number beyond 64 bits.
    Integer(Option<i64>),
    Boolean(bool),
    Float(f64),
    Texts(Vec<String>),
    /// What no key takes, by its name.
    Other(&'static str),
}

/// Why a value is refused.
pub(super) enum Fault {
    /// Of another type.
    Type,
    /// Not in the form asked for, which has this name.
    Form(&'static str),
    Low,
    High,
    /// The reason in full, with what is allowed.
    Says(String),
}

impl Raw<'_> {
    pub(super) fn text(&self) -> Result<&str, Fault> {
        match self {
            Raw::Text(text) => Ok(text),
            _ => Err(Fault::Type),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Raw::Text(_) => "string",
            Raw::Integer(_) => "integer",
            Raw::Boolean(_) => "boolean",
            Raw::Float(_) => "float",
            Raw::Texts(_) => "list of strings",
            Raw::Other(name) => name,
        }
    }
}

/// What to say of a value that `kind` refuses.
pub(super) fn refusal(kind: &impl Kind, raw: &Raw<'_>, fault: Fault) -> String {
    let allowed = kind.allowed();
    match fault {
        Fault::Type => format!("wrong type: {}; allowed: {allowed}", raw.type_name()),
        Fault::Form(form) => format!("not {form}; allowed: {allowed}"),
        Fault::Low => format!("too small; allowed: {allowed}"),
        Fault::High => format!("too large; allowed: {allowed}"),
        Fault::Says(reason) => reason,
    }
}

fn within<T: PartialOrd>(value: T, min: T, max: T) -> Result<T, Fault> {
    match value {
        value if value < min => Err(Fault::Low),
        value if value > max => Err(Fault::High),
        value => Ok(value),
    }
}

/// `true` or `false`.
pub(super) struct Switch;

impl Kind for Switch {
    type Value = bool;

    fn allowed(&self) -> String {
        "true or false".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<bool, Fault> {
        match raw {
            Raw::Boolean(value) => Ok(*value),
            _ => Err(Fault::Type),
        }
    }

    fn show(&self, value: &bool) -> String {
        value.to_string()
    }
}

/// A whole number between two, both included.
pub(super) struct Count {
    pub(super) min: usize,
    pub(super) max: usize,
}

impl Kind for Count {
    type Value = usize;

    fn allowed(&self) -> String {
        format!("a whole number from {} to {}", self.min, self.max)
    }

    fn read(&self, raw: &Raw<'_>) -> Result<usize, Fault> {
        match raw {
            Raw::Integer(Some(number)) if *number < 0 => Err(Fault::Low),
            Raw::Integer(Some(number)) => {
                within(usize::try_from(*number).unwrap_or(usize::MAX), self.min, self.max)
            }
            Raw::Integer(None) => Err(Fault::Form("a number of 64 bits")),
            _ => Err(Fault::Type),
        }
    }

    fn show(&self, value: &usize) -> String {
        value.to_string()
    }
}

/// A duration between two, both included.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) min: Duration,
    pub(super) max: Duration,
}

impl Kind for Span {
    type Value = Duration;

    fn allowed(&self) -> String {
        let (min, max) = (show_duration(self.min), show_duration(self.max));
        format!("a duration from {min} to {max}, such as \"250ms\" or \"5s\"")
    }

    fn read(&self, raw: &Raw<'_>) -> Result<Duration, Fault> {
        let duration = parse_duration(raw.text()?).ok_or(Fault::Form("a duration"))?;
        within(duration, self.min, self.max)
    }

    fn show(&self, value: &Duration) -> String {
        quoted(&show_duration(*value))
    }
}

/// A number of bytes between two, both included.
pub(super) struct Size {
    pub(super) min: usize,
    pub(super) max: usize,
}

impl Kind for Size {
    type Value = usize;

    fn allowed(&self) -> String {
        let (min, max) = (show_size(self.min as u64), show_size(self.max as u64));
        format!("a size from {min} to {max}, such as \"64KiB\"")
    }

    fn read(&self, raw: &Raw<'_>) -> Result<usize, Fault> {
        let size = parse_size(raw.text()?).ok_or(Fault::Form("a size"))?;
        within(usize::try_from(size).unwrap_or(usize::MAX), self.min, self.max)
    }

    fn show(&self, value: &usize) -> String {
        quoted(&show_size(*value as u64))
    }
}

/// An address with its port.
pub(super) struct Address;

impl Kind for Address {
    type Value = SocketAddr;

    fn allowed(&self) -> String {
        "IP:PORT, such as \"127.0.0.1:8080\" or \"[::]:8080\"".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<SocketAddr, Fault> {
        raw.text()?.parse().map_err(|_| Fault::Form("an address"))
    }

    fn show(&self, value: &SocketAddr) -> String {
        quoted(&value.to_string())
    }
}

/// Where an upstream is.
pub(super) struct Url;

impl Kind for Url {
    type Value = UpstreamUrl;

    fn allowed(&self) -> String {
        "http://HOST[:PORT][/BASE] or https://HOST[:PORT][/BASE]".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<UpstreamUrl, Fault> {
        raw.text()?.parse().map_err(|error| Fault::Says(format!("{error}")))
    }

    fn show(&self, value: &UpstreamUrl) -> String {
        quoted(&value.to_string())
    }
}

/// One of a few, each given as it stands in the file.
pub(super) struct Choice<T: 'static>(pub(super) &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Kind for Choice<T> {
    type Value = T;

    fn allowed(&self) -> String {
        let literals: Vec<&str> = self.0.iter().map(|(literal, _)| *literal).collect();
        match literals.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        }
    }

    fn read(&self, raw: &Raw<'_>) -> Result<T, Fault> {
        let texts = self.0.iter().any(|(literal, _)| literal.starts_with('"'));
        let literal = match raw {
            Raw::Text(text) if texts => quoted(text),
            Raw::Integer(Some(number)) if !texts => number.to_string(),
            _ => return Err(Fault::Type),
        };
        let choice = self.0.iter().find(|(known, _)| *known == literal);
        choice.map(|(_, value)| *value).ok_or(Fault::Form("one of the choices"))
    }

    fn show(&self, value: &T) -> String {
        self.0
            .iter()
            .find(|(_, known)| known == value)
            .map_or_else(String::new, |(literal, _)| (*literal).into())
    }
}

/// What stands in records and labels.
pub(super) struct Name;

impl Name {
    const MAX: usize = 64;
}

impl Kind for Name {
    type Value = Box<str>;

    fn allowed(&self) -> String {
        format!("1 to {} characters, none of them a control character", Self::MAX)
    }

    fn read(&self, raw: &Raw<'_>) -> Result<Box<str>, Fault> {
        let text = raw.text()?;
        let fits = (1..=Self::MAX).contains(&text.chars().count()) && !text.contains(char::is_control);
        if fits { Ok(text.into()) } else { Err(Fault::Form("a name")) }
    }

    fn show(&self, value: &Box<str>) -> String {
        quoted(value)
    }
}

/// What nobody is to see: it stands in the environment, and the file names the variable.
pub(super) struct Secret;

impl Kind for Secret {
    type Value = String;

    fn allowed(&self) -> String {
        "\"${NAME}\", for a variable of the environment".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<String, Fault> {
        let text = raw.text()?.trim();
        if text.is_empty() { Err(Fault::Form("set")) } else { Ok(text.to_owned()) }
    }

    fn show(&self, _: &String) -> String {
        quoted("***")
    }

    fn gives_away(&self, text: &str) -> bool {
        !text.contains("${")
    }
}

/// The name of a header.
pub(super) struct Header;

impl Kind for Header {
    type Value = String;

    fn allowed(&self) -> String {
        "the name of a header".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<String, Fault> {
        let text = raw.text()?;
        let fits = (1..=Name::MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if fits { Ok(text.to_ascii_lowercase()) } else { Err(Fault::Form("a header's name")) }
    }

    fn show(&self, value: &String) -> String {
        quoted(value)
    }
}

/// A file, or standard output.
pub(super) struct Target;

impl Kind for Target {
    type Value = Destination;

    fn allowed(&self) -> String {
        "the path of a file, or \"-\" for standard output".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<Destination, Fault> {
        match raw.text()? {
            "-" => Ok(Destination::Stdout),
            _ => FilePath.read(raw).map(Destination::File),
        }
    }

    fn show(&self, value: &Destination) -> String {
        match value {
            Destination::Stdout => quoted("-"),
            Destination::File(path) => FilePath.show(path),
        }
    }
}

/// A file.
pub(super) struct FilePath;

impl Kind for FilePath {
    type Value = PathBuf;

    fn allowed(&self) -> String {
        "the path of a file".to_owned()
    }

    fn read(&self, raw: &Raw<'_>) -> Result<PathBuf, Fault> {
        match raw.text()? {
            "" | "-" => Err(Fault::Form("a path")),
            text if text.contains('\0') => Err(Fault::Form("a path")),
            text => Ok(text.into()),
        }
    }

    fn show(&self, value: &PathBuf) -> String {
        quoted(&value.display().to_string())
    }
}
