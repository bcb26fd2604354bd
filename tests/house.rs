//! The rules of the house that can be checked: which crate may see which, how long a file may be, that
//! every key of the configuration is documented, and that nothing is left half done.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Lines of a file before its tests.
const MAX_LINES: usize = 400;

/// Which crates of the workspace a crate may depend on, its tests aside.
const ARROWS: &[(&str, &[&str])] = &[
    ("weir-core", &[]),
    ("weir-proxy", &["weir-core"]),
    ("weir-analysis", &["weir-core"]),
    ("weir-telemetry", &["weir-core", "weir-analysis"]),
    ("weir-sensors", &["weir-core"]),
    ("weir-load", &["weir-core", "weir-analysis"]),
    ("weir-dash", &["weir-core", "weir-analysis"]),
    (
        "tokenweir",
        &[
            "weir-core",
            "weir-proxy",
            "weir-analysis",
            "weir-telemetry",
            "weir-sensors",
            "weir-load",
            "weir-dash",
        ],
    ),
];

/// What the vocabulary does without: it is pure.
const IMPURE: &[&str] =
    &["tokio", "tokio-util", "hyper", "hyper-util", "rustix", "socket2", "tracing", "jiff", "libc"];

#[test]
fn crates_depend_only_on_what_they_may() {
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap();
    let packages = metadata.workspace_packages();
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    for package in &packages {
        let name = package.name.as_str();
        let allowed = ARROWS.iter().find(|(known, _)| *known == name).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("{name} is a new crate: which may it depend on?"));
        let arrows: Vec<&str> = needs(package).filter(|dependency| names.contains(dependency)).collect();
        assert!(name != "tokenweir" || arrows.len() >= 5, "not all arrows are seen: {arrows:?}");
        for dependency in arrows {
            assert!(allowed.contains(&dependency), "{name} must not depend on {dependency}");
        }
    }
    let core = packages.iter().find(|package| package.name.as_str() == "weir-core").unwrap();
    for dependency in needs(core) {
        assert!(!IMPURE.contains(&dependency), "weir-core must not depend on {dependency}");
    }
}

/// What a package depends on, its tests aside.
fn needs(package: &Package) -> impl Iterator<Item = &str> {
    let needs =
        package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    needs.map(|dependency| dependency.name.as_str())
}

#[test]
fn files_are_small() {
    for (path, text) in sources() {
        let parts: Vec<_> = path.strip_prefix(root()).unwrap().iter().collect();
        let exempt = ["tests", "benches", "examples", "fuzz", "tests.rs"];
        if parts.iter().any(|part| exempt.iter().any(|name| part == name)) {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        let tests =
            |two: &[&str]| two[0] == "#[cfg(test)]" && two[1].starts_with("mod ") && two[1].ends_with('{');
        let length = lines.windows(2).position(tests).unwrap_or(lines.len());
        assert!(length <= MAX_LINES, "{} has {length} lines before its tests", path.display());
    }
}

#[test]
fn nothing_is_left_half_done() {
    // Not spelt out, or this file would be among what it finds.
    let marks = [["to", "do!("].concat(), ["unimple", "mented!("].concat(), ["#[ig", "nore"].concat()];
    for (path, text) in sources() {
        for (nth, line) in text.lines().enumerate() {
            let mark = marks.iter().find(|mark| line.contains(*mark));
            assert!(mark.is_none(), "{}:{}: {line}", path.display(), nth + 1);
        }
    }
}

#[test]
fn keys_agree_with_the_documented_file() {
    let keys = known_keys();
    let documented = documented_file();
    assert_eq!(keys.keys().collect::<Vec<_>>(), documented.keys().collect::<Vec<_>>());
    for (key, (value, described)) in &documented {
        assert!(described, "{key} has no comment in proxy.toml");
        match (value, keys[key].as_str()) {
            (Some(_), HAS_TO_BE_GIVEN) => {}
            (Some(value), default) => assert_eq!(value, default, "{key} in proxy.toml is not at its default"),
            (None, default) => {
                let named = key.contains("NAME") || key.starts_with("[[");
                let unset = named || default.starts_with("not set") || default.starts_with("as in");
                assert!(unset, "{key} is commented out in proxy.toml but has a default: {default}");
            }
        }
    }
    weir_check(&root().join("proxy.toml"));
}

#[test]
fn keys_agree_with_the_documentation() {
    assert_eq!(known_keys(), documentation());
}

/// How the documentation says that a key has no default.
const HAS_TO_BE_GIVEN: &str = "none: has to be given";

/// A file with every section that a name has to be given to, and what has to be given in it.
const LEAST: &str = r#"
[upstream]
url = "http://127.0.0.1:8000"
[admission.models."NAME"]
[otlp.destinations."NAME"]
endpoint = "http://127.0.0.1:4318"
[[slo]]
objective = "ttft"
limit = "2s"
target = 95.0
[cost.models."NAME"]
"#;

/// Every key that weir knows, with its default, by what it says itself.
fn known_keys() -> BTreeMap<String, String> {
    let file =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("least-{:?}.toml", std::thread::current().id()));
    fs::write(&file, LEAST).unwrap();
    let mut keys = BTreeMap::new();
    let mut section = "";
    let effective = weir_check(&file);
    for line in effective.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('[') {
            section = line;
            continue;
        }
        let (key, from) = line.rsplit_once("  # ").unwrap();
        let key = key.trim_end();
        let (key, default) = match (key.split_once(" = "), from) {
            (Some((key, value)), "default") => (key, value),
            (Some((key, _)), inherited) if inherited.starts_with("as in") => (key, inherited),
            (Some((key, _)), _) => (key, HAS_TO_BE_GIVEN),
            (None, absent) => (key.trim_start_matches("# "), absent),
        };
        keys.insert(format!("{section} {key}"), default.to_owned());
    }
    assert!(keys.len() > 20, "{effective}");
    keys
}

/// The keys of proxy.toml, commented out or not, with their value if not, and whether a comment stands
/// before them.
fn documented_file() -> BTreeMap<String, (Option<String>, bool)> {
    let text = fs::read_to_string(root().join("proxy.toml")).unwrap();
    let mut keys = BTreeMap::new();
    let (mut section, mut described) = (String::new(), false);
    for line in text.lines() {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        if bare.starts_with('[') && bare.ends_with(']') {
            section = bare.to_owned();
            described = false;
        } else if let Some((key, value)) = bare.split_once(" = ").filter(|(key, _)| is_key(key)) {
            let value = (bare == line).then(|| value.to_owned());
            keys.insert(format!("{section} {key}"), (value, described));
            described = false;
        } else {
            described = line.starts_with("# ");
        }
    }
    keys
}

/// The keys of the tables in docs/configuration.md, with their default.
fn documentation() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let mut keys = BTreeMap::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            section = heading.replace('`', "");
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", key, default, _, _, ""] = cells[..]
            && key.starts_with('`')
        {
            keys.insert(format!("{section} {}", key.replace('`', "")), default.replace('`', ""));
        }
    }
    keys
}

fn is_key(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// What `weir check` prints of a file without mistakes.
fn weir_check(file: &Path) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_weir")).arg("check").arg("--config").arg(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    text
}

/// Every source file of the workspace.
fn sources() -> Vec<(PathBuf, String)> {
    let mut sources = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if entry.file_type().unwrap().is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") {
                let text = fs::read_to_string(&path).unwrap();
                sources.push((path, text));
            }
        }
    }
    assert!(sources.len() > 20);
    sources
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
