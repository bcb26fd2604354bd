//! Signals of alerts, read from the live figures.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use weir_core::lanes::GLOBAL;

use crate::alert::signal::{Figure, Measure, Stat};
use crate::alert::{Signal, Signals};
use crate::cost::Costs;
use crate::progress::ProgressWatch;
use crate::queue::Queues;
use crate::scope::{Scope, Window};
use crate::slo::{ClassStatus, ErrorClass, ErrorClasses, Slos};
use crate::time::Moment;
use crate::window::{Distribution, Figures, Windows};

/// Figures that were worked out, with `None` where there are none.
type Known = BTreeMap<(Scope, Window), Option<Rc<Figures>>>;

/// The live figures at one moment. What several rules read is worked out once.
pub(super) struct LiveSignals<'a> {
    windows: &'a Windows,
    slos: &'a Slos,
    queues: &'a Queues,
    progress: &'a ProgressWatch,
    costs: &'a Costs,
    now: Moment,
    figures: RefCell<Known>,
    classes: RefCell<Option<Rc<ErrorClasses>>>,
}

impl<'a> LiveSignals<'a> {
    pub(super) fn new(
        windows: &'a Windows,
        slos: &'a Slos,
        queues: &'a Queues,
        progress: &'a ProgressWatch,
        costs: &'a Costs,
        now: Moment,
    ) -> Self {
        let (figures, classes) = (RefCell::default(), RefCell::default());
        Self { windows, slos, queues, progress, costs, now, figures, classes }
    }

    fn figures(&self, scope: &Scope, window: Window) -> Option<Rc<Figures>> {
        let mut known = self.figures.borrow_mut();
        let figures = known.entry((scope.clone(), window));
        figures.or_insert_with(|| self.windows.figures(scope, window).map(Rc::new)).clone()
    }

    fn windowed(&self, figure: Figure, scope: &Scope, window: Window) -> Option<f64> {
        if let Some(class) = class(figure) {
            return self.share_of(class, window);
        }
        if let Figure::HourlyCost | Figure::CostPer1kTokens | Figure::CostPer1mTokens = figure {
            return self.cost(figure, scope, window);
        }
        let figures = self.figures(scope, window)?;
        let Figures { requests, tokens, throughput, goodput, .. } = &*figures;
        match figure {
            Figure::Rps => requests.per_s,
            Figure::InputTps => tokens.input_per_s,
            Figure::OutputTps => tokens.output_per_s,
            Figure::Concurrency => throughput.concurrency,
            Figure::ThroughputRatio => throughput.effective_share,
            Figure::Goodput => goodput.as_ref()?.requests_per_s,
            Figure::GoodputTps => goodput.as_ref()?.tokens_per_s,
            Figure::Attainment => goodput.as_ref()?.attainment,
            Figure::ErrorRate => requests.error_share,
            _ => None,
        }
    }

    fn share_of(&self, class: ErrorClass, window: Window) -> Option<f64> {
        let mut known = self.classes.borrow_mut();
        let classes = known.get_or_insert_with(|| Rc::new(self.slos.classes(self.now)));
        let of_window = classes.windows.iter().find(|of| of.window.as_str() == window.as_str())?;
        of_window.classes.iter().find(|status: &&ClassStatus| status.class == class)?.share
    }

    fn cost(&self, figure: Figure, scope: &Scope, window: Window) -> Option<f64> {
        let model = match scope {
            Scope::Overall => None,
            Scope::Model(name) => Some(&**name),
            Scope::Upstream(_) => return None,
        };
        if figure == Figure::HourlyCost {
            return self.costs.hourly(self.now, model, window);
        }
        let costs = self.costs.recent(self.now, model, window)?;
        if figure == Figure::CostPer1kTokens { costs.usd_per_1k_tokens } else { costs.usd_per_1m_tokens }
    }

    /// What of engines and GPUs is not read by anyone has no figure.
    fn of_the_moment(&self, figure: Figure, scope: &Scope) -> Option<f64> {
        let lane = match scope {
            Scope::Overall => GLOBAL,
            Scope::Model(name) => name,
            Scope::Upstream(_) => return None,
        };
        match figure {
            Figure::QueueDepth => self.queues.queued(lane).map(|queued| queued as f64),
            Figure::InFlight => self.queues.in_flight(lane).map(|many| many as f64),
            Figure::Utilisation => self.queues.utilisation(lane),
            Figure::PredictedWait => self.queues.predicted_wait(lane),
            Figure::StalledStreams => Some(self.progress.stalled() as f64),
            Figure::OldestSilence => self.progress.longest_silence().map(|silence| silence.as_secs_f64()),
            Figure::NoProgress => self.progress.silence(self.now).map(|silence| silence.as_secs_f64()),
            _ => None,
        }
    }
}

impl Signals for LiveSignals<'_> {
    fn read(&self, signal: &Signal, scope: &Scope) -> Option<f64> {
        match signal {
            Signal::Statistic { stat, measure, window } => {
                let figures = self.figures(scope, *window)?;
                statistic(distribution(&figures, *measure)?, *stat)
            }
            Signal::Windowed { figure, window } => self.windowed(*figure, scope, *window),
            Signal::Now(figure) => self.of_the_moment(*figure, scope),
            Signal::BurnRate { slo, window } => self.slos.burn(slo, *window),
            Signal::BudgetRemaining { slo } => self.slos.remaining(slo),
        }
    }
}

const fn class(figure: Figure) -> Option<ErrorClass> {
    Some(match figure {
        Figure::TimeoutRate => ErrorClass::ApiTimeout,
        Figure::RateLimitRate => ErrorClass::RateLimit,
        Figure::ContentFilterRate => ErrorClass::ContentFilter,
        Figure::ModelErrorRate => ErrorClass::ModelError,
        Figure::ClientErrorRate => ErrorClass::ClientError,
        _ => return None,
    })
}

const fn distribution(figures: &Figures, measure: Measure) -> Option<&Distribution> {
    let Figures { latency, lengths, .. } = figures;
    match measure {
        Measure::Ttft => latency.ttft.as_ref(),
        Measure::UpstreamTtft => latency.upstream_ttft.as_ref(),
        Measure::Itl => latency.itl.as_ref(),
        Measure::InterChunk => latency.inter_chunk.as_ref(),
        Measure::Tpot => latency.tpot.as_ref(),
        Measure::E2e => latency.e2e.as_ref(),
        Measure::QueueWait => latency.queue_wait.as_ref(),
        Measure::Tps => lengths.tps.as_ref(),
        Measure::InputTokens => lengths.input_tokens.as_ref(),
        Measure::OutputTokens => lengths.output_tokens.as_ref(),
    }
}

const fn statistic(distribution: &Distribution, stat: Stat) -> Option<f64> {
    match stat {
        Stat::P50 => distribution.p50,
        Stat::P90 => distribution.p90,
        Stat::P95 => distribution.p95,
        Stat::P99 => distribution.p99,
        Stat::Mean => Some(distribution.mean),
        Stat::Max => Some(distribution.max),
    }
}
