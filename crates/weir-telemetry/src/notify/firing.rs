//! What fires at an Alertmanager: it has to be told again and again.

use std::collections::BTreeMap;

use super::notification::{Notification, Status};

/// How many alerts are kept. One beyond them is sent once, and not again.
const ROOM: usize = 1_000;

/// The alerts that fire, by their label sets.
#[derive(Debug, Default)]
pub(super) struct Firing(BTreeMap<Vec<(String, String)>, Notification>);

impl Firing {
    /// Takes note. False if there is no room.
    pub(super) fn note(&mut self, notification: &Notification) -> bool {
        let labels = notification.label_set();
        let id: Vec<_> =
            labels.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        match notification.status {
            Status::Resolved => {
                self.0.remove(&id);
            }
            Status::Firing if self.0.len() >= ROOM && !self.0.contains_key(&id) => return false,
            Status::Firing => {
                self.0.insert(id, notification.clone());
            }
        }
        true
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Notification> {
        self.0.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use weir_core::exchange::WallTime;

    use super::{Firing, Notification, ROOM, Status};

    fn firing(alert: usize) -> Notification {
        Notification {
            alert: alert.to_string(),
            status: Status::Firing,
            severity: String::new(),
            summary: String::new(),
            condition: String::new(),
            value: String::new(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            starts_at: WallTime(1),
            ends_at: None,
        }
    }

    #[test]
    fn so_many_are_kept_and_one_that_ends_makes_room() {
        let mut kept = Firing::default();
        assert!((0..ROOM).all(|alert| kept.note(&firing(alert))));
        assert!(!kept.note(&firing(ROOM)));
        assert!(kept.note(&Notification { value: "changed".to_owned(), ..firing(0) }));
        assert!(kept.note(&Notification { status: Status::Resolved, ..firing(1) }));
        assert!(kept.note(&firing(ROOM)));
        let all = kept.all();
        assert_eq!((all.len(), &*all[0].value), (ROOM, "changed"));
    }
}
