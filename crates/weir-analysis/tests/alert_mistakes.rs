//! What is told about files and conditions that are wrong: each message, with its place.

#![allow(clippy::unwrap_used)]

use weir_analysis::alert::Rules;

/// Every mistake of a file. The list of all signals is cut short.
fn mistakes(file: &str) -> Vec<String> {
    let env = |name: &str| (name == "KEY").then(|| "k3y".to_owned());
    let mistakes = Rules::parse(file, &env).unwrap_err();
    mistakes
        .iter()
        .map(|mistake| {
            let text = mistake.to_string();
            text.find("(signals are p50|").map_or(text.clone(), |at| format!("{}…", &text[..at]))
        })
        .collect()
}

#[test]
fn a_wrong_condition_is_told_where_it_is_wrong() {
    const KINDS: &str = "(statistics are p50, p90, p95, p99, mean, max)";
    for (condition, expected) in [
        ("p95_tfft > 2s", "27: \"p95_tfft\" is no signal; did you mean \"p95_ttft\"? …"),
        ("errorrate > 5%", "27: \"errorrate\" is no signal; did you mean \"error_rate\"? …"),
        ("foo > 1", "27: \"foo\" is no signal …"),
        ("ttft > 2s", &format!("27: \"ttft\" needs a statistic in front, as in p95_ttft {KINDS}")),
        ("p97_ttft > 2s", &format!("27: \"p97\" is not kept {KINDS}")),
        ("avg_itl > 2s", &format!("27: \"avg\" is not kept {KINDS}")),
        ("error_rate > 5", "40: error_rate is a ratio: write 5% for 5 percent, not 5"),
        ("error_rate > 1", "40: error_rate is a ratio: write 1% for 1 percent, not 1"),
        ("error_rate > 101%", "40: error_rate is a share and never above 100%: 101%"),
        (
            "error_rate > 5ms",
            "40: error_rate is in percent, not \"5ms\": write a percentage such as 5%, or a ratio such as 0.05",
        ),
        ("utilisation > 2", "41: utilisation is a ratio: write 2% for 2 percent, not 2"),
        (
            "p95_ttft > 2000",
            "38: p95_ttft is in seconds, not \"2000\": write a duration such as 500ms, 2s or 5m",
        ),
        ("p95_ttft > 5%", "38: p95_ttft is in seconds, not \"5%\": write a duration such as 500ms, 2s or 5m"),
        (
            "p95_ttft > 2mss",
            "38: \"mss\" is no unit of time; did you mean \"ms\"? (units are us, ms, s, m, min, h, d)",
        ),
        ("p95_ttft > 2parsec", "38: \"parsec\" is no unit of time (units are us, ms, s, m, min, h, d)"),
        (
            "mean_input_tokens > 5s",
            "47: mean_input_tokens is in tokens, not \"5s\": write a plain number such as 20",
        ),
        (
            "gpu_temperature > 85C",
            "45: gpu_temperature is in °C, not \"85C\": write a plain number of degrees Celsius such as 85",
        ),
        (
            "hourly_cost > 2x",
            "41: hourly_cost is in USD/h, not \"2x\": write a plain number of US dollars such as 12.5",
        ),
        ("hourly_cost > $5", "41: \"$\" means nothing here"),
        ("hourly_cost > 0x_baseline", "41: a baseline is taken a number of times above 0"),
        ("rps > -5", "33: rps is never negative: -5"),
        ("rps > 1.2.3", "33: \"1.2.3\" is no number"),
        ("p95_ttft > 2s for 5", "45: 5 has no unit: write a duration such as 5s or 5m"),
        ("p95_ttft > 2s for 8d", "45: 8d is longer than 7d"),
        ("p95_ttft > 2s for -5s", "45: a duration cannot be negative: -5s"),
        ("p95_ttft > 2s for", "44: expected a duration such as 5min, but the condition ends here"),
        (
            "p95_ttft > 2s fro 5m",
            "41: expected and, or, for, where or the end, not \"fro\"; did you mean \"for\"?",
        ),
        ("p95_ttft", "35: expected one of > >= < <= == !=, but the condition ends here"),
        ("p95_ttft >", "37: expected a value such as 2s, 5%, 20 or 2x_baseline, but the condition ends here"),
        ("p95_ttft = 2s", "36: \"=\" compares nothing: write =="),
        ("> 2s", "27: expected a signal such as p95_ttft, not \">\""),
        ("", "27: the condition is empty: write one such as p95_ttft > 2s for 5m"),
        ("p95_ttft[2m] > 2s", "36: \"2m\" is no window of p95_ttft (windows are 1m, 5m, 1h)"),
        ("timeout_rate[1m] > 5%", "40: \"1m\" is no window of timeout_rate (windows are 5m, 1h)"),
        ("queue_depth[5m] > 5", "39: queue_depth is a figure of the moment and has no window"),
        ("p95_ttft[5m > 2s", "39: expected \"]\", not \">\""),
        ("burn_rate > 2", "37: expected \"(\", as in burn_rate(slo, 1h), not \">\""),
        ("burn_rate(ttft) > 2", "41: expected \",\" and a window, as in burn_rate(slo, 1h), not \")\""),
        (
            "burn_rate(ttft, 4h) > 2",
            "43: \"4h\" is no window of burn_rate (windows are 5m, 30m, 1h, 2h, 6h, 1d, 3d)",
        ),
        ("(rps > 5", "35: expected \"and\", \"or\" or \")\", but the condition ends here"),
        ("rps > 5)", "34: expected and, or, for, where or the end, not \")\""),
        ("rps > 5 for 1m and tps > 3", "42: expected where or the end, not \"and\""),
        ("((((((((( rps > 5", "35: parentheses stand deeper than 8"),
        (
            "rps > 5 where modle = 'x'",
            "41: \"modle\" is no label; did you mean \"model\"? (labels are model, upstream)",
        ),
        ("rps > 5 where model = x", "49: expected a name in quotes, as in model = \"llama\", not \"x\""),
        ("rps > 5 where model = 'x", "49: the text begins with ' and does not end"),
        ("rps > 5 where model = ''", "49: a name has 1 to 128 bytes, not 0"),
        (
            "rps > 5 where model = \"x\" and upstream = 'y'",
            "55: figures are kept by model or by upstream, not by both: name one label",
        ),
        (
            "gpu_util > 5% where model = 'x'",
            "27: gpu_util is not kept by model: where model cannot narrow it",
        ),
        (
            "kv_usage > 5% where model = 'x'",
            "27: kv_usage is not kept by model: where model cannot narrow it",
        ),
        (
            "rps > 5 and burn_rate(a, 1h) > 2 where model = 'x'",
            "39: burn_rate(a, 1h) is of what its SLO is about: where cannot narrow it",
        ),
    ] {
        let file = format!("alerts:\n  - {{name: a, condition: {}}}\n", serde_json::Value::from(condition));
        assert_eq!(mistakes(&file), [format!("2:{expected}")], "{condition}");
    }
}

#[test]
fn bounds_on_conditions_are_told() {
    let many = vec!["rps > 5"; 17].join(" or ");
    assert_eq!(
        mistakes(&format!("[{{name: a, condition: {many}}}]")),
        ["1:199: there are more than 16 comparisons"]
    );
    let long = format!("[{{name: a, condition: rps > 5{}}}]", " ".repeat(1_024).replace(' ', "0"));
    assert_eq!(mistakes(&long), ["1:23: the condition has 1031 bytes; at most 1024 are read"]);
    let name = "x".repeat(129);
    assert_eq!(
        mistakes(&format!("[{{name: a, condition: rps > 5 where model = '{name}'}}]")),
        ["1:45: a name has 1 to 128 bytes, not 129"]
    );
}

#[test]
fn several_mistakes_of_one_condition_are_told_at_once() {
    assert_eq!(
        mistakes("- name: a\n  condition: p95_tfft > 2s and error_rate > 5 or rps > 5ms for 5\n"),
        [
            "2:14: \"p95_tfft\" is no signal; did you mean \"p95_ttft\"? …",
            "2:45: error_rate is a ratio: write 5% for 5 percent, not 5",
            "2:56: rps is in requests/s, not \"5ms\": write a plain number such as 20",
            "2:64: 5 has no unit: write a duration such as 5s or 5m",
        ]
    );
}

#[test]
fn where_a_condition_runs_over_lines_the_place_is_its_beginning() {
    assert_eq!(
        mistakes("- name: a\n  condition: >\n    rps > 5\n    and error_rate > 5\n"),
        ["3:5: error_rate is a ratio: write 5% for 5 percent, not 5"]
    );
}

const RULE_KEYS: &str = "name, alert, condition, severity, action, actions, for, keep_firing_for, labels, annotations, summary, description, runbook_url";
const ACTIONS: &str = "(actions are fallback_model, investigate, notify_team, scale_up, throttle_requests; others are set up under actions:)";

#[test]
fn a_file_of_the_wrong_shape_is_told() {
    for (file, expected) in [
        ("alerts: 5", "1:9: alerts is a list of rules, not a text"),
        (
            "alarts: []",
            "1:1: \"alarts\" is no key of the file; did you mean \"alerts\"? (keys are alerts, actions)",
        ),
        ("5", "1:1: the file is a mapping with alerts, actions, not a text"),
        ("alerts: []\nalerts: []", "2:1: alerts stands twice"),
        ("alerts: [\n", "1:9: this is not YAML as it is read here: unclosed bracket '['"),
        (
            "a: b: c",
            "1:5: this is not YAML as it is read here: mapping values are not allowed in this context",
        ),
        ("actions: []", "1:10: actions is a mapping of actions by name, not a list"),
        ("- 5", &format!("1:3: a rule is a mapping with {RULE_KEYS}, not a text")),
        ("- {name: a}", "1:3: the rule has no condition"),
        ("- {condition: rps > 5}", "1:3: the rule has no name"),
        ("- {name: a, condition: rps > 5, [x]: y}", "1:33: a key of a rule is a word, not a list"),
        ("- {name: a, name: b, condition: rps > 5}", "1:13: name stands twice"),
        (
            "- {name: a b, condition: rps > 5}",
            "1:10: \"a b\" cannot name a rule: write 1 to 128 of A-Z a-z 0-9 _ : . -",
        ),
        ("- {name: a, alert: b, condition: rps > 5}", "1:20: name and alert are the same: write one of them"),
        ("- {name: a, condition: [rps]}", "1:24: condition is a text, not a list"),
        (
            "- {name: a, condition: rps > 5, action: page}",
            &format!("1:41: there is no action \"page\" {ACTIONS}"),
        ),
        (
            "- {name: a, condition: rps > 5, action: notfy_team}",
            &format!("1:41: there is no action \"notfy_team\"; did you mean \"notify_team\"? {ACTIONS}"),
        ),
        (
            "- {name: a, condition: rps > 5, action: scale_up, actions: []}",
            "1:60: action and actions are the same: write one of them",
        ),
        ("- {name: a, condition: rps > 5, action: [scale_up, scale_up]}", "1:52: scale_up stands twice"),
        ("- {name: a, condition: rps > 5, action: [[x]]}", "1:42: an action is a text, not a list"),
        (
            "- {name: a, condition: rps > 5, severity: critcal}",
            "1:43: \"critcal\" is no severity; did you mean \"critical\"? (allowed are critical, warning, info)",
        ),
        (
            "- {name: a, condition: rps > 5 for 5m, for: 5m}",
            "1:45: for stands in the condition already: write it once",
        ),
        (
            "- {name: a, condition: rps > 5, for: 5}",
            "1:38: for: 5 has no unit: write a duration such as 5s or 5m",
        ),
        (
            "- {name: a, condition: rps > 5, keep_firing_for: soon}",
            "1:50: keep_firing_for: \"soon\" is no duration: write one such as 500ms, 30s, 5min or 1h",
        ),
        (
            "- {name: a, condition: rps > 5, labels: {severity: x}}",
            "1:42: severity is set by the rule's own keys",
        ),
        (
            "- {name: a, condition: rps > 5, labels: {0a: x}}",
            "1:42: \"0a\" cannot name a label: write A-Z a-z 0-9 _, no digit first",
        ),
        ("- {name: a, condition: rps > 5, labels: {a: [x]}}", "1:45: a is a text, not a list"),
        (
            "- {name: a, condition: rps > 5, annotations: {summary: x}, summary: y}",
            "1:69: summary stands in annotations already: write it once",
        ),
    ] {
        assert_eq!(mistakes(file), [expected], "{file}");
    }
}

#[test]
fn rules_have_bounds_and_names_of_their_own() {
    let rule = |name: usize| format!("- {{name: a{name}, condition: rps > 5}}\n");
    let many: String = (0..257).map(rule).collect();
    assert_eq!(mistakes(&many), ["1:1: there are 257 rules; at most 256"]);
    assert_eq!(mistakes(&rule(1).repeat(2)), ["2:10: a rule a1 stands already at 1:10"]);
    let conditon = mistakes("- {name: a, conditon: rps > 5}");
    assert_eq!(conditon[0], "1:3: the rule has no condition");
    assert_eq!(
        conditon[1],
        format!("1:13: \"conditon\" is no key of a rule; did you mean \"condition\"? (keys are {RULE_KEYS})")
    );
}

#[test]
fn a_wrong_action_is_told() {
    const TYPES: &str = "webhook, alertmanager, throttle, fallback_model, scale_up, investigate";
    const PASSWORD: &str = "a password in a url stands in the environment: write ${NAME} for it";
    const SECRET: &str = "is a secret: keep it in the environment and write ${NAME}";
    for (action, expected) in [
        ("a: 5", "2:6: action a is a mapping, not a text"),
        ("a: {url: 'http://x'}", &format!("2:6: action a has no type (types are {TYPES})")),
        (
            "a: {type: webook}",
            &format!("2:13: \"webook\" is no type; did you mean \"webhook\"? (allowed are {TYPES})"),
        ),
        ("a b: {}", "2:3: \"a b\" cannot name an action: write 1 to 128 of A-Z a-z 0-9 _ : . -"),
        ("a: {type: webhook}", "2:6: action a needs url: where it is called"),
        ("a: {type: alertmanager, url: x}", "2:32: a url begins with http:// or https://"),
        ("notify_team: {url: 'https://'}", "2:22: the url names no host"),
        ("notify_team: {url: 'https://u:p4ss@x'}", &format!("2:22: {PASSWORD}")),
        ("notify_team: {url: 'https://${NOPE}'}", "2:22: NOPE is not set in the environment"),
        ("notify_team: {url: 'https://x', secret: p4ss}", &format!("2:43: secret {SECRET}")),
        (
            "notify_team: {url: 'https://x', secret: '${p4ss'}",
            "2:43: ${ begins a variable: write ${NAME} with letters, digits and _",
        ),
        ("notify_team: {url: 'https://x', headers: {X-Api-Key: p4ss}}", &format!("2:56: X-Api-Key {SECRET}")),
        ("notify_team: {url: 'https://x', headers: {X Y: z}}", "2:45: \"X Y\" is no name of a header"),
        (
            "notify_team: {url: 'https://x', format: template}",
            "2:43: format: template needs template: its text",
        ),
        (
            "notify_team: {url: 'https://x', template: x}",
            "2:45: template is of use only with format: template",
        ),
        (
            "notify_team: {url: 'https://x', format: slak}",
            "2:43: \"slak\" is no format; did you mean \"slack\"? (allowed are alertmanager, slack, template)",
        ),
        ("notify_team: {url: 'https://x', timeout: 0s}", "2:44: timeout: 0s leaves no time to call"),
        (
            "notify_team: {url: 'https://x', max_retries: 11}",
            "2:48: max_retries is a whole number from 0 to 10, not \"11\"",
        ),
        (
            "notify_team: {url: 'https://x', send_resolved: yes}",
            "2:50: send_resolved is true or false, not \"yes\"",
        ),
        (
            "throttle_requests: {to: 150%}",
            "2:27: to is a share such as 50% or a number of requests such as 16, not \"150%\"",
        ),
        (
            "fallback_model: {model: x}",
            "2:19: action fallback_model needs to: the model that is asked instead",
        ),
        ("scale_up: {step: 0}", "2:20: step is a whole number from 1 to 1000, not \"0\""),
        (
            "investigate: {dryrun: true}",
            "2:17: \"dryrun\" is no key of action investigate; did you mean \"dry_run\"? (keys are type, dry_run, min_interval, exchanges)",
        ),
        (
            "investigate: {min_interval: 5}",
            "2:31: min_interval: 5 has no unit: write a duration such as 5s or 5m",
        ),
    ] {
        let found = mistakes(&format!("actions:\n  {action}\n"));
        assert_eq!(found, [expected], "{action}");
        assert!(!found[0].contains("p4ss"), "{action}");
    }
}
