//! One request: tried again after faults that pass, continued where its body broke off, and hedged when it is late.

use super::{Fetcher, Object, extent::Extent, hedge};
use crate::{
    backend::{Cause, Failure},
    stats::COUNTERS,
};
use bytes::Bytes;
use infeed_core::{Hold, pool::PoolBuffer};
use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::time::{sleep, timeout};

/// How long an answer, or its next bytes, may take before the connection counts as dead.
pub(crate) const STALL: Duration = Duration::from_secs(8);
/// The first pause between tries, and the longest.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(5);

/// Fetches an extent. An error says how often it was tried.
pub(super) async fn fetch(fetcher: &Fetcher, extent: &Extent) -> Result<Bytes, (Failure, u32)> {
    let object = &*extent.object;
    let whole = extent.range.clone();
    let memory = |e: infeed_core::Error| (Failure::new(Cause::Refused, e.to_string()), 1);
    let len =
        usize::try_from(extent.len()).map_err(|_| (Failure::new(Cause::Refused, "it is too large"), 1))?;
    let mut buffer = fetcher.pool.take(len).map_err(memory)?;
    let (mut at, mut furthest, mut tries, mut moved) = (0usize, 0usize, 0u32, Instant::now());
    loop {
        tries += 1;
        let rest = whole.start + at as u64..whole.end;
        let (back, got, result) = if at == 0 && fetcher.options.hedge && extent.len() <= hedge::LARGEST {
            hedge::transfer(fetcher, extent, buffer).await
        } else {
            transfer(object, rest, buffer, at).await
        };
        buffer = back;
        at = at.max(got);
        if at > furthest {
            (furthest, moved) = (at, Instant::now());
        }
        let failure = match result {
            Ok(()) => return Ok(buffer.freeze()),
            // It cannot be continued where it broke off, because the server sends whole objects only.
            Err(failure) if failure.cause == Cause::NoRanges && at > 0 && whole == (0..object.size) => {
                at = 0;
                Failure::new(Cause::Passing, "the answer broke off, and the server sends whole files only")
            }
            Err(failure) => failure,
        };
        if !failure.passes() || moved.elapsed() >= fetcher.options.deadline {
            return Err((failure, tries));
        }
        if failure.cause == Cause::SlowDown {
            COUNTERS.slow_downs.fetch_add(1, Relaxed);
            fetcher.flow.hold().slow_down();
        }
        COUNTERS.retries.fetch_add(1, Relaxed);
        sleep(pause(tries)).await;
    }
}

/// Sends one request and writes its body into the buffer, from `at` on. Returns how far it came.
pub(super) async fn transfer(
    object: &Object,
    range: Range<u64>,
    mut buffer: PoolBuffer,
    mut at: usize,
) -> (PoolBuffer, usize, Result<(), Failure>) {
    let _counted = InFlight::begin();
    hedge::ALLOWANCE.add(1, 0);
    let start = Instant::now();
    let late = || Failure::new(Cause::Passing, format!("nothing came for {} s", STALL.as_secs()));
    let asked = timeout(STALL, object.backend.get(&object.key, range, object.tag.as_deref())).await;
    let mut body = match asked {
        Ok(Ok(body)) => body,
        Ok(Err(failure)) => return (buffer, at, Err(failure)),
        Err(_) => return (buffer, at, Err(late())),
    };
    loop {
        let mut beyond = [0];
        let out = if at < buffer.len() { &mut buffer[at..] } else { &mut beyond };
        let count = match timeout(STALL, body.read(out)).await {
            Ok(Ok(0)) => break,
            Ok(Ok(count)) => count,
            Ok(Err(failure)) => return (buffer, at, Err(failure)),
            Err(_) => return (buffer, at, Err(late())),
        };
        if at == buffer.len() {
            let what = "more bytes came than were asked for";
            return (buffer, 0, Err(Failure::new(Cause::Passing, what)));
        }
        at += count;
        COUNTERS.bytes.fetch_add(count as u64, Relaxed);
        hedge::ALLOWANCE.add(0, count as u64);
    }
    if at < buffer.len() {
        let what = format!("the answer ended {} bytes too early", buffer.len() - at);
        return (buffer, at, Err(Failure::new(Cause::Passing, what)));
    }
    COUNTERS.count_latency(start.elapsed());
    (buffer, at, Ok(()))
}

/// Counts a request while it is on its way, also when it is dropped.
struct InFlight;

impl InFlight {
    fn begin() -> Self {
        COUNTERS.requests.fetch_add(1, Relaxed);
        COUNTERS.in_flight.fetch_add(1, Relaxed);
        InFlight
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        COUNTERS.in_flight.fetch_sub(1, Relaxed);
    }
}

/// The pause after this many tries: doubled each time, and random, so that many clients do not come back at once.
pub(crate) fn pause(tries: u32) -> Duration {
    static STATE: AtomicU64 = AtomicU64::new(0x9e37_79b9_7f4a_7c15);
    let full = PAUSE.saturating_mul(1 << tries.min(10)).min(LONGEST);
    let mut x = STATE.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed) ^ u64::from(std::process::id());
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    full.mul_f64(0.5 + 0.5 * (x >> 11) as f64 / (1u64 << 53) as f64)
}

/// Asks until an answer comes, the failure is for good, or the deadline is over. For requests without a body.
pub(crate) async fn retrying<T, F>(
    deadline: Duration,
    mut ask: impl FnMut() -> F,
) -> Result<T, (Failure, u32)>
where
    F: Future<Output = Result<T, Failure>>,
{
    let (start, mut tries) = (Instant::now(), 0);
    loop {
        tries += 1;
        let counted = InFlight::begin();
        let answer = timeout(STALL.max(deadline / 2), ask()).await;
        drop(counted);
        let failure = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failure)) => failure,
            Err(_) => Failure::new(Cause::Passing, "no answer came"),
        };
        if !failure.passes() || start.elapsed() >= deadline {
            return Err((failure, tries));
        }
        COUNTERS.retries.fetch_add(1, Relaxed);
        sleep(pause(tries)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_differ() {
        for tries in 1..40 {
            let full = PAUSE.saturating_mul(1 << tries.min(10)).min(LONGEST);
            let (a, b) = (pause(tries), pause(tries));
            assert!(a >= full / 2 && a <= full && b >= full / 2 && b <= full && a != b);
        }
    }
}
