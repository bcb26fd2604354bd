//! What exchanges cost.
//!
//! A price is known from the upstream's own word, from the user's, from the time of owned GPUs, or from a
//! price book; or it is not known, which is not zero. `docs/cost.md` tells the rules.

mod amounts;
mod book;
mod costs;
mod gpu;
mod integral;
mod ledger;
mod litellm;
mod money;
mod names;
mod rates;
mod recent;
mod sliding;
mod summary;
mod tokens;
mod valuation;

pub use amounts::is_billed;
pub use book::{OverrideError, PriceBook, PriceOverride};
pub use costs::{CostConfig, Costs};
pub use gpu::{GpuPricing, GpuPricingError};
pub use litellm::{LISTED_WARNINGS, MAX_ENTRIES, PriceFileError, Warnings};
pub use money::NanoUsd;
pub use summary::{CostFigures, CostSummary, GpuFigures, HourCost, ModelCost, WindowCost};
pub use valuation::{CostParts, Source, Valuation};
