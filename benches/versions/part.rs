//! A part of the bench on a thread of its own.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::mpsc as asked;
use tokio::task::LocalSet;

/// It ends when dropped.
pub(crate) struct Part {
    pub(crate) address: SocketAddr,
    ask: asked::Sender<mpsc::Sender<Duration>>,
}

impl Part {
    /// Runs `serve` on a thread of that name and a runtime of its own; it says where it listens and goes on in tasks.
    pub(crate) fn start<F: Future<Output = SocketAddr>>(
        name: &str,
        serve: impl FnOnce() -> F + Send + 'static,
    ) -> Self {
        let (told, tell) = mpsc::channel();
        let (ask, mut asked) = asked::channel::<mpsc::Sender<Duration>>(1);
        let thread = std::thread::Builder::new().name(name.to_owned());
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, async {
                told.send(serve().await).unwrap();
                while let Some(answer) = asked.recv().await {
                    answer.send(thread_cpu_time()).unwrap();
                }
            });
        };
        thread.spawn(run).unwrap();
        Self { address: tell.recv().unwrap(), ask }
    }

    /// The CPU time of its thread so far.
    pub(crate) fn cpu_time(&self) -> Duration {
        let (answer, answered) = mpsc::channel();
        self.ask.blocking_send(answer).unwrap();
        answered.recv().unwrap()
    }
}

fn thread_cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap())
}
