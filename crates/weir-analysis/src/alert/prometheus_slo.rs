//! SLOs as Sloth writes them for Prometheus: recording rules, and alerts over several windows.

use super::prometheus::scalar;
use super::promql::quoted;

/// An SLO in PromQL. Both expressions have one sample without labels, and hold `{{.window}}` where a window stands, as in Sloth's own files:
/// `sum(rate(weir_requests_total{outcome="timeout"}[{{.window}}]))`.
#[derive(Clone, Debug, PartialEq)]
pub struct PromSlo {
    /// Its name.
    pub name: Box<str>,
    /// The share of events that has to be good, from 0 to 1.
    pub target: f64,
    /// The rate of bad events; none is as zero.
    pub bad: Box<str>,
    /// The rate of all events.
    pub total: Box<str>,
}

/// The windows that ratios are recorded for, all but the whole period's.
const WINDOWS: [&str; 7] = ["5m", "30m", "1h", "2h", "6h", "1d", "3d"];
/// The period of a budget, in days.
const PERIOD_DAYS: u32 = 30;

/// A pair of windows and the burn rate from which on they tell someone: Sloth's, for 30 days.
struct Pair {
    short: &'static str,
    long: &'static str,
    factor: &'static str,
}

const PAGE: [Pair; 2] =
    [Pair { short: "5m", long: "1h", factor: "14.4" }, Pair { short: "30m", long: "6h", factor: "6" }];
const TICKET: [Pair; 2] =
    [Pair { short: "2h", long: "1d", factor: "3" }, Pair { short: "6h", long: "3d", factor: "1" }];

impl PromSlo {
    fn id(&self) -> String {
        format!("weir-{}", self.name)
    }

    fn matcher(&self) -> String {
        format!("{{sloth_id={}}}", quoted(&self.id()))
    }

    /// The share of events that may be bad. Left to Prometheus, lest a rounding stands in the file.
    fn budget(&self) -> String {
        format!("(1 - {})", self.target)
    }

    /// How fast the budget burns, without labels.
    pub(super) fn burn(&self, window: &str) -> String {
        format!("(max(slo:sli_error:ratio_rate{window}{}) / {})", self.matcher(), self.budget())
    }

    /// What is left of the budget, without labels.
    pub(super) fn remaining(&self) -> String {
        format!("max(slo:period_error_budget_remaining:ratio{})", self.matcher())
    }

    /// The groups of rules.
    pub(super) fn groups(&self) -> String {
        let mut out = String::new();
        out += &group("sli", &self.name);
        for window in WINDOWS {
            let of = |expression: &str| expression.replace("{{.window}}", window);
            let expr = format!("({} or vector(0)) / ({})", of(&self.bad), of(&self.total));
            out += &self.record(&format!("slo:sli_error:ratio_rate{window}"), &expr, Some(window));
        }
        let period = format!("{PERIOD_DAYS}d");
        let short = format!("slo:sli_error:ratio_rate5m{}", self.matcher());
        let expr = format!(
            "sum_over_time({short}[{period}]) / ignoring (sloth_window) count_over_time({short}[{period}])"
        );
        out += &self.record(&format!("slo:sli_error:ratio_rate{period}"), &expr, Some(&period));
        out += &group("meta", &self.name);
        for (record, expr) in self.meta() {
            out += &self.record(record, &expr, None);
        }
        out += &group("alerts", &self.name);
        out + &self.alert("page", &PAGE) + &self.alert("ticket", &TICKET)
    }

    fn meta(&self) -> [(&'static str, String); 7] {
        let matcher = self.matcher();
        let burn = |ratio: &str| {
            format!(
                "{ratio}{matcher} / on (sloth_id, sloth_slo, sloth_service) group_left slo:error_budget:ratio{matcher}"
            )
        };
        [
            ("slo:objective:ratio", format!("vector({})", self.target)),
            ("slo:error_budget:ratio", format!("vector(1 - {})", self.target)),
            ("slo:time_period:days", format!("vector({PERIOD_DAYS})")),
            ("slo:current_burn_rate:ratio", burn("slo:sli_error:ratio_rate5m")),
            ("slo:period_burn_rate:ratio", burn("slo:sli_error:ratio_rate30d")),
            ("slo:period_error_budget_remaining:ratio", format!("1 - slo:period_burn_rate:ratio{matcher}")),
            ("sloth_slo_info", "vector(1)".to_owned()),
        ]
    }

    fn record(&self, name: &str, expr: &str, window: Option<&str>) -> String {
        let mut labels = self.labels();
        if let Some(window) = window {
            labels += &format!("      sloth_window: {window}\n");
        }
        format!("  - record: {name}\n    expr: {}\n    labels:\n{labels}", scalar(expr))
    }

    fn labels(&self) -> String {
        let (id, name) = (scalar(&self.id()), scalar(&self.name));
        format!("      sloth_id: {id}\n      sloth_service: weir\n      sloth_slo: {name}\n")
    }

    fn alert(&self, severity: &str, pairs: &[Pair]) -> String {
        let above = |window: &str, factor: &str| {
            let (matcher, budget) = (self.matcher(), self.budget());
            format!(
                "max without (sloth_window) (slo:sli_error:ratio_rate{window}{matcher} > ({factor} * {budget}))"
            )
        };
        let either: Vec<_> = pairs
            .iter()
            .map(|Pair { short, long, factor }| {
                format!("({} and {})", above(short, factor), above(long, factor))
            })
            .collect();
        let summary = format!("The error budget of {} burns too fast.", self.name);
        format!(
            "  - alert: WeirErrorBudgetBurn\n    expr: {}\n    labels:\n{}      sloth_severity: {severity}\n    annotations:\n      summary: {}\n",
            scalar(&either.join(" or ")),
            self.labels(),
            scalar(&summary)
        )
    }
}

fn group(part: &str, name: &str) -> String {
    format!("- name: {}\n  rules:\n", scalar(&format!("weir-slo-{part}-{name}")))
}
