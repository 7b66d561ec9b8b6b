//! Bearer token that a client sends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use parking_lot::Mutex;

/// The bearer token that we send.
#[derive(Clone, Default)]
pub enum Bearer {
    /// No token.
    #[default]
    None,
    /// A fixed token.
    Fixed(String),
    /// The content of a file, which may change; it is read again once a minute.
    File(PathBuf),
}

/// How long a token is used before its file is read again.
///
/// Upstream: staging/src/k8s.io/client-go/transport/token_source.go, NewCachedFileTokenSource (v1.36.4).
const REMEMBERED: Duration = Duration::from_secs(60);

/// A bearer token, and what was last read from its file.
#[derive(Clone)]
pub(crate) struct Tokens {
    bearer: Bearer,
    read: Arc<Mutex<Option<(Duration, String)>>>,
}

impl Tokens {
    pub(crate) fn new(bearer: Bearer) -> Tokens {
        Tokens { bearer, read: Arc::default() }
    }

    /// The current token. If the file disappears, the last token stays in use.
    pub(crate) fn current(&self, clock: &Clock) -> Option<String> {
        let path = match &self.bearer {
            Bearer::None => return None,
            Bearer::Fixed(token) => return Some(token.clone()),
            Bearer::File(path) => path,
        };
        let now = clock.monotonic();
        let mut read = self.read.lock();
        if let Some((at, token)) = read.as_ref()
            && now < *at + REMEMBERED
        {
            return Some(token.clone());
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let token = text.trim();
        if !token.is_empty() {
            *read = Some((now, token.to_owned()));
        }
        read.as_ref().map(|(_, token)| token.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use keelson_stdx::clock::Clock;

    use super::{Bearer, Tokens};

    #[test]
    fn a_file_is_read_again_after_a_minute_and_never_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let (clock, hand) = Clock::manual();
        let tokens = Tokens::new(Bearer::File(path.clone()));
        let now = || tokens.current(&clock).unwrap_or_default();
        assert_eq!(now(), "");
        fs::write(&path, "first\n").expect("written");
        assert_eq!(now(), "first");
        fs::write(&path, "second\n").expect("written");
        hand.advance(Duration::from_secs(59));
        assert_eq!(now(), "first");
        hand.advance(Duration::from_secs(1));
        assert_eq!(now(), "second");
        fs::remove_file(&path).expect("removed");
        hand.advance(Duration::from_secs(60));
        assert_eq!(now(), "second");
    }
}
