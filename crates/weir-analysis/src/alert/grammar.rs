//! The grammar of conditions: recursive descent, as docs/alerts.md writes it down.

use std::time::Duration;

use super::condition::{Comparator, Comparison, Condition, Test, Threshold};
use super::lexer::{Fault, Kind, Token, tokens};
use super::mistake::{did_you_mean, quoted};
use super::naming::{Found, find};
use super::signal::{Reach, Signal};
use super::unit::{DURATIONS, Written, held};
use crate::scope::Scope;

/// A condition may be this long.
pub(super) const MAX_BYTES: usize = 1024;
/// So many comparisons may stand in one.
const MAX_COMPARISONS: usize = 16;
/// How deep parentheses may stand in each other.
const MAX_DEPTH: usize = 8;
/// A name of a model, an upstream or an SLO may be this long.
const MAX_NAME_BYTES: usize = 128;

impl Condition {
    /// Reads a condition such as `p95_ttft > 2000ms for 5min`. What cannot be understood ends the search for
    /// faults; names, units and values that are wrong are all told.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        if text.len() > MAX_BYTES {
            let message = format!("the condition has {} bytes; at most {MAX_BYTES} are read", text.len());
            return Err(vec![Fault { offset: 0, message }]);
        }
        let tokens = tokens(text).map_err(|fault| vec![fault])?;
        let mut parser = Parser { text, tokens, at: 0, comparisons: Vec::new(), faults: Vec::new() };
        match parser.condition() {
            Ok(condition) if parser.faults.is_empty() => Ok(condition),
            Ok(_) => Err(parser.faults),
            Err(fault) => {
                parser.faults.push(fault);
                Err(parser.faults)
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    /// What was compared and where, to be held against the scope that comes last.
    comparisons: Vec<(usize, Option<Signal>)>,
    /// What is wrong and did not keep from reading on.
    faults: Vec<Fault>,
}

impl<'a> Parser<'a> {
    fn condition(&mut self) -> Result<Condition, Fault> {
        if *self.kind() == Kind::End {
            return Err(self.fault("the condition is empty: write one such as p95_ttft > 2s for 5m"));
        }
        // A comparison that is wrong stands here as none: the condition is not handed out then.
        let test = self.any(0)?;
        let held = if self.keyword("for") { Some(self.held()?) } else { None };
        let scope = if self.keyword("where") { self.scope()? } else { Scope::Overall };
        self.check_reach(&scope);
        if *self.kind() != Kind::End {
            let expected = match (held, &scope) {
                (None, Scope::Overall) => "and, or, for, where or the end",
                (Some(_), Scope::Overall) => "where or the end",
                _ => "the end",
            };
            return Err(self.expected(expected));
        }
        Ok(Condition { test, held, scope })
    }

    /// `or` of `and`s.
    fn any(&mut self, depth: usize) -> Result<Test, Fault> {
        let mut tests = vec![self.all(depth)?];
        while self.keyword("or") || self.sign("||") {
            tests.push(self.all(depth)?);
        }
        Ok(joined(tests, Test::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Test, Fault> {
        let mut tests = vec![self.primary(depth)?];
        while self.keyword("and") || self.sign("&&") {
            tests.push(self.primary(depth)?);
        }
        Ok(joined(tests, Test::All))
    }

    fn primary(&mut self, depth: usize) -> Result<Test, Fault> {
        if *self.kind() != Kind::Sign("(") {
            return self.comparison().map(Test::Is);
        }
        if depth >= MAX_DEPTH {
            return Err(self.fault(format!("parentheses stand deeper than {MAX_DEPTH}")));
        }
        self.at += 1;
        let test = self.any(depth + 1)?;
        if self.sign(")") { Ok(test) } else { Err(self.expected("\"and\", \"or\" or \")\"")) }
    }

    fn comparison(&mut self) -> Result<Comparison, Fault> {
        let offset = self.token().offset;
        if self.comparisons.len() >= MAX_COMPARISONS {
            return Err(self.fault(format!("there are more than {MAX_COMPARISONS} comparisons")));
        }
        let signal = self.signal()?;
        let comparator = self.comparator()?;
        let threshold = self.threshold(signal.as_ref())?;
        self.comparisons.push((offset, signal.clone()));
        // What stands in for a signal that is not known is never evaluated: a fault is on record.
        let signal = signal.unwrap_or(Signal::BudgetRemaining { slo: Box::default() });
        Ok(Comparison { signal, comparator, threshold })
    }

    /// A signal; `None`: its name is none, which is on record.
    fn signal(&mut self) -> Result<Option<Signal>, Fault> {
        let Kind::Name(name) = *self.kind() else {
            return Err(self.expected("a signal such as p95_ttft"));
        };
        let token = self.at;
        self.at += 1;
        let argument = match find(name) {
            Found::Function(function) => return self.slo(function),
            Found::Unknown(message) => {
                self.note(token, message);
                if self.sign("(") {
                    self.skip_past(")");
                }
                None
            }
            Found::Signal(signal) => Some(signal),
        };
        if self.sign("[") { self.window(argument) } else { Ok(argument) }
    }

    /// What stands in brackets behind a signal.
    fn window(&mut self, signal: Option<Signal>) -> Result<Option<Signal>, Fault> {
        let token = self.at;
        let written = self.word();
        self.at += usize::from(*self.kind() != Kind::End);
        if !self.sign("]") {
            return Err(self.expected("\"]\""));
        }
        let Some(signal) = signal else { return Ok(None) };
        match signal.over(written) {
            Ok(signal) => Ok(Some(signal)),
            Err(message) => {
                self.note(token, message);
                Ok(None)
            }
        }
    }

    /// The arguments of a function of SLOs.
    fn slo(&mut self, function: &'static str) -> Result<Option<Signal>, Fault> {
        let usage = if function == "burn_rate" { "burn_rate(slo, 1h)" } else { "budget_remaining(slo)" };
        if !self.sign("(") {
            return Err(self.expected(&format!("\"(\", as in {usage}")));
        }
        let slo = self.name("the name of an SLO")?;
        let mut window = None;
        if function == "burn_rate" {
            if !self.sign(",") {
                return Err(self.expected(&format!("\",\" and a window, as in {usage}")));
            }
            window = Some((self.at, self.word()));
            self.at += usize::from(*self.kind() != Kind::End);
        }
        if !self.sign(")") {
            return Err(self.expected(&format!("\")\", as in {usage}")));
        }
        let Some((token, written)) = window else { return Ok(Some(Signal::BudgetRemaining { slo })) };
        match Signal::burn_window(written) {
            Ok(window) => Ok(Some(Signal::BurnRate { slo, window })),
            Err(message) => {
                self.note(token, message);
                Ok(None)
            }
        }
    }

    fn comparator(&mut self) -> Result<Comparator, Fault> {
        let sign = if let Kind::Sign(sign) = self.kind() { *sign } else { "" };
        if sign == "=" {
            return Err(self.fault("\"=\" compares nothing: write =="));
        }
        match Comparator::ALL.into_iter().find(|comparator| comparator.as_str() == sign) {
            Some(comparator) => {
                self.at += 1;
                Ok(comparator)
            }
            None => Err(self.expected("one of > >= < <= == !=")),
        }
    }

    fn threshold(&mut self, signal: Option<&Signal>) -> Result<Threshold, Fault> {
        let token = self.at;
        let written = self.number("a value such as 2s, 5%, 20 or 2x_baseline")?;
        if written.unit == "x_baseline" {
            if written.number <= 0.0 {
                self.note(token, "a baseline is taken a number of times above 0");
            }
            return Ok(Threshold::Baseline(written.number));
        }
        let Some(signal) = signal else { return Ok(Threshold::Fixed(written.number)) };
        let negative = written.number < 0.0 && !matches!(signal, Signal::BudgetRemaining { .. });
        let value = if negative {
            Err(format!("{signal} is never negative: {}{}", written.digits, written.unit))
        } else {
            written.value(signal.unit(), &signal.to_string())
        };
        match value {
            Ok(value) => Ok(Threshold::Fixed(value)),
            Err(message) => {
                self.note(token, message);
                Ok(Threshold::Fixed(written.number))
            }
        }
    }

    fn held(&mut self) -> Result<Duration, Fault> {
        let token = self.at;
        let written = self.number("a duration such as 5min")?;
        Ok(held(&written).unwrap_or_else(|message| {
            self.note(token, message);
            Duration::ZERO
        }))
    }

    fn scope(&mut self) -> Result<Scope, Fault> {
        let Kind::Name(label) = *self.kind() else { return Err(self.expected("model or upstream")) };
        let known = ["model", "upstream"];
        if !known.contains(&label) {
            let hint = did_you_mean(label, known);
            let label = quoted(label);
            return Err(self.fault(format!("{label} is no label{hint} (labels are model, upstream)")));
        }
        self.at += 1;
        if !self.sign("=") {
            return Err(self.expected("\"=\""));
        }
        let Kind::Text(_) = self.kind() else {
            return Err(self.expected("a name in quotes, as in model = \"llama\""));
        };
        let name = self.name("a name")?;
        if self.keyword("and") {
            self.at -= 1;
            let message = "figures are kept by model or by upstream, not by both: name one label";
            return Err(self.fault(message));
        }
        Ok(if label == "model" { Scope::Model(name) } else { Scope::Upstream(name) })
    }

    /// Notes the signals that are not told apart by the label.
    fn check_reach(&mut self, scope: &Scope) {
        let label = match scope {
            Scope::Overall => return,
            Scope::Model(_) => "model",
            Scope::Upstream(_) => "upstream",
        };
        for (offset, signal) in std::mem::take(&mut self.comparisons) {
            let Some(signal) = signal else { continue };
            let message = match (signal.reach(), scope) {
                (Reach::ModelOrUpstream, _)
                | (Reach::Model, Scope::Model(_))
                | (Reach::Upstream, Scope::Upstream(_)) => continue,
                (Reach::Slo, _) => format!("{signal} is of what its SLO is about: where cannot narrow it"),
                _ => format!("{signal} is not kept by {label}: where {label} cannot narrow it"),
            };
            self.faults.push(Fault { offset, message });
        }
    }

    /// A name, in quotes or without.
    fn name(&mut self, what: &str) -> Result<Box<str>, Fault> {
        let name: Box<str> = match self.kind() {
            Kind::Name(name) => (*name).into(),
            Kind::Text(text) => text.as_str().into(),
            _ => return Err(self.expected(what)),
        };
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            let message = format!("{what} has 1 to {MAX_NAME_BYTES} bytes, not {}", name.len());
            return Err(self.fault(message));
        }
        self.at += 1;
        Ok(name)
    }

    /// A number with its unit, which may stand apart from it: `5 min`.
    fn number(&mut self, what: &str) -> Result<Written<'a>, Fault> {
        let Kind::Number(written) = *self.kind() else { return Err(self.expected(what)) };
        self.at += 1;
        match *self.kind() {
            Kind::Name(unit) if written.unit.is_empty() && (unit == "%" || DURATIONS.contains(&unit)) => {
                self.at += 1;
                Ok(Written { unit, ..written })
            }
            _ => Ok(written),
        }
    }

    fn keyword(&mut self, word: &str) -> bool {
        let is = matches!(self.kind(), Kind::Name(name) if name.eq_ignore_ascii_case(word));
        self.at += usize::from(is);
        is
    }

    fn sign(&mut self, sign: &str) -> bool {
        let is = matches!(self.kind(), Kind::Sign(found) if *found == sign);
        self.at += usize::from(is);
        is
    }

    fn skip_past(&mut self, sign: &str) {
        while *self.kind() != Kind::End && !self.sign(sign) {
            self.at += 1;
        }
    }

    /// The end stands last and is never passed.
    fn token(&self) -> &Token<'a> {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn kind(&self) -> &Kind<'a> {
        &self.token().kind
    }

    /// What stands here, as written.
    fn word(&self) -> &'a str {
        let token = self.token();
        &self.text[token.offset..token.offset + token.length]
    }

    fn note(&mut self, token: usize, message: impl Into<String>) {
        self.faults.push(Fault { offset: self.tokens[token].offset, message: message.into() });
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { offset: self.token().offset, message: message.into() }
    }

    fn expected(&self, what: &str) -> Fault {
        match self.kind() {
            Kind::End => self.fault(format!("expected {what}, but the condition ends here")),
            Kind::Name(name) => {
                let hint = did_you_mean(name, ["and", "or", "for", "where"]);
                self.fault(format!("expected {what}, not {}{hint}", quoted(name)))
            }
            _ => self.fault(format!("expected {what}, not {}", quoted(self.word()))),
        }
    }
}

fn joined(mut tests: Vec<Test>, join: fn(Vec<Test>) -> Test) -> Test {
    match tests.len() {
        1 => tests.remove(0),
        _ => join(tests),
    }
}
