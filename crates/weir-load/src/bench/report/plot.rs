//! Plots as inline SVG.

use std::fmt::Write;

use super::numbers::percentile;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
/// Room for labels: left, top, right, bottom.
const MARGIN: [f64; 4] = [56.0, 12.0, 12.0, 34.0];
const BINS: usize = 60;
/// The percentile at which a distribution is cut.
const CUT: f64 = 99.0;

/// The distribution of values, with the part above its 99th percentile only told; `None` where there are none.
pub(super) fn distribution(mut values: Vec<f64>, unit: &str) -> Option<String> {
    values.sort_by(f64::total_cmp);
    let most = percentile(&values, CUT)?;
    let top = if most > 0.0 { most } else { 1.0 };
    let mut bins = [0.0f64; BINS];
    for value in values.iter().filter(|value| **value <= top) {
        bins[((value / top * BINS as f64) as usize).min(BINS - 1)] += 1.0;
    }
    let above = values.iter().filter(|value| **value > top).count();
    let highest = bins.iter().copied().fold(1.0, f64::max);
    let mut svg = frame(top, highest, &format!("{unit} ({above} of {} above)", values.len()));
    let width = (WIDTH - MARGIN[0] - MARGIN[2]) / BINS as f64;
    for (nth, count) in bins.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        let (left, height) = (MARGIN[0] + nth as f64 * width, count / highest * inner_height());
        let top = HEIGHT - MARGIN[3] - height;
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            r#"<rect class="a" x="{left:.1}" y="{top:.1}" width="{:.1}" height="{height:.1}"/>"#,
            width - 1.0
        );
    }
    svg.push_str("</svg>");
    Some(svg)
}

/// Lines over time, each with its name; the first is drawn in the first colour.
pub(super) fn lines(span_s: f64, series: &[(&str, &[f64])]) -> String {
    let highest = series.iter().flat_map(|(_, values)| values.iter().copied()).fold(0.0, f64::max);
    let highest = if highest > 0.0 { highest } else { 1.0 };
    let mut svg = frame(span_s, highest, "s after the start");
    for (nth, (name, values)) in series.iter().enumerate() {
        let step = (WIDTH - MARGIN[0] - MARGIN[2]) / values.len().max(1) as f64;
        let class = if nth == 0 { "a" } else { "b" };
        let _ = write!(svg, r#"<polyline class="line {class}" points=""#);
        for (at, value) in values.iter().enumerate() {
            let x = MARGIN[0] + (at as f64 + 0.5) * step;
            let y = HEIGHT - MARGIN[3] - value / highest * inner_height();
            let _ = write!(svg, "{x:.1},{y:.1} ");
        }
        let x = MARGIN[0] + 8.0 + nth as f64 * 160.0;
        let _ = write!(svg, r#""/><text class="{class}" x="{x}" y="22">{name}</text>"#);
    }
    svg.push_str("</svg>");
    svg
}

/// Points, joined by a line in the order of `x`; those that are `b` in the second colour.
pub(super) fn points(points: &[Point], label: &str) -> String {
    let greatest = |of: fn(&Point) -> f64| {
        let most = points.iter().map(of).fold(0.0, f64::max);
        if most > 0.0 { most } else { 1.0 }
    };
    let (right, top) = (greatest(|point| point.x), greatest(|point| point.y));
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x));
    let place = |point: &Point| {
        let x = MARGIN[0] + point.x / right * (WIDTH - MARGIN[0] - MARGIN[2]);
        (x, HEIGHT - MARGIN[3] - point.y / top * inner_height())
    };
    let mut svg = frame(right, top, label);
    svg.push_str(r#"<polyline class="line a" points=""#);
    for (x, y) in sorted.iter().map(|point| place(point)) {
        let _ = write!(svg, "{x:.1},{y:.1} ");
    }
    svg.push_str(r#""/>"#);
    for point in sorted {
        let ((x, y), class) = (place(point), if point.b { "b" } else { "a" });
        let _ = write!(svg, r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="4"/>"#);
    }
    svg.push_str("</svg>");
    svg
}

/// A point of a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Whether it has the second colour.
    pub(super) b: bool,
}

fn inner_height() -> f64 {
    HEIGHT - MARGIN[1] - MARGIN[3]
}

/// The beginning of a plot: its axes from 0 to what they reach.
fn frame(right: f64, top: f64, label: &str) -> String {
    let mut svg = format!(r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">"#);
    let bottom = HEIGHT - MARGIN[3];
    for part in 0..=4 {
        let share = f64::from(part) / 4.0;
        let y = bottom - share * inner_height();
        let x = MARGIN[0] + share * (WIDTH - MARGIN[0] - MARGIN[2]);
        let _ = write!(
            svg,
            r#"<line class="grid" x1="{}" x2="{}" y1="{y:.1}" y2="{y:.1}"/><text x="{}" y="{:.1}" text-anchor="end">{}</text><text x="{x:.1}" y="{}" text-anchor="middle">{}</text>"#,
            MARGIN[0],
            WIDTH - MARGIN[2],
            MARGIN[0] - 6.0,
            y + 4.0,
            short(share * top),
            bottom + 16.0,
            short(share * right),
        );
    }
    let _ = write!(
        svg,
        r#"<text x="{}" y="{}" text-anchor="end">{label}</text>"#,
        WIDTH - MARGIN[2],
        HEIGHT - 4.0
    );
    svg
}

/// Three digits, or as many as stand before the point.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size == 0.0 || size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_tells_what_it_leaves_out() {
        let mut values = vec![1.0; 199];
        values.push(50.0);
        let svg = distribution(values, "ms").unwrap();
        assert_eq!(svg.matches("<rect").count(), 1);
        assert!(svg.contains("ms (1 of 200 above)") && svg.ends_with("</svg>"), "{svg}");
        assert_eq!(distribution(Vec::new(), "ms"), None);
        assert!(distribution(vec![0.0], "ms").is_some());
    }

    #[test]
    fn lines_reach_from_side_to_side() {
        let svg = lines(10.0, &[("sent", &[0.0, 4.0]), ("ended", &[1.0, 2.0])]);
        assert_eq!(svg.matches("<polyline").count(), 2);
        // The highest value is at the top of the frame.
        assert!(svg.contains(",12.0 "), "{svg}");
        assert!(!svg.contains("NaN"));
        assert!(!lines(0.0, &[("none", &[])]).contains("NaN"));
    }

    #[test]
    fn points_stand_where_they_belong() {
        let at = |x, y, b| Point { x, y, b };
        let svg = points(&[at(10.0, 5.0, true), at(5.0, 10.0, false)], "x");
        assert!(svg.contains(r#"<circle class="b" cx="708.0" cy="99.0" r="4"/>"#), "{svg}");
        assert!(svg.contains(r#"<circle class="a" cx="382.0" cy="12.0" r="4"/>"#), "{svg}");
        assert!(!points(&[], "x").contains("NaN"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 0.1234, 1.234, 12.34, 1234.5].map(short), ["0", "0.123", "1.23", "12.3", "1234"]);
    }
}
