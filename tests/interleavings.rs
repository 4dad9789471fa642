//! Interleavings that once went wrong, arranged step by step.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::cell::Cell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use stockade_hooked::hooks::{Step, with_hook};
use stockade_hooked::{Cancelled, ReserveError, State, Stockade};

/// A thread that is stopped when it first passes a step.
struct Stopped<R> {
    wake: Sender<()>,
    thread: JoinHandle<R>,
}

impl<R: Send + 'static> Stopped<R> {
    fn at(step: Step, shop: &Arc<Stockade>, work: impl FnOnce(&Stockade) -> R + Send + 'static) -> Self {
        let (stopped, is_stopped) = channel();
        let (wake, woken): (_, Receiver<()>) = channel();
        let shop = Arc::clone(shop);
        let thread = std::thread::spawn(move || {
            let passed = Cell::new(false);
            let hook = move |at| {
                if at == step && !passed.replace(true) {
                    stopped.send(()).unwrap();
                    let _ = woken.recv();
                }
            };
            with_hook(hook, || work(&shop))
        });
        is_stopped.recv().unwrap();
        Stopped { wake, thread }
    }

    fn wakes(self) -> R {
        self.wake.send(()).unwrap();
        self.thread.join().unwrap()
    }
}

fn shop(units: u64) -> Arc<Stockade> {
    let shop = Stockade::new();
    shop.add_sku("A", units).unwrap();
    shop.add_sku("B", 1).unwrap();
    Arc::new(shop)
}

/// A cancel has begun to give back and is stopped. The hold's drop saw that its own operation was over, and
/// returned while the units were still gone: the next buyer was refused.
#[test]
fn a_dropped_hold_finishes_a_release_that_another_has_begun() {
    let shop = shop(1);
    let hold = shop.hold("one", &[("A", 1)]).unwrap();
    let cancel = Stopped::at(Step::ReleaseBegun, &shop, |shop| shop.cancel("one"));
    drop(hold);
    assert_eq!(shop.stock("A").unwrap().available, 1);
    assert_eq!(shop.order("one").unwrap().state, State::Cancelled);
    assert!(shop.reserve("two", &[("A", 1)]).unwrap().is_new());
    assert!(matches!(cancel.wakes(), Ok(Cancelled::Released { .. })));
    assert_eq!(shop.stock("A").unwrap().available, 0);
}

/// A reader has found the attempt of "one" and is stopped. The attempt is refused, the index grows and recycles its
/// record, another order gets it: and the reader showed that one under the name of "one".
#[test]
fn an_order_is_never_shown_under_another_id() {
    let shop = shop(1);
    let reserve = Stopped::at(Step::Published, &shop, |shop| shop.reserve("one", &[("A", 1)]).is_err());
    let reader = Stopped::at(Step::OrderSeen, &shop, |shop| shop.order("one"));
    shop.write_off("A", 1).unwrap();
    assert!(reserve.wakes());
    for i in 0..3_000 {
        let _ = shop.create(&format!("more-{i}"), &[("B", 1)]).unwrap();
    }
    assert_eq!(reader.wakes(), None);
}

/// Each refused attempt of one id leaves a dead entry at the same place of the index. The index took the crowd for a lack
/// of room and divided, which cannot part them, until it was as deep as it can be: that id was told `Full` for ever.
#[test]
fn an_id_may_lose_any_number_of_races() {
    let shop = shop(1);
    for _ in 0..3_000 {
        let meddler = Arc::clone(&shop);
        let taken = Cell::new(false);
        let hook = move |at| {
            if at == Step::Drafted && !taken.replace(true) {
                meddler.write_off("A", 1).unwrap();
            }
        };
        let lost = with_hook(hook, || shop.reserve("one", &[("A", 1)]));
        assert!(matches!(lost, Err(ReserveError::Insufficient { .. })), "{lost:?}");
        shop.restock("A", 1).unwrap();
    }
    assert!(shop.reserve("one", &[("A", 1)]).unwrap().is_new());
}
