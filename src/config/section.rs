//! Looks keys up in one table of the file and in flags. Whatever was not asked for by the end is
//! unknown, so a key exists by being asked for.

mod tables;

use toml::de::{DeTable, DeValue};

use super::document::literal;
use super::error::Place;
use super::kinds::{Kind, Raw, refusal};
use super::reader::{Reader, Unknown, join};
use super::units::quoted;
use super::variables::{escape, fill};

/// One table of the file.
pub(super) struct Section<'r, 'a> {
    reader: &'r mut Reader<'a>,
    /// Its dotted path; empty for the file as a whole.
    path: String,
    table: Option<&'a DeTable<'a>>,
    place: Place,
    asked: Vec<&'static str>,
}

/// A key, and the flag that stands above it.
pub(super) struct Key<'f> {
    name: &'static str,
    flag: Option<(&'static str, &'f str)>,
}

/// A value and where it comes from.
#[derive(Clone)]
pub(super) struct Setting<T> {
    pub(super) value: T,
    pub(super) place: Place,
    /// As TOML; variables of the environment stay names.
    pub(super) shown: String,
}

enum Asked<T> {
    Absent,
    Wrong,
    Given(Setting<T>),
}

impl<'r, 'a> Section<'r, 'a> {
    pub(super) fn new(
        reader: &'r mut Reader<'a>,
        path: String,
        table: Option<&'a DeTable<'a>>,
        place: Place,
    ) -> Self {
        Self { reader, path, table, place, asked: Vec::new() }
    }

    /// The value of a key that has a default.
    pub(super) fn value<'f, K: Kind>(
        &mut self,
        key: impl Into<Key<'f>>,
        kind: K,
        default: K::Value,
    ) -> K::Value {
        self.setting(key, kind, default).value
    }

    /// The same with where it comes from.
    pub(super) fn setting<'f, K: Kind>(
        &mut self,
        key: impl Into<Key<'f>>,
        kind: K,
        default: K::Value,
    ) -> Setting<K::Value> {
        let key = key.into();
        let shown = kind.show(&default);
        self.or_else(&key, &kind, || Setting { value: default, place: Place::Nowhere, shown }, "default")
    }

    /// A key that is `from`, a setting of another section, unless given.
    pub(super) fn inherited<K: Kind>(
        &mut self,
        key: &'static str,
        kind: K,
        from: &Setting<K::Value>,
        section: &str,
    ) -> K::Value
    where
        K::Value: Clone,
    {
        let inherit =
            || Setting { value: from.value.clone(), place: from.place.clone(), shown: from.shown.clone() };
        self.or_else(&key.into(), &kind, inherit, &format!("as in [{section}]")).value
    }

    /// A key that may be absent, with what that means.
    pub(super) fn optional<'f, K: Kind>(
        &mut self,
        key: impl Into<Key<'f>>,
        kind: K,
        absent: &str,
    ) -> Option<Setting<K::Value>> {
        let key = key.into();
        match self.ask(&key, &kind) {
            Asked::Given(setting) => {
                self.show(&key, &setting, "");
                Some(setting)
            }
            Asked::Wrong => None,
            Asked::Absent => {
                self.reader.effective.absent(key.name, absent);
                None
            }
        }
    }

    /// A key that has to be given, here or as this flag. `None` is a mistake, and noted as one.
    pub(super) fn required<K: Kind>(
        &mut self,
        name: &'static str,
        flag: &'static str,
        given: Option<&str>,
        kind: K,
    ) -> Option<K::Value> {
        let key = Key::or_flag(name, flag, given);
        match self.ask(&key, &kind) {
            Asked::Given(setting) => {
                self.show(&key, &setting, "");
                Some(setting.value)
            }
            Asked::Wrong => None,
            Asked::Absent => {
                let says = format!("missing; allowed: {}, here or with {flag}", kind.allowed());
                self.refuse(name, &self.place.clone(), says);
                None
            }
        }
    }

    /// A section inside of this one.
    pub(super) fn section<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Section<'_, 'a>) -> T,
    ) -> T {
        let (table, place) = self.subtable(name);
        let mut section = Section::new(self.reader, join(&self.path, name), table, place);
        section.reader.effective.section(&section.path);
        let result = read(&mut section);
        section.close();
        result
    }

    /// Notes a mistake that shows only beside other keys.
    pub(super) fn refuse(&mut self, name: &'static str, place: &Place, says: impl Into<String>) {
        self.reader.mistake(place.clone(), join(&self.path, name), says.into());
    }

    /// Notes what should be known, and is no mistake.
    pub(super) fn warn(&mut self, says: String) {
        self.reader.warnings.push(says);
    }

    /// Ends the section: what was not asked for is unknown.
    pub(super) fn close(self) {
        for (key, value) in self.table.into_iter().flatten() {
            let name: &str = key.get_ref();
            if self.asked.contains(&name) {
                continue;
            }
            let place = self.reader.place(key.span().start);
            let (section, allowed) = (self.path.clone(), self.asked.clone());
            let table = value.get_ref().is_table();
            self.reader.unknown(Unknown { section, name: name.to_owned(), table, place, allowed });
        }
    }

    /// The table under a name, and where it begins.
    fn subtable(&mut self, name: &'static str) -> (Option<&'a DeTable<'a>>, Place) {
        self.asked.push(name);
        let Some((key, value)) = self.table.and_then(|table| table.get_key_value(name)) else {
            return (None, self.place.clone());
        };
        let place = self.reader.place(key.span().start);
        let table = value.get_ref().as_table();
        if table.is_none() {
            let path = join(&self.path, name);
            self.reader.mistake(place.clone(), path.clone(), format!("not a section; allowed: [{path}]"));
        }
        (table, place)
    }

    /// Whether the file has a key here.
    pub(super) fn has(&self, name: &str) -> bool {
        self.table.is_some_and(|table| table.contains_key(name))
    }

    /// Whether a variable of the environment holds anything.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.environment(name).is_some()
    }

    /// What a variable of the environment holds; an empty one counts as absent. So does one that is
    /// not UTF-8, which nothing can be read from.
    pub(super) fn environment(&self, name: &str) -> Option<String> {
        (self.reader.env)(name)?.into_string().ok().filter(|text| !text.trim().is_empty())
    }

    /// The value of a key that the file has, which stands above these variables. `None` is a mistake.
    pub(super) fn given<K: Kind>(
        &mut self,
        name: &'static str,
        kind: &K,
        above: &[&str],
    ) -> Option<Setting<K::Value>> {
        let Asked::Given(setting) = self.ask(&name.into(), kind) else { return None };
        let from = self.reader.name(&setting.place);
        let from = if above.is_empty() { from } else { format!("{from}, above {}", above.join(", ")) };
        self.reader.effective.value(name, &setting.shown, from);
        Some(setting)
    }

    /// Makes a key known that the file does not have.
    pub(super) fn known(&mut self, name: &'static str) {
        self.asked.push(name);
        self.reader.asked(&self.path, name);
    }

    /// Shows a key that has no value.
    pub(super) fn absent(&mut self, name: &str, meaning: &str) {
        self.reader.effective.absent(name, meaning);
    }

    /// Shows a setting under a name.
    pub(super) fn show_as<T>(&mut self, name: &str, setting: &Setting<T>) {
        let from = self.reader.name(&setting.place);
        self.reader.effective.value(name, &setting.shown, from);
    }

    /// Reads a text that comes from elsewhere than the file.
    pub(super) fn read_text<K: Kind>(
        &mut self,
        name: &'static str,
        kind: &K,
        text: &str,
        place: Place,
    ) -> Option<Setting<K::Value>> {
        // Numbers are text there.
        let raw = text.trim().parse().map_or(Raw::Text(text), |number| Raw::Integer(Some(number)));
        let read = self.read(name, kind, &raw, &place);
        let value = read?;
        let shown = kind.show(&value);
        Some(Setting { value, place, shown })
    }

    /// Shows a default.
    pub(super) fn show_default(&mut self, name: &str, shown: &str) {
        self.reader.effective.value(name, shown, "default".to_owned());
    }

    /// Where the section stands.
    pub(super) fn place(&self) -> Place {
        self.place.clone()
    }

    fn or_else<K: Kind>(
        &mut self,
        key: &Key<'_>,
        kind: &K,
        otherwise: impl FnOnce() -> Setting<K::Value>,
        source: &str,
    ) -> Setting<K::Value> {
        match self.ask(key, kind) {
            Asked::Given(setting) => {
                self.show(key, &setting, "");
                setting
            }
            Asked::Wrong | Asked::Absent => {
                let setting = otherwise();
                self.show(key, &setting, source);
                setting
            }
        }
    }

    /// Shows a setting, as coming from `source` or else from its place.
    fn show<T>(&mut self, key: &Key<'_>, setting: &Setting<T>, source: &str) {
        let from = if source.is_empty() { self.reader.name(&setting.place) } else { source.to_owned() };
        self.reader.effective.value(key.name, &setting.shown, from);
    }

    /// Looks a key up; what is refused is noted. The file's value is looked at even under a flag.
    fn ask<K: Kind>(&mut self, key: &Key<'_>, kind: &K) -> Asked<K::Value> {
        self.asked.push(key.name);
        self.reader.asked(&self.path, key.name);
        let filed = self.ask_file(key.name, kind);
        let Some((flag, given)) = key.flag else { return filed };
        let place = Place::Flag(flag);
        let read = self.read(key.name, kind, &Raw::Text(given), &place);
        match (read, filed) {
            (Some(value), Asked::Given(_) | Asked::Absent) => {
                Asked::Given(Setting { value, place, shown: quoted(&escape(given)) })
            }
            _ => Asked::Wrong,
        }
    }

    fn ask_file<K: Kind>(&mut self, name: &'static str, kind: &K) -> Asked<K::Value> {
        let Some((key, value)) = self.table.and_then(|table| table.get_key_value(name)) else {
            return Asked::Absent;
        };
        let (place, value) = (self.reader.place(key.span().start), value.get_ref());
        if value.as_str().is_some_and(|text| kind.gives_away(text)) {
            self.refuse(name, &place, format!("a secret in the file; allowed: {}", kind.allowed()));
            return Asked::Wrong;
        }
        let filled = value.as_str().map(|text| fill(text, self.reader.env)).transpose();
        let (text, texts) = match filled.and_then(|text| Ok((text, self.texts(value)?))) {
            Ok(filled) => filled,
            Err(wrong) => {
                for says in wrong {
                    self.refuse(name, &place, says);
                }
                return Asked::Wrong;
            }
        };
        let raw = match (&text, value) {
            (Some(text), _) => Raw::Text(text),
            (None, DeValue::Integer(number)) => {
                Raw::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok())
            }
            (None, DeValue::Boolean(value)) => Raw::Boolean(*value),
            (None, DeValue::Float(number)) => number.as_str().parse().map_or(Raw::Other("float"), Raw::Float),
            (None, other) => texts.map_or(Raw::Other(other.type_str()), Raw::Texts),
        };
        match (self.read(name, kind, &raw, &place), literal(value)) {
            (Some(value), Some(shown)) => Asked::Given(Setting { value, place, shown }),
            _ => Asked::Wrong,
        }
    }

    /// The strings of an array that holds nothing else.
    fn texts(&self, value: &DeValue<'_>) -> Result<Option<Vec<String>>, Vec<String>> {
        let Some(values) = value.as_array() else { return Ok(None) };
        let texts = values.iter().map(|value| value.get_ref().as_str());
        let Some(texts) = texts.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let filled = texts.into_iter().map(|text| fill(text, self.reader.env).map(Into::into));
        filled.collect::<Result<_, _>>().map(Some)
    }

    fn read<K: Kind>(
        &mut self,
        name: &'static str,
        kind: &K,
        raw: &Raw<'_>,
        place: &Place,
    ) -> Option<K::Value> {
        match kind.read(raw) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.refuse(name, place, refusal(kind, raw, fault));
                None
            }
        }
    }
}

impl From<&'static str> for Key<'_> {
    fn from(name: &'static str) -> Self {
        Self { name, flag: None }
    }
}

impl<'f> Key<'f> {
    /// A key, and the flag above it where that is given.
    pub(super) fn or_flag(name: &'static str, flag: &'static str, given: Option<&'f str>) -> Self {
        Self { name, flag: given.map(|given| (flag, given)) }
    }
}
