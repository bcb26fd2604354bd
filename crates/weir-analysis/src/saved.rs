//! What outlives a restart, as rows that any store can keep.

/// One row. Whoever makes it says what its value means; a store only keeps it. Two rows of the same table,
/// key and time are one: the later one holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which part of the analysis it belongs to.
    pub table: &'static str,
    /// What it is about, such as the name of an SLO.
    pub key: String,
    /// When: seconds since the Unix epoch.
    pub at: u64,
    /// What is known, as JSON. `None`: the row is to go.
    pub value: Option<String>,
}

/// A row as a store gives it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRow {
    /// Which part of the analysis it belongs to.
    pub table: String,
    /// What it is about.
    pub key: String,
    /// When: seconds since the Unix epoch.
    pub at: u64,
    /// What is known, as JSON.
    pub value: String,
}
