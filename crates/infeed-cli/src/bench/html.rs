//! The HTML report: a single file without scripts or external resources, so that it can be mailed and archived.

use super::{Run, TITLES, busy, summary};
use crate::human;
use infeed::{Plan, engine::usable_cpus};
use std::fmt::Write;

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; max-width: 56em; margin: 2em auto; padding: 0 1em; color: #1b1f24 }
table { border-collapse: collapse; margin: 1em 0 }
th, td { text-align: right; padding: .25em .8em; border-bottom: 1px solid #d8dee4 }
pre { background: #f6f8fa; padding: 1em; overflow-x: auto }
svg text { font: 12px system-ui, sans-serif; fill: currentColor }
@media (prefers-color-scheme: dark) {
  body { background: #0d1117; color: #e6edf3 } pre { background: #161b22 } th, td { border-color: #30363d }
}";

/// Width of the longest bar, and where bars start.
const BAR: f64 = 480.0;
const LEFT: f64 = 90.0;
/// Distance from one bar to the next.
const ROW: usize = 26;

/// Names and colours of the parts of a worker's time.
const PARTS: [(&str, &str); 3] = [("decode", "#2f6feb"), ("transform", "#8250df"), ("idle", "#afb8c1")];

/// The whole page.
pub(super) fn page(plan: &Plan, recipe: &str, runs: &[Run]) -> String {
    let title = escape(&plan.source.describe());
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>infeed bench: {title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>infeed bench</h1>\n<p>{title}<br>{}<br>infeed {}, {} CPUs</p>\n",
        escape(&summary(plan)),
        env!("CARGO_PKG_VERSION"),
        usable_cpus(),
    );
    let _ = write!(out, "<h2>Samples per second</h2>\n{}", rates(runs));
    let _ = write!(out, "<h2>What the threads did</h2>\n{}", shares(runs));
    let _ = write!(out, "<h2>Numbers</h2>\n{}", numbers(runs));
    if let Some(last) = runs.last() {
        let _ = writeln!(out, "<p>{}</p>", escape(&last.stats.verdict));
    }
    let _ = write!(out, "<h2>Recipe</h2>\n<pre>{}</pre>\n</body></html>\n", escape(recipe));
    out
}

/// A bar for each run, proportional to its rate.
fn rates(runs: &[Run]) -> String {
    let most = runs.iter().map(|run| run.stats.samples_per_s).fold(1e-9, f64::max);
    chart(runs, |run, y, out| {
        let width = run.stats.samples_per_s / most * BAR;
        let _ =
            write!(out, "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"18\" fill=\"#2f6feb\"/>");
        let label = format!("{} ({:.2}x)", human::count(run.stats.samples_per_s.round() as u64), run.speedup);
        let _ = write!(out, "<text x=\"{:.1}\" y=\"{}\">{label}</text>", LEFT + width + 6.0, y + 13);
    })
}

/// A bar for each run, divided by how the time was spent.
fn shares(runs: &[Run]) -> String {
    let bars = chart(runs, |run, y, out| {
        let mut x = LEFT;
        for (name, colour) in PARTS {
            let share = if name == "idle" { run.stats.idle_share } else { busy(&run.stats, name) };
            let width = share * BAR;
            let _ = write!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"18\" fill=\"{colour}\">\
                 <title>{name} {}</title></rect>",
                human::share(share)
            );
            x += width;
        }
    });
    let legend: Vec<String> = PARTS
        .iter()
        .map(|(name, colour)| format!("<span style=\"color:{colour}\">&#9632;</span> {name}"))
        .collect();
    format!("{bars}<p>{}</p>\n", legend.join(" &nbsp; "))
}

fn chart(runs: &[Run], draw: impl Fn(&Run, usize, &mut String)) -> String {
    let mut out = format!(
        "<svg role=\"img\" width=\"100%\" viewBox=\"0 0 {} {}\">",
        LEFT + BAR + 140.0,
        runs.len() * ROW
    );
    for (at, run) in runs.iter().enumerate() {
        let y = at * ROW + 4;
        let plural = if run.stats.threads == 1 { "" } else { "s" };
        let _ = write!(out, "<text x=\"0\" y=\"{}\">{} thread{plural}</text>", y + 13, run.stats.threads);
        draw(run, y, &mut out);
    }
    out + "</svg>\n"
}

fn numbers(runs: &[Run]) -> String {
    let row = |cells: &[String], tag: &str| -> String {
        let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let head = row(&TITLES.map(str::to_owned), "th");
    let body: String = runs.iter().map(|run| row(&run.cells(), "td")).collect();
    format!("<table>\n{head}{body}</table>\n")
}

/// Escapes text for HTML: paths and recipes come from the user.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
