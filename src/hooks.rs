//! The steps of the protocol at which a test can stop a thread or make it panic.
//!
//! Only the twin packages `tests/hooked` and `loom-tests` compile them in (cfg `stockade_hooks`, `stockade_loom`); in a
//! normal build [`step`] is an empty function. The list of steps is what the code itself names: a step that is not in
//! the list does not compile, and one that no code passes fails a test.

macro_rules! steps {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// A point between two atomic operations of a verb.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(not(any(stockade_hooks, stockade_loom)), allow(dead_code))]
        pub enum Step { $($(#[doc = $doc])* $name,)* }

        impl Step {
            /// Every step.
            #[cfg_attr(not(any(stockade_hooks, stockade_loom)), allow(dead_code))]
            pub const ALL: &[Step] = &[$(Step::$name,)*];
        }
    };
}

steps! {
    /// The arena read the head of its free list.
    FreeSlotSeen,
    /// The arena took a run of fresh slots.
    RunClaimed,
    /// A record is written, nobody can find it yet.
    Drafted,
    /// The order is in the index; no row carries its intent.
    Published,
    /// A CREATED order began to take stock.
    RetryBegun,
    /// A RESERVED or PAID order began to give back.
    ReleaseBegun,
    /// An order was found and looked at; the index is not looked at again.
    OrderSeen,
    /// A reader read a row, not what its intent means.
    RowRead,
    /// What a row's intent means was read, the row is not read again.
    EffectSeen,
    /// A line of an order was read, the order's state is not.
    LineRead,
    /// An order's ledger named an edition, of which nothing is read.
    EditionFound,
    /// A line of an edition was read, the order's state is not.
    EditionRead,
    /// Rows were looked at and one was short; they are not looked at again.
    ShortRowSeen,
    /// A row was read, the order's state not yet.
    RowLoaded,
    /// A row and the order's state were read; the intent is not installed.
    RowSeen,
    /// A row carries the intent.
    IntentInstalled,
    /// Every row carries the intent; nothing is decided.
    AllInstalled,
    /// The order is decided; its rows are not finished.
    Decided,
    /// A row's final word is computed, not written.
    RowComputed,
    /// One row is finished.
    RowFinished,
    /// The state of an order was read whose attempt others have decided, its deadline is not.
    DecisionSeen,
    /// A refused record is marked dead.
    MarkedDead,
    /// Stock or order was read for a refusal, the id not looked up again.
    ShortageSeen,
    /// An attempt on a CREATED order is announced in its deadline, not begun.
    AttemptAnnounced,
    /// An edition of an order's lines is written, not announced.
    EditionWritten,
    /// A revision is announced, not begun.
    RevisionAnnounced,
    /// A RESERVED or PAID order began to change in part.
    RevisionBegun,
    /// A hold is in the set of deadlines, not decided.
    HoldEntered,
    /// A deadline is marked dead, the order not released.
    DeadlineMarked,
    /// Somebody is told that a hold has ended, its entry still in the set.
    HolderTold,
    /// The rows of an extended hold are in the set, its deadline is not moved.
    ExtensionEntered,
    /// The deadline is moved, the old one still in the set.
    DeadlineMoved,
    /// A request with a key is in the set of requests, nothing of it is done.
    RequestEntered,
    /// Older keys than the oldest count as forgotten, and it is still there.
    KeysTooOld,
    /// A request began to change a row.
    RequestBegun,
    /// An order that is to be forgotten has no row to finish, and is still there.
    ForgetBegun,
    /// An order is forgotten, the books of what it shipped not closed.
    Forgotten,
    /// A paid, fulfilled or cancelled word is computed, not written.
    TransitionComputed,
    /// An edit of a row is entered in the books, the row not changed.
    EditOpened,
    /// The row is edited, the books not closed.
    RowEdited,
    /// A segment of the index takes no more entries; its copy is not made.
    SegmentSealed,
    /// A segment's successors are written, not published.
    SegmentCopied,
    /// A segment's successors are published, its own node not switched.
    ChildrenPublished,
    /// The node is switched; old memory is not recycled.
    NodeSwitched,
}

#[cfg(not(any(stockade_hooks, stockade_loom)))]
#[inline(always)]
pub(crate) fn step(_: Step) {}

#[cfg(any(stockade_hooks, stockade_loom))]
pub(crate) use hooked::step;
#[cfg(any(stockade_hooks, stockade_loom))]
pub use hooked::with_hook;

#[cfg(any(stockade_hooks, stockade_loom))]
mod hooked {
    use std::cell::RefCell;
    use std::rc::Rc;

    #[cfg(stockade_loom)]
    use loom::thread_local;

    use super::Step;

    type Hook = Rc<dyn Fn(Step)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = RefCell::new(None);
    }

    /// Runs `work`; whenever this thread passes a step meanwhile, `hook` is called, which may block or panic.
    pub fn with_hook<R>(hook: impl Fn(Step) + 'static, work: impl FnOnce() -> R) -> R {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                HOOK.with(|hook| hook.replace(None));
            }
        }
        HOOK.with(|old| old.replace(Some(Rc::new(hook))));
        let _reset = Reset;
        work()
    }

    pub(crate) fn step(at: Step) {
        #[cfg(stockade_loom)]
        crate::sync::model::traced_step(at);
        // Cloned out, so that the hook itself may pass steps, and not during a panic, where a second one aborts.
        let hook = HOOK.try_with(|hook| hook.borrow().clone()).ok().flatten();
        if let (Some(hook), false) = (hook, std::thread::panicking()) {
            hook(at);
        }
    }
}
