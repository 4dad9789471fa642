//! What readers see while other threads work: books that add up, no stock gone without its order, no order without its
//! stock, no refusal that mixes two instants. Real threads, about five seconds in all.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code, reason = "every test file uses its own part")]
#[path = "cases/support.rs"]
mod support;

use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use stockade::{Order, ReserveError, Reserved, State, Stock, Stockade};
use support::{settled, shop, together, watched};

/// How long each test keeps its threads busy.
const BUSY: Duration = Duration::from_millis(400);

/// Rows whose received units never change, one that is restocked and written off, one that is left alone.
const ROWS: [(&str, u64); 5] = [("A", 3), ("B", 8), ("C", 40), ("moving", 5), ("quiet", 9)];

#[test]
fn a_watcher_beside_eight_threads_of_random_verbs() {
    watched_verbs(8, BUSY * 2);
}

/// Far more threads than cores, so that most of them are stopped somewhere inside a verb at any time. A new shop every
/// half second keeps the audits short, and makes all threads end a round and add up.
///
/// `STOCKADE_PRESSURE_S=60 cargo test --test consistency` keeps it up for a minute.
#[test]
fn a_watcher_beside_more_threads_than_cores() {
    let seconds = std::env::var("STOCKADE_PRESSURE_S").map_or(3, |it| it.parse().expect("STOCKADE_PRESSURE_S"));
    let until = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < until {
        watched_verbs(64, Duration::from_millis(500));
    }
}

/// So many threads take random verbs for so long, while a watcher looks all the time, and each of them now and then:
/// among many threads the watcher has its turn only seldom.
fn watched_verbs(threads: usize, busy: Duration) {
    let engine = shop(&ROWS);
    let _ = engine.reserve("stays", &[("quiet", 4)]).unwrap();
    let put_in = AtomicU64::new(ROWS[3].1); // raised before the units arrive, never lowered
    let until = Instant::now() + busy;
    let turn = AtomicUsize::new(0);
    let mut watcher = Watcher::new(&engine, &put_in);
    let counts = watched(
        || watcher.look(),
        || {
            together(threads, |thread| {
                let mut watcher = Watcher::new(&engine, &put_in);
                let (mut dice, mut yes) = (thread as u64 + 1, 0);
                while Instant::now() < until {
                    // Six ids that everybody uses at the same time; from time to time six new ones.
                    let turn = turn.fetch_add(1, Ordering::Relaxed);
                    let id = format!("{}/{}", turn / 200, roll(&mut dice, 6));
                    yes += usize::from(any_verb(&engine, &put_in, &id, &mut dice));
                    if turn.is_multiple_of(1000) {
                        watcher.look();
                    }
                }
                (yes, watcher.audits, watcher.in_motion)
            })
        },
    );
    settled(&engine);
    add_up(&engine);
    let sum = |part: fn(&(usize, usize, usize)) -> usize| counts.iter().map(part).sum::<usize>();
    let (yes, audits, in_motion) = (sum(|it| it.0), sum(|it| it.1), sum(|it| it.2));
    let accepted = engine.orders().filter(|order| order.version > 0 && !order.lines.is_empty());
    assert!(yes > 0 && accepted.count() > 0);
    assert!(audits > 0);
    println!("{yes} yes; {audits} audits in between, {in_motion} times a row was in motion");
}

/// Looks at everything there is. It remembers the versions of the rows: they never go back.
struct Watcher<'a> {
    engine: &'a Stockade,
    put_in: &'a AtomicU64,
    versions: [u64; ROWS.len()],
    audits: usize,
    in_motion: usize,
}

impl<'a> Watcher<'a> {
    fn new(engine: &'a Stockade, put_in: &'a AtomicU64) -> Self {
        Watcher { engine, put_in, versions: [0; ROWS.len()], audits: 0, in_motion: 0 }
    }

    fn look(&mut self) {
        let audit = self.engine.audit();
        assert!(audit.is_sound(), "{audit:?}");
        assert_eq!(audit.rows, ROWS.len());
        assert!(!audit.in_motion.contains(&"quiet".into()), "{audit:?}");
        self.audits += 1;
        self.in_motion += audit.in_motion.len();
        for ((sku, received), version) in ROWS.into_iter().zip(&mut self.versions) {
            let stock = self.engine.stock(sku).unwrap();
            let most = if sku == "moving" { self.put_in.load(Ordering::SeqCst) } else { received };
            assert!(stock.available <= most, "{sku}: {stock:?}, put in {most}");
            assert!(stock.version >= *version, "{sku}: version went back to {stock:?}");
            *version = stock.version;
        }
        for order in self.engine.orders() {
            let units: u32 = order.lines.iter().map(|line| line.ordered).sum();
            assert!(order.version <= 3 && units <= 8, "{order:?}");
        }
    }
}

/// One verb; whether it was a reserve that took stock.
fn any_verb(engine: &Stockade, put_in: &AtomicU64, id: &str, dice: &mut u64) -> bool {
    let lines: [&[(&str, u32)]; 6] = [
        &[("A", 1)],
        &[("moving", 1)],
        &[("A", 1), ("B", 2)],
        &[("C", 1), ("B", 1), ("A", 1)],
        &[("moving", 2), ("C", 3)],
        &[("C", 4), ("C", 4)],
    ];
    // Nearly always the lines that belong to the id.
    let own = id.bytes().last().unwrap() as usize;
    let lines = lines[if roll(dice, 20) == 0 { roll(dice, 6) } else { own } % 6];
    match roll(dice, 20) {
        0 | 1 => _ = engine.create(id, lines),
        2..=6 => return engine.reserve(id, lines).is_ok_and(Reserved::is_new),
        7 => {
            if let Ok(hold) = engine.hold(id, lines) {
                return hold.reserved().is_new() && hold.keep().is_ok();
            }
        }
        8 => drop(engine.hold(id, lines)),
        9..=11 => _ = engine.cancel(id),
        12 => _ = engine.void(id),
        13 | 14 => _ = engine.pay(id),
        15 => _ = engine.transition(id, State::Paid, State::Cancelled),
        // Few orders are shipped, or the rows would soon be empty for good.
        16 if roll(dice, 500) == 0 => _ = engine.fulfil(id),
        16 => _ = engine.transition(id, State::Created, State::InventoryReserved),
        17 => {
            put_in.fetch_add(2, Ordering::SeqCst);
            engine.restock("moving", 2).unwrap();
        }
        18 => _ = engine.write_off("moving", 2),
        _ => {
            let seen = engine.stock("moving").unwrap();
            _ = engine.set_available("moving", seen.version, seen.available / 2);
        }
    }
    false
}

/// The rows against the orders, without the engine's own audit.
fn add_up(engine: &Stockade) {
    let mut out: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for order in engine.orders() {
        for line in order.lines {
            let (held, shipped) = out.entry(engine.sku_name(line.sku).unwrap().to_string()).or_default();
            *held += u64::from(if order.state.holds() { line.open } else { 0 });
            *shipped += u64::from(line.fulfilled);
        }
    }
    for (sku, received) in ROWS {
        let row = engine.balance(sku).unwrap();
        let (held, shipped) = out.get(sku).copied().unwrap_or_default();
        assert_eq!((row.held, row.shipped), (held, shipped), "{sku}");
        assert_eq!(row.available + held + shipped, row.received, "{sku}");
        if sku != "moving" {
            assert_eq!(row.received, received, "{sku}");
        }
    }
}

fn roll(dice: &mut u64, sides: usize) -> usize {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    (*dice % sides as u64) as usize
}

const CROSSING: usize = 4;
const LINES: usize = 20;

/// A shop of twenty equal rows, and the order for one unit of each, forwards and backwards.
fn crossing(units: u64) -> (Stockade, [Vec<(String, u32)>; 2]) {
    let names: Vec<_> = (0..LINES).map(|n| format!("R{n}")).collect();
    let engine = shop(&names.iter().map(|name| (name.as_str(), units)).collect::<Vec<_>>());
    let forwards: Vec<_> = names.into_iter().map(|name| (name, 1)).collect();
    let backwards = forwards.iter().rev().cloned().collect();
    (engine, [forwards, backwards])
}

#[test]
fn many_line_orders_that_cross_and_never_get_a_false_no() {
    // A unit of each row for each thread, and each thread has one order at a time: never short.
    let (engine, orders) = crossing(CROSSING as u64);
    let until = Instant::now() + BUSY;
    let done = together(CROSSING, |thread| {
        let mut done = 0;
        while Instant::now() < until {
            let id = format!("{thread}/{done}");
            let answer = engine.reserve(&id, &orders[thread % 2]);
            assert!(matches!(answer, Ok(Reserved::New(_))), "{answer:?}");
            assert_eq!(engine.cancel(&id).unwrap().units(), LINES as u64);
            done += 1;
        }
        done
    });
    let changes = 2 * done.iter().sum::<u64>();
    for (name, stock) in engine.rows() {
        assert_eq!(stock, Stock { available: CROSSING as u64, version: changes }, "{name}");
    }
    settled(&engine);
}

#[test]
fn many_line_orders_that_cross_over_the_last_unit_of_every_row() {
    // Everybody wants all twenty rows, so they are all there or all gone: a refusal that names fewer than twenty
    // mixes two instants.
    let (engine, orders) = crossing(1);
    let until = Instant::now() + BUSY;
    let done = together(CROSSING, |thread| {
        let (mut yes, mut no) = (0_u64, 0_u64);
        while Instant::now() < until {
            let id = format!("{thread}/{yes}");
            match engine.reserve(&id, &orders[thread % 2]) {
                Ok(Reserved::New(_)) => {
                    assert_eq!(engine.stock(&orders[0][LINES / 2].0).unwrap().available, 0);
                    assert_eq!(engine.cancel(&id).unwrap().units(), LINES as u64);
                    yes += 1;
                }
                Err(ReserveError::Insufficient { short }) => {
                    let whole = short.0.iter().all(|line| (line.wanted, line.available) == (1, 0));
                    assert!(whole && short.0.len() == LINES, "{short}");
                    no += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        (yes, no)
    });
    let yes: u64 = done.iter().map(|(yes, _)| yes).sum();
    for (name, stock) in engine.rows() {
        assert_eq!(stock, Stock { available: 1, version: 2 * yes }, "{name}");
    }
    settled(&engine);
    println!("(yes, no) by thread: {done:?}");
}

#[test]
fn stock_and_order_agree_in_one_row() {
    reader_beside_one_order_at_a_time(&["A"]);
}

#[test]
fn stock_and_order_agree_in_every_row_of_a_long_order() {
    reader_beside_one_order_at_a_time(&["A", "B", "C", "D", "E", "F", "G", "H"]);
}

const INITIAL: u64 = 10;
const QUANTITY: u32 = 3;

/// One writer: reserve, pay, cancel, then the next order. One reader: what an order says before and after must fit
/// the stock read in between, whenever nothing else can have happened in between.
fn reader_beside_one_order_at_a_time(skus: &[&str]) {
    let engine = shop(&skus.iter().map(|sku| (*sku, INITIAL)).collect::<Vec<_>>());
    let lines: Vec<_> = skus.iter().map(|sku| (*sku, QUANTITY)).collect();
    let current = AtomicU64::new(0);
    let order = |n: u64| engine.order(&format!("order {n}"));
    let stock = || skus.iter().map(|sku| engine.stock(*sku).unwrap().available);
    let held = INITIAL - u64::from(QUANTITY);
    let (while_held, while_free) = (AtomicU64::new(0), AtomicU64::new(0));

    let look = || {
        let n = current.load(Ordering::Acquire);
        let before = order(n);
        let seen: Vec<_> = stock().collect();
        let after = order(n);
        let is_held = |order: &Option<Order>| order.as_ref().is_some_and(|o| o.state.holds());
        if is_held(&before) && is_held(&after) {
            // The order may have been paid in between; it held its units all the time.
            assert!(seen.iter().all(|units| *units == held), "{before:?} {seen:?} {after:?}");
            while_held.fetch_add(1, Ordering::Relaxed);
        } else if after.is_none() || (before.is_some() && !is_held(&before) && order(n + 1).is_none()) {
            // It has not come yet, or it is cancelled and the next one has not come yet.
            assert!(seen.iter().all(|units| *units == INITIAL), "{before:?} {seen:?} {after:?}");
            while_free.fetch_add(1, Ordering::Relaxed);
        }
        // Stock first, then the order: whatever is missing must have an order that came.
        let n = current.load(Ordering::Acquire);
        let missing = stock().any(|units| units < INITIAL);
        let came = order(n).is_some();
        assert!(!missing || came || current.load(Ordering::Acquire) > n, "stock without order {n}");
    };
    watched(look, || {
        let start = Instant::now();
        let saw = |times: &AtomicU64| times.load(Ordering::Relaxed) > 0;
        for n in 0.. {
            current.store(n, Ordering::Release);
            let id = format!("order {n}");
            assert!(engine.reserve(&id, &lines).unwrap().is_new());
            (0..n * 7 % 500).for_each(|_| spin_loop());
            if n % 2 == 0 {
                let _ = engine.pay(&id).unwrap();
            }
            assert_eq!(engine.cancel(&id).unwrap().units(), u64::from(QUANTITY) * lines.len() as u64);
            (0..n * 3 % 500).for_each(|_| spin_loop());
            // A reader that is seldom given a core has to have looked, too.
            let has_looked = saw(&while_held) && saw(&while_free) || start.elapsed() > BUSY * 100;
            if start.elapsed() > BUSY && has_looked {
                break;
            }
        }
    });
    settled(&engine);
    let (while_held, while_free) = (while_held.into_inner(), while_free.into_inner());
    println!("read while held {while_held}, while free {while_free} times");
    assert!(while_held > 0 && while_free > 0, "held {while_held}, free {while_free}");
}
