//! The form of the snapshot.

use schemars::schema_for;
use weir_analysis::snapshot::Snapshot;

/// The JSON schema of the snapshot, in the lines of a file. `docs/snapshot.schema.json` is a copy of it.
pub fn snapshot_schema() -> String {
    format!("{:#}\n", schema_for!(Snapshot).to_value())
}
