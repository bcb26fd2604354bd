//! How much may still be kept.

/// What a value, or a part of an answer, counts beside its text: it takes memory even if it is empty.
const PRICE: usize = 16;

/// The room that is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    left: usize,
    /// Something had no room.
    pub(super) cut: bool,
}

impl Room {
    pub(super) fn new(bytes: usize) -> Self {
        Self { left: bytes, cut: false }
    }

    /// Room for one more value. False if there is none.
    pub(super) fn value(&mut self) -> bool {
        self.cut |= self.left < PRICE;
        self.left = self.left.saturating_sub(PRICE);
        !self.cut
    }

    /// As much of a text as there is room for, in whole characters.
    pub(super) fn text<'t>(&mut self, text: &'t str) -> &'t str {
        let kept = &text[..text.floor_char_boundary(self.left)];
        self.cut |= kept.len() < text.len();
        self.left = if self.cut { 0 } else { self.left - kept.len() };
        kept
    }
}
