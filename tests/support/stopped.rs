//! A thread that is stopped where the engine passes a step.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use stockade_hooked::Stockade;
use stockade_hooked::hooks::{Step, with_hook};

/// A thread that is stopped when it first passes a step.
pub struct Stopped<R> {
    wake: Sender<()>,
    thread: JoinHandle<R>,
}

impl<R: Send + 'static> Stopped<R> {
    pub fn at(step: Step, shop: &Arc<Stockade>, work: impl FnOnce(&Stockade) -> R + Send + 'static) -> Self {
        Self::at_pass(1, step, shop, work)
    }

    /// The same when it passes the step for the n-th time.
    pub fn at_pass(
        n: u32,
        step: Step,
        shop: &Arc<Stockade>,
        work: impl FnOnce(&Stockade) -> R + Send + 'static,
    ) -> Self {
        let (stopped, is_stopped) = channel();
        let (wake, woken): (_, Receiver<()>) = channel();
        let shop = Arc::clone(shop);
        let thread = std::thread::spawn(move || {
            let passes = Cell::new(0);
            let hook = move |at| {
                passes.set(passes.get() + u32::from(at == step));
                if at == step && passes.get() == n {
                    stopped.send(()).unwrap();
                    let _ = woken.recv();
                }
            };
            with_hook(hook, || work(&shop))
        });
        is_stopped.recv().unwrap();
        Stopped { wake, thread }
    }

    pub fn wakes(self) -> R {
        self.wake.send(()).unwrap();
        self.thread.join().unwrap()
    }
}
