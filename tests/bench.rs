//! `weir bench` against the simulated engine, both as processes of their own.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn weir() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.env_remove("OPENAI_API_KEY");
    command
}

/// A simulated engine, and where it is.
fn engine(flags: &[&str]) -> (Running, String) {
    let mut command = weir();
    command.args(["sim", "--listen", "127.0.0.1:0", "--tps", "100"]).args(flags);
    if !flags.contains(&"--ttft") {
        command.args(["--ttft", "40ms"]);
    }
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    (Running(child), url)
}

fn bench(url: &str, flags: &[&str]) -> Output {
    let usual = ["--random-input-len", "8", "--random-output-len", "12", "--request-rate", "100"];
    weir().args(["bench", "--base-url", url]).args(usual).args(flags).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_run_is_told_as_a_table_and_in_every_file_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let (_engine, url) = engine(&["--model", "llama"]);
    let (result, lines, page) = (at("r.json"), at("r.jsonl"), at("r.html"));
    let output = bench(
        &url,
        &[
            "--num-prompts",
            "40",
            "--goodput",
            "ttft:10000",
            "tpot:10000",
            "--output-json",
            &result,
            "--output-jsonl",
            &lines,
            "--output-html",
            &page,
            "--semantics",
            "vllm",
            "--metadata",
            "engine=sim",
        ],
    );
    let table = text(&output.stdout);
    assert!(output.status.success(), "{table}{}", text(&output.stderr));
    for line in [
        "Successful requests:                     40        ",
        "Total generated tokens:                  480       ",
        "Definitions:                             vllm      ",
    ] {
        assert!(table.contains(line), "{line}\n{table}");
    }
    let result = json(Path::new(&result));
    assert_eq!(result["completed"], 40);
    assert_eq!(result["total_output_tokens"], 480);
    assert_eq!((&result["model_id"], &result["engine"]), (&"llama".into(), &"sim".into()));
    assert!(result["median_ttft_ms"].as_f64().unwrap() >= 40.0);
    assert_eq!(result["ttfts"].as_array().unwrap().len(), 40);
    assert_eq!(std::fs::read_to_string(lines).unwrap().lines().count(), 40);
    assert!(std::fs::read_to_string(page).unwrap().contains("<svg"));
}

#[test]
fn two_results_of_one_engine_compare_as_no_regression_and_a_slow_one_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let ((_fast, fast), (_slow, slow)) = (engine(&[]), engine(&["--ttft", "400ms"]));
    for (url, name) in [(&fast, "a"), (&slow, "b")] {
        assert!(bench(url, &["--num-prompts", "60", "--output-json", &at(name)]).status.success());
    }
    let compare = |before: &str, after: &str| {
        let output = weir().args(["bench", "compare", &at(before), &at(after)]).output().unwrap();
        (output.status.code(), text(&output.stdout))
    };
    assert_eq!(compare("a", "a").0, Some(0));
    let (code, table) = compare("a", "b");
    assert_eq!(code, Some(1), "{table}");
    assert!(table.lines().any(|line| line.starts_with("ttft") && line.contains("REGRESSION")), "{table}");
    assert_eq!(compare("b", "a").0, Some(0));
}

#[test]
fn recorded_traffic_is_sent_again_with_its_lengths_and_joined_with_what_the_weir_measured() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("weir.record");
    let (_engine, engine) = engine(&[]);
    let (weir, proxy, admin) = proxy(&engine, &record);
    let result = dir.path().join("r.json").display().to_string();
    let output = bench(&proxy, &["--num-prompts", "30", "--weir-admin", &admin, "--output-json", &result]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.contains("Requests joined:                         30 of 30"), "{table}");
    let wire = json(Path::new(&result))["weir"]["wire"].clone();
    assert!(wire["client_minus_wire_ttft"]["median_ms"].as_f64().unwrap() > 0.0, "{wire}");
    drop(weir);
    let output = bench(
        &engine,
        &["--dataset-name", "record", "--dataset", record.to_str().unwrap(), "--time-scale", "0.5"],
    );
    let table = text(&output.stdout);
    assert!(
        table.contains("Successful requests:                     30        "),
        "{table}{}",
        text(&output.stderr)
    );
    assert!(table.contains("Total generated tokens:                  360       "), "{table}");
}

/// A weir that records, with the addresses of both its ports. It is asked to end, so that all is written.
fn proxy(upstream: &str, record: &Path) -> (Drained, String, String) {
    let mut command = weir();
    command.args(["serve", "--upstream", upstream, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    let mut child = command.arg("--record").arg(record).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let serving = lines.find(|line| line.as_ref().unwrap().contains("serving")).unwrap().unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    let of =
        |key: &str| serving.split_whitespace().find_map(|word| word.strip_prefix(key)).unwrap().to_owned();
    (Drained(Running(child)), format!("http://{}", of("listen=")), of("admin="))
}

struct Drained(Running);

impl Drop for Drained {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.0.0.wait().unwrap();
    }
}

#[test]
fn what_cannot_be_done_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("garbage");
    std::fs::write(&file, "{\"prompt\": \"a\"}\n{\"prompt\": 7}\n").unwrap();
    let path = file.to_str().unwrap();
    for (flags, says) in [
        (&["--dataset-name", "custom", "--dataset-path", path, "--model", "m"][..], "garbage:2"),
        (&["--dataset-name", "record", "--dataset-path", path, "--model", "m"], "garbage"),
        (&["--dataset-name", "sharegpt", "--model", "m"], "--dataset-path FILE"),
        (&["--goodput", "ttft=5", "--model", "m"], "`ttft=5` is no limit"),
        (&["--extra-body", "[]", "--model", "m"], "--extra-body is no JSON object"),
        (&["--expect", path, "--model", "m"], "garbage:"),
        (&[], "no --model is given, and"),
    ] {
        let output = bench("http://127.0.0.1:9", flags);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flags:?}: {said}");
        assert!(said.starts_with("weir: ") && said.contains(says), "{flags:?}: {said}");
    }
}

#[test]
fn an_interrupt_gives_what_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let truth = dir.path().join("truth");
    let (_engine, url) = engine(&["--truth", truth.to_str().unwrap()]);
    let mut command = weir();
    command.args(["bench", "--base-url", &url, "--request-rate", "20", "--num-prompts", "100000"]);
    let child = command.args(["--random-input-len", "4", "--random-output-len", "4"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // The first answer is over: the run has begun.
    while std::fs::read_to_string(&truth).unwrap_or_default().lines().count() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let table = text(&output.stdout);
    assert!(output.status.success());
    assert!(table.starts_with("Interrupted:"), "{table}");
    assert!(table.contains("Serving Benchmark Result"), "{table}");
}

#[test]
fn clients_that_ask_again_are_as_many_as_littles_law_says() {
    let dir = tempfile::tempdir().unwrap();
    let curve = dir.path().join("curve.json").display().to_string();
    let (_engine, url) = engine(&["--model", "llama"]);
    let output = weir()
        .args(["bench", "sweep", "--base-url", &url, "--by", "concurrency", "--start", "2", "--most", "4"])
        .args(["--probes", "3", "--num-prompts", "24", "--goodput", "ttft:60000", "--output-json", &curve])
        .args(["--random-input-len", "8", "--random-output-len", "12"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let curve = json(Path::new(&curve));
    let points = curve["curve"].as_array().unwrap();
    assert!(points.len() >= 2, "{points:?}");
    for point in points {
        let of = |key: &str| point[key].as_f64().unwrap();
        let busy = of("throughput") * of("latency_s");
        assert!(busy <= of("load") * 1.001 && busy > of("load") * 0.3, "{busy} of {}", of("load"));
    }
}
