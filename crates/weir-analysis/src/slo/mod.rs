//! Service level objectives, error budgets, and the classes of errors.
//!
//! An SLO says which events are good and what share of them has to be. [`Slos`] counts good and bad events,
//! by minutes for three days and by hours for thirty, and answers from these counts: what is left of the
//! error budget, how fast it burns, and who has to be told. `docs/slo.md` has the definitions for people.

pub mod burn;
pub mod classes;
pub mod config;
pub mod sides;
pub mod status;

mod budget;
mod event;
mod itl;
mod keep;
mod ring;
mod slos;

pub use burn::BurnWindow;
pub use classes::{AllowedShares, ClassStatus, ErrorClass, ErrorClasses};
pub use config::{Objective, SloConfig};
pub use sides::OwnRefusals;
pub use slos::{Slos, Uncounted};
pub use status::SloStatus;
