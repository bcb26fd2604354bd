//! A body that a template of Jinja makes.

use std::io;

use minijinja::{Environment, UndefinedBehavior};

use super::plain::Plain;
use crate::otlp::cut;

/// How many steps a template may take. One that lists a hundred labels takes some thousand.
const FUEL: u64 = 100_000;

/// A longer template is not taken.
const MAX_SOURCE: usize = 64 * 1024;

const NAME: &str = "body";

/// A compiled template. It sees the fields of the notification and nothing else.
#[derive(Debug)]
pub(super) struct Template(Environment<'static>);

impl Template {
    pub(super) fn compile(source: String) -> Result<Self, String> {
        if source.len() > MAX_SOURCE {
            return Err(format!("the template is longer than {MAX_SOURCE} bytes"));
        }
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.add_template_owned(NAME, source).map_err(explained)?;
        Ok(Self(environment))
    }

    pub(super) fn render(&self, of: &Plain<'_>, max_bytes: usize) -> Result<Vec<u8>, String> {
        let template = self.0.get_template(NAME).map_err(explained)?;
        let mut body = Bounded { bytes: Vec::new(), max_bytes };
        let context = minijinja::value::Serde(of);
        template.render_captured_to(context, &mut body).map_err(explained)?;
        Ok(body.bytes)
    }
}

fn explained(error: minijinja::Error) -> String {
    cut(&format!("the template: {error}"))
}

/// Takes no more than it is told to.
struct Bounded {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + part.len() > self.max_bytes {
            return Err(io::Error::other(format!("longer than {} bytes", self.max_bytes)));
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
