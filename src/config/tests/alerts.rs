//! Files that the configuration names: rules of alerts and prices.

use std::path::Path;

use super::{HEAD, load_text};
use crate::config::{Loaded, Mistakes, Overrides};

/// Reads a configuration in which `FILE` stands for a file with this text.
fn read(config: &str, text: &str) -> Result<Loaded, Mistakes> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("named");
    std::fs::write(&file, text).unwrap();
    read_with(config, &file)
}

fn read_with(config: &str, file: &Path) -> Result<Loaded, Mistakes> {
    let config = format!("{HEAD}{config}").replace("FILE", &file.display().to_string());
    let env = |name: &str| (name == "HOOK").then(|| "http://127.0.0.1:1/hook".into());
    load_text(Some(("weir.toml", &config)), &Overrides::default(), &env)
}

/// What is said of it, without the folder of the file.
fn mistakes(config: &str, text: &str) -> Vec<String> {
    let said = read(config, text).unwrap_err().to_string();
    let short = |line: &str| match line.split_once("/named") {
        Some((before, after)) => format!("{}…{after}", &before[..before.find(": /").unwrap() + 2]),
        None => line.to_owned(),
    };
    said.lines().map(short).collect()
}

#[test]
fn rules_are_read_with_the_configuration_and_the_environment() {
    let rules = "alerts:\n  - {name: a, condition: 'burn_rate(mine, 1h) > 2', action: [notify_team, investigate]}\n\
                 actions: {notify_team: {type: webhook, url: '${HOOK}'}}\n";
    let config =
        "[alerts]\nrules = \"FILE\"\n[[slo]]\nobjective = \"error_rate\"\ntarget = 99.0\nname = \"mine\"\n";
    let loaded = read(config, rules).unwrap();
    let rules = &loaded.settings.telemetry.observatory.rules;
    assert_eq!(&*rules.rules()[0].name, "a");
    assert!(rules.action("notify_team").is_some());
    // An action that is not set up is only logged: that is worth a word.
    assert_eq!(loaded.warnings.len(), 1, "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].contains("investigate"), "{:?}", loaded.warnings);
}

#[test]
fn each_mistake_of_the_rules_is_told_with_both_places() {
    let config = "[alerts]\nrules = \"FILE\"\n";
    let rules = "- {name: a, condition: 'ttft_p95 > 2s'}\n- {name: b, condition: 'error_rate > 5'}\n";
    let said = mistakes(config, rules);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("weir.toml:4: alerts.rules: …:1:"), "{said:?}");
    assert!(said[1].starts_with("weir.toml:4: alerts.rules: …:2:"), "{said:?}");
    let said = mistakes(config, "- {name: a, condition: 'budget_remaining(mine) < 10%'}\n");
    assert!(said[0].contains("there is no SLO \"mine\""), "{said:?}");
    let said = mistakes(config, &" ".repeat((1 << 20) + 1));
    assert!(said[0].ends_with("cannot be read: longer than 1048576 bytes"), "{said:?}");
    let said = read_with(config, Path::new("/nowhere/named")).unwrap_err().to_string();
    assert!(said.contains("alerts.rules: /nowhere/named: cannot be read: No such file"), "{said}");
}

#[test]
fn prices_are_read_and_the_users_own_stand_above_them() {
    let prices = r#"{"gpt-x": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6},
                     "dear": {"input_cost_per_token": 7.0, "output_cost_per_token": 1}}"#;
    let config = "[cost]\nprices = \"FILE\"\n[cost.models.\"mine\"]\ninput = 1\noutput = 2.5\n\
                  [cost.gpu]\nusd_per_gpu_hour = 2\ngpus = 8\n";
    let loaded = read(config, prices).unwrap();
    let observatory = &loaded.settings.telemetry.observatory;
    assert_eq!(observatory.prices.len(), 1);
    assert!(observatory.gpu.is_some());
    assert!(loaded.warnings[0].contains("`dear`"), "{:?}", loaded.warnings);
    assert_eq!(read("", "").unwrap().settings.telemetry.observatory.gpu, None);
    let said = mistakes("[cost]\nprices = \"FILE\"\n", "{\n  \"m\": nonsense}");
    assert!(said[0].starts_with("weir.toml:4: cost.prices: …:2:"), "{said:?}");
    let said = mistakes("[cost.models.\"m\"]\ninput = -1\n[cost.gpu]\ngpus = 0\n", "");
    assert!(said[0].contains("too small; allowed: US dollars"), "{said:?}");
    assert!(said[1].contains("cost.gpu.gpus: too small"), "{said:?}");
}

#[test]
fn shares_of_errors_and_the_folder_of_state_arrive() {
    let loaded = read("[error_classes]\nmodel_error = 0\n[analysis]\nstate_dir = \"FILE\"\n", "").unwrap();
    let telemetry = loaded.settings.telemetry;
    let allowed = telemetry.observatory.allowed_errors;
    assert_eq!((allowed.model_error, allowed.rate_limit), (0.0, 0.005));
    assert!(telemetry.state_dir.unwrap().ends_with("named"));
}
