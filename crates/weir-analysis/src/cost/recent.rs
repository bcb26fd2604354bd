//! Costs of the last hour, of everything and of each model.

use std::collections::BTreeMap;
use std::time::Duration;

use super::amounts::Amounts;
use super::sliding::{Add, Sliding};
use crate::scope::Window;
use crate::time::Moment;

/// The grain of the windows over everything.
const CELL: Duration = Duration::from_secs(1);

/// The grain of the windows of a model: 361 cells of 80 bytes each for the hour.
const MODEL_CELL: Duration = Duration::from_secs(10);

/// The last hour.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    all: Sliding<Amounts>,
    models: BTreeMap<Box<str>, Sliding<Amounts>>,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self { all: Sliding::new(CELL, Window::Hour.length()), models: BTreeMap::new() }
    }

    /// Counts what ended, under the name that its model is counted by. Whoever names it bounds their number.
    pub(super) fn add(&mut self, model: &str, amounts: &Amounts, ended: Moment) {
        self.all.at(ended).add(amounts);
        if !self.models.contains_key(model) {
            self.models.insert(model.into(), Sliding::new(MODEL_CELL, Window::Hour.length()));
        }
        if let Some(of_model) = self.models.get_mut(model) {
            of_model.at(ended).add(amounts);
        }
    }

    /// The sum over a window that ends now. `None`: there is no such model.
    pub(super) fn sum(&self, now: Moment, model: Option<&str>, window: Window) -> Option<Amounts> {
        let of = model.map_or(Some(&self.all), |model| self.models.get(model))?;
        Some(of.sum(now, window.length()))
    }

    /// Lets go of models that are not counted any more.
    pub(super) fn retain(&mut self, is_counted: impl Fn(&str) -> bool) {
        self.models.retain(|model, _| is_counted(model));
    }
}
