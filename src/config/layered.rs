//! Keys that OpenTelemetry's variables stand below: one for everything, and one for each of traces and
//! metrics, which goes before it. What the file says goes before all of them.

use super::error::Place;
use super::kinds::Kind;
use super::section::{Section, Setting};
use super::units::quoted;

/// The variables below a key.
#[derive(Clone, Copy)]
pub(super) struct Variables {
    pub(super) all: &'static str,
    pub(super) traces: &'static str,
    pub(super) metrics: &'static str,
    /// Turns what the variable may hold into what the file may.
    pub(super) translate: fn(&str) -> String,
    /// Only its name may be shown.
    pub(super) secret: bool,
}

/// A key's value for traces and for metrics, where it is given.
pub(super) struct Layered<T> {
    pub(super) traces: Option<Setting<T>>,
    pub(super) metrics: Option<Setting<T>>,
}

impl<T: Clone> Layered<T> {
    /// The values alone.
    pub(super) fn values(self) -> (Option<T>, Option<T>) {
        (self.traces.map(|setting| setting.value), self.metrics.map(|setting| setting.value))
    }
}

impl Section<'_, '_> {
    /// A key with a default, and the text of a variable below it.
    pub(super) fn above_variable<K: Kind>(
        &mut self,
        key: &'static str,
        kind: &K,
        variable: &'static str,
        text: Option<String>,
        default: K::Value,
    ) -> K::Value {
        if self.has(key) {
            let above = text.is_some().then_some(variable);
            return self.given(key, kind, above.as_slice()).map_or(default, |setting| setting.value);
        }
        self.known(key);
        let Some(text) = text else {
            let shown = kind.show(&default);
            self.show_default(key, &shown);
            return default;
        };
        let Some(setting) = self.read_text(key, kind, &text, Place::Variable(variable)) else {
            return default;
        };
        self.show_as(key, &setting);
        setting.value
    }

    /// Looks up a key and, where the file does not have it, its variables.
    pub(super) fn layered<K: Kind>(
        &mut self,
        key: &'static str,
        kind: &K,
        variables: &Variables,
        absent: &str,
    ) -> Layered<K::Value>
    where
        K::Value: Clone,
    {
        let Variables { all, traces, metrics, .. } = *variables;
        let below: Vec<_> = [all, traces, metrics].into_iter().filter(|name| self.is_set(name)).collect();
        if self.has(key) {
            let both = self.given(key, kind, &below);
            return Layered { traces: both.clone(), metrics: both };
        }
        self.known(key);
        let of = |section: &mut Self, own: &'static str| {
            let name = [own, all].into_iter().find(|name| below.contains(name))?;
            section.variable(key, kind, name, variables)
        };
        let found = Layered { traces: of(self, traces), metrics: of(self, metrics) };
        match (&found.traces, &found.metrics) {
            (None, None) if below.is_empty() => self.absent(key, absent),
            (Some(one), Some(other)) if one.place == other.place => self.show_as(key, one),
            (of_traces, of_metrics) => {
                for (signal, setting) in [("traces", of_traces), ("metrics", of_metrics)] {
                    if let Some(setting) = setting {
                        self.show_as(&format!("# {key} of {signal}"), setting);
                    }
                }
            }
        }
        found
    }

    fn variable<K: Kind>(
        &mut self,
        key: &'static str,
        kind: &K,
        name: &'static str,
        variables: &Variables,
    ) -> Option<Setting<K::Value>> {
        let text = (variables.translate)(&self.environment(name)?);
        let setting = self.read_text(key, kind, &text, Place::Variable(name))?;
        let shown = if variables.secret { quoted(&format!("${{{name}}}")) } else { setting.shown };
        Some(Setting { shown, ..setting })
    }
}
