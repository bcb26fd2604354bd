//! `weir alerts test`, `weir check --alerts` and `weir rules export`, over files made here.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::process::{Command, Output};

use tempfile::NamedTempFile;
use weir_analysis::alert::{Rules, Transition};
use weir_analysis::observatory::{Observatory, ObservatoryConfig};
use weir_analysis::time::Epoch;
use weir_core::dialect::Dialect;
use weir_core::exchange::{Answer, Asked, Caller, Exchange, ExchangeId, HttpVersion, WallTime};
use weir_core::observation::{Landmark, LandmarkEvent, Observation, Tick};
use weir_core::outcome::{ErrorType, Outcome};
use weir_core::timeline::{Mark, Offset, Stamp, Timeline};
use weir_telemetry::read_records;

const SECOND: u64 = 1_000_000_000;

/// 2017-07-14T02:40:00Z.
const BEGIN: u64 = 1_500_000_000 * SECOND;

const RULES: &str = "\
- {name: errors, condition: \"error_rate > 50% for 3s\", severity: critical}
- {name: gpu, condition: \"gpu_util > 5%\"}
- {name: stalled, condition: \"stalled_streams > 0\"}
";

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// One that took half a second and ended at this second.
fn exchange(second: u64, failed: bool) -> Observation {
    let received = second * SECOND - SECOND / 2;
    let mut timeline = Timeline::default();
    for (mark, at) in [(Mark::Queued, 0), (Mark::Admitted, 0), (Mark::Ended, SECOND / 2)] {
        timeline.set(mark, Offset(at));
    }
    Observation::Exchange(Box::new(Exchange {
        id: ExchangeId(second),
        request_id: "r".into(),
        trace: None,
        received: WallTime(BEGIN + received),
        received_mono: Stamp(received),
        request: Asked {
            method: "POST".into(),
            http: HttpVersion::Http11,
            path: "/v1/chat/completions".into(),
            dialect: Dialect::Chat,
            model: Some("m".into()),
            stream: true,
            choices: 1,
            bytes: 100,
            settings: Box::default(),
            prompt_hash: None,
            caller: Caller::default(),
        },
        upstream: "default".into(),
        status: Some(if failed { 500 } else { 200 }),
        outcome: if failed { Outcome::UpstreamError } else { Outcome::Completed },
        error_type: failed.then_some(ErrorType::Upstream5xx),
        timeline,
        body_wait: Offset(0),
        answer: Answer::default(),
        content: None,
    }))
}

/// Two minutes and a half: all fails for 20 s, and then nothing does.
fn record(form: u32) -> NamedTempFile {
    let mut text = format!("{{\"weir_record\":{form}}}\n");
    let mut add = |observation: &Observation| {
        text += &serde_json::to_string(observation).unwrap();
        text.push('\n');
    };
    if form == 2 {
        let (at, wall) = (Stamp(0), WallTime(BEGIN));
        let landmark = Landmark { at, wall, event: LandmarkEvent::Started, detail: "it".into() };
        add(&Observation::Landmark(Box::new(landmark)));
    }
    for second in 1..=150 {
        add(&exchange(second, second <= 20));
        if form == 2 {
            let (at, wall) = (Stamp(second * SECOND), WallTime(BEGIN + second * SECOND));
            add(&Observation::Tick(Box::new(Tick { at, wall, ..Tick::default() })));
        }
    }
    file(&text)
}

fn weir(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir")).args(arguments).output().unwrap()
}

fn path(file: &NamedTempFile) -> &str {
    file.path().to_str().unwrap()
}

fn told(output: &Output) -> (String, String) {
    (String::from_utf8(output.stdout.clone()).unwrap(), String::from_utf8(output.stderr.clone()).unwrap())
}

#[test]
fn a_replay_tells_each_change_and_what_it_came_to() {
    let (rules, records) = (file(RULES), record(2));
    let arguments = ["alerts", "test", path(&rules), path(&records)];
    let output = weir(&arguments);
    let (shown, remarks) = told(&output);
    assert!(output.status.success() && remarks.is_empty(), "{remarks}");
    // The share of 20 errors is half at 40 s, and not above it any more.
    let expected = "\
2017-07-14T02:40:01Z  errors   inactive → pending  met      error_rate 100 % > 50 %
2017-07-14T02:40:04Z  errors   pending → firing    held     error_rate 100 % > 50 %
2017-07-14T02:40:40Z  errors   firing → inactive   cleared  error_rate 50 % > 50 %

Judged 150 times, from 2017-07-14T02:40:01Z to 2017-07-14T02:42:30Z.
Alert    Fired     For  Remark
errors       1  36.0 s
gpu          0     0 s  never had data
stalled      0     0 s
";
    let trimmed: String = shown.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    assert_eq!(trimmed, expected);
    assert_eq!(weir(&arguments).stdout, output.stdout, "the same again");
}

#[test]
fn without_ticks_each_second_is_judged_and_what_they_tell_is_not() {
    let (rules, records) = (file(RULES), record(1));
    let output = weir(&["alerts", "test", path(&rules), path(&records)]);
    let (shown, remarks) = told(&output);
    assert!(output.status.success() && remarks.contains("no ticks"), "{remarks}");
    assert!(
        shown.contains("errors   pending → firing") && shown.contains("errors   firing → inactive"),
        "{shown}"
    );
    assert!(shown.contains("not judged: needs ticks"), "{shown}");
}

#[test]
fn changes_are_lines_of_json() {
    let (rules, records) = (file(RULES), record(2));
    let (shown, _) = told(&weir(&["alerts", "test", "--json", path(&rules), path(&records)]));
    let changes: Vec<Transition> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(changes.len(), 3);
    assert!(changes[2].is_resolved() && changes[2].at.0 == BEGIN + 40 * SECOND);
}

/// The snapshot at the end of a record, and every change of an alert on the way.
fn replayed(records: &NamedTempFile) -> (serde_json::Value, Vec<Transition>) {
    let rules = Rules::parse(RULES, &|_| None).unwrap().rules;
    let epoch = Epoch { mono: Stamp(0), wall: WallTime(BEGIN) };
    let mut observatory =
        Observatory::new(ObservatoryConfig { rules, ..ObservatoryConfig::default() }, epoch);
    let mut changes = Vec::new();
    for observation in read_records(records.path()).unwrap() {
        changes.extend(observatory.observe(&observation.unwrap()));
    }
    (serde_json::to_value(observatory.snapshot()).unwrap(), changes)
}

#[test]
fn a_record_gives_the_same_figures_again() {
    let records = record(2);
    let (snapshot, changes) = replayed(&records);
    assert_eq!(changes.len(), 3);
    assert_eq!(snapshot["slos"][2]["budget"]["bad"], 20);
    assert_eq!(replayed(&records), (snapshot, changes));
}

#[test]
fn rules_are_checked_and_shown() {
    let good = file("- {name: a, condition: \"p95_ttft>2000ms for 5min\", action: notify_team}\n");
    let output = weir(&["check", "--alerts", path(&good)]);
    let (shown, _) = told(&output);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("p95_ttft > 2s for 5m") && shown.contains("(only logged)"), "{shown}");
    assert!(shown.contains(":1:") && shown.contains("warning: "), "{shown}");
    let bad = file("- {name: a, condition: p95_ttft > 2}\n- {name: b, condition: rps > 1, colour: red}\n");
    let output = weir(&["check", "--alerts", path(&bad)]);
    let (shown, _) = told(&output);
    assert_eq!((output.status.code(), shown.lines().count()), (Some(1), 2), "{shown}");
    assert!(shown.starts_with(&format!("{}:1:", path(&bad))), "{shown}");
}

#[test]
fn slos_and_alerts_are_written_for_prometheus() {
    let rules = file(RULES);
    let config = file(
        "[upstream]\nurl = \"http://127.0.0.1:1\"\n[[slo]]\nname = \"fast\"\nobjective = \"ttft\"\nlimit = \"1s\"\ntarget = 99.9\n\
         [[slo]]\nname = \"odd\"\nobjective = \"ttft\"\nlimit = \"1.7s\"\ntarget = 99.0\n",
    );
    let output = weir(&["rules", "export", "--config", path(&config), "--alerts", path(&rules)]);
    let (yaml, remarks) = told(&output);
    assert!(output.status.success(), "{remarks}");
    assert!(yaml.contains("- alert: 'errors'") && yaml.contains("sloth_id: 'weir-fast'"), "{yaml}");
    assert!(yaml.contains("'vector(0.999)'") && yaml.contains("le=~\"1([.]0)?\""), "{yaml}");
    assert!(yaml.contains("# SLO odd: ttft ≤ 1.7 s for 99 %\n#   is not said here: "), "{yaml}");
    assert!(!yaml.contains("weir-odd"), "{yaml}");
}

#[test]
fn what_cannot_be_read_is_told() {
    let (rules, records, noise) = (file(RULES), record(2), file("nonsense\n"));
    for (rules, records, said) in [
        (path(&rules), path(&noise), "line 1 is not the header of a record file"),
        (path(&rules), "/nowhere/at/all", "cannot read: "),
        ("/nowhere/at/all", path(&records), "cannot be read: "),
        (path(&noise), path(&records), ":1:1: "),
    ] {
        let output = weir(&["alerts", "test", rules, records]);
        let (shown, error) = told(&output);
        assert_eq!((output.status.code(), &*shown), (Some(1), ""), "{error}");
        assert!(error.starts_with("weir: ") && error.contains(said), "{error}");
    }
}
