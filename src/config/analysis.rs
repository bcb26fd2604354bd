//! What the file says of what is worked out: the windows, and what is asked of the service.

use std::path::PathBuf;
use std::time::Duration;

use weir_analysis::observatory::ObservatoryConfig;
use weir_analysis::slo::config::MIN_EVENTS;
use weir_analysis::slo::{AllowedShares, Objective, OwnRefusals, SloConfig};

use super::error::Place;
use super::kinds::{Choice, Count, FilePath, Name, Size, Span};
use super::lists::{Allowance, Percent};
use super::section::Section;

const MILLI: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);
const MEMORY: Size = Size { min: 1 << 20, max: 16 << 30 };
const PATIENCE: Span = Span { min: Duration::from_secs(1), max: HOUR };
const LIMIT: Span = Span { min: MILLI, max: HOUR };
const EVENTS: Count = Count { min: 1, max: 1_000_000_000 };
const REFUSALS: &[(&str, OwnRefusals)] = &[("\"bad\"", OwnRefusals::Bad), ("\"out\"", OwnRefusals::Out)];

/// How many SLOs there may be. Each keeps counts of thirty days.
const MAX_SLOS: usize = 64;

/// Objectives by how the file names them. A latency's limit is given apart.
const OBJECTIVES: &[(&str, Objective)] = &[
    ("\"ttft\"", Objective::Ttft(Duration::ZERO)),
    ("\"itl\"", Objective::Itl(Duration::ZERO)),
    ("\"tpot\"", Objective::Tpot(Duration::ZERO)),
    ("\"e2e\"", Objective::E2e(Duration::ZERO)),
    ("\"queue_wait\"", Objective::QueueWait(Duration::ZERO)),
    ("\"error_rate\"", Objective::ErrorRate),
    ("\"availability\"", Objective::Availability),
];

/// The windows.
pub(super) fn analysis(section: &mut Section<'_, '_>) -> ObservatoryConfig {
    let default = ObservatoryConfig::default();
    ObservatoryConfig {
        memory: section.value("memory", MEMORY, default.memory),
        no_progress_after: section.value("no_progress_after", PATIENCE, default.no_progress_after),
        own_refusals: section.value("own_refusals", Choice(REFUSALS), default.own_refusals),
        ..default
    }
}

/// Where what is worked out outlives a restart.
pub(super) fn state_dir(section: &mut Section<'_, '_>) -> Option<PathBuf> {
    section.optional("state_dir", FilePath, "it is forgotten").map(|dir| dir.value)
}

/// How many errors of each class are allowed, of a hundred exchanges.
pub(super) fn error_classes(section: &mut Section<'_, '_>) -> AllowedShares {
    let default = AllowedShares::default();
    let mut share = |key, default: f64| section.value(key, Allowance, default * 100.0) / 100.0;
    AllowedShares {
        api_timeout: share("api_timeout", default.api_timeout),
        rate_limit: share("rate_limit", default.rate_limit),
        content_filter: share("content_filter", default.content_filter),
        model_error: share("model_error", default.model_error),
        client_error: share("client_error", default.client_error),
    }
}

/// What is asked of the service; the defaults where nothing is.
pub(super) fn slos(root: &mut Section<'_, '_>) -> Vec<SloConfig> {
    let mut names = Vec::<Box<str>>::new();
    let given = root.tables("slo", |section| {
        let place = section.place();
        let slo = slo(section)?;
        if names.contains(&slo.name) {
            section.refuse("name", &place, "taken by another [[slo]]; allowed: a name of its own");
        }
        if names.len() == MAX_SLOS {
            section.refuse("name", &place, format!("too many; allowed: {MAX_SLOS} of [[slo]]"));
        }
        names.push(slo.name.clone());
        Some(slo)
    });
    if given.is_empty() { SloConfig::defaults() } else { given.into_iter().flatten().collect() }
}

fn slo(section: &mut Section<'_, '_>) -> Option<SloConfig> {
    let objective = section.optional("objective", Choice(OBJECTIVES), "has to be given");
    let limit = section.optional("limit", LIMIT, "has to be given for a latency");
    let target = section.optional("target", Percent, "has to be given");
    let name = section.optional("name", Name, "as the objective");
    let model = section.optional("model", Name, "every model").map(|model| model.value);
    let min_events = section.value("min_events", EVENTS, MIN_EVENTS as usize) as u64;
    let place = section.place();
    let objective = needed(section, "objective", objective.map(|objective| objective.value), &place)?;
    let target = needed(section, "target", target.map(|target| target.value), &place)?;
    let objective = match (objective.limit(), limit) {
        (Some(_), limit) => {
            let limit = needed(section, "limit", limit.map(|limit| limit.value), &place)?;
            objective.within(limit)
        }
        (None, Some(limit)) => {
            section.refuse("limit", &limit.place, "only a latency has one; allowed: none here");
            return None;
        }
        (None, None) => objective,
    };
    let name = name.map_or_else(|| objective.as_str().into(), |name| name.value);
    Some(SloConfig { name, objective, target: target / 100.0, model, min_events })
}

/// A value that has to be given. One that is wrong was noted when it was read.
fn needed<T>(section: &mut Section<'_, '_>, key: &'static str, value: Option<T>, place: &Place) -> Option<T> {
    if value.is_none() && !section.has(key) {
        section.refuse(key, place, "missing; it has to be given");
    }
    value
}
