//! The fingerprint of a label set, as Prometheus and Alertmanager make it.

use std::collections::BTreeMap;

/// FNV-1a of 64 bits over the names and values in order, a byte that no text has after each of them:
/// `LabelSet.Fingerprint` in github.com/prometheus/common/model.
pub(super) fn fingerprint(labels: &BTreeMap<&str, &str>) -> String {
    const BASIS: u64 = 14_695_981_039_346_656_037;
    const PRIME: u64 = 1_099_511_628_211;
    let texts = labels.iter().flat_map(|(name, value)| [name, value]);
    let bytes = texts.flat_map(|text| text.bytes().chain([255]));
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{hash:016x}")
}
