//! What is built into weir: nothing but what deny.toml allows.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use cargo_metadata::MetadataCommand;

/// Where all that is not ours comes from.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What cargo-deny would say by the same lists, without having to build it.
#[test]
fn dependencies_are_those_that_deny_toml_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lists: toml::Table = fs::read_to_string(root.join("deny.toml")).unwrap().parse().unwrap();
    let text = |value: &toml::Value| value.as_str().unwrap().to_owned();
    let allowed: Vec<_> = lists["licenses"]["allow"].as_array().unwrap().iter().map(text).collect();
    let banned: Vec<_> =
        lists["bans"]["deny"].as_array().unwrap().iter().map(|entry| text(&entry["crate"])).collect();
    assert!(allowed.len() > 3 && banned.len() > 2, "{allowed:?} {banned:?}");
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .other_options(["--locked", "--filter-platform", "x86_64-unknown-linux-gnu"].map(str::to_owned))
        .exec()
        .unwrap();
    for package in &metadata.packages {
        let name = package.name.as_str();
        assert!(!banned.iter().any(|ban| ban == name), "{name} is banned in deny.toml");
        let source = package.source.as_ref().map(|source| source.repr.as_str());
        let ours = metadata.workspace_members.contains(&package.id);
        assert!(ours || source == Some(CRATES_IO), "{name} comes from {source:?}");
        let licence = package.license.as_deref().unwrap_or_default();
        assert!(is_allowed(licence, &allowed), "{name} is under {licence:?}, which deny.toml does not allow");
    }
}

/// Reads a licence expression as alternatives joined by AND, which is how they are written.
fn is_allowed(licence: &str, allowed: &[String]) -> bool {
    licence.split(" AND ").all(|part| {
        let alternatives = part.trim_matches(['(', ')']).split(" OR ").flat_map(|some| some.split('/'));
        alternatives.map(str::trim).any(|one| allowed.iter().any(|known| known == one))
    })
}
