//! Servers that a measurement starts for itself and ends again: in a folder of their own, behind a Unix socket, so
//! that no port is taken and nobody else is met.

use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use tempfile::TempDir;

/// How long a server may take to answer for the first time.
const START: Duration = Duration::from_secs(30);

/// A server's process and its folder. Both are gone when it is dropped.
pub struct Server {
    pub folder: TempDir,
    process: Child,
    /// Ends it where killing it leaves something behind.
    stop: Option<Command>,
}

impl Server {
    /// Starts `command` and waits until `answers` does not fail any more.
    pub fn start(
        folder: TempDir,
        mut command: Command,
        stop: Option<Command>,
        answers: impl Fn(&TempDir) -> Result<()>,
    ) -> Result<Server> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().with_context(|| missing(&name))?;
        let mut server = Server { folder, process, stop };
        let begun = Instant::now();
        loop {
            let Err(error) = answers(&server.folder) else {
                return Ok(server);
            };
            if let Some(status) = server.process.try_wait()? {
                bail!("{name} ended with {status} before it answered; start it by hand to see why");
            }
            if begun.elapsed() > START {
                return Err(error.context(format!("{name} does not answer after {START:?}")));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = &mut self.stop {
            let stopped = stop.stdin(Stdio::null()).stdout(Stdio::null()).status();
            if !stopped.is_ok_and(|status| status.success()) {
                eprintln!("a server did not stop when asked and is killed: {stop:?}");
            }
        }
        // Nothing in it is worth a clean end. A process that has ended already is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What to say when a program is not there.
pub fn missing(program: &str) -> String {
    format!("cannot start {program}: install Debian's packages redis-server and postgresql, or leave this peer out")
}

/// The server that all contenders of one kind share while one of them lives: starting one takes seconds.
pub struct Shared(Mutex<(Weak<Server>, u32)>);

impl Shared {
    pub const fn new() -> Self {
        Shared(Mutex::new((Weak::new(), 0)))
    }

    /// The server, started if it does not run, and a number that nobody else in this process has.
    pub fn get(&self, start: impl FnOnce() -> Result<Server>) -> Result<(Arc<Server>, u32)> {
        let (running, number) = &mut *self.0.lock();
        let server = match running.upgrade() {
            Some(server) => server,
            None => Arc::new(start()?),
        };
        *running = Arc::downgrade(&server);
        *number += 1;
        Ok((server, *number))
    }
}

/// Connections, as many as there are threads at once: a thread takes one for a call and puts it back.
pub struct Pool<T>(Mutex<Vec<T>>);

impl<T> Pool<T> {
    pub const fn new() -> Self {
        Pool(Mutex::new(Vec::new()))
    }

    pub fn with<R>(&self, connect: impl FnOnce() -> Result<T>, call: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let idle = self.0.lock().pop();
        let mut connection = idle.map_or_else(connect, Ok)?;
        let answer = call(&mut connection)?;
        self.0.lock().push(connection);
        Ok(answer)
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }
}
