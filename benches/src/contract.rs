//! The small contract that every contender keeps, so that no one is compared with less: a known id gets the first
//! answer again, other lines under a known id are an error, a short order is refused with every short line named and
//! leaves nothing behind, an order of many lines is taken whole or not at all, a cancel gives back once, and an order
//! is paid and then fulfilled.

use std::sync::Barrier;
use std::thread;

use crate::contender::{Advance, Cancel, Contender, Order, Reserve, Short, State};

/// # Panics
///
/// With the contender's name if it does less than the job.
pub fn check<C: Contender>() {
    // Where starting takes seconds, all of the below share what this one has started.
    let _started = open::<C>(&[1]);
    once_for_each_id::<C>();
    refuses_when_short::<C>();
    all_or_nothing::<C>();
    lines_are_summed_and_in_any_order::<C>();
    cancels_once::<C>();
    pays_then_fulfils::<C>();
    bad_input_is_an_answer::<C>();
    for _ in 0..20 {
        never_more_than_there_is::<C>();
        same_id_from_everywhere::<C>();
        last_unit_twice::<C>();
        crossing_orders::<C>();
    }
}

fn open<C: Contender>(units: &[u64]) -> (C, Vec<C::Row>) {
    let names = ["A", "B", "C", "D"].map(String::from);
    match C::open(&names.into_iter().zip(units.iter().copied()).collect::<Vec<_>>(), 0) {
        Ok(opened) => opened,
        Err(error) => panic!("{}: {error:#}", C::NAME),
    }
}

#[track_caller]
fn same<C: Contender, T: PartialEq + std::fmt::Debug>(got: T, want: T, what: &str) {
    assert!(got == want, "{}: {what}: got {got:?}, want {want:?}", C::NAME);
}

#[track_caller]
fn row<C: Contender>(c: &C, row: C::Row, available: u64) {
    same::<C, _>(c.stock(row), available, "row");
}

/// Runs `f` with 0, 1, 2, 3 in four threads that start together.
fn together<T: Send>(f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(4);
    let at_once = |n| {
        barrier.wait();
        f(n)
    };
    thread::scope(|scope| {
        let spawn = |n| scope.spawn(move || at_once(n));
        let join = |it: thread::ScopedJoinHandle<'_, T>| match it.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let threads: Vec<_> = (0..4).map(spawn).collect();
        threads.into_iter().map(join).collect()
    })
}

fn once_for_each_id<C: Contender>() {
    let (c, r) = open::<C>(&[5, 5]);
    row(&c, r[0], 5);
    same::<C, _>(c.reserve("o", &[(r[0], 2)]), Reserve::New, "first reserve");
    same::<C, _>(c.reserve("o", &[(r[0], 2)]), Reserve::Replayed, "the same again");
    row(&c, r[0], 3);
    same::<C, _>(c.reserve("o", &[(r[0], 1)]), Reserve::LinesDiffer, "other units");
    same::<C, _>(c.reserve("o", &[(r[1], 2)]), Reserve::LinesDiffer, "other row");
    same::<C, _>(c.reserve("o", &[(r[0], 2), (r[1], 1)]), Reserve::LinesDiffer, "one more line");
    same::<C, _>(c.reserve("p", &[(r[0], 3)]), Reserve::New, "another order takes the rest");
    same::<C, _>(c.reserve("o", &[(r[0], 2)]), Reserve::Replayed, "a replay needs no stock");
    row(&c, r[0], 0);
    row(&c, r[1], 5);
}

#[track_caller]
fn order<C: Contender>(c: &C, id: &str, state: State, lines: &[(C::Row, u32)]) {
    same::<C, _>(c.order(id), Some(Order { state, lines: lines.to_vec() }), "order");
}

fn refuses_when_short<C: Contender>() {
    let (c, r) = open::<C>(&[2]);
    let short = vec![Short { row: r[0], wanted: 3, available: 2 }];
    same::<C, _>(c.reserve("o", &[(r[0], 3)]), Reserve::Insufficient { short }, "short");
    row(&c, r[0], 2);
    same::<C, _>(c.cancel("o"), Cancel::Unknown, "a refused order is not kept");
    same::<C, _>(c.order("o"), None, "nor shown");
    same::<C, _>(c.reserve("o", &[(r[0], 2)]), Reserve::New, "the id may try again, also with other lines");
    row(&c, r[0], 0);
}

fn all_or_nothing<C: Contender>() {
    let (c, r) = open::<C>(&[9, 1, 9, 0]);
    let order = [(r[0], 2), (r[1], 2), (r[2], 2), (r[3], 2)];
    let Reserve::Insufficient { short } = c.reserve("o", &order) else {
        panic!("{}: an order with short lines was not refused", C::NAME);
    };
    let all = [(r[1], 1), (r[3], 0)].map(|(row, available)| Short { row, wanted: 2, available });
    same::<C, _>(short, all.to_vec(), "every short line");
    let left: Vec<_> = r.iter().map(|&row| c.stock(row)).collect();
    same::<C, _>(left, vec![9, 1, 9, 0], "nothing taken");
    same::<C, _>(c.reserve("o", &[order[0], order[2]]), Reserve::New, "without the short lines");
    let left: Vec<_> = r.iter().map(|&row| c.stock(row)).collect();
    same::<C, _>(left, vec![7, 1, 7, 0], "both taken");
}

fn lines_are_summed_and_in_any_order<C: Contender>() {
    let (c, r) = open::<C>(&[5, 5]);
    same::<C, _>(c.reserve("o", &[(r[1], 1), (r[0], 1), (r[1], 2)]), Reserve::New, "one row twice");
    row(&c, r[0], 4);
    row(&c, r[1], 2);
    same::<C, _>(c.reserve("o", &[(r[0], 1), (r[1], 3)]), Reserve::Replayed, "the same, summed");
    let short = vec![Short { row: r[1], wanted: 4, available: 2 }];
    let twice = c.reserve("p", &[(r[1], 2), (r[1], 2)]);
    same::<C, _>(twice, Reserve::Insufficient { short }, "only the sum is short");
    let much = c.reserve("p", &[(r[0], u32::MAX), (r[1], u32::MAX)]);
    assert!(matches!(much, Reserve::Insufficient { .. }), "{}: sums are by row: {much:?}", C::NAME);
}

fn cancels_once<C: Contender>() {
    let (c, r) = open::<C>(&[5, 5]);
    same::<C, _>(c.cancel("o"), Cancel::Unknown, "cancel before reserve");
    same::<C, _>(c.reserve("o", &[(r[0], 2), (r[1], 1)]), Reserve::New, "reserve");
    order(&c, "o", State::Reserved, &[(r[0], 2), (r[1], 1)]);
    same::<C, _>(c.cancel("o"), Cancel::Released { units: 3 }, "cancel");
    order(&c, "o", State::Cancelled, &[(r[0], 2), (r[1], 1)]);
    same::<C, _>(c.cancel("o"), Cancel::Already, "cancel again");
    row(&c, r[0], 5);
    row(&c, r[1], 5);
    same::<C, _>(c.reserve("o", &[(r[0], 2), (r[1], 1)]), Reserve::Closed, "the id is kept");
    same::<C, _>(c.reserve("o", &[(r[0], 1)]), Reserve::Closed, "whatever the lines");
    row(&c, r[0], 5);
}

fn pays_then_fulfils<C: Contender>() {
    let (c, r) = open::<C>(&[5]);
    same::<C, _>((c.pay("o"), c.fulfil("o")), (Advance::Unknown, Advance::Unknown), "before reserve");
    same::<C, _>(c.reserve("o", &[(r[0], 2)]), Reserve::New, "reserve");
    same::<C, _>(c.fulfil("o"), Advance::Refused, "fulfil before pay");
    same::<C, _>((c.pay("o"), c.pay("o")), (Advance::Done, Advance::Already), "pay, and again");
    order(&c, "o", State::Paid, &[(r[0], 2)]);
    same::<C, _>((c.fulfil("o"), c.fulfil("o")), (Advance::Done, Advance::Already), "fulfil, and again");
    order(&c, "o", State::Fulfilled, &[(r[0], 2)]);
    same::<C, _>(c.pay("o"), Advance::Already, "pay after fulfil");
    same::<C, _>(c.cancel("o"), Cancel::Refused, "the goods have left");
    same::<C, _>(c.reserve("o", &[(r[0], 2)]), Reserve::Replayed, "a late repeat");
    row(&c, r[0], 3);
    same::<C, _>(c.reserve("p", &[(r[0], 3)]), Reserve::New, "another");
    same::<C, _>((c.pay("p"), c.cancel("p")), (Advance::Done, Cancel::Released { units: 3 }), "cancel what is paid");
    same::<C, _>((c.pay("p"), c.fulfil("p")), (Advance::Refused, Advance::Refused), "too late");
    row(&c, r[0], 3);
}

fn bad_input_is_an_answer<C: Contender>() {
    let (c, r) = open::<C>(&[5]);
    let (_other, foreign) = open::<C>(&[5, 5]);
    let long = "x".repeat(256);
    for (id, lines) in [
        ("", &[(r[0], 1)][..]),
        (&long, &[(r[0], 1)]),
        ("o", &[]),
        ("o", &[(r[0], 0)]),
        ("o", &[(r[0], u32::MAX), (r[0], 1)]),
    ] {
        same::<C, _>(c.reserve(id, lines), Reserve::Invalid, "invalid");
    }
    let one_row = vec![(r[0], 1); 5000];
    let short = vec![Short { row: r[0], wanted: 5000, available: 5 }];
    same::<C, _>(c.reserve("o", &one_row), Reserve::Insufficient { short }, "many lines, one row");
    let unknown = c.reserve("o", &[(r[0], 9), (foreign[1], 1)]);
    same::<C, _>(unknown, Reserve::UnknownRow, "a row that is not there, before a short one");
    row(&c, r[0], 5);
    same::<C, _>(c.reserve(&long[1..], &[(r[0], 1)]), Reserve::New, "255 bytes");
}

fn never_more_than_there_is<C: Contender>() {
    let (c, r) = open::<C>(&[50]);
    let ids: Vec<_> = (0..200).map(|n| format!("order-{n}")).collect();
    let answers = together(|n| {
        let mine = ids.iter().skip(n).step_by(4);
        mine.map(|id| c.reserve(id, &[(r[0], 1)])).collect::<Vec<_>>()
    });
    let yes = answers.iter().flatten().filter(|&it| *it == Reserve::New).count();
    let no = |it: &&Reserve<_>| matches!(it, Reserve::Insufficient { .. });
    same::<C, _>(yes, 50, "yeses");
    same::<C, _>(answers.iter().flatten().filter(no).count(), 150, "noes");
    row(&c, r[0], 0);
}

fn same_id_from_everywhere<C: Contender>() {
    let (c, r) = open::<C>(&[100]);
    let ids: Vec<_> = (0..20).map(|n| format!("order-{n}")).collect();
    let answers = together(|_| ids.iter().map(|id| c.reserve(id, &[(r[0], 2)])).collect::<Vec<_>>());
    let new = answers.iter().flatten().filter(|&it| *it == Reserve::New).count();
    let again = answers.iter().flatten().filter(|&it| *it == Reserve::Replayed).count();
    same::<C, _>((new, again), (20, 60), "one is new, all are told yes");
    row(&c, r[0], 60);
    let answers = together(|_| ids.iter().map(|id| c.cancel(id)).collect::<Vec<_>>());
    let released = Cancel::Released { units: 2 };
    let once = answers.iter().flatten().filter(|&it| *it == released).count();
    let again = answers.iter().flatten().filter(|&it| *it == Cancel::Already).count();
    same::<C, _>((once, again), (20, 60), "one gives back, all are told");
    row(&c, r[0], 100);
}

fn last_unit_twice<C: Contender>() {
    let (c, r) = open::<C>(&[1]);
    // Two threads each for two orders: the unit goes to one order, both of whose threads are told yes.
    let answers = together(|n| c.reserve(["o", "p"][n % 2], &[(r[0], 1)]));
    let yes = |it: &Reserve<_>| matches!(it, Reserve::New | Reserve::Replayed);
    let yeses = [0, 1].map(|one| (yes(&answers[one]), yes(&answers[one + 2])));
    assert!(
        matches!(yeses, [(true, true), (false, false)] | [(false, false), (true, true)]),
        "{}: {answers:?}",
        C::NAME
    );
    same::<C, _>(answers.iter().filter(|&it| *it == Reserve::New).count(), 1, "one is new");
    row(&c, r[0], 0);
}

fn crossing_orders<C: Contender>() {
    let (c, r) = open::<C>(&[1000, 1000, 1000]);
    let ids: Vec<Vec<_>> = (0..4).map(|n| (0..50).map(|i| format!("order-{n}-{i}")).collect()).collect();
    together(|n| {
        let mut lines = [(r[0], 1), (r[1], 2), (r[2], 3)];
        lines.rotate_left(n % 3);
        for (i, id) in ids[n].iter().enumerate() {
            same::<C, _>(c.reserve(id, &lines), Reserve::New, "enough for all");
            if i % 2 == 0 {
                same::<C, _>(c.cancel(id), Cancel::Released { units: 6 }, "cancel");
            }
        }
    });
    row(&c, r[0], 900);
    row(&c, r[1], 800);
    row(&c, r[2], 700);
}
