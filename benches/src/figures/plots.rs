//! Four plots, as SVG: throughput by threads, latency by percentile, longest call while growing, bytes by order.

use std::path::Path;

use anyhow::{Context, Result};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::formula::{Formula, Pick, Reading, Spread, What};
use super::goals::{Sizes, THREADS};
use super::job::{Job, MAPS, PERCENTILES, Peer, Work};
use super::runs::Runs;

const SIZE: (u32, u32) = (860, 480);
/// Stockade is the one that stands out.
const COLOURS: [RGBColor; 5] = [
    RGBColor(200, 30, 30),
    RGBColor(110, 110, 110),
    RGBColor(40, 90, 170),
    RGBColor(30, 140, 90),
    RGBColor(190, 130, 20),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// A name, a colour, and points from left to right.
type Line = (&'static str, RGBColor, Vec<(f64, f64)>);

/// Draws what was measured; a plot without measurements is left out, which `--only` leads to.
pub fn draw(folder: &Path, sizes: &Sizes, runs: &Runs) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let plots = [
        ("throughput.svg", throughput(sizes, runs)),
        ("latency.svg", latency(sizes, runs)),
        ("longest.svg", longest(sizes, runs)),
    ];
    for (name, lines) in plots {
        if lines.iter().any(|line| !line.2.is_empty()) {
            let file = folder.join(name);
            let area = SVGBackend::new(&file, SIZE).into_drawing_area();
            match name {
                "throughput.svg" => draw_throughput(&area, &lines),
                "latency.svg" => draw_latency(&area, &lines),
                _ => draw_longest(&area, &lines),
            }
            .with_context(|| format!("cannot draw {}", file.display()))?;
        }
    }
    let bars = bytes(sizes, runs);
    if !bars.is_empty() {
        let file = folder.join("bytes.svg");
        let area = SVGBackend::new(&file, SIZE).into_drawing_area();
        draw_bytes(&area, &bars).with_context(|| format!("cannot draw {}", file.display()))?;
    }
    Ok(())
}

fn median(runs: &Runs, reading: Reading) -> Option<f64> {
    Spread::of(&Formula::One(reading), Pick::Median, runs).map(|it| it.figure)
}

fn lines(points: impl Fn(Peer) -> Vec<(f64, f64)>) -> Vec<Line> {
    MAPS.into_iter().zip(COLOURS).map(|(peer, colour)| (peer.name(), colour, points(peer))).collect()
}

fn throughput(sizes: &Sizes, runs: &Runs) -> Vec<Line> {
    lines(|peer| {
        let rate = |threads| median(runs, (Job::fresh(peer, sizes.one, threads), What::Rate));
        let point = |(place, threads): (usize, usize)| Some((place as f64, rate(threads)?));
        THREADS.into_iter().enumerate().filter_map(point).collect()
    })
}

fn latency(sizes: &Sizes, runs: &Runs) -> Vec<Line> {
    lines(|peer| {
        let job = Job::fresh(peer, sizes.four, 2).growing().work(Work::Latency);
        let at = |percentile| median(runs, (job.clone(), What::Percentile(percentile)));
        let point = |(place, percentile): (usize, f64)| Some((place as f64, at(percentile)?.max(1.0)));
        PERCENTILES.into_iter().enumerate().filter_map(point).collect()
    })
}

/// Of each part of the orders the longest call, in the run in which it was shortest: what is left is growth, and not
/// the rest of the machine.
fn longest(sizes: &Sizes, runs: &Runs) -> Vec<Line> {
    lines(|peer| {
        let is = |job: &Job| job.peer == peer && job.work == Work::Latency && job.threads == 1;
        let Some((job, outcomes)) = runs.all().find(|it| is(it.0)) else {
            return Vec::new();
        };
        let series: Vec<&[u64]> =
            outcomes.iter().filter_map(|it| Some(it.latency.as_ref()?.longest.as_slice())).collect();
        let parts = series.first().map_or(0, |it| it.len());
        // In millions, of a full run.
        let orders = |part: usize| (part + 1) as f64 / parts as f64 * job.orders as f64 / sizes.one as f64;
        let shortest = |part: usize| series.iter().filter_map(|it| it.get(part)).min();
        (0..parts).filter_map(|part| Some((orders(part), (*shortest(part)? as f64).max(1.0)))).collect()
    })
}

fn bytes(sizes: &Sizes, runs: &Runs) -> Vec<(String, RGBColor, f64)> {
    let bar = |name: String, colour, peer, orders| {
        Some((name, colour, median(runs, (Job::fresh(peer, orders, 1).growing(), What::Bytes))?))
    };
    let sized = [(sizes.one, 1), (sizes.four, 4), (sizes.sixteen, 16)];
    let own = sized.map(|(orders, millions)| bar(format!("stockade {millions} M"), COLOURS[0], MAPS[0], orders));
    let peers = MAPS.into_iter().zip(COLOURS).skip(1);
    let peers = peers.map(|(peer, colour)| bar(format!("{} 4 M", peer.name()), colour, peer, sizes.four));
    own.into_iter().chain(peers).flatten().collect()
}

fn draw_throughput(area: &Area<'_>, lines: &[Line]) -> Result<()> {
    area.fill(&WHITE)?;
    let top = highest(lines) * 1.1;
    let mut chart = ChartBuilder::on(area)
        .caption("Fresh reserves by threads", ("sans-serif", 20))
        .margin(14)
        .margin_right(36)
        .x_label_area_size(42)
        .y_label_area_size(62)
        .build_cartesian_2d(0.0..(THREADS.len() - 1) as f64, 0.0..top)?;
    chart
        .configure_mesh()
        .x_labels(THREADS.len())
        .x_label_formatter(&|place| THREADS.get(place.round() as usize).map_or(String::new(), usize::to_string))
        .x_desc("threads")
        .y_desc("million orders per second")
        .draw()?;
    for (name, colour, points) in lines {
        let style = colour.stroke_width(2);
        let line = chart.draw_series(LineSeries::new(points.iter().copied(), style).point_size(4))?;
        line.label(*name).legend(legend(*colour));
    }
    let labels = &mut chart.configure_series_labels();
    labels.position(SeriesLabelPosition::LowerLeft).background_style(WHITE).border_style(BLACK).draw()?;
    Ok(area.present()?)
}

fn draw_latency(area: &Area<'_>, lines: &[Line]) -> Result<()> {
    area.fill(&WHITE)?;
    let name = |place: &f64| match PERCENTILES.get(place.round() as usize) {
        Some(100.0) => "longest".to_owned(),
        Some(percentile) => format!("{percentile} %"),
        None => String::new(),
    };
    let mut chart = ChartBuilder::on(area)
        .caption("Time of one reserve while growing, 2 threads", ("sans-serif", 20))
        .margin(14)
        .margin_right(36)
        .x_label_area_size(42)
        .y_label_area_size(74)
        .build_cartesian_2d(0.0..(PERCENTILES.len() - 1) as f64, (50.0..highest(lines) * 2.0).log_scale())?;
    chart
        .configure_mesh()
        .x_labels(PERCENTILES.len())
        .x_label_formatter(&name)
        .y_label_formatter(&|ns| time(*ns))
        .x_desc("share of the calls that took at most so long")
        .draw()?;
    for (name, colour, points) in lines {
        let style = colour.stroke_width(2);
        let line = chart.draw_series(LineSeries::new(points.iter().copied(), style).point_size(4))?;
        line.label(*name).legend(legend(*colour));
    }
    let labels = &mut chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperLeft).background_style(WHITE).border_style(BLACK).draw()?;
    Ok(area.present()?)
}

fn draw_longest(area: &Area<'_>, lines: &[Line]) -> Result<()> {
    area.fill(&WHITE)?;
    let last = lines.iter().flat_map(|line| &line.2).map(|point| point.0).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption("Longest call while orders arrive, 1 thread", ("sans-serif", 20))
        .margin(14)
        .margin_right(36)
        .x_label_area_size(42)
        .y_label_area_size(74)
        .build_cartesian_2d(0.0..last, (1e3..highest(lines) * 2.0).log_scale())?;
    let mut mesh = chart.configure_mesh();
    mesh.y_label_formatter(&|ns| time(*ns)).x_desc("million orders that have arrived").draw()?;
    for (name, colour, points) in lines {
        let line = chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
        line.label(*name).legend(legend(*colour));
    }
    let labels = &mut chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE).border_style(BLACK).draw()?;
    Ok(area.present()?)
}

fn draw_bytes(area: &Area<'_>, bars: &[(String, RGBColor, f64)]) -> Result<()> {
    area.fill(&WHITE)?;
    let top = bars.iter().map(|bar| bar.2).fold(1.0, f64::max) * 1.1;
    let mut chart = ChartBuilder::on(area)
        .caption("Resident bytes for each live one-line order", ("sans-serif", 20))
        .margin(14)
        .margin_right(36)
        .x_label_area_size(42)
        .y_label_area_size(62)
        .build_cartesian_2d((0..bars.len() - 1).into_segmented(), 0.0..top)?;
    let name = |place: &SegmentValue<usize>| match place {
        SegmentValue::CenterOf(bar) => bars.get(*bar).map_or(String::new(), |bar| bar.0.clone()),
        _ => String::new(),
    };
    chart.configure_mesh().disable_x_mesh().x_label_formatter(&name).y_desc("bytes").draw()?;
    chart.draw_series(bars.iter().enumerate().map(|(place, (_, colour, bytes))| {
        let corners = [(SegmentValue::Exact(place), 0.0), (SegmentValue::Exact(place + 1), *bytes)];
        let mut bar = Rectangle::new(corners, colour.filled());
        bar.set_margin(0, 0, 12, 12);
        bar
    }))?;
    Ok(area.present()?)
}

fn highest(lines: &[Line]) -> f64 {
    lines.iter().flat_map(|line| &line.2).map(|point| point.1).fold(1.0, f64::max)
}

fn legend(colour: RGBColor) -> impl Fn((i32, i32)) -> PathElement<(i32, i32)> {
    move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(3))
}

fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns >= 1e9 => (ns / 1e9, "s"),
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns if ns >= 1e3 => (ns / 1e3, "us"),
        ns => (ns, "ns"),
    };
    format!("{value:.0} {unit}")
}
