//! What a page says of an analysis that is made by hand.

use std::sync::Arc;

use weir_analysis::buffering::{Buffering, Sign};
use weir_analysis::cost::{CostFigures, GpuFigures, WindowCost};
use weir_analysis::queue::{LaneStatus, Law, QueueState, QueueVerdict, StageLaw};
use weir_analysis::scope::Window;
use weir_core::page::PageFormat;

use crate::config::TelemetryConfig;
use crate::fixture::House;
use crate::metrics::page;
use crate::notify::TargetCounts;

/// The samples of the page whose names begin like this.
fn samples(house: &House, prefix: &str) -> Vec<String> {
    let page = page::write(&house.snapshot(1), PageFormat::Text);
    page.lines().filter(|line| line.starts_with(prefix)).map(str::to_owned).collect()
}

fn house() -> House {
    House::new(&TelemetryConfig::default())
}

fn law(window: Window, residual_share: Option<f64>) -> Law {
    let stage = |residual_share| StageLaw {
        mean_inside: 4.0,
        arrivals_per_s: 1.0,
        mean_time_s: Some(3.0),
        residual: Some(1.0),
        residual_share,
    };
    Law {
        window,
        elapsed_s: 60.0,
        queue: stage(None),
        prefill: stage(residual_share),
        decode: stage(Some(-0.5)),
    }
}

#[test]
fn lanes_are_told_by_the_last_minute() {
    let verdict = QueueVerdict {
        state: QueueState::Collapse,
        depth: None,
        growth_per_s: None,
        arrivals_per_s: Default::default(),
        completions_per_s: Default::default(),
        service_time_s: Default::default(),
        empty_in_s: None,
        text: String::new(),
    };
    let lane = LaneStatus {
        lane: "m".into(),
        limit: Some(8),
        queued: 3,
        in_flight: 8,
        utilisation: Some(0.75),
        predicted_wait_s: None,
        laws: vec![law(Window::Minute, Some(0.25)), law(Window::FiveMinutes, Some(0.125))],
        queue: verdict,
    };
    let mut house = house();
    house.analysis.lanes = vec![lane];
    assert_eq!(samples(&house, "weir_lane_utilisation"), [r#"weir_lane_utilisation_ratio{lane="m"} 0.75"#]);
    assert!(samples(&house, "weir_lane_predicted").is_empty());
    assert_eq!(
        samples(&house, "weir_lane_law"),
        [
            r#"weir_lane_law_residual_ratio{lane="m",stage="prefill"} 0.25"#,
            r#"weir_lane_law_residual_ratio{lane="m",stage="decode"} -0.5"#,
        ]
    );
    let states = samples(&house, "weir_lane_queue_state");
    assert_eq!(states.len(), 6);
    let now: Vec<_> = states.iter().filter(|line| line.ends_with(" 1")).collect();
    assert_eq!(now, [r#"weir_lane_queue_state{lane="m",state="collapse"} 1"#]);
}

#[test]
fn several_signs_of_one_hop_are_one_series() {
    let finding = |hop: &str, sign| Buffering {
        upstream: "u".into(),
        hop: hop.into(),
        sign,
        streams: 9,
        held_back: 8,
        text: String::new(),
        remedy: String::new(),
    };
    let mut house = house();
    house.analysis.buffering = vec![
        finding("upstream", Sign::Coalesced),
        finding("downstream", Sign::Http10),
        finding("upstream", Sign::Packed),
    ];
    assert_eq!(
        samples(&house, "weir_buffering"),
        [
            r#"weir_buffering_findings{upstream="u",hop="downstream"} 1"#,
            r#"weir_buffering_findings{upstream="u",hop="upstream"} 2"#,
        ]
    );
}

#[test]
fn costs_are_told_where_they_are_known() {
    let mut house = house();
    let window = |window, usd_per_1m_tokens| WindowCost {
        window,
        figures: CostFigures { usd_per_1m_tokens, ..CostFigures::default() },
    };
    let cost = &mut house.analysis.cost;
    cost.usd_per_hour = Some(1.25);
    cost.windows = vec![window(Window::Minute, None), window(Window::Hour, Some(3.5))];
    cost.gpu = vec![GpuFigures {
        window: Window::FiveMinutes,
        busy_usd: Some(0.5),
        idle_usd: Some(0.0),
        busy_share: Some(1.0),
        prefill_usd: None,
        decode_usd: None,
        usd_per_1m_input_tokens: None,
        usd_per_1m_output_tokens: None,
    }];
    assert_eq!(
        samples(&house, "weir_cost_usd_per"),
        ["weir_cost_usd_per_hour 1.25", r#"weir_cost_usd_per_million_tokens{window="1h"} 3.5"#]
    );
    assert_eq!(
        samples(&house, "weir_gpu"),
        [
            r#"weir_gpu_cost_usd{window="5m",state="busy"} 0.5"#,
            r#"weir_gpu_cost_usd{window="5m",state="idle"} 0"#,
        ]
    );
}

#[test]
fn what_found_no_room_is_counted_by_where() {
    let mut house = house();
    house.analysis.memory.used_bytes = 5;
    house.analysis.memory.limit_bytes = 7;
    house.analysis.memory.overflowed = 11;
    house.analysis.memory.turned_away = 13;
    house.analysis.cost.turned_away = 17;
    assert_eq!(
        samples(&house, "weir_analysis"),
        [
            "weir_analysis_memory_bytes 5",
            "weir_analysis_memory_limit_bytes 7",
            r#"weir_analysis_overflow_total{cause="no_bin"} 11"#,
            r#"weir_analysis_overflow_total{cause="no_series"} 13"#,
            r#"weir_analysis_overflow_total{cause="no_cost_series"} 17"#,
        ]
    );
}

#[test]
fn targets_have_every_fate_from_the_start() {
    let house = house();
    house.actions.set_targets(vec![("pager".into(), Arc::<TargetCounts>::default())]);
    let lines = samples(&house, "weir_notifications");
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[0], r#"weir_notifications_total{target="pager",fate="sent"} 0"#);
}
