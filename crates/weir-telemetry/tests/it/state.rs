//! What is kept for the next run, whatever happens to the process and to the file.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use rusqlite::Connection;
use weir_analysis::saved::{Row, SavedRow};
use weir_core::timeline::Stamp;
use weir_telemetry::state::{State, StateError, StateLimits, Warning};

const LIMIT: Duration = Duration::from_secs(20);
const FOLDER: &str = "WEIR_TEST_STATE_FOLDER";

fn row(key: &str, at: u64, value: Option<&str>) -> Row {
    Row { table: "slo", key: key.to_owned(), at, value: value.map(str::to_owned) }
}

fn saved(key: &str, at: u64, value: &str) -> SavedRow {
    SavedRow { table: "slo".into(), key: key.into(), at, value: value.into() }
}

fn open_with(dir: &Path, limits: StateLimits) -> (State, Vec<SavedRow>, Vec<Warning>) {
    State::open(dir, limits, || Stamp(1)).unwrap()
}

fn open(dir: &Path) -> (State, Vec<SavedRow>, Vec<Warning>) {
    open_with(dir, StateLimits::default())
}

/// Writes rows, and closes the store.
async fn keep(dir: &Path, rows: Vec<Row>) {
    let (state, ..) = open(dir);
    state.offer(rows);
    state.finish(LIMIT).await;
}

fn file(dir: &Path) -> PathBuf {
    dir.join("weir-state.sqlite3")
}

/// Waits until `is` holds.
fn until(is: impl Fn() -> bool) {
    for _ in 0..4_000 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("waited in vain");
}

#[tokio::test]
async fn rows_come_back_changed_and_without_those_that_went() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("a/b");
    let (state, rows, warnings) = open(&dir);
    assert_eq!((rows, warnings), (vec![], vec![]));
    state.offer(vec![row("b", 2, Some("2")), row("a", 9, Some("{}")), row("a", 1, Some("\"ä\0\""))]);
    state.offer(vec![row("b", 2, Some("3")), row("gone", 1, Some("1"))]);
    let counts = state.counts();
    until(|| counts.written() >= 4);
    state.offer(vec![row("gone", 1, None), row("never there", 1, None)]);
    state.finish(LIMIT).await;
    assert_eq!((counts.rows(), counts.dropped(), counts.errors()), (3, 0, 0));
    let (state, rows, warnings) = open(&dir);
    assert_eq!(rows, [saved("a", 1, "\"ä\0\""), saved("a", 9, "{}"), saved("b", 2, "3")]);
    assert_eq!(warnings, []);
    assert_eq!(state.counts().rows(), 3);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&file(&dir))), (0o700, 0o600));
}

#[tokio::test]
async fn a_second_one_on_the_same_folder_is_refused_until_the_first_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (state, ..) = open(folder.path());
    let error = State::open(folder.path(), StateLimits::default(), || Stamp(1)).unwrap_err();
    assert!(matches!(&error, StateError::InUse(path) if path == folder.path()), "{error}");
    state.finish(LIMIT).await;
    open(folder.path());
}

#[tokio::test]
async fn others_can_look_at_the_file_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let (state, ..) = open(folder.path());
    state.offer(vec![row("a", 1, Some("1"))]);
    let counts = state.counts();
    until(|| counts.written() == 1);
    let other = Connection::open(file(folder.path())).unwrap();
    let value: String = other.query_row("SELECT value FROM rows", [], |row| row.get(0)).unwrap();
    assert_eq!(value, "1");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let not_a_folder = folder.path().join("file");
    File::create(&not_a_folder).unwrap();
    let error = State::open(&not_a_folder, StateLimits::default(), || Stamp(1)).unwrap_err();
    assert!(error.to_string().contains(not_a_folder.to_str().unwrap()), "{error}");
}

fn cut(path: &Path) {
    let length = path.metadata().unwrap().len();
    OpenOptions::new().write(true).open(path).unwrap().set_len(length / 2 + 100).unwrap();
}

/// All but the first page: the header alone tells nothing of what follows.
fn garble(path: &Path) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.seek(SeekFrom::Start(4096)).unwrap();
    file.write_all(&vec![0xa7; usize::try_from(length - 4096).unwrap()]).unwrap();
}

fn replace_with_text(path: &Path) {
    std::fs::write(path, "never a database, but somebody's notes\n".repeat(200)).unwrap();
}

fn replace_with_foreign(path: &Path) {
    std::fs::remove_file(path).unwrap();
    Connection::open(path).unwrap().execute_batch("CREATE TABLE songs(name)").unwrap();
}

fn make_newer(path: &Path) {
    Connection::open(path).unwrap().pragma_update(None, "user_version", 2).unwrap();
}

fn take_the_table(path: &Path) {
    Connection::open(path).unwrap().execute_batch("DROP TABLE rows").unwrap();
}

fn break_a_value(path: &Path) {
    let damage = "UPDATE rows SET value = CAST(x'ff' AS TEXT)";
    Connection::open(path).unwrap().execute_batch(damage).unwrap();
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_set_aside_and_a_new_one_begun() {
    type Harm = fn(&Path);
    let harms: [(Harm, &str); 7] = [
        (cut, ""),
        (garble, ""),
        (replace_with_text, "not a database"),
        (replace_with_foreign, "not weir's"),
        (make_newer, "its form is 2"),
        (take_the_table, "no such table"),
        (break_a_value, ""),
    ];
    for (harm, says) in harms {
        let folder = tempfile::tempdir().unwrap();
        let value = "x".repeat(1_000);
        keep(folder.path(), (0..100).map(|at| row("a", at, Some(&value))).collect()).await;
        harm(&file(folder.path()));
        let mut harmed = Vec::new();
        File::open(file(folder.path())).unwrap().read_to_end(&mut harmed).unwrap();
        let (state, rows, warnings) = open(folder.path());
        assert_eq!(rows, []);
        let [Warning::SetAside { to, why }] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(why.contains(says), "{why}");
        assert!(to.to_str().unwrap().contains("weir-state.sqlite3.damaged-"), "{to:?}");
        assert_eq!(std::fs::read(to).unwrap().len(), harmed.len(), "{says}");
        state.offer(vec![row("new", 1, Some("1"))]);
        state.finish(LIMIT).await;
        let (_state, rows, warnings) = open(folder.path());
        assert_eq!((rows, warnings), (vec![saved("new", 1, "1")], vec![]));
    }
}

#[tokio::test]
async fn at_the_limit_new_rows_are_dropped_and_old_ones_change_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let (state, ..) = open_with(folder.path(), StateLimits { max_rows: 2, ..StateLimits::default() });
    let counts = state.counts();
    state.offer(vec![row("a", 1, Some("1")), row("b", 1, Some("1"))]);
    until(|| counts.written() == 2);
    state.offer(vec![row("a", 1, Some("2")), row("c", 1, Some("1"))]);
    until(|| counts.written() == 3);
    assert_eq!((counts.rows(), counts.dropped()), (2, 1));
    state.offer(vec![row("d", 1, Some("1")), row("a", 1, None)]);
    state.finish(LIMIT).await;
    assert_eq!(counts.dropped(), 1);
    let (_state, rows, _) = open(folder.path());
    assert_eq!(rows, [saved("b", 1, "1"), saved("d", 1, "1")]);
}

#[tokio::test]
async fn a_full_disk_costs_what_does_not_fit_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let limits = StateLimits { max_bytes: 64 << 10, ..StateLimits::default() };
    let value = "x".repeat(900);
    let many = |from: u64, to: u64, value: Option<&str>| (from..to).map(|at| row("a", at, value)).collect();
    let (state, ..) = open_with(folder.path(), limits);
    let counts = state.counts();
    state.offer(many(0, 10, Some(&value)));
    until(|| counts.written() == 10);
    state.offer(many(10, 200, Some(&value)));
    until(|| counts.errors() == 1);
    assert_eq!((counts.written(), counts.rows(), counts.dropped()), (10, 10, 0));
    // What waits is made to fit, and the next attempt succeeds.
    state.offer(many(20, 200, None));
    state.finish(LIMIT).await;
    assert_eq!((counts.rows(), counts.dropped(), counts.errors()), (20, 0, 1));

    let (state, rows, warnings) = open_with(folder.path(), limits);
    assert_eq!((rows.len(), warnings), (20, vec![]));
    let counts = state.counts();
    state.offer(many(10, 200, Some(&value)));
    state.finish(LIMIT).await;
    assert_eq!((counts.written(), counts.dropped()), (0, 190));
    let (_state, rows, warnings) = open_with(folder.path(), limits);
    assert_eq!((rows.len(), warnings), (20, vec![]));
}

/// In a process of its own: writes pairs that change together until it is killed, and adds to `acks` what
/// was committed.
#[test]
fn writes_until_it_is_killed() {
    let Some(dir) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (state, rows, _) = open(&dir);
    let mut acks = OpenOptions::new().append(true).create(true).open(dir.join("acks")).unwrap();
    let counts = state.counts();
    let filler = "x".repeat(3_000);
    let mut n: u64 =
        rows.iter().map(|row| row.value.split(' ').next().unwrap().parse().unwrap()).max().unwrap_or(0);
    loop {
        n += 1;
        let value = format!("{n} {filler}");
        let (before, slot) = (counts.written(), n % 50);
        let mut together = vec![row("left", slot, Some(&value)), row("right", slot, Some(&value))];
        together.push(row("last", 0, Some(&format!("{n} "))));
        state.offer(together);
        while counts.written() < before + 3 {
            std::hint::spin_loop();
        }
        acks.write_all(&n.to_le_bytes()).unwrap();
    }
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The last number that was acknowledged.
fn acknowledged(dir: &Path) -> u64 {
    let acks = std::fs::read(dir.join("acks")).unwrap_or_default();
    acks.chunks_exact(8).next_back().map_or(0, |last| u64::from_le_bytes(last.try_into().unwrap()))
}

#[tokio::test]
async fn who_is_killed_in_mid_write_loses_nothing_that_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut before = 0;
    for round in 0..15 {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "state::writes_until_it_is_killed", "--test-threads=1"]).env(FOLDER, dir);
        let child = Killed(child.stdout(std::process::Stdio::null()).spawn().unwrap());
        until(|| acknowledged(dir) > before + 5);
        std::thread::sleep(Duration::from_micros(rand::random_range(0..20_000)));
        drop(child);
        let acknowledged = acknowledged(dir);
        let (state, rows, warnings) = open(dir);
        assert_eq!(warnings, [], "round {round}");
        let all = |key: &str| rows.iter().filter(|row| row.key == key).cloned().collect::<Vec<_>>();
        let values = |key: &str| all(key).into_iter().map(|row| (row.at, row.value)).collect::<Vec<_>>();
        assert_eq!(values("left"), values("right"), "round {round}");
        let number = |value: &str| value.split(' ').next().unwrap().parse::<u64>().unwrap();
        let last = number(&all("last")[0].value);
        // It may have been killed after it committed and before it said so.
        assert!((acknowledged..=acknowledged + 1).contains(&last), "{last} and {acknowledged}");
        for n in last.saturating_sub(49).max(1)..=last {
            let (_, value) = values("left").into_iter().find(|(slot, _)| *slot == n % 50).unwrap();
            assert_eq!(number(&value), n, "round {round}");
        }
        before = last;
        state.finish(LIMIT).await;
    }
}
