//! The observatory: takes in every observation, and knows how things stand.

mod signals;

use std::time::Duration;

use weir_core::dialect::Dialect;
use weir_core::exchange::{Exchange, Pulse};
use weir_core::lanes::GLOBAL;
use weir_core::observation::{Landmark, LandmarkEvent, Observation, Tick};

use crate::alert::{AlertState, AlertStatus, Alerts, Cause, Rules, Transition};
use crate::api::{AlertCommand, CommandError};
use crate::buffering::BufferingWatch;
use crate::cost::{CostConfig, Costs, GpuPricing, PriceBook, Valuation};
use crate::landmarks::{Landmarks, Surroundings};
use crate::progress::ProgressWatch;
use crate::queue::Queues;
use crate::saved::{Row, SavedRow};
use crate::scope::{Scope, Window};
use crate::slo::{AllowedShares, OwnRefusals, SloConfig, Slos};
use crate::snapshot::{FORM, ScopeFigures, Snapshot};
use crate::time::{Epoch, Moment};
use crate::window::{Windows, WindowsConfig};
use signals::LiveSignals;

/// What the observatory is told. Nothing in it can be wrong.
#[derive(Clone, Debug)]
pub struct ObservatoryConfig {
    /// How much the windows may hold, in bytes.
    pub memory: usize,
    /// How many models are told apart.
    pub max_models: usize,
    /// Models that always are.
    pub known_models: Vec<Box<str>>,
    /// What is asked of the service. Their names differ.
    pub slos: Vec<SloConfig>,
    /// How Weir's own refusals count.
    pub own_refusals: OwnRefusals,
    /// How many errors of each class are allowed.
    pub allowed_errors: AllowedShares,
    /// Requests at the upstream of which none gets a token for so long are an alarm.
    pub no_progress_after: Duration,
    /// When somebody is to be told.
    pub rules: Rules,
    /// What tokens cost.
    pub prices: PriceBook,
    /// What owned GPUs cost, where there are any.
    pub gpu: Option<GpuPricing>,
}

impl Default for ObservatoryConfig {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            max_models: 64,
            known_models: Vec::new(),
            slos: SloConfig::defaults(),
            own_refusals: OwnRefusals::default(),
            allowed_errors: AllowedShares::default(),
            no_progress_after: Duration::from_secs(30),
            rules: Rules::default(),
            prices: PriceBook::default(),
            gpu: None,
        }
    }
}

/// Everything that is known of the present and of the hour, or the month, before it.
///
/// It goes by what observations say of time, so that the same observations give the same answers.
#[derive(Debug)]
pub struct Observatory {
    epoch: Epoch,
    started: Moment,
    now: Moment,
    windows: Windows,
    slos: Slos,
    queues: Queues,
    progress: ProgressWatch,
    buffering: BufferingWatch,
    landmarks: Landmarks,
    costs: Costs,
    alerts: Alerts,
}

impl Observatory {
    /// Begins at a moment that is known by both clocks.
    pub fn new(config: ObservatoryConfig, epoch: Epoch) -> Self {
        let started = epoch.moment(epoch.mono);
        let max_models = config.max_models;
        let windows = Windows::new(WindowsConfig {
            memory: config.memory,
            max_models,
            known_models: config.known_models,
            started,
        });
        let slos = Slos::new(config.slos, config.own_refusals, started).allowing(config.allowed_errors);
        let costs = Costs::new(CostConfig { book: config.prices, gpu: config.gpu, started, max_models });
        Self {
            epoch,
            started,
            now: started,
            windows,
            slos,
            queues: Queues::default(),
            progress: ProgressWatch::new(config.no_progress_after),
            buffering: BufferingWatch::default(),
            landmarks: Landmarks::default(),
            costs,
            alerts: Alerts::new(config.rules),
        }
    }

    /// Takes in an observation. Says which alerts changed, which only a tick makes them do.
    pub fn observe(&mut self, observation: &Observation) -> Vec<Transition> {
        match observation {
            Observation::Exchange(exchange) => self.exchange(exchange, &self.value(exchange)),
            Observation::Pulse(pulse) => self.pulse(pulse),
            Observation::Tick(tick) => return self.tick(tick),
            Observation::Landmark(landmark) => self.landmark(landmark),
        }
        Vec::new()
    }

    /// What an exchange costs. Of what is none of the service that is measured here, that is not known.
    pub fn value(&self, exchange: &Exchange) -> Valuation {
        match exchange.request.dialect {
            Dialect::Other => Valuation::UNKNOWN,
            _ => self.costs.value(exchange),
        }
    }

    /// Takes in an exchange that was [valued](Self::value) before.
    ///
    /// What is neither a generation nor an embedding, such as a list of models, is relayed and is none of
    /// the service that is measured here.
    pub fn exchange(&mut self, exchange: &Exchange, valuation: &Valuation) {
        if exchange.request.dialect == Dialect::Other {
            return;
        }
        let ended = self.epoch.moment(exchange.received_mono.plus(exchange.duration()));
        self.windows.exchange(exchange, ended, self.slos.judge(exchange));
        self.slos.exchange(exchange, ended);
        self.progress.exchange(exchange, ended);
        self.buffering.exchange(exchange, ended);
        self.costs.exchange(exchange, valuation, ended);
    }

    /// Does what an operator asks for.
    ///
    /// # Errors
    ///
    /// When there is no such alert, or it is not in a state to be acknowledged.
    pub fn command(&mut self, command: &AlertCommand) -> Result<(), CommandError> {
        let known = |found: bool| if found { Ok(()) } else { Err(CommandError::UnknownAlert) };
        match command {
            AlertCommand::Silence { alert, length } => {
                known(self.alerts.silence(alert, self.now.plus(*length)))
            }
            AlertCommand::Unsilence { alert } => known(self.alerts.unsilence(alert)),
            AlertCommand::Acknowledge { alert, note } => {
                known(self.alerts.rules().rules().iter().any(|rule| *rule.name == **alert))?;
                let taken = self.alerts.acknowledge(alert, self.now, note);
                if taken { Ok(()) } else { Err(CommandError::NotFiring) }
            }
        }
    }

    /// Goes on with other rules. Says which alerts ended by that.
    pub fn replace_rules(&mut self, rules: Rules) -> Vec<Transition> {
        let ended = self.alerts.replace(rules, self.now);
        self.mark(&ended);
        ended
    }

    /// Where every alert stands.
    pub fn alerts(&self) -> Vec<AlertStatus> {
        self.alerts.list()
    }

    /// How things stand.
    pub fn snapshot(&self) -> Snapshot {
        let now = self.now;
        let windows = self.windows.scopes().into_iter().flat_map(|scope| {
            Window::ALL.into_iter().filter_map(move |window| {
                let figures = self.windows.figures(&scope, window)?;
                Some(ScopeFigures { scope: scope.clone(), window, figures })
            })
        });
        Snapshot {
            version: FORM,
            at: now,
            started: self.started,
            figures: windows.collect(),
            history: self.windows.sparklines(&Scope::Overall),
            slos: self.slos.status(now),
            error_classes: self.slos.classes(now),
            alerts: self.alerts.list(),
            cost: self.costs.summary(now),
            lanes: self.queues.status(),
            in_flight: self.progress.status(now),
            buffering: self.buffering.findings(now),
            landmarks: self.landmarks.list(),
            memory: self.windows.memory(),
        }
    }

    /// What changed since the last call and is to outlive a restart.
    pub fn rows(&mut self) -> Vec<Row> {
        let mut rows = self.slos.rows();
        rows.extend(self.costs.rows());
        rows.extend(self.alerts.rows());
        rows
    }

    /// Takes up what was known before a restart; before anything is observed.
    pub fn restore(&mut self, saved: &[SavedRow]) {
        self.slos.restore(saved);
        self.costs.restore(saved);
        self.alerts.restore(saved, self.now);
    }

    /// How many rows of a store could not be read.
    pub const fn broken_rows(&self) -> u64 {
        self.slos.uncounted().broken_rows + self.costs.broken_rows() + self.alerts.broken_rows()
    }

    fn pulse(&mut self, pulse: &Pulse) {
        let at = self.epoch.moment(pulse.at);
        self.windows.pulse(pulse, at);
        self.slos.pulse(pulse, at);
        self.progress.tokens(at);
    }

    fn tick(&mut self, tick: &Tick) -> Vec<Transition> {
        let now = self.epoch.moment(tick.at);
        self.now = self.now.max(now);
        self.windows.tick(now, tick);
        self.slos.tick(now);
        self.queues.tick(now, &tick.lanes);
        self.progress.tick(now, &tick.in_flight);
        self.costs.tick(now, tick);
        if self.landmarks.is_due(now) {
            let after = self.surroundings();
            self.landmarks.settle(now, after);
        }
        let Self { windows, slos, queues, progress, costs, alerts, now, .. } = self;
        let signals = LiveSignals::new(windows, slos, queues, progress, costs, *now);
        let changed = alerts.evaluate(*now, &signals);
        self.mark(&changed);
        changed
    }

    /// Alerts that began or ceased to fire stand among the landmarks.
    fn mark(&mut self, changed: &[Transition]) {
        for transition in changed {
            let event = match (transition.to, transition.cause) {
                (AlertState::Firing, Cause::SilenceEnded) => continue,
                (AlertState::Firing, _) => LandmarkEvent::AlertFiring,
                _ if transition.is_resolved() => LandmarkEvent::AlertResolved,
                _ => continue,
            };
            let detail = format!("{}: {}", transition.alert, transition.condition);
            self.landmarks.add(transition.at, event, &detail, self.surroundings());
        }
    }

    fn landmark(&mut self, landmark: &Landmark) {
        if landmark.event == LandmarkEvent::Started {
            // In a record another process may go on, on another clock.
            self.epoch = Epoch { mono: landmark.at, wall: landmark.wall };
        }
        let at = self.epoch.moment(landmark.at);
        self.landmarks.add(at, landmark.event, &landmark.detail, self.surroundings());
    }

    /// Figures of the last minute that a landmark may change.
    fn surroundings(&self) -> Surroundings {
        let figures = self.windows.figures(&Scope::Overall, Window::Minute);
        let figures = figures.as_ref();
        let ttft = figures.and_then(|figures| figures.latency.ttft.as_ref());
        Surroundings {
            ttft_p95_s: ttft.and_then(|ttft| ttft.p95),
            output_tps: figures.and_then(|figures| figures.tokens.output_per_s),
            queue_depth: self.queues.queued(GLOBAL).map(|queued| queued as f64),
        }
    }
}
