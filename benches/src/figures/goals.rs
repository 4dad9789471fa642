//! The table of goals: for each figure what must be reached, what is measured for it, and whose figures stand beside.

use super::formula::{Formula, Pick, Reading, What};
use super::job::{Bits, Job, MAPS, Peer, Words, Work};

/// The figures by name, as `--only` takes them and as they are printed.
pub const GROUPS: [&str; 15] = [
    "fresh-capacity",
    "floor",
    "fresh-growing",
    "repeats",
    "cancel",
    "longest",
    "latency",
    "memory",
    "scale",
    "hot-row",
    "transfer",
    "lines",
    "batch",
    "threads",
    "others",
];

/// What is asked for.
pub struct Ask {
    pub sizes: Sizes,
    /// Groups; empty: all.
    pub only: Vec<String>,
    pub redis: bool,
    pub postgres: bool,
}

/// How many orders a measurement has.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub one: usize,
    pub four: usize,
    ten: usize,
    pub sixteen: usize,
    /// Of 20 lines.
    long: usize,
    /// For who takes microseconds for each.
    slow: usize,
    /// Of this machine.
    cores: usize,
}

impl Sizes {
    pub fn new(quick: bool) -> Sizes {
        let part = if quick { 400 } else { 1 };
        let millions = |millions: usize| millions * 1_000_000 / part;
        Sizes {
            one: millions(1),
            four: millions(4),
            ten: millions(10),
            sixteen: millions(16),
            long: 400_000 / part,
            slow: 20_000 / part,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// What must be reached.
#[derive(Clone, Copy)]
pub enum Goal {
    AtLeast(f64),
    AtMost(f64),
    /// Shown because one wants to know it.
    None,
}

pub struct Figure {
    pub group: &'static str,
    pub title: String,
    pub goal: Goal,
    /// By which the measured value is divided, and its name.
    pub unit: (f64, &'static str),
    pub formula: Formula,
    pub pick: Pick,
    /// The single figures behind it and beside it, with a unit of their own.
    pub beside: Vec<(String, Formula)>,
    pub beside_unit: (f64, &'static str),
}

impl Figure {
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        let beside = self.beside.iter().flat_map(|it| it.1.jobs());
        self.formula.jobs().chain(beside)
    }

    fn new(group: &'static str, title: impl Into<String>, goal: Goal, formula: Formula) -> Figure {
        Figure {
            group,
            title: title.into(),
            goal,
            unit: TIMES,
            formula,
            pick: Pick::Median,
            beside: Vec::new(),
            beside_unit: RATE,
        }
    }

    fn unit(self, unit: (f64, &'static str)) -> Figure {
        Figure { unit, beside_unit: unit, ..self }
    }

    /// Shows what `what` says of each of these jobs.
    fn beside(self, unit: (f64, &'static str), what: What, jobs: impl IntoIterator<Item = Job>) -> Figure {
        let one = |job: Job| (name(&job), Formula::One((job, what)));
        Figure { beside: jobs.into_iter().map(one).collect(), beside_unit: unit, ..self }
    }
}

const TIMES: (f64, &str) = (1.0, "x");
const RATE: (f64, &str) = (1.0, "M/s");
const MS: (f64, &str) = (1e6, "ms");
const US: (f64, &str) = (1e3, "us");
const NS: (f64, &str) = (1.0, "ns");
const BYTES: (f64, &str) = (1.0, "bytes");

/// Peers without a lock on rows.
const ATOMIC: [Peer; 2] = [Peer::SccEntry, Peer::PapayaInsert];

/// Everything that was asked for.
pub fn figures(ask: &Ask) -> Vec<Figure> {
    let sizes = ask.sizes;
    let mut figures = Vec::new();
    for group in GROUPS {
        figures.extend(match group {
            "fresh-capacity" => fresh(sizes, true),
            "fresh-growing" => fresh(sizes, false),
            "repeats" => against_dashmap(group, "repeats of known ids", Work::Repeat, sizes),
            "cancel" => against_dashmap(group, "reserve then cancel", Work::Cancel, sizes),
            "floor" => floor(sizes),
            "longest" => longest(sizes),
            "latency" => latency(sizes),
            "memory" => memory(sizes),
            "scale" => scale(sizes),
            "hot-row" => hot_row(sizes),
            "transfer" => transfer(sizes),
            "lines" => lines(sizes),
            "batch" => batch(sizes),
            "threads" => threads(sizes),
            _ => others(ask),
        });
    }
    figures.retain(|figure| ask.only.is_empty() || ask.only.iter().any(|only| only == figure.group));
    figures
}

fn ns(job: Job) -> Reading {
    (job, What::Ns)
}

/// How many times as long the best of `peers` takes as Stockade does for the same.
fn times_faster(peers: &[Peer], job: &Job) -> Formula {
    let of = |peer: &Peer| ns(Job { peer: *peer, ..job.clone() });
    Formula::Quotient(peers.iter().map(of).collect(), vec![ns(job.clone())])
}

/// The same job for Stockade and all maps.
fn for_maps(job: &Job) -> impl Iterator<Item = Job> {
    MAPS.into_iter().map(|peer| Job { peer, ..job.clone() })
}

/// Whose measurement it is; for one of another kind than the rest, which.
fn name(job: &Job) -> String {
    let what = if job.work == Work::Floor { "the floor" } else { job.peer.name() };
    what.into()
}

fn on(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

fn fresh(sizes: Sizes, capacity: bool) -> Vec<Figure> {
    let (group, how) =
        if capacity { ("fresh-capacity", "capacity given") } else { ("fresh-growing", "growing from empty") };
    // Against dashmap, against the best with atomic rows, against the mutex; 1 and 2 threads.
    let goals: [[Goal; 2]; 3] = if capacity {
        [[8.0, 10.0], [4.0, 4.0], [9.0, 16.0]].map(|it| it.map(Goal::AtLeast))
    } else {
        [[Goal::AtLeast(4.0), Goal::AtLeast(5.0)], [Goal::AtLeast(2.5), Goal::AtLeast(2.5)], [Goal::None, Goal::None]]
    };
    let peers: [(&str, &[Peer]); 3] = [
        ("dashmap with entry lock", &[Peer::DashmapEntry]),
        ("the best with atomic rows", &ATOMIC),
        ("a mutex around two maps", &[Peer::MutexMaps]),
    ];
    let mut figures = Vec::new();
    for (number, threads) in [1, 2].into_iter().enumerate() {
        let job = Job { capacity, ..Job::fresh(Peer::Stockade, sizes.four, threads) };
        for ((against, peers), goals) in peers.into_iter().zip(goals) {
            let title = format!("fresh reserves, {how}, {}: against {against}", on(threads));
            let figure = Figure::new(group, title, goals[number], times_faster(peers, &job));
            figures.push(figure.beside(RATE, What::Rate, for_maps(&job)));
        }
    }
    figures
}

fn against_dashmap(group: &'static str, title: &str, work: Work, sizes: Sizes) -> Vec<Figure> {
    let figure = |threads| {
        let job = Job::fresh(Peer::Stockade, sizes.one, threads).work(work);
        let title = format!("{title}, {}: against dashmap with entry lock", on(threads));
        Figure::new(group, title, Goal::AtLeast(4.0), times_faster(&[Peer::DashmapEntry], &job)).beside(
            RATE,
            What::Rate,
            for_maps(&job),
        )
    };
    [1, 2].map(figure).into()
}

fn floor(sizes: Sizes) -> Vec<Figure> {
    let figure = |threads| {
        let job = Job::fresh(Peer::Stockade, sizes.four, threads);
        let floor = job.clone().work(Work::Floor);
        let title = format!("share of the floor (SipHash-1-3, one cache line, one record), {}", on(threads));
        let formula = Formula::Quotient(vec![ns(floor.clone())], vec![ns(job.clone())]);
        Figure::new("floor", title, Goal::AtLeast(0.6), formula).beside(NS, What::Ns, [job, floor])
    };
    [1, 2].map(figure).into()
}

fn longest(sizes: Sizes) -> Vec<Figure> {
    let job = Job::fresh(Peer::Stockade, sizes.ten, 1).growing().work(Work::Latency);
    let peers = MAPS[1..].iter().map(|&peer| Job { peer, orders: sizes.four, ..job.clone() });
    let all = std::iter::once(job.clone()).chain(peers);
    let longest = What::Percentile(100.0);
    let title = "longest single call while 10 M orders arrive, 1 thread (peers: 4 M), smallest of 3 runs";
    let figure = Figure::new("longest", title, Goal::AtMost(1.0), Formula::One((job.clone(), longest)));
    vec![Figure { pick: Pick::Smallest, ..figure.unit(MS).beside(MS, longest, all) }]
}

fn latency(sizes: Sizes) -> Vec<Figure> {
    let job = Job::fresh(Peer::Stockade, sizes.four, 2).growing().work(Work::Latency);
    let mut figures = Vec::new();
    for (percentile, name) in [(50.0, "p50"), (99.0, "p99"), (99.9, "p99.9"), (99.99, "p99.99"), (100.0, "longest")] {
        let what = What::Percentile(percentile);
        let peers = for_maps(&job).skip(1).map(|peer| (peer, what)).collect();
        let formula = Formula::Quotient(vec![(job.clone(), what)], peers);
        let goal = if percentile == 99.9 { Goal::AtMost(1.0) } else { Goal::None };
        let title = format!("{name} of a reserve while growing, 2 threads: against the best peer's");
        figures.push(Figure::new("latency", title, goal, formula).beside(US, what, for_maps(&job)));
    }
    figures
}

fn memory(sizes: Sizes) -> Vec<Figure> {
    let figure = |(orders, millions)| {
        let job = Job::fresh(Peer::Stockade, orders, 1).growing();
        let title = format!("resident bytes for each live one-line order, {millions} M orders");
        let formula = Formula::One((job.clone(), What::Bytes));
        let figure = Figure::new("memory", title, Goal::AtMost(96.0), formula).unit(BYTES);
        if orders == sizes.four { figure.beside(BYTES, What::Bytes, for_maps(&job)) } else { figure }
    };
    [(sizes.one, 1), (sizes.four, 4), (sizes.sixteen, 16)].map(figure).into()
}

fn scale(sizes: Sizes) -> Vec<Figure> {
    let figure = |how: &str, one: Reading, sixteen: Reading| {
        let formula = Formula::Quotient(vec![sixteen.clone()], vec![one.clone()]);
        let title = format!("cost of one reserve at 16 M orders against at 1 M, {how}, 1 thread");
        let mut figure = Figure::new("scale", title, Goal::AtMost(1.3), formula);
        figure.beside_unit = NS;
        figure.beside = vec![("at 1 M".into(), Formula::One(one)), ("at 16 M".into(), Formula::One(sixteen))];
        figure
    };
    let given = |orders| ns(Job::fresh(Peer::Stockade, orders, 1));
    let growing = Job::fresh(Peer::Stockade, sizes.sixteen, 1).growing();
    vec![
        figure("growing", (growing.clone(), What::NsEarly), (growing, What::NsLate)),
        figure("capacity given", given(sizes.one), given(sizes.sixteen)),
    ]
}

fn hot_row(sizes: Sizes) -> Vec<Figure> {
    let job = |peer| Job::fresh(peer, sizes.one, 2);
    let quotient = |peer| Formula::Quotient(vec![ns(job(peer))], vec![ns(job(peer).rows(1))]);
    let title = "one hot row against 10,000 rows, 2 threads";
    let mut figure = Figure::new("hot-row", title, Goal::AtLeast(0.9), quotient(Peer::Stockade)).unit(TIMES);
    figure.beside = MAPS[1..].iter().map(|&peer| (peer.name().into(), quotient(peer))).collect();
    vec![figure]
}

fn transfer(sizes: Sizes) -> Vec<Figure> {
    let job =
        |bits, words, threads| Job::fresh(Peer::Stockade, sizes.one, threads).work(Work::Transfer { bits, words });
    let one = |name: &str, job, what| (name.into(), Formula::One((job, what)));
    let moves = |(bits, name)| {
        let title =
            format!("{name}: a change of a word by 2 threads in turns, which moves its line, smallest of 3 runs");
        let figure = Figure::new("transfer", title, Goal::None, Formula::One(ns(job(bits, Words::Turns, 2))));
        let beside = vec![
            one("1 thread", job(bits, Words::Own, 1), What::Ns),
            one("2 threads, a word each", job(bits, Words::Own, 2), What::Ns),
            one("2 threads, one word, as it comes", job(bits, Words::Same, 2), What::Ns),
        ];
        // Whatever disturbs makes it longer.
        Figure { beside, pick: Pick::Smallest, ..figure.unit(NS) }
    };
    let mut figures: Vec<Figure> = [(Bits::Narrow, "64 bits"), (Bits::Wide, "128 bits")].map(moves).into();
    let (step, hot) = (job(Bits::Wide, Words::Turns, 2), Job::fresh(Peer::Stockade, sizes.one, 2).rows(1));
    let title = "one hot row, 2 threads: share of what one move of its line for each order would allow";
    let formula = Formula::Quotient(vec![ns(step.clone())], vec![ns(hot.clone())]);
    let beside = vec![
        one("one move an order", step, What::Rate),
        one("stockade, 2 threads", hot.clone(), What::Rate),
        one("stockade, 1 thread", Job { threads: 1, ..hot }, What::Rate),
    ];
    figures.push(Figure { beside, ..Figure::new("transfer", title, Goal::None, formula) });
    figures
}

fn lines(sizes: Sizes) -> Vec<Figure> {
    let figure = |threads| {
        let job = |peer| Job::fresh(peer, sizes.long, threads);
        let per_line = |job| (job, What::NsPerLine);
        let quotient = |peer| Formula::Quotient(vec![per_line(job(peer).lines(20))], vec![ns(job(peer))]);
        let title = format!("orders of 20 lines: time for each line against a one-line order, {}", on(threads));
        let figure = Figure::new("lines", title, Goal::AtMost(0.5), quotient(Peer::Stockade));
        figure.beside(NS, What::NsPerLine, for_maps(&job(Peer::Stockade).lines(20)))
    };
    [1, 2].map(figure).into()
}

fn batch(sizes: Sizes) -> Vec<Figure> {
    let figure = |threads| {
        let job = Job::fresh(Peer::Stockade, sizes.one, threads);
        let batch = job.clone().work(Work::Batch);
        let title = format!("batch of 64 reserves through one call against 64 calls, {}", on(threads));
        let formula = Formula::Quotient(vec![ns(job)], vec![ns(batch)]);
        Figure::new("batch", title, Goal::AtLeast(1.3), formula)
    };
    [1, 2].map(figure).into()
}

/// The numbers of threads between which the throughput is drawn.
pub const THREADS: [usize; 4] = [1, 2, 4, 8];

fn threads(sizes: Sizes) -> Vec<Figure> {
    let figure = |threads| {
        let job = Job::fresh(Peer::Stockade, sizes.one, threads);
        let rates = |figure: Figure| figure.beside(RATE, What::Rate, for_maps(&job));
        if threads == 2 {
            let formula = Formula::One((job.clone(), What::Rate));
            let title = "fresh reserves with 2 threads, against which the next three are held";
            return rates(Figure::new("threads", title, Goal::None, formula).unit(RATE));
        }
        let formula = Formula::Quotient(vec![ns(Job { threads: 2, ..job.clone() })], vec![ns(job.clone())]);
        let goal = if threads == 8 { Goal::AtLeast(0.9) } else { Goal::None };
        let title = format!("{} on {} cores against 2 threads", on(threads), sizes.cores);
        rates(Figure::new("threads", title, goal, formula))
    };
    [2, 1, 4, 8].map(figure).into()
}

/// Peers that are no match: how many times longer they take than Stockade.
fn others(ask: &Ask) -> Vec<Figure> {
    let slow = ask.sizes.slow;
    let mut peers = vec![(Peer::Actor, slow * 10), (Peer::SqliteMemory, slow * 4), (Peer::SqliteWal, slow)];
    peers.extend(ask.redis.then_some((Peer::Redis, slow)));
    peers.extend(ask.postgres.then_some((Peer::Postgres, slow / 4)));
    let figure = |(peer, orders), threads| {
        let job = Job::fresh(peer, orders, threads);
        let stockade = Job { peer: Peer::Stockade, ..job.clone() };
        let title = format!("fresh reserves, {}: against {}", on(threads), peer.name());
        Figure::new("others", title, Goal::None, times_faster(&[peer], &stockade)).beside(
            RATE,
            What::Rate,
            [stockade, job],
        )
    };
    peers.into_iter().flat_map(|peer| [1, 2].map(|threads| figure(peer, threads))).collect()
}
