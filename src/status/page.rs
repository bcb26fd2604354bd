//! The page that is shown: headings, lines and tables, 80 columns wide.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// What fits on the narrowest of usual terminals.
const WIDTH: usize = 80;

/// A page that is being written.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    coloured: bool,
}

impl Page {
    pub(crate) fn new(coloured: bool) -> Self {
        Self { text: String::new(), coloured }
    }

    /// Begins a section.
    pub(crate) fn heading(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.styled("1", text);
    }

    /// A paragraph, wrapped between words.
    pub(crate) fn line(&mut self, text: &str) {
        self.text.push_str(&wrapped(text));
    }

    /// A paragraph that nobody should miss.
    pub(super) fn alarm(&mut self, text: &str) {
        self.styled("1;31", wrapped(text).trim_end());
    }

    /// A table with a row of titles. Those of columns with numbers begin with `>`.
    pub(crate) fn table<const N: usize>(
        &mut self,
        titles: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) {
        let mut table = Table::new();
        table
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(WIDTH as u16);
        table.set_header(titles.map(|title| title.trim_start_matches('>')));
        table.add_rows(rows);
        for (column, title) in table.column_iter_mut().zip(titles) {
            column.set_padding((0, 2));
            if title.starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        self.text.push_str(&table.trim_fmt());
        self.text.push('\n');
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn styled(&mut self, style: &str, text: &str) {
        match self.coloured {
            true => self.text.push_str(&format!("\u{1b}[{style}m{text}\u{1b}[0m\n")),
            false => self.text.push_str(&format!("{text}\n")),
        }
    }
}

fn wrapped(text: &str) -> String {
    let (mut wrapped, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            wrapped.push('\n');
            column = 0;
        }
        if column > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += length;
    }
    wrapped.push('\n');
    wrapped
}
