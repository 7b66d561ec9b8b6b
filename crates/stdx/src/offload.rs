//! CPU-bound work off the worker threads: decoding, patching, encoding and compressing what is large.
//!
//! A worker thread of tokio serves many connections, one poll after the other. Work that takes longer than about a
//! millisecond must not run there, or everybody else waits for it. Work that can be cut runs in bounded steps with
//! [`Breaks`] in between. Work that cannot be cut is offloaded:
//!
//! - [`run`] does one piece of work on so many bytes.
//! - [`scope`] runs a future whose parts say with [`expect`] how many bytes they are about to work on.
//!
//! Below [`LARGE`] bytes nothing special happens. Above that, the work waits for one of a few [`slots`], and its worker
//! thread hands all other tasks to another thread before it begins. The slots are as many as the machine has cores:
//! large requests share the machine among themselves, and the operating system shares it between them and the workers.

use std::cell::Cell;
use std::num::NonZero;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::thread;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio_util::sync::PollSemaphore;

/// From how many bytes on work is large: a kilobyte of JSON is read, checked and written in a few microseconds.
pub const LARGE: usize = 64 << 10;

/// How many pieces of large work are done at the same time.
pub fn slots() -> usize {
    *COUNT
}

static COUNT: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));

static SLOTS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(slots())));

tokio::task_local! {
    /// Whether the scope around is about to do large work.
    static EXPECTED: Arc<AtomicBool>;
}

thread_local! {
    /// Whether this thread has a slot: work within large work needs no other one.
    static HAS_SLOT: Cell<bool> = const { Cell::new(false) };
}

/// Does work on `size` bytes.
pub async fn run<T>(size: usize, work: impl FnOnce() -> T) -> T {
    if size < LARGE {
        return work();
    }
    let future = std::pin::pin!(async { work() });
    Large { future, slots: PollSemaphore::new(Arc::clone(&SLOTS)), expected: None }.await
}

/// Runs a future whose parts call [`expect`]. It has a slot only while it works, never while it waits.
///
/// Scopes of one task must not run side by side: with the last slot one would wait for the other.
pub async fn scope<F: Future>(future: F) -> F::Output {
    let expected = Arc::new(AtomicBool::new(false));
    let future = std::pin::pin!(EXPECTED.scope(Arc::clone(&expected), future));
    Large { future, slots: PollSemaphore::new(Arc::clone(&SLOTS)), expected: Some(expected) }.await
}

/// Tells the scope around that work on `size` bytes comes next.
pub async fn expect(size: usize) {
    let is_news = size >= LARGE
        && EXPECTED.try_with(|expected| !expected.swap(true, Ordering::Relaxed)).unwrap_or(false);
    if is_news {
        // The next poll is offloaded.
        tokio::task::yield_now().await;
    }
}

/// Breaks in a loop over many things, in which other tasks have their turn.
#[derive(Debug, Default)]
pub struct Breaks {
    since: usize,
}

impl Breaks {
    /// Counts work on `size` bytes, and takes a break when it was a lot since the last one.
    pub async fn count(&mut self, size: usize) {
        self.since += size;
        if self.since >= LARGE {
            self.since = 0;
            tokio::task::yield_now().await;
        }
    }
}

struct Large<'f, F> {
    future: Pin<&'f mut F>,
    slots: PollSemaphore,
    /// Whether it is large, if that is not known from the beginning.
    expected: Option<Arc<AtomicBool>>,
}

impl<F: Future> Future for Large<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let is_large = self.expected.as_ref().is_none_or(|it| it.load(Ordering::Relaxed));
        if !is_large || HAS_SLOT.get() {
            return self.future.as_mut().poll(context);
        }
        let _slot = ready!(self.slots.poll_acquire(context));
        aside(|| self.future.as_mut().poll(context))
    }
}

/// Does work on this thread, after its other tasks were handed to another one.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    struct Held;
    impl Drop for Held {
        fn drop(&mut self) {
            HAS_SLOT.set(false);
        }
    }
    let work = || {
        HAS_SLOT.set(true);
        let _held = Held;
        work()
    };
    match Handle::try_current().map(|it| it.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // There is no other thread: tests and tools.
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    use super::{Breaks, HAS_SLOT, LARGE, expect, run, scope, slots};
    use crate::task;

    #[tokio::test]
    async fn work_is_done_without_other_threads_too() {
        assert_eq!(run(1, || 1).await, 1);
        assert_eq!(run(LARGE, || 2).await, 2);
    }

    /// The only worker thread is busy with large work that ends when another task has run.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_meanwhile() {
        let (sender, receiver) = mpsc::channel();
        let busy = task::spawn("busy", run(LARGE, move || receiver.recv()));
        let other = task::spawn("other", async move { sender.send("done") });
        assert_eq!(busy.await.unwrap(), Ok("done"));
        assert_eq!(other.await.unwrap(), Ok(()));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_more_is_done_at_once_than_there_are_slots() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..8 * slots())
            .map(|_| {
                let (now, most) = (Arc::clone(&now), Arc::clone(&most));
                let work = move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                };
                task::spawn("work", run(LARGE, work))
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!((1..=slots()).contains(&most.load(Ordering::SeqCst)));
    }

    /// More futures wait for each other than there are slots.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn those_who_wait_have_no_slot() {
        let barrier = Arc::new(tokio::sync::Barrier::new(slots() + 1));
        let tasks: Vec<_> = (0..=slots())
            .map(|_| {
                let barrier = Arc::clone(&barrier);
                let work = async move {
                    expect(LARGE).await;
                    barrier.wait().await.is_leader()
                };
                task::spawn("wait", scope(work))
            })
            .collect();
        let mut leaders = 0;
        for task in tasks {
            leaders += usize::from(task.await.unwrap());
        }
        assert_eq!(leaders, 1);
    }

    /// All slots are taken by scopes that do large work within.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn work_within_work_needs_one_slot() {
        let tasks: Vec<_> = (0..4 * slots())
            .map(|_| {
                let work = async {
                    expect(LARGE).await;
                    run(LARGE, || HAS_SLOT.get()).await
                };
                task::spawn("work", scope(work))
            })
            .collect();
        for task in tasks {
            assert!(task.await.unwrap());
        }
    }

    #[tokio::test]
    async fn loops_take_breaks() {
        let mut breaks = Breaks::default();
        let mut context = Context::from_waker(Waker::noop());
        for (size, is_done) in [(LARGE - 1, true), (1, false), (1, true)] {
            let counted = pin!(breaks.count(size)).poll(&mut context);
            assert_eq!(counted.is_ready(), is_done, "{size}");
        }
    }

    #[tokio::test]
    async fn small_work_is_done_where_it_is() {
        assert!(!scope(async { HAS_SLOT.get() }).await);
        assert!(!run(LARGE - 1, || HAS_SLOT.get()).await);
        expect(LARGE).await;
    }
}
