//! The engine and everything it is compared with keep one contract.

use stockade_benches::contract::check;
use stockade_benches::peers::{Actor, DashmapEntry, Engine, File, Memory, MutexMaps, PapayaInsert, SccEntry, Sqlite};

#[test]
fn stockade_keeps_the_contract() {
    check::<Engine>();
}

#[test]
fn mutex_maps_keeps_the_contract() {
    check::<MutexMaps>();
}

#[test]
fn dashmap_entry_keeps_the_contract() {
    check::<DashmapEntry>();
}

#[test]
fn scc_entry_keeps_the_contract() {
    check::<SccEntry>();
}

#[test]
fn papaya_insert_keeps_the_contract() {
    check::<PapayaInsert>();
}

#[test]
fn actor_keeps_the_contract() {
    check::<Actor>();
}

#[test]
fn sqlite_in_memory_keeps_the_contract() {
    check::<Sqlite<Memory>>();
}

#[test]
fn sqlite_as_a_file_keeps_the_contract() {
    check::<Sqlite<File>>();
}

/// `cargo test -p stockade-benches --features servers` needs Debian's packages redis-server and postgresql.
#[cfg(feature = "servers")]
mod servers {
    use super::check;
    use stockade_benches::peers::{Postgres, Redis};

    #[test]
    fn redis_keeps_the_contract() {
        check::<Redis>();
    }

    #[test]
    fn postgres_keeps_the_contract() {
        check::<Postgres>();
    }
}

/// The contract is worth something only if who does less does not keep it.
mod less {
    use std::panic::catch_unwind;
    use std::thread;

    use anyhow::Result;
    use stockade_benches::contender::{Advance, Cancel, Contender, Order, Reserve};
    use stockade_benches::peers::MutexMaps;

    use super::check;

    /// The id is looked for under one lock and entered under another.
    const LOOKS_THEN_ENTERS: u8 = 0;
    /// What a cancelled order held comes back with each cancel.
    const GIVES_BACK_AGAIN: u8 = 1;
    /// A short order takes the lines that are not short.
    const KEEPS_A_PART: u8 = 2;

    struct Faulty<const FAULT: u8>(MutexMaps);

    impl<const FAULT: u8> Contender for Faulty<FAULT> {
        const NAME: &'static str = "faulty";
        type Row = u32;

        fn open(skus: &[(String, u64)], orders: usize) -> Result<(Self, Vec<u32>)> {
            MutexMaps::open(skus, orders).map(|(maps, rows)| (Faulty(maps), rows))
        }

        fn reserve(&self, id: &str, lines: &[(u32, u32)]) -> Reserve<u32> {
            if FAULT == LOOKS_THEN_ENTERS && self.0.order(id).is_none() {
                thread::yield_now();
                // Entered whatever has been entered meanwhile: the units of a twin are taken under a name of its own.
                let answer = self.0.reserve(id, lines);
                let twin = format!("twin of {id}");
                return if answer == Reserve::Replayed { self.0.reserve(&twin, lines) } else { answer };
            }
            let answer = self.0.reserve(id, lines);
            if let Reserve::Insufficient { short } = &answer {
                let enough = |line: &&(u32, u32)| FAULT == KEEPS_A_PART && short.iter().all(|it| it.row != line.0);
                for line in lines.iter().filter(enough) {
                    self.0.reserve(&format!("a part of {id}, {}", line.0), &[*line]);
                }
            }
            answer
        }

        fn cancel(&self, id: &str) -> Cancel {
            let answer = self.0.cancel(id);
            if FAULT == GIVES_BACK_AGAIN && answer == Cancel::Already {
                let lines = self.0.order(id).map_or(Vec::new(), |order| order.lines);
                return Cancel::Released { units: lines.iter().map(|line| u64::from(line.1)).sum() };
            }
            answer
        }

        fn pay(&self, id: &str) -> Advance {
            self.0.pay(id)
        }

        fn fulfil(&self, id: &str) -> Advance {
            self.0.fulfil(id)
        }

        fn stock(&self, row: u32) -> u64 {
            self.0.stock(row)
        }

        fn order(&self, id: &str) -> Option<Order<u32>> {
            self.0.order(id)
        }
    }

    #[test]
    fn a_race_for_an_id_is_found() {
        assert!(catch_unwind(check::<Faulty<LOOKS_THEN_ENTERS>>).is_err());
    }

    #[test]
    fn a_second_giving_back_is_found() {
        assert!(catch_unwind(check::<Faulty<GIVES_BACK_AGAIN>>).is_err());
    }

    #[test]
    fn a_part_of_an_order_is_found() {
        assert!(catch_unwind(check::<Faulty<KEEPS_A_PART>>).is_err());
    }

    #[test]
    fn what_the_faults_are_built_on_is_sound() {
        check::<Faulty<{ u8::MAX }>>();
    }
}
