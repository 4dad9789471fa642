//! Sends a sale through the engine from many threads and logs what every caller was told.
//!
//! Threads take arrivals from one shared counter, so that the order of arrival is roughly kept. The thread
//! that takes an order which is to be sent twice first puts it into the inbox of the next thread, which sends
//! it as the next thing it does. An inbox holds one order, so no thread runs ahead of a repeat it asked for: the
//! two are in the engine at about the same time, and always from two threads (with one thread, one after the
//! other).

use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use stockade::{Cancelled, ReserveError, Reserved, Sku, Stockade};

use super::sale::{Arrival, Line, Sale};
use crate::failure::Failure;
use crate::gate::Gate;

/// What a caller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Yes, and this call took the stock.
    New,
    /// Yes, as before.
    Replayed,
    /// No, the stock is short.
    Refused,
    /// No, the order was cancelled.
    Closed,
    /// Cancelled, and this call gave the stock back.
    Released,
    /// There was nothing to cancel.
    NotCancelled,
    /// The goods are back in stock.
    Returned,
}

/// One answer.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The arrival this thread had taken last.
    position: usize,
    /// Which order, or which return.
    pub number: usize,
    /// The answer.
    pub told: Told,
}

/// What came of a sale.
pub struct Run {
    /// All answers, sorted by the position at which the arrival was taken.
    pub log: Vec<Entry>,
    /// From letting the threads go to the last answer.
    pub elapsed: Duration,
}

/// Sends everything. The clock runs while orders are processed, and at no other time.
pub fn drive(engine: &Stockade, rows: &[Sku], sale: &Sale, threads: usize) -> Result<Run, Failure> {
    let driver = Driver::new(engine, rows, sale);
    let gate = Gate::default();
    let outcome = thread::scope(|scope| {
        let workers: io::Result<Vec<_>> = ring(threads).map(|ends| driver.start(scope, &gate, ends)).collect();
        let workers = workers.map_err(|error| {
            driver.stop();
            gate.open();
            Failure::NoThread(error)
        })?;
        let started = gate.open_for(threads);
        collect(workers, started)
    });
    driver.bar.finish_and_clear();
    outcome
}

/// Waits for all workers and merges their logs. A panic of the engine goes on here.
fn collect(workers: Vec<Worker<'_>>, started: Instant) -> Result<Run, Failure> {
    let mut run = Run { log: Vec::new(), elapsed: Duration::ZERO };
    for worker in workers {
        let (log, ended) = worker.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        run.log.extend(log);
        run.elapsed = run.elapsed.max(ended - started);
    }
    run.log.sort_by_key(|entry| entry.position);
    Ok(run)
}

type Worker<'scope> = ScopedJoinHandle<'scope, Result<(Vec<Entry>, Instant), Failure>>;

/// The ends that one thread has: its own inbox, and the way to the next thread's.
type Ends = (Receiver<usize>, SyncSender<usize>);

/// Inboxes for threads in a ring.
fn ring(threads: usize) -> impl Iterator<Item = Ends> {
    let (mut outboxes, inboxes): (Vec<_>, Vec<_>) = (0..threads).map(|_| mpsc::sync_channel(1)).unzip();
    outboxes.rotate_left(1);
    inboxes.into_iter().zip(outboxes)
}

/// Hidden unless stderr is a terminal.
fn progress_bar(arrivals: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {human_pos} of {human_len}, {eta} to go");
    let bar = ProgressBar::new(arrivals as u64);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// What all threads share.
struct Driver<'a> {
    engine: &'a Stockade,
    rows: &'a [Sku],
    sale: &'a Sale,
    /// The lines of each order in the engine's terms, made before the clock starts.
    lines: Vec<Vec<(Sku, u32)>>,
    /// The next arrival to take.
    next: AtomicUsize,
    bar: ProgressBar,
}

impl<'a> Driver<'a> {
    fn new(engine: &'a Stockade, rows: &'a [Sku], sale: &'a Sale) -> Self {
        let in_engine = |lines: &Vec<Line>| lines.iter().map(|&(sku, units)| (rows[sku], units)).collect();
        Driver {
            engine,
            rows,
            sale,
            lines: sale.orders.iter().map(|order| in_engine(&order.lines)).collect(),
            next: AtomicUsize::new(0),
            bar: progress_bar(sale.arrivals.len()),
        }
    }

    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        gate: &'scope Gate,
        ends: Ends,
    ) -> io::Result<Worker<'scope>> {
        thread::Builder::new().spawn_scoped(scope, move || {
            gate.wait();
            let log = self.work(ends).inspect_err(|_| self.stop())?;
            Ok((log, Instant::now()))
        })
    }

    /// Leaves nothing to take.
    fn stop(&self) {
        self.next.store(self.sale.arrivals.len(), Ordering::Relaxed);
    }

    /// Takes arrivals until there are no more, and sends again what the previous thread asks for.
    fn work(&self, (inbox, next): Ends) -> Result<Vec<Entry>, Failure> {
        let mut log = Vec::new();
        let mut position = 0;
        while let Some(arrival) = self.take(&mut position) {
            if let Arrival::OrderTwice(number) = arrival {
                // A full inbox is emptied by a thread that may itself be waiting, perhaps for this one.
                while let Err(TrySendError::Full(_)) = next.try_send(number) {
                    self.repeat(inbox.try_iter(), position, &mut log)?;
                    thread::yield_now();
                }
            }
            let (number, told) = self.send(arrival)?;
            log.push(Entry { position, number, told });
            self.repeat(inbox.try_iter(), position, &mut log)?;
        }
        drop(next);
        self.repeat(inbox, position, &mut log)?;
        Ok(log)
    }

    fn repeat(
        &self,
        numbers: impl IntoIterator<Item = usize>,
        position: usize,
        log: &mut Vec<Entry>,
    ) -> Result<(), Failure> {
        for number in numbers {
            log.push(Entry { position, number, told: self.reserve(number)? });
        }
        Ok(())
    }

    fn send(&self, arrival: Arrival) -> Result<(usize, Told), Failure> {
        match arrival {
            Arrival::Order(number) | Arrival::OrderTwice(number) => Ok((number, self.reserve(number)?)),
            Arrival::Cancel(number) => Ok((number, self.cancel(number)?)),
            Arrival::Return(number) => Ok((number, self.restock(number)?)),
        }
    }

    fn take(&self, position: &mut usize) -> Option<Arrival> {
        const SHOW_EVERY: usize = 1 << 12;
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let arrival = self.sale.arrivals.get(next).copied()?;
        *position = next;
        if next.is_multiple_of(SHOW_EVERY) {
            self.bar.set_position(next as u64);
        }
        Some(arrival)
    }

    fn reserve(&self, number: usize) -> Result<Told, Failure> {
        let id = &self.sale.orders[number].id;
        match self.engine.reserve(id, &self.lines[number]) {
            Ok(Reserved::New(_)) => Ok(Told::New),
            Ok(Reserved::Replayed(_)) => Ok(Told::Replayed),
            Err(ReserveError::Insufficient { .. }) => Ok(Told::Refused),
            Err(ReserveError::Closed { .. }) => Ok(Told::Closed),
            Err(ReserveError::Full) => Err(Failure::EngineFull("orders")),
            Err(error) => Err(Failure::Unsound(format!("order {id:?}: {error}"))),
        }
    }

    fn cancel(&self, number: usize) -> Result<Told, Failure> {
        let id = &self.sale.orders[number].id;
        match self.engine.cancel(id) {
            Ok(Cancelled::Released { .. }) => Ok(Told::Released),
            Ok(Cancelled::Already | Cancelled::Unknown) => Ok(Told::NotCancelled),
            Err(error) => Err(Failure::Unsound(format!("order {id:?}: {error}"))),
        }
    }

    fn restock(&self, number: usize) -> Result<Told, Failure> {
        for &(sku, units) in &self.sale.returns[number] {
            let restocked = self.engine.restock(self.rows[sku], units.into());
            restocked.map_err(|error| Failure::Unsound(format!("SKU {:?}: {error}", self.sale.skus.names()[sku])))?;
        }
        Ok(Told::Returned)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::replay::sale::Order;
    use crate::replay::stock;

    impl Entry {
        pub fn for_tests(number: usize, told: Told) -> Self {
            Entry { position: 0, number, told }
        }
    }

    /// A sale of one SKU: an order for each entry, of so many units.
    fn sale(units: &[u32], arrivals: &[Arrival]) -> Sale {
        let mut sale = Sale { arrivals: arrivals.into(), ..Sale::default() };
        sale.skus.number("A");
        let order = |(n, &units): (usize, &u32)| Order { id: n.to_string(), lines: vec![(0, units)] };
        sale.orders = units.iter().enumerate().map(order).collect();
        sale
    }

    fn log(sale: &Sale, stock: u64, threads: usize) -> Vec<Entry> {
        let (engine, rows) = stock::open(&sale.skus, &[stock]).unwrap();
        drive(&engine, &rows, sale, threads).unwrap().log
    }

    fn told(log: &[Entry]) -> Vec<(usize, Told)> {
        log.iter().map(|entry| (entry.number, entry.told)).collect()
    }

    #[test]
    fn every_answer_is_logged_in_order() {
        use Arrival::{Cancel, Order, OrderTwice, Return};
        let mut sale =
            sale(&[2, 3, 2], &[Order(0), Order(1), Cancel(0), Cancel(0), Order(0), Return(0), OrderTwice(1), Order(2)]);
        sale.returns.push(vec![(0, 1)]);
        let wanted = [
            (0, Told::New),
            (1, Told::Refused),
            (0, Told::Released),
            (0, Told::NotCancelled),
            (0, Told::Closed),
            (0, Told::Returned),
            (1, Told::New),
            (1, Told::Replayed),
            (2, Told::Refused),
        ];
        assert_eq!(told(&log(&sale, 2, 1)), wanted);
    }

    #[test]
    fn a_repeat_is_sent_by_another_thread() {
        let (inboxes, outboxes): (Vec<_>, Vec<_>) = ring(3).unzip();
        for (thread, outbox) in outboxes.iter().enumerate() {
            outbox.send(thread).unwrap();
        }
        let from: Vec<_> = inboxes.iter().map(|inbox| inbox.try_recv().unwrap()).collect();
        assert_eq!(from, [2, 0, 1]);
    }

    #[test]
    fn with_many_threads_nothing_is_lost_and_one_of_two_is_new() {
        let arrivals: Vec<_> = (0..500).map(Arrival::OrderTwice).collect();
        let log = log(&sale(&[1; 500], &arrivals), 500, 8);
        assert!(log.is_sorted_by_key(|entry| entry.position));
        let told = told(&log);
        assert_eq!(told.len(), 1_000);
        for number in 0..500 {
            let count = |wanted| told.iter().filter(|&&entry| entry == (number, wanted)).count();
            assert_eq!((count(Told::New), count(Told::Replayed)), (1, 1));
        }
    }

    #[test]
    fn what_the_engine_cannot_answer_stops_the_run() {
        let sale = sale(&[1, 0, 1], &[Arrival::Order(0), Arrival::Order(1), Arrival::Order(2)]);
        let (engine, rows) = stock::open(&sale.skus, &[5]).unwrap();
        assert!(matches!(drive(&engine, &rows, &sale, 2), Err(Failure::Unsound(_))));
    }
}
