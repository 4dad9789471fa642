//! One thread that owns two hash maps, and a channel to it: nobody shares anything, everybody queues.

use std::thread::{self, JoinHandle};

use anyhow::Result;
use crossbeam_channel::{Receiver, Sender, bounded};

use super::maps::Maps;
use super::record::Line;
use crate::contender::{Advance, Cancel, Contender, Order, Reserve, State};

/// Requests that may wait before senders do.
const QUEUE: usize = 1024;

/// The way to the thread.
pub struct Actor {
    /// `None` only while it is dropped.
    inbox: Option<Sender<(Ask, Sender<Answer>)>>,
    thread: Option<JoinHandle<()>>,
}

enum Ask {
    Reserve(String, Vec<Line>),
    Cancel(String),
    Advance(String, State, State),
    Stock(u32),
    Order(String),
}

enum Answer {
    Reserve(Reserve<u32>),
    Cancel(Cancel),
    Advance(Advance),
    Stock(u64),
    Order(Option<Order<u32>>),
}

thread_local! {
    /// Where a caller waits for its answer: one channel for each thread, because making one for each call costs more.
    static REPLY: (Sender<Answer>, Receiver<Answer>) = bounded(1);
}

impl Actor {
    fn ask(&self, ask: Ask) -> Answer {
        REPLY.with(|(sender, answer)| {
            let sent = self.inbox.as_ref().is_some_and(|inbox| inbox.send((ask, sender.clone())).is_ok());
            match answer.recv() {
                Ok(answer) if sent => answer,
                _ => panic!("the actor's thread has ended: look for its own panic above"),
            }
        })
    }
}

fn serve(mut maps: Maps, inbox: &Receiver<(Ask, Sender<Answer>)>) {
    for (ask, reply) in inbox {
        let answer = match ask {
            Ask::Reserve(id, lines) => Answer::Reserve(maps.reserve(id, &lines)),
            Ask::Cancel(id) => Answer::Cancel(maps.cancel(&id)),
            Ask::Advance(id, from, to) => Answer::Advance(maps.advance(&id, from, to)),
            Ask::Stock(row) => Answer::Stock(maps.stock(row)),
            Ask::Order(id) => Answer::Order(maps.order(&id)),
        };
        // Who has gone away does not want the answer.
        let _ = reply.send(answer);
    }
}

impl Contender for Actor {
    const NAME: &'static str = "actor";
    type Row = u32;

    fn open(skus: &[(String, u64)], orders: usize) -> Result<(Self, Vec<u32>)> {
        let (maps, rows) = Maps::new(skus, orders);
        let (sender, inbox) = bounded(QUEUE);
        let thread = thread::Builder::new().name("actor".into()).spawn(move || serve(maps, &inbox))?;
        Ok((Actor { inbox: Some(sender), thread: Some(thread) }, rows))
    }

    fn reserve(&self, id: &str, lines: &[Line]) -> Reserve<u32> {
        match self.ask(Ask::Reserve(id.to_owned(), lines.to_vec())) {
            Answer::Reserve(answer) => answer,
            _ => mixed_up(),
        }
    }

    fn cancel(&self, id: &str) -> Cancel {
        match self.ask(Ask::Cancel(id.to_owned())) {
            Answer::Cancel(answer) => answer,
            _ => mixed_up(),
        }
    }

    fn pay(&self, id: &str) -> Advance {
        match self.ask(Ask::Advance(id.to_owned(), State::Reserved, State::Paid)) {
            Answer::Advance(answer) => answer,
            _ => mixed_up(),
        }
    }

    fn fulfil(&self, id: &str) -> Advance {
        match self.ask(Ask::Advance(id.to_owned(), State::Paid, State::Fulfilled)) {
            Answer::Advance(answer) => answer,
            _ => mixed_up(),
        }
    }

    fn stock(&self, row: u32) -> u64 {
        match self.ask(Ask::Stock(row)) {
            Answer::Stock(answer) => answer,
            _ => mixed_up(),
        }
    }

    fn order(&self, id: &str) -> Option<Order<u32>> {
        match self.ask(Ask::Order(id.to_owned())) {
            Answer::Order(answer) => answer,
            _ => mixed_up(),
        }
    }
}

#[cold]
fn mixed_up() -> ! {
    panic!("the actor answered another question than it was asked")
}

impl Drop for Actor {
    fn drop(&mut self) {
        // The thread ends when nobody can send to it any more.
        self.inbox = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the actor's thread panicked: {panic:?}");
        }
    }
}
