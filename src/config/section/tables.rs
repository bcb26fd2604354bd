//! Tables of which there may be any number: named ones, and those of an array.

use super::{Section, join};
use crate::config::units::quoted;

impl<'a> Section<'_, 'a> {
    /// All sections under a name, each with a name that the file gives it; `taken` is none of these.
    pub(in crate::config) fn sections<T>(
        &mut self,
        name: &'static str,
        taken: &str,
        mut read: impl FnMut(&mut Section<'_, 'a>) -> T,
    ) -> Vec<(Box<str>, T)> {
        let (table, _) = self.subtable(name);
        let mut all = Vec::new();
        for (key, value) in table.into_iter().flatten() {
            let path = format!("{}.{}", join(&self.path, name), quoted(key.get_ref()));
            let place = self.reader.place(key.span().start);
            let table = value.get_ref().as_table();
            if table.is_none() {
                self.reader.mistake(place.clone(), path.clone(), format!("not a section; allowed: [{path}]"));
            }
            if key.get_ref().is_empty() || key.get_ref() == taken {
                let says = format!("not a free name; allowed: any but \"\" and {}", quoted(taken));
                self.reader.mistake(place.clone(), path.clone(), says);
            }
            let mut section = Section::new(self.reader, path, table, place);
            section.reader.effective.section(&section.path);
            all.push((key.get_ref().as_ref().into(), read(&mut section)));
            section.close();
        }
        all
    }

    /// The tables of an array, in their order, with what `read` makes of each. Empty where the file has
    /// none.
    pub(in crate::config) fn tables<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut Section<'_, 'a>) -> T,
    ) -> Vec<T> {
        self.asked.push(name);
        let Some((key, value)) = self.table.and_then(|table| table.get_key_value(name)) else {
            return Vec::new();
        };
        let path = join(&self.path, name);
        let place = self.reader.place(key.span().start);
        let Some(tables) = value.get_ref().as_array() else {
            self.reader.mistake(place, path.clone(), format!("not an array of tables; allowed: [[{path}]]"));
            return Vec::new();
        };
        let mut all = Vec::new();
        for (nth, table) in tables.iter().enumerate() {
            let place = self.reader.place(table.span().start);
            let path_of_one = format!("{path}[{}]", nth + 1);
            let table = table.get_ref().as_table();
            if table.is_none() {
                let says = format!("not a table; allowed: [[{path}]]");
                self.reader.mistake(place.clone(), path_of_one.clone(), says);
            }
            self.reader.effective.section(&format!("[{path}]"));
            let mut section = Section::new(self.reader, path_of_one, table, place);
            all.push(read(&mut section));
            section.close();
        }
        all
    }
}
