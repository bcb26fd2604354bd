//! What clients write must not make labels without end, nor break the page.

use weir_telemetry::TelemetryConfig;

use crate::sut::{Sut, stream, turned_away};

#[tokio::test(start_paused = true)]
async fn ten_thousand_models_stay_within_the_cap() {
    let config = TelemetryConfig {
        known_models: vec!["configured".into()],
        max_models: 64,
        ..TelemetryConfig::default()
    };
    let sut = Sut::start(config);
    for id in 0..5_000 {
        // Refused ones never have a label of their own, answered ones while there is room.
        sut.send(turned_away(id, Some(&format!("refused-{id}")))).await;
        sut.send(stream(100_000 + id, &format!("answered-{id}"))).await;
    }
    sut.send(turned_away(200_000, Some("configured"))).await;
    sut.send(turned_away(200_001, None)).await;
    let page = sut.page().await;
    for name in ["weir_requests_total", "weir_itl_seconds_count", "weir_ttft_seconds_count"] {
        let models = page.values(name, "model");
        assert!(models.len() <= 66, "{name}: {}", models.len());
        assert!(!models.iter().any(|model| model.starts_with("refused")), "{name}");
        assert!(models.contains(&"answered-0") && models.contains(&"other"), "{name}");
    }
    assert_eq!(page.sum("weir_requests_total", &[]), 10_002.0);
    assert_eq!(page.sum("weir_requests_total", &[("model", "other")]), 5_000.0 + 4_937.0);
    assert_eq!(page.sum("weir_requests_total", &[("model", "configured")]), 1.0);
    assert_eq!(page.sum("weir_requests_total", &[("model", "unknown")]), 1.0);
    assert_eq!(page.sum("weir_chunks_total", &[]), 20_000.0);
    assert_eq!(page.sum("weir_itl_seconds_count", &[]), 15_000.0);
    // Each of them once for its pulse, and once for its exchange.
    assert_eq!(page.get("weir_label_overflow_total", &[]), Some(2.0 * 4_937.0));
    sut.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn hostile_names_are_escaped_cut_and_cleaned() {
    let sut = Sut::start(TelemetryConfig::default());
    let long = "x".repeat(1 << 20);
    let names = ["a\"b\\c", "}} 1\nweir_requests_total 9", "tab\tbell\u{7}", "\u{202e}über", "", &long];
    for (id, name) in names.iter().enumerate() {
        sut.send(stream(id as u64, name)).await;
    }
    let text = sut.text().await;
    assert!(!text.contains(&long[..129]));
    let page = sut.page().await;
    assert_eq!(page.sum("weir_requests_total", &[]), 6.0);
    let mut expected = [
        "a\"b\\c",
        "}} 1\u{fffd}weir_requests_total 9",
        "tab\u{fffd}bell\u{fffd}",
        "\u{202e}über",
        "unknown",
        &long[..128],
    ];
    expected.sort_unstable();
    assert_eq!(page.values("weir_requests_total", "model"), expected);
    sut.shutdown().await;
}
