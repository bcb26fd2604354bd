//! What the file says of prices. The price file is read at once.

use weir_analysis::cost::{GpuPricing, PriceBook, PriceOverride};

use super::alerts::bounded;
use super::kinds::{Count, FilePath};
use super::lists::Dollars;
use super::section::Section;

/// LiteLLM's file has some 2 MiB.
const MAX_PRICES: u64 = 64 << 20;

const GPUS: Count = Count { min: 1, max: 100_000 };

/// Prices of tokens, and of owned GPUs.
#[derive(Default)]
pub(super) struct Prices {
    pub(super) book: PriceBook,
    pub(super) gpu: Option<GpuPricing>,
}

/// Reads every price there is.
pub(super) fn cost(section: &mut Section<'_, '_>) -> Prices {
    let book = book(section);
    let own = section.sections("models", "", |section| {
        let mut price = |key| section.optional(key, Dollars, "not known").map(|dollars| dollars.value);
        PriceOverride {
            model: String::new(),
            input: price("input"),
            output: price("output"),
            cached_input: price("cached_input"),
            cache_write: price("cache_write"),
            reasoning: price("reasoning"),
            audio_input: price("audio_input"),
            audio_output: price("audio_output"),
        }
    });
    let own: Vec<_> =
        own.into_iter().map(|(model, price)| PriceOverride { model: model.into(), ..price }).collect();
    let gpu = section.section("gpu", gpu);
    // Every price was looked at: none can be refused here.
    Prices { book: book.with_overrides(&own).unwrap_or_default(), gpu }
}

fn book(section: &mut Section<'_, '_>) -> PriceBook {
    let Some(file) = section.optional("prices", FilePath, "no price file") else {
        return PriceBook::default();
    };
    let name = file.value.display().to_string();
    let read = bounded(&file.value, MAX_PRICES).map_err(|error| format!("{name}: cannot be read: {error}"));
    let read = read.and_then(|text| {
        PriceBook::read(text.as_bytes())
            .map_err(|error| format!("{name}:{}:{}: {}", error.line, error.column, error.message))
    });
    match read {
        Ok(book) => {
            let warnings = book.warnings();
            for warning in &warnings.listed {
                section.warn(format!("{name}: {warning}"));
            }
            let more = warnings.count.saturating_sub(warnings.listed.len() as u64);
            if more > 0 {
                section.warn(format!("{name}: {more} more entries are left out"));
            }
            book
        }
        Err(says) => {
            section.refuse("prices", &file.place, says);
            PriceBook::default()
        }
    }
}

fn gpu(section: &mut Section<'_, '_>) -> Option<GpuPricing> {
    let usd = section.optional("usd_per_gpu_hour", Dollars, "GPUs are not priced");
    let gpus = section.value("gpus", GPUS, 1);
    GpuPricing::new(usd?.value, u32::try_from(gpus).unwrap_or(u32::MAX)).ok()
}
