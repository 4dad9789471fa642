//! A thread is stopped at each step of each verb, or panics there, and nobody else notices.
//!
//! The steps are those the code itself names ([`Step::ALL`]); a step that no scenario passes fails the test, so none
//! can be forgotten. While the thread is stopped the others work on its rows, on other rows and on its order id, all
//! the way to the end; then it wakes, and nothing has been applied twice.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use stockade_hooked::hooks::{Step, with_hook};
use stockade_hooked::{Keep, Keyed, ManualClock, RequestKey, State, Stockade};

/// Longer than any workload takes; a thread that waits for the stopped one runs into it.
const PATIENCE: Duration = Duration::from_secs(20);
const UNITS: u64 = 1_000;
const TTL_MS: u64 = 1_000;
/// Keys that are remembered.
const KEYS: u64 = 4;
/// Longer than a workload lasts.
const KEPT_MS: u64 = 1_000 * TTL_MS;

/// An engine, and the clock it goes by.
struct Timed {
    engine: Stockade,
    clock: Arc<ManualClock>,
}

impl Deref for Timed {
    type Target = Stockade;

    fn deref(&self) -> &Stockade {
        &self.engine
    }
}

type Shop = Arc<Timed>;

/// Something one thread does, and what is there before.
struct Scenario {
    name: &'static str,
    prepare: fn(&Shop),
    act: fn(&Shop),
    /// What others do when the acting thread first passes a step; this is how it loses a race.
    meddle: fn(&Shop, Step),
}

const fn scenario(name: &'static str, prepare: fn(&Shop), act: fn(&Shop)) -> Scenario {
    Scenario { name, prepare, act, meddle: |_, _| {} }
}

const SCENARIOS: &[Scenario] = &[
    scenario("reserve", |_| {}, |s| drop(s.reserve("id", &[("A", 2)]))),
    scenario("reserve many", |_| {}, |s| drop(s.reserve_batch(&[("id", &[("A", 2)]), ("more", &[("B", 1)])]))),
    scenario("reserve two lines", |_| {}, |s| drop(s.reserve("id", &[("A", 2), ("B", 1)]))),
    scenario("refused at a look", |_| {}, |s| drop(s.reserve("id", &[("A", 5_000)]))),
    Scenario {
        meddle: |s, step| {
            if step == Step::Drafted {
                drop(s.write_off("last", 1));
            }
        },
        ..scenario("refused in a race", |_| {}, |s| drop(s.reserve("id", &[("A", 1), ("last", 1)])))
    },
    scenario("create", |_| {}, |s| drop(s.create("id", &[("A", 2)]))),
    scenario("reserve created", created, |s| drop(s.transition("id", State::Created, State::InventoryReserved))),
    Scenario {
        meddle: |s, step| {
            if step == Step::RetryBegun {
                drop(s.write_off("last", 1));
            }
        },
        ..scenario(
            "refused created, in a race",
            |s| drop(s.create("id", &[("A", 1), ("last", 1)])),
            |s| drop(s.reserve("id", &[("A", 1), ("last", 1)])),
        )
    },
    scenario("cancel", reserved, |s| drop(s.cancel("id"))),
    scenario("cancel paid", paid, |s| drop(s.cancel("id"))),
    scenario("cancel created", created, |s| drop(s.cancel("id"))),
    scenario("void", reserved, |s| drop(s.void("id"))),
    scenario("void unknown", |_| {}, |s| drop(s.void("id"))),
    scenario("pay", reserved, |s| drop(s.pay("id"))),
    scenario("fulfil", paid, |s| drop(s.fulfil("id"))),
    scenario("cancel lines", reserved, |s| drop(s.cancel_lines("id", &[("A", 1)]))),
    scenario("cancel all lines of a hold", held, |s| drop(s.cancel_lines("id", &[("A", 2), ("B", 1)]))),
    scenario("fulfil lines", paid, |s| drop(s.fulfil_lines("id", &[("A", 1)]))),
    scenario("amend", held, |s| drop(s.amend("id", &[("A", 1), ("B", 9), ("last", 1)]))),
    scenario(
        "amend again",
        |s| {
            held(s);
            drop(s.amend("id", &[("A", 4)]));
        },
        |s| drop(s.amend("id", &[("A", 3), ("B", 2)])),
    ),
    scenario(
        "cancel the rest",
        |s| {
            paid(s);
            drop(s.fulfil_lines("id", &[("A", 1)]));
        },
        |s| drop(s.cancel("id")),
    ),
    Scenario {
        meddle: |s, step| {
            if step == Step::RevisionBegun {
                drop(s.write_off("last", 1));
            }
        },
        ..scenario("amend refused in a race", reserved, |s| drop(s.amend("id", &[("A", 1), ("last", 1)])))
    },
    scenario("hold dropped", |_| {}, |s| drop(s.hold("id", &[("A", 2), ("B", 3)]))),
    scenario("restock", |_| {}, |s| drop(s.restock("A", 7))),
    scenario("write off", |_| {}, |s| drop(s.write_off("A", 7))),
    scenario("set available", |_| {}, |s| drop(s.set_available("A", 0, 900))),
    scenario("add sku", |_| {}, |s| drop(s.add_sku("C", 5))),
    scenario("read", reserved, |s| drop((s.stock("A"), s.order("id")))),
    scenario("reserve with a deadline", |_| {}, |s| drop(s.reserve_for("id", &[("A", 2), ("B", 1)], TTL_MS))),
    scenario("reserve created with a deadline", created, |s| drop(s.reserve_for("id", &[("A", 2)], TTL_MS))),
    scenario("extend", held, |s| drop(s.extend("id", 2 * TTL_MS))),
    scenario("pay in time", held, |s| drop(s.pay_or_reserve_again("id"))),
    scenario("expire", dead, |s| drop(s.expire_due(9))),
    scenario("expire in passing", dead, |s| drop(s.reserve("other", &[("A", UNITS as u32), ("B", UNITS as u32)]))),
    scenario("pay late", dead, |s| drop(s.pay_or_reserve_again("id"))),
    Scenario {
        meddle: |s, step| {
            if step == Step::TransitionComputed {
                drop(s.write_off("last", 1));
            }
        },
        ..scenario(
            "pay too late",
            |s| {
                drop(s.reserve_for("id", &[("A", 2), ("last", 1)], TTL_MS));
                s.clock.advance_ms(TTL_MS);
                drop(s.order("id"));
            },
            |s| drop(s.pay_or_reserve_again("id")),
        )
    },
    scenario("cancel lines", reserved, |s| drop(s.cancel_lines("id", &[("A", 1)]))),
    scenario("cancel lines of all rows", paid, |s| drop(s.cancel_lines("id", &[("A", 1), ("B", 1)]))),
    scenario("cancel all lines", held, |s| drop(s.cancel_lines("id", &[("A", 2), ("B", 1)]))),
    scenario("fulfil lines", paid, |s| drop(s.fulfil_lines("id", &[("A", 1)]))),
    scenario("fulfil all lines", paid, |s| drop(s.fulfil_lines("id", &[("A", 2), ("B", 1)]))),
    scenario("amend", amended, |s| drop(s.amend("id", &[("A", 4), ("B", 1), ("last", 1)]))),
    scenario("amend a hold", held, |s| drop(s.amend("id", &[("A", 3), ("last", 1)]))),
    scenario("amend what is fulfilled in part", fulfilled_in_part, |s| drop(s.amend("id", &[("A", 1), ("B", 3)]))),
    Scenario {
        meddle: |s, step| {
            if step == Step::EditionWritten {
                drop(s.write_off("last", 1));
            }
        },
        ..scenario("amended too late", held, |s| drop(s.amend("id", &[("A", 3), ("last", 1)])))
    },
    Scenario {
        meddle: |s, step| {
            if step == Step::RevisionAnnounced {
                drop((s.pay("id"), s.cancel_lines("id", &[("A", 1)])));
            }
        },
        ..scenario("amend what others change", held, |s| drop(s.amend("id", &[("A", 3), ("B", 2)])))
    },
    scenario("cancel what was amended", amended, |s| drop(s.cancel("id"))),
    scenario("cancel the rest", fulfilled_in_part, |s| drop(s.cancel("id"))),
    scenario(
        "drop what was amended",
        |_| {},
        |s| {
            let hold = s.hold("id", &[("A", 2), ("B", 1)]);
            drop(s.amend("id", &[("A", 3)]));
            drop(hold);
        },
    ),
    scenario("extend what was amended", amended, |s| drop(s.extend("id", 2 * TTL_MS))),
    scenario("expire what was amended", amended_and_dead, |s| drop(s.expire_due(9))),
    scenario("pay late what was amended", amended_and_dead, |s| drop(s.pay_or_reserve_again("id"))),
    scenario("restock under a key", |_| {}, |s| drop(keyed(s, 9).restock("A", 7))),
    scenario("write off under a key", |_| {}, |s| drop(keyed(s, 9).write_off("A", 7))),
    scenario("cancel in part under a key", reserved, |s| drop(keyed(s, 9).cancel_lines("id", &[("A", 1)]))),
    scenario("a key too many", keys, |s| drop(keyed(s, 9).restock("A", 7))),
    scenario("forget", finished, |s| _ = s.forget_finished(9)),
    // A row that somebody else's unfinished order has frozen is read in two steps.
    Scenario {
        meddle: |s, step| {
            if step == Step::IntentInstalled {
                drop((s.stock("A"), s.reserve("other", &[("A", 5_000), ("B", 5_000)])));
            }
        },
        ..scenario("read what is frozen", |_| {}, |s| drop(s.reserve("id", &[("A", 2), ("B", 1)])))
    },
    // A few hundred entries fill a segment of the index: the acting thread has to divide it.
    scenario("index grows", |_| {}, |s| (0..700).for_each(|i| drop(s.create(&format!("more-{i}"), &[("B", 1)])))),
    // Orders refused in a race leave garbage in the index, and memory that is used again.
    scenario(
        "index is cleaned",
        |s| (0..600).for_each(|i| lose_a_race(s, &format!("lost-{i}"))),
        |s| (0..300).for_each(|i| drop(s.create(&format!("more-{i}"), &[("B", 1)]))),
    ),
];

fn created(shop: &Shop) {
    drop(shop.create("id", &[("A", 2)]));
}

fn reserved(shop: &Shop) {
    drop(shop.reserve("id", &[("A", 2), ("B", 1)]));
}

/// Until the workload begins, which moves the clock on.
fn held(shop: &Shop) {
    drop(shop.reserve_for("id", &[("A", 2), ("B", 1)], TTL_MS));
}

fn dead(shop: &Shop) {
    held(shop);
    shop.clock.advance_ms(TTL_MS);
}

/// A hold of other lines than it was made with.
fn amended(shop: &Shop) {
    held(shop);
    drop(shop.amend("id", &[("A", 3), ("B", 2)]));
}

fn amended_and_dead(shop: &Shop) {
    amended(shop);
    shop.clock.advance_ms(TTL_MS);
}

fn fulfilled_in_part(shop: &Shop) {
    amended(shop);
    drop(shop.pay("id"));
    drop(shop.fulfil_lines("id", &[("A", 1)]));
}

/// A request to the same row under a key of this age.
fn keyed(shop: &Shop, issued: u64) -> Keyed<'_> {
    shop.keyed(RequestKey { id: "key", issued })
}

/// As many keys as are remembered.
fn keys(shop: &Shop) {
    (1..=KEYS).for_each(|issued| drop(keyed(shop, issued).restock("A", 1)));
}

/// For so long that it can be forgotten.
fn finished(shop: &Shop) {
    paid(shop);
    drop(shop.fulfil("id"));
    shop.clock.advance_ms(2 * KEPT_MS);
}

fn paid(shop: &Shop) {
    reserved(shop);
    drop(shop.pay("id"));
}

/// A reserve that finds enough when it looks, and too little when it takes.
fn lose_a_race(shop: &Shop, id: &str) {
    let meddler = Arc::clone(shop);
    let hook = once(Step::Drafted, move || drop(meddler.write_off("last", 1)));
    with_hook(hook, || assert!(shop.reserve(id, &[("last", 1)]).is_err()));
    shop.restock("last", 1).unwrap();
}

/// A hook that does something the first time a step is passed.
fn once(at: Step, work: impl Fn()) -> impl Fn(Step) {
    let done = Cell::new(false);
    move |step| {
        if step == at && !done.replace(true) {
            work();
        }
    }
}

fn shop() -> Shop {
    let clock = Arc::new(ManualClock::default());
    let builder = Stockade::builder().max_orders(1 << 20).keep_keys(KEYS).keep_finished(Keep::ForMs(KEPT_MS));
    let engine = builder.clock(Arc::clone(&clock)).build().unwrap();
    engine.add_sku("A", UNITS).unwrap();
    engine.add_sku("B", UNITS).unwrap();
    engine.add_sku("last", 1).unwrap();
    Arc::new(Timed { engine, clock })
}

/// What others first do to the order of the stopped thread.
const FIRST: &[fn(&Shop)] = &[
    |_| {},
    |s| {
        drop(s.amend("id", &[("A", 1), ("B", 2), ("last", 1)]));
        drop(s.cancel_lines("id", &[("A", 1)]));
        drop(s.pay("id"));
        drop(s.fulfil_lines("id", &[("B", 1)]));
        drop(s.amend("id", &[("A", 5), ("B", 5)]));
    },
    |s| drop((s.pay("id"), s.fulfil("id"))),
    |s| drop((s.pay("id"), s.fulfil_lines("id", &[("A", 1), ("B", 1)]))),
    |s| drop(s.cancel("id")),
    |s| {
        s.clock.advance_ms(2 * TTL_MS);
        drop((s.expire_due(9), s.pay_or_reserve_again("id"), s.cancel_lines("id", &[("A", 1)])));
    },
];

/// What everybody else does meanwhile, on the same rows, other rows and the same id. Every call must return.
fn workload(shop: &Shop) {
    for i in 0..20 {
        let id = format!("work-{i}");
        assert!(shop.reserve(&id, &[("A", 1), ("B", 1)]).unwrap().is_new());
        assert!(shop.stock("A").is_ok());
        assert!(shop.order("id").is_none_or(|order| order.id == "id"));
        let _ = shop.pay(&id).unwrap();
        assert_eq!(shop.amend(&id, &[("A", 2)]).unwrap().open, 2);
        assert_eq!(shop.cancel_lines(&id, &[("A", 1)]).unwrap().open, 1);
        assert_eq!(shop.cancel(&id).unwrap().units(), 1);
        drop(shop.hold(&id, &[("A", 1), ("B", 1)]));
    }
    let _ = shop.create("work-created", &[("A", 1)]).unwrap();
    let taken = shop.transition("work-created", State::Created, State::InventoryReserved);
    assert!(taken.is_ok() && shop.pay("work-created").is_ok() && shop.fulfil("work-created").is_ok());
    for sku in ["A", "B", "last"] {
        shop.restock(sku, 3).unwrap();
        shop.write_off(sku, 1).unwrap();
        let seen = shop.stock(sku).unwrap();
        shop.set_available(sku, seen.version, seen.available + 1).unwrap();
        drop(shop.balance(sku));
    }
    assert!(shop.audit().is_sound() && shop.rows().count() >= 3);
    // Holds that end: the stopped thread's among them, whose units must be there for who needs them all.
    assert!(shop.reserve_for("work-held", &[("A", 1), ("last", 1)], TTL_MS).unwrap().is_new());
    let _ = shop.extend("work-held", 2 * TTL_MS).unwrap();
    drop(shop.extend("id", TTL_MS));
    shop.clock.advance_ms(4 * TTL_MS);
    let last = shop.stock("last").unwrap().available;
    assert!(shop.reserve("work-last", &[("last", last as u32)]).unwrap().is_new());
    assert!(shop.pay("work-held").is_err() && shop.pay_or_reserve_again("work-held").is_err());
    assert!(shop.cancel("work-last").is_ok() && shop.pay_or_reserve_again("work-held").is_ok());
    let _ = shop.expire_due(1_000);
    assert!(shop.order("id").is_none_or(|order| order.deadline_ms.is_none()), "a hold outlives its deadline");
    assert!(shop.cancel("work-held").is_ok());
    // The stopped thread's request and its order, and others'.
    drop((keyed(shop, 9).restock("A", 7), keyed(shop, 9).write_off("A", 7)));
    drop(keyed(shop, 9).cancel_lines("id", &[("A", 1)]));
    (10..20).for_each(|issued| assert!(keyed(shop, issued).restock("B", 1).is_ok()));
    let _ = shop.forget_finished(1_000);
    drop(shop.add_sku("C", 5));
    drop(shop.reserve("id", &[("A", 2)]));
    drop(shop.pay_or_reserve_again("id"));
    drop(shop.pay("id"));
    drop(shop.amend("id", &[("A", 3), ("B", 1)]));
    drop(shop.cancel_lines("id", &[("A", 1)]));
    drop(shop.fulfil_lines("id", &[("A", 1)]));
    drop(shop.cancel("id"));
    drop(shop.void("id"));
    assert!(shop.orders().filter(|order| order.state.holds()).all(|order| !order.id.starts_with("work")));
}

/// Runs the workload on another thread; panics if it does not come back.
fn others_go_on(shop: &Shop, first: fn(&Shop), what: &str) {
    let (done, finished) = channel();
    let shop = Arc::clone(shop);
    std::thread::spawn(move || {
        first(&shop);
        workload(&shop);
        done.send(()).unwrap();
    });
    finished.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what}: the others wait"));
}

/// Nothing is lost, nothing applied twice, and what is still held goes back when it is cancelled.
fn all_is_well(shop: &Shop, what: &str) {
    let audit = shop.audit();
    assert!(audit.is_sound(), "{what}: {audit:?}");
    assert!(audit.in_motion.is_empty(), "{what}: {audit:?}");
    shop.restock("A", 1_000).unwrap();
    let is_open = shop.orders().filter(|order| order.state.holds());
    for order in is_open.collect::<Vec<_>>() {
        // Whatever was announced and has not come is in nobody's way.
        let lines: Vec<_> = order.lines.iter().map(|line| (line.sku, line.ordered)).collect();
        let revised = shop.amend(&order.id, &[&lines[..], &[(shop.sku("A").unwrap(), 1)]].concat());
        let open: u32 = order.lines.iter().map(|line| line.open).sum();
        assert!(revised.as_ref().is_ok_and(|it| it.open == u64::from(open) + 1), "{what}: {order:?} {revised:?}");
    }
    for order in shop.orders() {
        drop(shop.cancel(&order.id));
    }
    for (sku, stock) in shop.rows() {
        let balance = shop.balance(&*sku).unwrap();
        assert_eq!(balance.held, 0, "{what}: {balance:?}");
        assert_eq!(stock.available + balance.shipped, balance.received, "{what}: {balance:?}");
    }
}

/// Runs a scenario; when the acting thread first passes `target`, `at_target` runs on it.
/// Tells the steps that were passed.
fn act(scenario: &Scenario, shop: &Shop, target: Step, at_target: impl Fn() + 'static) -> HashSet<Step> {
    let passed = Rc::new(RefCell::new(HashSet::new()));
    let seen = Rc::clone(&passed);
    let (meddle, meddler) = (scenario.meddle, Arc::clone(shop));
    let hook = move |step| {
        if seen.borrow_mut().insert(step) {
            meddle(&meddler, step);
            if step == target {
                at_target();
            }
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(|| with_hook(hook, || (scenario.act)(shop))));
    passed.take()
}

/// The steps that a scenario passes.
fn steps_of(scenario: &Scenario) -> HashSet<Step> {
    let shop = shop();
    (scenario.prepare)(&shop);
    act(scenario, &shop, Step::Drafted, || ())
}

/// Each of them with each of what others may do then.
fn steps_and_firsts(scenario: &Scenario) -> impl Iterator<Item = (Step, fn(&Shop))> {
    steps_of(scenario).into_iter().flat_map(|step| FIRST.iter().map(move |first| (step, *first)))
}

#[test]
fn a_thread_stopped_at_any_step_stops_nobody() {
    let mut passed = HashSet::new();
    for scenario in SCENARIOS {
        for (target, first) in steps_and_firsts(scenario) {
            let what = format!("{} stopped at {target:?}", scenario.name);
            let shop = shop();
            (scenario.prepare)(&shop);
            let (stopped, at_stop) = channel();
            let (wake, woken) = channel::<()>();
            let actor = {
                let shop = Arc::clone(&shop);
                std::thread::spawn(move || {
                    let told = stopped.clone();
                    let steps = act(scenario, &shop, target, move || {
                        told.send(true).unwrap();
                        let _ = woken.recv();
                    });
                    stopped.send(false).unwrap();
                    steps
                })
            };
            let is_stopped = at_stop.recv_timeout(PATIENCE);
            assert!(is_stopped.unwrap_or_else(|_| panic!("{what}: the actor itself waits")), "{what}: it does not");
            others_go_on(&shop, first, &what);
            wake.send(()).unwrap();
            passed.extend(actor.join().unwrap());
            all_is_well(&shop, &what);
        }
    }
    let forgotten: Vec<_> = Step::ALL.iter().filter(|step| !passed.contains(step)).collect();
    assert!(forgotten.is_empty(), "no scenario passes {forgotten:?}");
}

#[test]
fn a_panic_at_any_step_loses_nothing() {
    for scenario in SCENARIOS {
        for (target, first) in steps_and_firsts(scenario) {
            let what = format!("{} panics at {target:?}", scenario.name);
            let shop = shop();
            (scenario.prepare)(&shop);
            let steps = act(scenario, &shop, target, || std::panic::resume_unwind(Box::new(())));
            assert!(steps.contains(&target), "{what}: it does not");
            others_go_on(&shop, first, &what);
            all_is_well(&shop, &what);
        }
    }
}

#[test]
fn an_id_whose_thread_panicked_can_be_used() {
    for target in Step::ALL {
        let shop = shop();
        let panicked = act(&SCENARIOS[0], &shop, *target, || std::panic::resume_unwind(Box::new(())));
        let again = shop.reserve("id", &[("A", 2)]).unwrap();
        assert_eq!(shop.stock("A").unwrap().available, UNITS - 2, "{target:?} {panicked:?} {again:?}");
        assert_eq!(shop.cancel("id").unwrap().units(), 2);
        assert_eq!(shop.stock("A").unwrap().available, UNITS);
    }
}

/// Each time a thread panics in the middle of a change, over and over: the memory of what it wrote is used again, and
/// the order can be changed.
#[test]
fn a_panic_in_a_change_leaks_no_memory() {
    let amend = scenario("amend", held, |s| drop(s.amend("id", &[("A", 3), ("B", 2), ("last", 1)])));
    for target in steps_of(&amend) {
        let shop = shop();
        held(&shop);
        for _ in 0..1_000 {
            act(&amend, &shop, target, || std::panic::resume_unwind(Box::new(())));
            let _ = shop.amend("id", &[("A", 2)]).unwrap();
        }
        let told = shop.reserve("other", &[("A", 1)]).unwrap().reservation();
        assert!(told.number < 1_000, "{target:?}: the memory of editions is not used again: {told:?}");
    }
}
