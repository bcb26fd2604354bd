//! The first form of record files: its gaps stand in coarser bins, on a scale each for the time per token
//! and the time per chunk, and there are neither ticks nor landmarks.

use weir_core::gaps::{Bins, GapRecord, SCALE, Scale};
use weir_core::observation::Observation;

/// Its number.
pub(super) const FORM_1: u32 = 1;

/// Bins of the time per token: 16 an octave.
const ITL: Scale = Scale::new(4, 24);

/// Bins of the time per chunk: 4 an octave.
const INTER_CHUNK: Scale = Scale::new(2, 26);

/// An observation of the first form as it is told today; absent for a kind that the form does not have.
pub(super) fn today(mut observation: Observation) -> Option<Observation> {
    match &mut observation {
        Observation::Exchange(exchange) => {
            if let Some(output) = &mut exchange.answer.output {
                convert(&mut output.gaps);
            }
        }
        Observation::Pulse(pulse) => convert(&mut pulse.gaps),
        Observation::Tick(_) | Observation::Landmark(_) => return None,
    }
    Some(observation)
}

fn convert(gaps: &mut GapRecord) {
    move_slots(&mut gaps.itl, ITL);
    move_slots(&mut gaps.inter_chunk, INTER_CHUNK);
}

/// Moves what is in a bin to the one at its middle. Every edge of the old scales is one of [`SCALE`], so that
/// no two bins become one and their order stays.
fn move_slots(bins: &mut Bins, from: Scale) {
    for (bin, _) in &mut bins.slots {
        // Scales have fewer bins than u16 has numbers.
        *bin = u16::try_from(SCALE.index(from.middle(usize::from(*bin)))).unwrap_or(u16::MAX);
    }
}

#[cfg(test)]
mod tests {
    use weir_core::gaps::{Bins, SCALE};

    use super::{INTER_CHUNK, ITL, move_slots};

    #[test]
    fn every_old_bin_has_a_new_one_within_it() {
        for old in [ITL, INTER_CHUNK] {
            let all: Box<[(u16, u32)]> = (0..old.len()).map(|bin| (bin as u16, bin as u32 + 1)).collect();
            let mut bins = Bins { slots: all.clone(), ..Bins::default() };
            move_slots(&mut bins, old);
            assert!(bins.slots.is_sorted_by(|a, b| a.0 < b.0));
            for (&(was, n), &(is, count)) in all.iter().zip(&bins.slots) {
                assert_eq!(n, count);
                let (was, is) = (usize::from(was), usize::from(is));
                assert!(old.lower_edge(was) <= SCALE.lower_edge(is), "{was}");
                assert!(SCALE.lower_edge(is + 1) <= old.lower_edge(was + 1), "{was}");
            }
        }
    }

    /// 20 ms are 5/4 of 2^14 grains. A 16th of that octave holds 20 to 21 ms, a fourth 20 to 24 ms.
    #[test]
    fn twenty_milliseconds_go_to_the_middle_of_their_bin() {
        for (old, bin, middle) in [(ITL, 180, 20_500_000), (INTER_CHUNK, 53, 22_000_000)] {
            assert_eq!(old.index(20_000_000), usize::from(bin));
            let mut bins = Bins { slots: [(bin, 7)].into(), ..Bins::default() };
            move_slots(&mut bins, old);
            assert_eq!(bins.slots.as_ref(), [(SCALE.index(middle) as u16, 7)]);
        }
    }
}
