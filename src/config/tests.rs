//! What is read, what is refused and in which words.

mod alerts;
mod otlp;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use tracing::Level;
use weir_core::timeline::Offset;
use weir_proxy::FullStatus;
use weir_telemetry::Destination;

use super::{Loaded, LogFormat, Mistakes, Overrides, load, load_text};

const URL: &str = "http://127.0.0.1:8000";
/// Holds what has to be given, in two lines.
const HEAD: &str = "[upstream]\nurl = \"http://127.0.0.1:8000\"\n";

fn env(name: &str) -> Option<OsString> {
    match name {
        "HOST" => Some("s3cret.internal".into()),
        "BAD" => Some("s3cret value".into()),
        "WAIT" => Some("3s".into()),
        "KEY" => Some("s3cret-key".into()),
        "EMPTY" => Some(" ".into()),
        _ => None,
    }
}

fn read(text: &str) -> Result<Loaded, Mistakes> {
    load_text(Some(("weir.toml", text)), &Overrides::default(), &env)
}

fn upstream() -> Overrides {
    Overrides { upstream: Some(URL.to_owned()), ..Overrides::default() }
}

/// Settings that can be compared.
fn plain(loaded: &Loaded) -> String {
    format!("{:#?}", loaded.settings)
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn the_documented_file_is_the_default() {
    let documented = load(Some(&root("proxy.toml")), &Overrides::default()).unwrap();
    let default = load(None, &upstream()).unwrap();
    assert_eq!(plain(&documented), plain(&default));
}

#[test]
fn the_examples_are_right() {
    for name in ["vllm", "limits", "measure"] {
        let text = std::fs::read_to_string(root(&format!("examples/{name}.toml"))).unwrap();
        let env = |name: &str| (name == "UPSTREAM_HOST").then(|| "10.0.0.7".into());
        load_text(Some((name, &text)), &Overrides::default(), &env).unwrap();
    }
}

#[test]
fn every_key_arrives_where_it_belongs() {
    let text = r#"
        log = { level = "warn", format = "json" }
        [listen]
        address = "[::1]:1"
        max_connections = 2
        head_timeout = "3s"
        request_buffer = "4KiB"
        [admin]
        address = "0.0.0.0:5"
        [upstream]
        name = "six"
        url = "http://${HOST}:7/base"
        max_idle = 8
        idle_timeout = "9s"
        [timeouts]
        connect = "10s"
        response_head = "11s"
        idle = "12s"
        drain_timeout = "0s"
        [admission]
        max_concurrent = 13
        max_queued = 14
        queue_timeout = "15s"
        full_status = 503
        [admission.models."a/b"]
        max_concurrent = 16
        [admission.models.c]
        max_queued = 0
        queue_timeout = "${WAIT}"
        [headers]
        keep_host = true
        via = true
        forwarded = true
        [stream]
        stall_after = "17ms"
        gaps = "all"
        [records]
        access_log = "-"
        record = "a$$b"
        queue = 18
        max_models = 19
    "#;
    let settings = read(text).unwrap().settings;
    let proxy = &settings.proxy;
    let seconds = Duration::from_secs;
    assert_eq!(proxy.listen.address, "[::1]:1".parse().unwrap());
    assert_eq!((proxy.listen.max_connections, proxy.listen.head_timeout), (2, seconds(3)));
    assert_eq!(proxy.request_buffer, 4_096);
    assert_eq!(settings.admin.listen, "0.0.0.0:5".parse().unwrap());
    assert_eq!((&*proxy.upstream.name, proxy.upstream.max_idle), ("six", 8));
    assert_eq!(proxy.upstream.url.to_string(), "http://s3cret.internal:7/base");
    assert_eq!(proxy.upstream.idle_timeout, seconds(9));
    let timeouts = &proxy.timeouts;
    assert_eq!(
        (timeouts.connect, timeouts.response_head, timeouts.idle),
        (seconds(10), seconds(11), seconds(12))
    );
    assert_eq!(settings.drain_timeout, Duration::ZERO);
    let policy = &settings.policy;
    assert_eq!((policy.global.max_concurrent, policy.global.max_queued), (Some(13), 14));
    assert_eq!(policy.global.queue_timeout, seconds(15));
    let (a, c) = (&policy.models["a/b"], &policy.models["c"]);
    assert_eq!((a.max_concurrent, a.max_queued, a.queue_timeout), (Some(16), 14, seconds(15)));
    assert_eq!((c.max_concurrent, c.max_queued, c.queue_timeout), (None, 0, seconds(3)));
    assert_eq!(proxy.full_status, FullStatus::ServiceUnavailable);
    assert!(proxy.headers.keep_host && proxy.headers.via && proxy.headers.forwarded);
    assert!(proxy.watch.keep_all_gaps);
    assert_eq!(proxy.watch.stall_after, Offset::from(Duration::from_millis(17)));
    let telemetry = &settings.telemetry;
    assert_eq!(telemetry.stall_after, Duration::from_millis(17));
    assert_eq!(telemetry.access_log, Some(Destination::Stdout));
    assert_eq!(telemetry.record.as_deref(), Some(Path::new("a$b")));
    assert_eq!((settings.records_queue, telemetry.max_models, telemetry.max_pulsing), (18, 19, 2));
    assert_eq!(telemetry.known_models, ["a/b", "c"]);
    assert_eq!((settings.log.level, settings.log.format), (Level::WARN, LogFormat::Json));
}

/// Files behind [`HEAD`], so from line 3 on, with all that is said of them.
const BROKEN: &[(&str, &[&str])] = &[
    (
        "[admission]\nmax_queud = 3\n",
        &[
            "weir.toml:4: admission.max_queud: unknown key; did you mean `max_queued`? allowed: max_concurrent, \
           max_queued, queue_timeout, full_status, models",
        ],
    ),
    ("[headers]\nx = 3\n", &["weir.toml:4: headers.x: unknown key; allowed: keep_host, via, forwarded"]),
    (
        "[lisen]\naddress = 3\n",
        &[
            "weir.toml:3: lisen: unknown section; did you mean `listen`? allowed: listen, admin, upstream, timeouts, \
           admission, headers, stream, records, otlp, log, analysis, slo, error_classes, alerts, cost",
        ],
    ),
    (
        "[admin]\nconnect = \"5s\"\n",
        &[
            "weir.toml:4: admin.connect: unknown key; did you mean `timeouts.connect`? allowed: address, token",
        ],
    ),
    (
        "[admission.models.\"a/b\"]\nmax_concurent = 1\n",
        &[
            "weir.toml:4: admission.models.\"a/b\".max_concurent: unknown key; did you mean `max_concurrent`? \
           allowed: max_concurrent, max_queued, queue_timeout",
        ],
    ),
    (
        "[timeouts]\nconnect = 5\nidle = \"5\"\nresponse_head = \"0s\"\ndrain_timeout = \"2days\"\n",
        &[
            "weir.toml:4: timeouts.connect: wrong type: integer; allowed: a duration from 1ms to 1h, such as \
             \"250ms\" or \"5s\"",
            "weir.toml:5: timeouts.idle: not a duration; allowed: a duration from 1ms to 1day, such as \"250ms\" \
             or \"5s\"",
            "weir.toml:6: timeouts.response_head: too small; allowed: a duration from 1ms to 1day, such as \
             \"250ms\" or \"5s\"",
            "weir.toml:7: timeouts.drain_timeout: too large; allowed: a duration from 0s to 1day, such as \
             \"250ms\" or \"5s\"",
        ],
    ),
    (
        "[admission]\nmax_concurrent = 0\nmax_queued = -1\nfull_status = 500\nmodels = 3\n",
        &[
            "weir.toml:4: admission.max_concurrent: too small; allowed: a whole number from 1 to 1000000",
            "weir.toml:5: admission.max_queued: too small; allowed: a whole number from 0 to 1000000",
            "weir.toml:6: admission.full_status: not one of the choices; allowed: 429 or 503",
            "weir.toml:7: admission.models: not a section; allowed: [admission.models]",
        ],
    ),
    (
        "[admission.models]\na = 1\n\"\" = {}\nglobal = {}\n",
        &[
            "weir.toml:4: admission.models.\"a\": not a section; allowed: [admission.models.\"a\"]",
            "weir.toml:5: admission.models.\"\": not a free name; allowed: any but \"\" and \"global\"",
            "weir.toml:6: admission.models.\"global\": not a free name; allowed: any but \"\" and \"global\"",
        ],
    ),
    (
        "[listen]\naddress = \"localhost\"\nmax_connections = 99999999999999999999\nrequest_buffer = \"1GiB\"\n",
        &[
            "weir.toml:4: listen.address: not an address; allowed: IP:PORT, such as \"127.0.0.1:8080\" or \
             \"[::]:8080\"",
            "weir.toml:5: listen.max_connections: not a number of 64 bits; allowed: a whole number from 1 to \
             1000000",
            "weir.toml:6: listen.request_buffer: too large; allowed: a size from 1KiB to 64MiB, such as \"64KiB\"",
        ],
    ),
    (
        "[headers]\nvia = \"yes\"\n[stream]\ngaps = \"some\"\n[log]\nlevel = \"loud\"\nformat = true\n",
        &[
            "weir.toml:4: headers.via: wrong type: string; allowed: true or false",
            "weir.toml:6: stream.gaps: not one of the choices; allowed: \"distribution\" or \"all\"",
            "weir.toml:8: log.level: not one of the choices; allowed: \"error\", \"warn\", \"info\", \"debug\" or \
             \"trace\"",
            "weir.toml:9: log.format: wrong type: boolean; allowed: \"text\" or \"json\"",
        ],
    ),
    (
        "[records]\naccess_log = \"x\"\nrecord = \"x\"\nqueue = 1.5\nmax_models = [1]\n",
        &[
            "weir.toml:5: records.record: taken by records.access_log; allowed: another file",
            "weir.toml:6: records.queue: wrong type: float; allowed: a whole number from 1 to 1000000",
            "weir.toml:7: records.max_models: wrong type: array; allowed: a whole number from 1 to 10000",
        ],
    ),
    (
        "[records]\naccess_log = \"\"\nrecord = \"-\"\n",
        &[
            "weir.toml:4: records.access_log: not a path; allowed: the path of a file, or \"-\" for standard output",
            "weir.toml:5: records.record: not a path; allowed: the path of a file",
        ],
    ),
    (
        "[listen]\naddress = \"127.0.0.1:9464\"\n",
        &["weir.toml:4: admin.address: taken by listen.address; allowed: an address of its own"],
    ),
    ("[[log]]\nlevel = \"info\"\n", &["weir.toml:3: log: not a section; allowed: [log]"]),
    (
        "[records]\naccess_log = \"${NONE}/${HOST}/$x\"\nrecord = \"${ALSO_NONE}\"\n",
        &[
            "weir.toml:4: records.access_log: a lone `$`; allowed: ${NAME} for an environment variable, $$ for a `$`",
            "weir.toml:4: records.access_log: the environment variable NONE is not set",
            "weir.toml:5: records.record: the environment variable ALSO_NONE is not set",
        ],
    ),
    // A value from the environment is not repeated.
    (
        "[timeouts]\nidle = \"${BAD}\"\n",
        &[
            "weir.toml:4: timeouts.idle: not a duration; allowed: a duration from 1ms to 1day, such as \"250ms\" \
           or \"5s\"",
        ],
    ),
    (
        "[otlp]\nendpoint = \"http://a@b:1\"\nheaders = \"api-key=abc\"\nsample_ratio = 1.5\nprotocol = \"http/json\"\n",
        &[
            "weir.toml:4: otlp.endpoint: not such a URL; allowed: http://HOST[:PORT][/BASE] or https://HOST[:PORT][/BASE]",
            "weir.toml:5: otlp.headers: a secret in the file; allowed: NAME=VALUE,NAME=VALUE, with \"${NAME}\" for a \
             secret in the environment",
            "weir.toml:6: otlp.sample_ratio: too large; allowed: a number from 0 to 1, such as 0.1",
            "weir.toml:7: otlp.protocol: not one of the choices; allowed: \"http/protobuf\" or \"grpc\"",
        ],
    ),
    (
        "[otlp.destinations.a]\nheaders = \"authorization=Bearer ${KEY}\"\n[otlp.tls]\ncertificate = \"/x\"\n",
        &[
            "weir.toml:3: otlp.destinations.\"a\".endpoint: missing; allowed: http://HOST[:PORT][/BASE] or \
             https://HOST[:PORT][/BASE]",
            "weir.toml:6: otlp.tls.key: missing beside certificate; allowed: both or neither",
        ],
    ),
    // Breaks of the grammar; the first three leave the rest in no doubt.
    (
        "[admission.models.\"m\"]\n[admission.models.\"m\"]\nmax_queued = \"x\"\n",
        &[
            "weir.toml:4:19: \"m\": duplicate key; allowed: once",
            "weir.toml:5: admission.models.\"m\".max_queued: wrong type: string; allowed: a whole number from 0 to \
             1000000",
        ],
    ),
    (
        "[headers]\nvia = true\nvia = false\n[log]\nlevel = 3\n",
        &[
            "weir.toml:5:1: via: duplicate key; allowed: once",
            "weir.toml:7: log.level: wrong type: integer; allowed: \"error\", \"warn\", \"info\", \"debug\" or \
             \"trace\"",
        ],
    ),
    (
        "[timeouts]\nconnect = 5s\nidel = \"1s\"\n",
        &[
            "weir.toml:4:11: string values must be quoted, expected literal string",
            "weir.toml:5: timeouts.idel: unknown key; did you mean `idle`? allowed: connect, response_head, idle, \
             drain_timeout",
        ],
    ),
    (
        "[timeouts\nconnect = \"x\"\n[log]\nlevel == \"info\"\n",
        &["weir.toml:3:10: unclosed table, expected `]`", "weir.toml:6:8: extra `=`, expected nothing"],
    ),
    ("[log]\nlevel = \"info\nformat = \"text\"\n", &["weir.toml:4:14: invalid basic string, expected `\"`"]),
];

#[test]
fn every_mistake_is_told_with_its_line_and_what_is_allowed() {
    for (text, lines) in BROKEN {
        let mistakes = read(&format!("{HEAD}{text}")).unwrap_err().to_string();
        assert_eq!(mistakes.split('\n').collect::<Vec<_>>(), *lines, "{text}");
        assert!(!mistakes.contains("s3cret"), "{mistakes}");
    }
}

#[test]
fn an_upstream_has_to_be_given_and_to_be_one() {
    let missing = "upstream.url: missing; allowed: http://HOST[:PORT][/BASE] or https://HOST[:PORT][/BASE], here or with --upstream";
    assert_eq!(load(None, &Overrides::default()).unwrap_err().to_string(), missing);
    assert_eq!(read("").unwrap_err().to_string(), format!("weir.toml: {missing}"));
    assert_eq!(read("\n[upstream]\n").unwrap_err().to_string(), format!("weir.toml:2: {missing}"));
    for (url, says) in [
        ("ftp://x", "the scheme must be http or https"),
        ("x:1", "not a URL; allowed: http://HOST[:PORT][/BASE] or https://HOST[:PORT][/BASE]"),
        ("${BAD}", "not a URL; allowed: http://HOST[:PORT][/BASE] or https://HOST[:PORT][/BASE]"),
        ("http://u:p@x", "a user or password in the URL would be sent nowhere; leave it out"),
    ] {
        let mistakes = read(&format!("[upstream]\nurl = \"{url}\"\n")).unwrap_err().to_string();
        assert_eq!(mistakes, format!("weir.toml:2: upstream.url: {says}"));
    }
}

#[test]
fn flags_stand_above_the_file_and_are_checked_too() {
    let flags = Overrides {
        upstream: Some("http://flag".into()),
        listen: Some("127.0.0.1:1".into()),
        admin: Some("127.0.0.1:2".into()),
        access_log: Some("$x".into()),
        record: Some("r".into()),
        log_level: Some("trace".into()),
    };
    let text = format!("{HEAD}[log]\nlevel = \"error\"\n");
    let loaded = load_text(Some(("weir.toml", &text)), &flags, &env).unwrap();
    assert_eq!(loaded.settings.proxy.upstream.url.to_string(), "http://flag");
    assert_eq!(loaded.settings.proxy.listen.address.port(), 1);
    assert_eq!(loaded.settings.admin.listen.port(), 2);
    assert_eq!(loaded.settings.telemetry.access_log, Some(Destination::File("$x".into())));
    assert_eq!(loaded.settings.telemetry.record.as_deref(), Some(Path::new("r")));
    assert_eq!(loaded.settings.log.level, Level::TRACE);
    let effective = loaded.effective.to_string();
    assert!(effective.contains("access_log = \"$$x\"  # --access-log\n"), "{effective}");

    let flags = Overrides {
        listen: Some("8080".into()),
        log_level: Some("loud".into()),
        admin: Some("127.0.0.1:8080".into()),
        ..Overrides::default()
    };
    let text = "[upstream]\nurl = 3\n[log]\nlevel = 4\n";
    let mistakes = load_text(Some(("weir.toml", text)), &flags, &env).unwrap_err().to_string();
    let places: Vec<_> = mistakes.lines().map(|line| line.split(": ").take(2).collect::<Vec<_>>()).collect();
    assert_eq!(
        places,
        [
            ["weir.toml:2", "upstream.url"],
            ["weir.toml:4", "log.level"],
            ["--admin", "admin.address"],
            ["--listen", "listen.address"],
            ["--log-level", "log.level"],
        ]
    );
}

#[test]
fn what_is_in_effect_tells_where_it_comes_from() {
    let text = "[upstream]\nurl = \"http://${HOST}\"\n[admission]\nqueue_timeout = \"${WAIT}\"\n\
                [admission.models.\"a/b\"]\nmax_concurrent = 0x10\n";
    let loaded = read(text).unwrap();
    let effective = loaded.effective.to_string();
    for part in [
        "[listen]\naddress = \"127.0.0.1:8080\"  # default\nmax_connections = 16384     # default\n",
        "\n\n[upstream]\nname = \"default\"                  # default\nurl = \"http://${HOST}\"            # weir.toml:2\n",
        "[admission]\n# max_concurrent           # not set: no limit\nmax_queued = 1024          # default\n",
        "queue_timeout = \"${WAIT}\"  # weir.toml:4\n",
        "[admission.models.\"a/b\"]\nmax_concurrent = 0x10      # weir.toml:6\n\
         max_queued = 1024          # as in [admission]\nqueue_timeout = \"${WAIT}\"  # as in [admission]\n",
    ] {
        assert!(effective.contains(part), "{part}\nis not in\n{effective}");
    }
    assert!(!effective.contains("s3cret"), "{effective}");
    assert_eq!(plain(&read(&effective).unwrap()), plain(&loaded), "{effective}");
}

#[test]
fn a_secret_comes_from_the_environment_and_is_never_shown() {
    let key = |line: &str| format!("[upstream]\nurl = \"http://x\"\n{line}\n");
    let loaded = read(&key("api_key = \"${KEY}\"\napi_key_rule = \"add\"")).unwrap();
    assert!(loaded.settings.proxy.upstream.api_key.is_some());
    assert!(loaded.effective.to_string().contains("api_key = \"${KEY}\""));
    assert!(!format!("{loaded:?}").contains("s3cret"), "{loaded:?}");
    for (line, says) in [
        (
            "api_key = \"sk-123\"",
            "a secret in the file; allowed: \"${NAME}\", for a variable of the environment",
        ),
        ("api_key = \"${UNSET}\"", "the environment variable UNSET is not set"),
        ("api_key = \"${EMPTY}\"", "not set; allowed: \"${NAME}\", for a variable of the environment"),
        ("api_key = 5", "wrong type: integer; allowed: \"${NAME}\", for a variable of the environment"),
    ] {
        let mistakes = read(&key(line)).unwrap_err().to_string();
        assert_eq!(mistakes, format!("weir.toml:3: upstream.api_key: {says}"));
    }
}

#[test]
fn certificates_have_to_be_there_and_of_use() {
    let mistake = |text: &str| read(text).unwrap_err().to_string();
    let http = "[upstream]\nurl = \"http://x\"\n";
    assert_eq!(
        mistake(&format!("{http}[listen.tls]\ncertificate = \"c\"\n")),
        "weir.toml:4: listen.tls.key: missing beside certificate; allowed: both or neither"
    );
    assert_eq!(
        mistake(&format!("{http}[listen.tls]\ncertificate = \"/no/c\"\nkey = \"/no/k\"\n")),
        "weir.toml:4: listen.tls.certificate: cannot read /no/c: No such file or directory (os error 2)"
    );
    assert_eq!(
        mistake(&format!("{http}[upstream.tls]\nca = \"c\"\n")),
        "weir.toml:4: upstream.tls.ca: the upstream is spoken to in the clear; allowed: with an https URL"
    );
    assert_eq!(
        mistake("[upstream]\nurl = \"https://x\"\n[upstream.tls]\nca = \"Cargo.toml\"\n"),
        "weir.toml:4: upstream.tls.ca: no certificate in PEM form in Cargo.toml"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_one_mistake() {
    let mistakes = load(Some(Path::new("/nowhere/weir.toml")), &upstream()).unwrap_err().to_string();
    assert_eq!(mistakes, "/nowhere/weir.toml: cannot be read: No such file or directory (os error 2)");
}

/// Pieces of files, so that random texts get somewhere.
fn piece() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "[listen]",
        "[admission]",
        "[admission.models.\"x\"]",
        "[[log]]",
        "[upstream]",
        "url",
        "address",
        "idle",
        "max_queued",
        "models",
        "=",
        ".",
        "\n",
        "\"",
        "'''",
        "{",
        "}",
        "[",
        "]",
        ",",
        "#",
        "$",
        "${HOST}",
        "\"1s\"",
        "\"http://x\"",
        "9223372036854775808",
        "-1",
        "0x",
        "1e9",
        "true",
        "\u{feff}",
        "é",
    ]);
    prop_oneof![3 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(pieces in prop::collection::vec(piece(), 0..40), head: bool, flag in any::<String>()) {
        let text = format!("{}{}", if head { HEAD } else { "" }, pieces.concat());
        let flags = Overrides { listen: Some(flag.clone()), record: Some(flag), ..Overrides::default() };
        for overrides in [Overrides::default(), flags] {
            match load_text(Some(("weir.toml", &text)), &overrides, &env) {
                Ok(loaded) => {
                    let again = read(&loaded.effective.to_string());
                    prop_assert_eq!(again.map(|again| plain(&again)).ok(), Some(plain(&loaded)));
                }
                Err(mistakes) => prop_assert!(!mistakes.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn no_value_breaks_a_key(value in any::<String>()) {
        for key in ["timeouts.idle", "listen.request_buffer", "listen.address", "upstream.url", "upstream.name"] {
            let text = format!("{key} = {}", super::units::quoted(&value));
            if let Err(mistakes) = load_text(Some(("weir.toml", &text)), &upstream(), &env) {
                prop_assert!(mistakes.to_string().starts_with(&format!("weir.toml:1: {key}: ")), "{}", mistakes);
            }
        }
    }
}

#[test]
fn what_is_asked_of_the_service_is_read() {
    let file = |slos: &str| format!("[upstream]\nurl = \"http://h\"\n{slos}");
    let read = |slos: &str| {
        let text = file(slos);
        load_text(Some(("weir.toml", &text)), &Overrides::default(), &|_| None)
    };
    let slos = |slos: &str| read(slos).unwrap().settings.telemetry.observatory.slos;
    assert_eq!(slos(""), weir_analysis::slo::SloConfig::defaults());
    let two = "[[slo]]\nobjective = \"e2e\"\nlimit = \"20s\"\ntarget = 99\nmodel = \"m\"\n\
               [[slo]]\nobjective = \"availability\"\ntarget = 99.9\nname = \"up\"\nmin_events = 5\n";
    let two = slos(two);
    assert_eq!(two[0].objective, weir_analysis::slo::Objective::E2e(Duration::from_secs(20)));
    assert_eq!((&*two[0].name, two[0].target, two[0].model.as_deref()), ("e2e", 0.99, Some("m")));
    assert_eq!((&*two[1].name, two[1].min_events), ("up", 5));
    for (slos, says) in [
        ("[[slo]]\ntarget = 99\n", "weir.toml:3: slo[1].objective: missing; it has to be given"),
        (
            "[[slo]]\nobjective = \"ttft\"\ntarget = 99\n",
            "weir.toml:3: slo[1].limit: missing; it has to be given",
        ),
        (
            "[[slo]]\nobjective = \"error_rate\"\ntarget = 99\nlimit = \"1s\"\n",
            "weir.toml:6: slo[1].limit: only a latency has one; allowed: none here",
        ),
        (
            "[[slo]]\nobjective = \"error_rate\"\ntarget = 100\n",
            "weir.toml:5: slo[1].target: too large; allowed: a number above 0 and below 100, such as 99.9",
        ),
        ("[slo]\n", "weir.toml:3: slo: not an array of tables; allowed: [[slo]]"),
    ] {
        let mistakes = read(slos).unwrap_err().to_string();
        assert!(mistakes.starts_with(says), "{mistakes}");
    }
}
