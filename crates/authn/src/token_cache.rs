//! Token cache: remembers the results of token authentication.
//!
//! Verifying a signature and looking up objects costs far more than a hash, and a client sends the same token
//! with each request. Successful results are kept for ten seconds, failures only where authentication is
//! expensive. Tokens are not kept: the key of an entry is a keyed hash of token and audiences. Requests that
//! come with the same unknown token at the same time wait for one result; each of them drives the work when
//! it is polled, so that a client that disconnects does not stop it.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;

use crate::{AuthError, Outcome, TokenAuthenticator};

/// How long results are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Tokens that were authenticated.
    pub good: Duration,
    /// The token is not valid.
    pub bad: Duration,
    /// Authentication that failed with an error.
    pub errors: Duration,
}

impl Default for Kept {
    /// Failures are not kept, so that a client does not have to wait with a token that was created after its
    /// first attempt.
    ///
    /// Upstream: pkg/kubeapiserver/options/authentication.go, NewBuiltInAuthenticationOptions (v1.36.4).
    fn default() -> Kept {
        Kept { good: Duration::from_secs(10), bad: Duration::ZERO, errors: Duration::ZERO }
    }
}

/// The number of independent locks.
const STRIPES: usize = 32;

/// More answers than this are not kept in a stripe.
const STRIPE_LIMIT: usize = 2048;

/// Answers for another authenticator from memory, where that knew lately.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/token/cache/cached_token_authenticator.go (v1.36.4).
pub struct TokenCache {
    work: Arc<Work>,
}

/// The metrics of a token cache.
pub trait TokenCacheMetrics: Send + Sync {
    /// A request was answered from memory, or not.
    fn asked(&self, status: &'static str, took: Duration);
    /// The inner authenticator was called, and returned a user or an error.
    fn fetched(&self, status: &'static str);
    /// So many more are waiting (`blocked`) or being looked up (`in_flight`).
    fn active(&self, status: &'static str, change: i64);
}

/// Metrics that count nothing.
pub struct Unmeasured;

impl TokenCacheMetrics for Unmeasured {
    fn asked(&self, _: &'static str, _: Duration) {}
    fn fetched(&self, _: &'static str) {}
    fn active(&self, _: &'static str, _: i64) {}
}

struct Work {
    inner: Arc<dyn TokenAuthenticator>,
    metrics: Arc<dyn TokenCacheMetrics>,
    kept: Kept,
    clock: Clock,
    key: hmac::Key,
    stripes: [Mutex<HashMap<Fingerprint, Entry>>; STRIPES],
}

type Fingerprint = [u8; 32];
type Answer = Shared<BoxFuture<'static, Outcome>>;

enum Entry {
    Known { outcome: Outcome, until: Duration },
    UnderWay(Answer),
}

impl TokenCache {
    /// Caches the results of `inner`, for as long as upstream does.
    #[must_use]
    pub fn new(
        inner: Arc<dyn TokenAuthenticator>,
        metrics: Arc<dyn TokenCacheMetrics>,
        clock: Clock,
    ) -> TokenCache {
        TokenCache::keeping(Kept::default(), inner, metrics, clock)
    }

    /// Caches the results of `inner`, for as long as `kept` says.
    #[must_use]
    pub fn keeping(
        kept: Kept,
        inner: Arc<dyn TokenAuthenticator>,
        metrics: Arc<dyn TokenCacheMetrics>,
        clock: Clock,
    ) -> TokenCache {
        let mut secret = [0; 32];
        aws_lc_rs::rand::fill(&mut secret).expect("the machine has random numbers");
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let stripes = std::array::from_fn(|_| Mutex::default());
        TokenCache { work: Arc::new(Work { inner, metrics, kept, clock, key, stripes }) }
    }

    /// Clears the cache, because its results may no longer be true.
    pub fn clear(&self) {
        for stripe in &self.work.stripes {
            stripe.lock().clear();
        }
    }
}

impl TokenAuthenticator for TokenCache {
    fn authenticate_token<'a>(&'a self, token: &'a str, audiences: &'a [String]) -> BoxFuture<'a, Outcome> {
        let work = &self.work;
        let begun = work.clock.monotonic();
        let key = work.fingerprint(token, audiences);
        let answer = match work.find(key, token, audiences) {
            Found::Known(outcome) => {
                work.metrics.asked("hit", Duration::ZERO);
                return std::future::ready(outcome).boxed();
            }
            Found::UnderWay(answer) => answer,
        };
        async move {
            let _blocked = Active::new(&work.metrics, "blocked");
            let outcome = answer.await;
            work.metrics.asked("miss", work.clock.monotonic().saturating_sub(begun));
            outcome
        }
        .boxed()
    }
}

enum Found {
    Known(Outcome),
    UnderWay(Answer),
}

impl Work {
    fn find(self: &Arc<Work>, key: Fingerprint, token: &str, audiences: &[String]) -> Found {
        let now = self.clock.monotonic();
        let mut stripe = self.stripe(&key).lock();
        match stripe.get(&key) {
            Some(Entry::Known { outcome, until }) if *until > now => return Found::Known(outcome.clone()),
            Some(Entry::UnderWay(answer)) => return Found::UnderWay(answer.clone()),
            _ => {}
        }
        let work = Arc::clone(self);
        let (token, audiences) = (token.to_owned(), audiences.to_vec());
        let answer = async move { work.ask(key, &token, &audiences).await }.boxed().shared();
        make_room(&mut stripe, now);
        if stripe.len() < STRIPE_LIMIT {
            stripe.insert(key, Entry::UnderWay(answer.clone()));
        }
        Found::UnderWay(answer)
    }

    async fn ask(self: &Arc<Work>, key: Fingerprint, token: &str, audiences: &[String]) -> Outcome {
        let outcome = {
            let _in_flight = Active::new(&self.metrics, "in_flight");
            let asked = AssertUnwindSafe(self.inner.authenticate_token(token, audiences)).catch_unwind();
            asked.await.unwrap_or(Err(AuthError::Crashed))
        };
        self.metrics.fetched(if outcome.is_ok() { "ok" } else { "error" });
        let time = match &outcome {
            Ok(Some(_)) => self.kept.good,
            Ok(None) => self.kept.bad,
            Err(_) => self.kept.errors,
        };
        let mut stripe = self.stripe(&key).lock();
        if time.is_zero() {
            stripe.remove(&key);
        } else if let Some(entry) = stripe.get_mut(&key) {
            // What was cleared meanwhile, or never had room, is not kept.
            *entry = Entry::Known { outcome: outcome.clone(), until: self.clock.monotonic() + time };
        }
        outcome
    }

    fn stripe(&self, key: &Fingerprint) -> &Mutex<HashMap<Fingerprint, Entry>> {
        &self.stripes[usize::from(key[0]) % STRIPES]
    }

    /// Texts are prefixed with their lengths, so that different inputs never look the same.
    fn fingerprint(&self, token: &str, audiences: &[String]) -> Fingerprint {
        let mut hash = hmac::Context::with_key(&self.key);
        let mut text = |text: &str| {
            hash.update(&(text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        };
        text(token);
        audiences.iter().for_each(|it| text(it));
        hash.sign().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

/// A flood of bad tokens must neither fill the memory nor push out the good ones.
fn make_room(stripe: &mut HashMap<Fingerprint, Entry>, now: Duration) {
    if stripe.len() < STRIPE_LIMIT {
        return;
    }
    stripe.retain(|_, entry| match entry {
        Entry::Known { until, .. } => *until > now,
        Entry::UnderWay(_) => true,
    });
    if stripe.len() >= STRIPE_LIMIT {
        stripe.retain(|_, entry| matches!(entry, Entry::Known { outcome: Ok(Some(_)), .. }));
    }
}

/// Counts one that is active, for as long as it is there.
struct Active<'m> {
    metrics: &'m Arc<dyn TokenCacheMetrics>,
    status: &'static str,
}

impl<'m> Active<'m> {
    fn new(metrics: &'m Arc<dyn TokenCacheMetrics>, status: &'static str) -> Active<'m> {
        metrics.active(status, 1);
        Active { metrics, status }
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.metrics.active(self.status, -1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::FutureExt;
    use futures_util::future::{BoxFuture, join_all};
    use keelson_stdx::clock::Clock;
    use tokio::sync::Semaphore;

    use super::{Kept, STRIPE_LIMIT, STRIPES, TokenCache, Unmeasured};
    use crate::{AuthError, Authenticated, Outcome, TokenAuthenticator, User};

    /// Counts its calls; waits for a permit before it answers.
    struct Counting {
        asked: AtomicUsize,
        permits: Semaphore,
    }

    impl TokenAuthenticator for Counting {
        fn authenticate_token<'a>(&'a self, token: &'a str, _: &'a [String]) -> BoxFuture<'a, Outcome> {
            async move {
                self.asked.fetch_add(1, Ordering::Relaxed);
                let _permit = self.permits.acquire().await;
                match token {
                    "panic" => panic!("as the test wants it"),
                    "bad" => Err(AuthError::InvalidBearerToken),
                    "unknown" => Ok(None),
                    name => Ok(Some(Authenticated::new(Arc::new(User::new(name, &[]))))),
                }
            }
            .boxed()
        }
    }

    fn cache(permits: usize) -> (TokenCache, Arc<Counting>, keelson_stdx::clock::ManualClock) {
        let (clock, hand) = Clock::manual();
        let inner = Arc::new(Counting { asked: AtomicUsize::new(0), permits: Semaphore::new(permits) });
        (TokenCache::new(inner.clone(), Arc::new(Unmeasured), clock), inner, hand)
    }

    #[tokio::test]
    async fn good_answers_are_kept_for_ten_seconds() {
        let (cache, inner, hand) = cache(1);
        for (seconds, asked) in [(0, 1), (9, 1), (1, 2)] {
            hand.advance(Duration::from_secs(seconds));
            let known = cache.authenticate_token("jane", &[]).await.expect("no error");
            assert_eq!(known.map(|it| it.user.name.clone()).as_deref(), Some("jane"));
            assert_eq!(inner.asked.load(Ordering::Relaxed), asked);
        }
        for token in ["bad", "unknown", "panic"] {
            let before = inner.asked.load(Ordering::Relaxed);
            let first = cache.authenticate_token(token, &[]).await;
            assert_eq!(cache.authenticate_token(token, &[]).await, first, "{token}");
            assert_eq!(inner.asked.load(Ordering::Relaxed), before + 2, "{token}");
        }
    }

    #[tokio::test]
    async fn bad_answers_can_be_kept() {
        for token in ["jane", "bad", "unknown", "panic"] {
            let (clock, hand) = Clock::manual();
            let inner = Arc::new(Counting { asked: AtomicUsize::new(0), permits: Semaphore::new(1) });
            let time = Duration::from_secs(10);
            let kept = Kept { good: time, bad: time, errors: time };
            let cache = TokenCache::keeping(kept, inner.clone(), Arc::new(Unmeasured), clock);
            let first = cache.authenticate_token(token, &[]).await;
            hand.advance(Duration::from_secs(9));
            assert_eq!(cache.authenticate_token(token, &[]).await, first, "{token}");
            assert_eq!(inner.asked.load(Ordering::Relaxed), 1, "{token}");
            hand.advance(Duration::from_secs(1));
            assert_eq!(cache.authenticate_token(token, &[]).await, first, "{token}");
            assert_eq!(inner.asked.load(Ordering::Relaxed), 2, "{token}");
        }
    }

    #[tokio::test]
    async fn other_audiences_are_another_question() {
        let (cache, inner, _hand) = cache(1);
        let list = |words: &[&str]| words.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        for audiences in [list(&[]), list(&["a"]), list(&["a", "b"]), list(&["ab"]), list(&["a"])] {
            cache.authenticate_token("jane", &audiences).await.expect("known");
        }
        assert_eq!(inner.asked.load(Ordering::Relaxed), 4);
    }

    #[tokio::test]
    async fn who_asks_at_the_same_time_waits_for_one_answer() {
        let (cache, inner, _hand) = cache(0);
        // One comes first and leaves before there is an answer.
        assert!(cache.authenticate_token("jane", &[]).now_or_never().is_none());
        let asking = join_all((0..8).map(|_| cache.authenticate_token("jane", &[])));
        let (answers, ()) = tokio::join!(asking, async { inner.permits.add_permits(1) });
        assert!(answers.iter().all(|it| it.as_ref().is_ok_and(Option::is_some)));
        assert_eq!(inner.asked.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn what_was_cleared_is_asked_again() {
        let (cache, inner, _hand) = cache(1);
        cache.authenticate_token("jane", &[]).await.expect("known");
        cache.clear();
        cache.authenticate_token("jane", &[]).await.expect("known");
        assert_eq!(inner.asked.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_flood_of_bad_tokens_pushes_no_good_one_out() {
        let (clock, _hand) = Clock::manual();
        let file = crate::TokenFile::parse("good,jane,1\n").expect("a token file");
        let time = Duration::from_secs(10);
        let kept = Kept { good: time, bad: time, errors: time };
        let cache = TokenCache::keeping(kept, Arc::new(file), Arc::new(Unmeasured), clock);
        cache.authenticate_token("good", &[]).await.expect("no error");
        for number in 0..2 * STRIPES * STRIPE_LIMIT {
            cache.authenticate_token(&number.to_string(), &[]).await.expect("no error");
        }
        let key = cache.work.fingerprint("good", &[]);
        assert!(cache.work.stripe(&key).lock().contains_key(&key));
        let kept: usize = cache.work.stripes.iter().map(|it| it.lock().len()).sum();
        assert!(kept <= STRIPES * STRIPE_LIMIT, "{kept}");
    }
}
