//! The clock of a sale whose holds end: moves it on as things arrive.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use stockade::ManualClock;

use super::sale::Timetable;

/// Moves a clock on by a timetable, if there is one.
pub struct Pace<'a> {
    timetable: Option<&'a Timetable>,
    clock: &'a ManualClock,
    /// How many arrivals have been answered, if the sale goes in step.
    answered: AtomicUsize,
}

impl<'a> Pace<'a> {
    pub fn new(timetable: Option<&'a Timetable>, clock: &'a ManualClock) -> Self {
        Pace { timetable, clock, answered: AtomicUsize::new(0) }
    }

    /// Sets the clock to the time of this arrival. In step it first waits until all that arrived before that time has
    /// been answered, so that the clock stands still while anything is under way. No arrival may wait for a later one.
    #[must_use]
    pub fn begin(&self, position: usize) -> Option<Turn<'_>> {
        let timetable = self.timetable?;
        let now_ms = timetable.times[position];
        if timetable.in_step {
            let earlier = timetable.times.partition_point(|&time| time < now_ms);
            while self.answered.load(Ordering::Acquire) < earlier {
                thread::yield_now();
            }
        }
        self.clock.set_ms(now_ms);
        timetable.in_step.then_some(Turn(&self.answered))
    }
}

/// An arrival that is being answered. It ends by being dropped, so that a failure does not keep the others waiting.
pub struct Turn<'a>(&'a AtomicUsize);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade::Clock;

    fn timetable(in_step: bool) -> Timetable {
        Timetable { hold_ms: 10, times: vec![0, 5, 5, 7], in_step }
    }

    #[test]
    fn the_clock_follows_the_timetable_and_never_goes_back() {
        let (timetable, clock) = (timetable(false), ManualClock::default());
        let pace = Pace::new(Some(&timetable), &clock);
        for (position, wanted) in [(1, 5), (3, 7), (2, 7)] {
            assert!(pace.begin(position).is_none());
            assert_eq!(clock.now_ms(), wanted);
        }
        assert!(Pace::new(None, &clock).begin(9).is_none());
    }

    /// The last arrival is begun first, and must see the time at which the others were answered.
    #[test]
    fn in_step_the_clock_waits_for_what_is_under_way() {
        let (timetable, clock) = (timetable(true), ManualClock::default());
        let pace = Pace::new(Some(&timetable), &clock);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _turn = pace.begin(3);
                assert_eq!(clock.now_ms(), 7);
            });
            drop(pace.begin(0));
            let (one, other) = (pace.begin(2), pace.begin(1));
            for turn in [one, other] {
                thread::yield_now();
                assert_eq!(clock.now_ms(), 5);
                drop(turn);
            }
        });
        assert_eq!(clock.now_ms(), 7);
    }
}
