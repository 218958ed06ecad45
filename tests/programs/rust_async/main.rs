//! Async functions on a small executor: state machines, join, wakers from another thread.
//#expect-calls polled 60
//#expect-runs resumed 50
//#expect-runs finished 10
//#cut the threads that wake are detached: they are anywhere when main returns
//#unequal * the threads that wake are detached: they are anywhere when main returns

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};

static SINK: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn mark(n: u64) {
    SINK.fetch_add(n, Relaxed);
}

#[inline(never)]
fn polled(left: u32) -> bool {
    SINK.fetch_add(1, Relaxed);
    left == 0
}

struct Yield(u32);
impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if polled(self.0) {
            return Poll::Ready(());
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

async fn step(n: u64) -> u64 {
    for _ in 0..5 {
        Yield(0).await;
        mark(n); // @resumed
    }
    n * 2
}

async fn task(n: u64) -> u64 {
    let a = step(n).await;
    Yield(0).await;
    mark(1); // @finished
    a + 1
}

struct Signal(Mutex<bool>, Condvar);
impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = Box::pin(future);
    let signal = Arc::new(Signal(Mutex::new(false), Condvar::new()));
    let waker = Waker::from(Arc::clone(&signal));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let mut woken = signal.0.lock().unwrap();
        while !*woken {
            woken = signal.1.wait(woken).unwrap();
        }
        *woken = false;
    }
}

struct FromThread(Arc<Mutex<(bool, Option<Waker>)>>);
impl Future for FromThread {
    type Output = u64;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        let mut state = self.0.lock().unwrap();
        if state.0 {
            return Poll::Ready(100);
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

async fn from_thread() -> u64 {
    let state = Arc::new(Mutex::new((false, None::<Waker>)));
    let other = Arc::clone(&state);
    std::thread::spawn(move || {
        let mut state = other.lock().unwrap();
        state.0 = true;
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    });
    FromThread(state).await
}

fn main() {
    let mut sum = 0;
    for n in 0..10 {
        sum += block_on(task(n));
    }
    sum += block_on(async { from_thread().await + from_thread().await });
    println!("{sum} {}", SINK.load(Relaxed));
}
