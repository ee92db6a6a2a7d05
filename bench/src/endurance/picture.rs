//! The run as a picture: four panels over time, as SVG.

use std::fmt::Write as _;

use super::reading::Reading;

const WIDTH: f64 = 840.0;
const PANEL: f64 = 150.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 28.0;
const GAP: f64 = 44.0;
/// Colours of the first, second and third line of a panel.
const COLOURS: [&str; 3] = ["#2563eb", "#d97706", "#059669"];

/// A panel: its title, and for each line a name and the value of a reading.
type Line<'a> = (&'a str, &'a dyn Fn(&Reading) -> f64);

/// The picture of all readings.
pub fn draw(readings: &[Reading]) -> String {
    let panels: [(&str, Vec<Line<'_>>); 4] = [
        (
            "resident memory, MB",
            vec![
                ("origin", &|r| r.resident_mb(0)),
                ("edge", &|r| r.resident_mb(1)),
                ("Postgres", &|r| r.resident_mb(2)),
            ],
        ),
        (
            "open descriptors",
            vec![
                ("origin", &|r| r.descriptors(0)),
                ("edge", &|r| r.descriptors(1)),
                ("Postgres", &|r| r.descriptors(2)),
            ],
        ),
        ("size of the growing tables, MB", vec![("all", &|r| r.tables_mb())]),
        ("latency of a new list at the edge, ms", vec![("p50", &|r| r.latency[0]), ("p99", &|r| r.latency[1])]),
    ];
    let height = TOP + panels.len() as f64 * (PANEL + GAP);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (at, (title, lines)) in panels.iter().enumerate() {
        panel(&mut out, TOP + at as f64 * (PANEL + GAP), title, lines, readings);
    }
    out.push_str("</svg>\n");
    out
}

fn panel(out: &mut String, top: f64, title: &str, lines: &[Line<'_>], readings: &[Reading]) {
    let minutes = readings.last().map_or(1.0, |last| last.minute.max(1.0));
    let most = lines.iter().flat_map(|(_, of)| readings.iter().map(of)).fold(0.0, f64::max).max(1e-9);
    let (x, y) = (
        |minute: f64| LEFT + minute / minutes * (WIDTH - LEFT - 20.0),
        |value: f64| top + PANEL * (1.0 - value / (most * 1.05)),
    );
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{}\" font-weight=\"bold\">{title}</text>", top - 8.0);
    for (value, part) in [(0.0, "0".to_owned()), (most, format!("{most:.1}"))] {
        let at = y(value);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{part}</text>",
            WIDTH - 20.0,
            LEFT - 6.0,
            at + 4.0
        );
    }
    for (at, ((name, of), colour)) in lines.iter().zip(COLOURS).enumerate() {
        let points: Vec<String> =
            readings.iter().map(|reading| format!("{:.1},{:.1}", x(reading.minute), y(of(reading)))).collect();
        let _ = writeln!(
            out,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{}\"/>",
            points.join(" ")
        );
        let label = WIDTH - 20.0 - (lines.len() - at) as f64 * 80.0;
        let _ = writeln!(out, "<text x=\"{label:.0}\" y=\"{}\" fill=\"{colour}\">{name}</text>", top - 8.0);
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{minutes:.0} minutes</text>",
        WIDTH - 20.0,
        top + PANEL + 14.0
    );
}
