//! The folder in which bundles are kept.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use weir_analysis::time::Moment;

/// So many are kept; the oldest goes first.
pub(super) const KEPT: usize = 50;

const COMPLETE: &str = ".json";
const UNFINISHED: &str = ".part";

/// A folder that one Weir alone writes to.
#[derive(Clone, Debug)]
pub(super) struct Shelf(PathBuf);

impl Shelf {
    /// The shelf in the folder in which Weir keeps its state.
    pub(super) fn new(state_dir: &Path) -> Self {
        Self(state_dir.join("bundles"))
    }

    /// Writes a bundle, and says where. It is there as a whole or not at all, and for its owner alone.
    pub(super) fn put(&self, at: Moment, alert: &str, bundle: &impl Serialize) -> io::Result<PathBuf> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        self.sweep(0, UNFINISHED)?;
        let name = format!("{}-{alert}", stamp(at));
        let unfinished = self.0.join(format!("{name}{UNFINISHED}"));
        let complete = self.0.join(format!("{name}{COMPLETE}"));
        write(&unfinished, bundle)?;
        fs::rename(&unfinished, &complete)?;
        self.sweep(KEPT, COMPLETE)?;
        Ok(complete)
    }

    /// Leaves the newest of the files of a kind. Their names begin with their time; no others are touched.
    fn sweep(&self, left: usize, kind: &str) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            names.extend(entry?.file_name().into_string().ok().filter(|name| is_ours(name, kind)));
        }
        names.sort_unstable();
        for name in names.iter().rev().skip(left) {
            fs::remove_file(self.0.join(name))?;
        }
        Ok(())
    }
}

fn write(path: &Path, bundle: &impl Serialize) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let mut writer = BufWriter::new(file);
    serde_json::to_writer_pretty(&mut writer, bundle)?;
    writer.write_all(b"\n")?;
    writer.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file: File| file.sync_all())
}

fn is_ours(name: &str, kind: &str) -> bool {
    name.ends_with(kind) && name.get(..8).is_some_and(|day| day.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A moment in UTC such that names sort by it, to the millisecond: `20240229T123456.789Z`.
fn stamp(at: Moment) -> String {
    let at = jiff::Timestamp::from_nanosecond(at.0.into()).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%Y%m%dT%H%M%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use weir_analysis::time::Moment;

    use super::{KEPT, Shelf};

    /// 2024-02-29T12:34:56.789Z.
    const AT: Moment = Moment(1_709_210_096_789_000_000);

    #[test]
    fn a_bundle_is_whole_and_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = Shelf::new(dir.path()).put(AT, "high:ttft", &[1, 2]).unwrap();
        assert_eq!(path, dir.path().join("bundles/20240229T123456.789Z-high:ttft.json"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "[\n  1,\n  2\n]\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let folder = fs::metadata(dir.path().join("bundles")).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(dir.path().join("bundles")).unwrap().count(), 1);
    }

    #[test]
    fn the_oldest_go_and_what_is_not_ours_stays() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(dir.path());
        fs::create_dir(dir.path().join("bundles")).unwrap();
        let bundles = dir.path().join("bundles");
        fs::write(bundles.join("notes.json"), "").unwrap();
        fs::write(bundles.join("20200101T000000.000Z-died.part"), "").unwrap();
        for nth in 0..KEPT as u64 + 3 {
            shelf.put(AT.plus(Duration::from_secs(nth)), "a", &nth).unwrap();
        }
        let mut names: Vec<_> =
            fs::read_dir(bundles).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names.len(), KEPT + 1);
        assert_eq!(names[0], "20240229T123459.789Z-a.json");
        assert_eq!(names[KEPT - 1], "20240229T123548.789Z-a.json");
        assert_eq!(names[KEPT], "notes.json");
    }
}
