//! Sends a sale through the engine from many threads and logs what every caller was told.
//!
//! Threads take arrivals from one shared counter, so that the order of arrival is roughly kept. The thread
//! that takes an order which is to be sent twice first puts it into the inbox of the next thread, which sends
//! it as the next thing it does. An inbox holds one order, so no thread runs ahead of a repeat it asked for: the
//! two are in the engine at about the same time, and always from two threads (with one thread, one after the
//! other).

use std::collections::HashMap;
use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use stockade::{CancelError, Cancelled, PaidLate, PayAgainError, ReserveError, Reserved, Sku, State};

use super::changes::{Changed, Changes};
use super::pace::Pace;
use super::sale::{Arrival, Line, Sale};
use super::stock::Shop;
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
    /// Paid, before the deadline.
    PaidInTime,
    /// Paid after the deadline, and the units were taken again.
    PaidAgain,
    /// The payment came after the deadline, and the units are gone.
    PaidLost,
    /// There was nothing to pay for: refused or cancelled.
    NotPaid,
    /// The hold has ended without a payment.
    Expired,
    /// The answer to a change in part.
    Changed(Changed),
    /// The goods are back in stock.
    Returned,
}

/// One answer.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The arrival this thread had taken last.
    pub position: usize,
    /// Which order, which return, or which change.
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
pub fn drive(shop: &Shop, sale: &Sale, threads: usize) -> Result<Run, Failure> {
    let driver = Driver::new(shop, sale);
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
    let mut run = outcome?;
    run.log.extend(driver.expired()?);
    Ok(run)
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
    shop: &'a Shop,
    sale: &'a Sale,
    /// The lines of each order in the engine's terms, made before the clock starts.
    lines: Vec<Vec<(Sku, u32)>>,
    /// The next arrival to take.
    next: AtomicUsize,
    pace: Pace<'a>,
    changes: Changes<'a>,
    bar: ProgressBar,
}

impl<'a> Driver<'a> {
    fn new(shop: &'a Shop, sale: &'a Sale) -> Self {
        let in_engine = |lines: &Vec<Line>| lines.iter().map(|&(sku, units)| (shop.rows[sku], units)).collect();
        Driver {
            shop,
            sale,
            lines: sale.orders.iter().map(|order| in_engine(&order.lines)).collect(),
            next: AtomicUsize::new(0),
            pace: Pace::new(sale.timetable.as_ref(), &shop.clock),
            changes: Changes::new(shop, sale),
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
            let _turn = self.pace.begin(position);
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
            Arrival::Pay(number) => Ok((number, self.pay(number)?)),
            Arrival::Change(number) => Ok((number, Told::Changed(self.changes.send(number)?))),
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
        let lines = &self.lines[number];
        let answer = match &self.sale.timetable {
            Some(timetable) => self.shop.engine.reserve_for(id, lines, timetable.hold_ms),
            None => self.shop.engine.reserve(id, lines),
        };
        match answer {
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
        match self.shop.engine.cancel(id) {
            Ok(Cancelled::Released { .. }) => Ok(Told::Released),
            Ok(Cancelled::Already | Cancelled::Unknown) => Ok(Told::NotCancelled),
            // Nothing is left to cancel: all of it has been shipped.
            Err(CancelError::InvalidState { actual: State::Fulfilled }) => Ok(Told::NotCancelled),
            Err(error) => Err(Failure::Unsound(format!("order {id:?}: {error}"))),
        }
    }

    fn pay(&self, number: usize) -> Result<Told, Failure> {
        let id = &self.sale.orders[number].id;
        match self.shop.engine.pay_or_reserve_again(id) {
            Ok(PaidLate::InTime { .. }) => Ok(Told::PaidInTime),
            Ok(PaidLate::Again { .. }) => Ok(Told::PaidAgain),
            Ok(PaidLate::Already { .. }) => Err(Failure::Unsound(format!("order {id:?}: paid for before it was"))),
            Err(PayAgainError::Insufficient { .. }) => Ok(Told::PaidLost),
            Err(PayAgainError::UnknownOrder | PayAgainError::InvalidState { .. }) => Ok(Told::NotPaid),
            Err(error) => Err(Failure::Unsound(format!("order {id:?}: {error}"))),
        }
    }

    /// Whose holds have ended without a payment, as their customers would be told. Asked for only now: until then
    /// nobody has looked after dead holds but those who needed their units.
    fn expired(&self) -> Result<Vec<Entry>, Failure> {
        if self.sale.timetable.is_none() {
            return Ok(Vec::new());
        }
        let numbers: HashMap<&str, usize> =
            self.sale.orders.iter().enumerate().map(|(number, order)| (order.id.as_str(), number)).collect();
        let expired = self.shop.engine.expire_due(usize::MAX).into_iter().map(|id| {
            let number = numbers.get(id.as_str()).copied();
            let number = number.ok_or_else(|| Failure::Unsound(format!("order {id:?} expired, and nobody sent it")))?;
            Ok(Entry { position: self.sale.arrivals.len(), number, told: Told::Expired })
        });
        expired.collect()
    }

    fn restock(&self, number: usize) -> Result<Told, Failure> {
        for &(sku, units) in &self.sale.returns[number] {
            let restocked = self.shop.engine.restock(self.shop.rows[sku], units.into());
            restocked.map_err(|error| Failure::Unsound(format!("SKU {:?}: {error}", self.sale.skus.names()[sku])))?;
        }
        Ok(Told::Returned)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::replay::sale::{Order, Timetable};

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
        drive(&Shop::open(&sale.skus, &[stock]).unwrap(), sale, threads).unwrap().log
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
        let shop = Shop::open(&sale.skus, &[5]).unwrap();
        assert!(matches!(drive(&shop, &sale, 2), Err(Failure::Unsound(_))));
    }

    /// The first never pays, the second is late, and the third has the unit of the first by then.
    #[test]
    fn holds_end_by_the_timetable() {
        use Arrival::{Order, Pay};
        let arrivals = [Order(0), Pay(0), Order(1), Order(2), Order(3), Pay(2), Order(3), Pay(1), Pay(3), Order(4)];
        for in_step in [false, true] {
            let times = vec![0, 1, 2, 11, 11, 20, 21, 22, 23, 31];
            let mut sale = sale(&[1, 1, 1, 1, 1], &arrivals);
            sale.timetable = Some(Timetable { hold_ms: 10, times, in_step });
            let wanted = [
                (0, Told::New),
                (0, Told::PaidInTime),
                (1, Told::New),
                (2, Told::Refused),
                (3, Told::Refused),
                (2, Told::NotPaid),
                (3, Told::New),
                (1, Told::PaidLost),
                (3, Told::PaidInTime),
                (4, Told::Refused),
                (1, Told::Expired),
            ];
            assert_eq!(told(&log(&sale, 2, 1)), wanted);
        }
    }

    #[test]
    fn a_failure_in_step_keeps_nobody_waiting() {
        let mut sale = sale(&[1, 0, 1], &[Arrival::Order(0), Arrival::Order(1), Arrival::Order(2)]);
        sale.timetable = Some(Timetable { hold_ms: 10, times: vec![0, 1, 2], in_step: true });
        let shop = Shop::open(&sale.skus, &[5]).unwrap();
        assert!(matches!(drive(&shop, &sale, 3), Err(Failure::Unsound(_))));
    }
}
