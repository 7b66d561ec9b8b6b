//! Pacing: responses are produced in bounded steps, between which other tasks can run.
//!
//! The next piece is produced only when the client has taken the last one. Producers estimate how much they
//! must read for the next piece, so that large ones are produced outside of the worker threads.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use futures_util::Stream;
use keelson_stdx::offload::{self, Breaks};
use tracing::warn;

use crate::error::Result;

/// A response that is produced piece by piece.
pub(crate) trait Pieces: Send + 'static {
    /// The next piece, of [`CHUNK`](super::CHUNK) bytes or little more.
    fn next_piece(&mut self) -> Option<Result<Bytes>>;

    /// The number of bytes that must be parsed for the next piece, as far as it is known.
    fn work(&self) -> usize {
        0
    }
}

impl<I: Iterator<Item = Result<Bytes>> + Send + 'static> Pieces for I {
    fn next_piece(&mut self) -> Option<Result<Bytes>> {
        self.next()
    }
}

/// Pieces with pauses in between.
pub(crate) struct Paced<P> {
    /// Pieces that are ready.
    made: VecDeque<Bytes>,
    pieces: P,
    breaks: Breaks,
    /// The size of the last piece.
    last: usize,
}

impl<P: Pieces> Paced<P> {
    pub(crate) fn new(pieces: P) -> Paced<P> {
        Paced { made: VecDeque::new(), pieces, breaks: Breaks::default(), last: 0 }
    }

    /// The same, with these pieces first.
    pub(super) fn after(self, made: VecDeque<Bytes>) -> Paced<P> {
        Paced { made, ..self }
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Bytes>> {
        if let Some(piece) = self.made.pop_front() {
            return Some(Ok(piece));
        }
        self.breaks.count(std::mem::take(&mut self.last)).await;
        let piece = offload::run(self.pieces.work(), || self.pieces.next_piece()).await?;
        self.last = piece.as_ref().map_or(0, Bytes::len);
        Some(piece)
    }

    /// A response body. An error breaks it off: it is too late for an error response.
    pub(super) fn stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        futures_util::stream::unfold(self, |mut pieces| async move {
            let piece = pieces.next().await?;
            Some((piece.map_err(broken), pieces))
        })
    }
}

/// The error of a stream whose next piece cannot be produced.
pub(super) fn broken(error: crate::error::Error) -> io::Error {
    warn!(%error, "an answer is broken off");
    io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;
    use futures_util::{FutureExt as _, StreamExt as _};

    use super::Paced;
    use crate::encode::CHUNK;

    /// Ten pieces, and a counter of those that were produced.
    fn counted(size: usize) -> (Arc<AtomicUsize>, Paced<impl super::Pieces>) {
        let made = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&made);
        let pieces = (0..10).map(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(Bytes::from(vec![b'x'; size]))
        });
        (made, Paced::new(pieces))
    }

    #[tokio::test]
    async fn pieces_are_made_when_they_are_asked_for() {
        let (made, pieces) = counted(CHUNK);
        let mut stream = std::pin::pin!(pieces.stream());
        for expected in 1..=10 {
            assert_eq!(stream.next().await.unwrap().unwrap().len(), CHUNK);
            assert_eq!(made.load(Ordering::Relaxed), expected);
        }
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn others_have_their_turn_between_pieces() {
        let (_, mut pieces) = counted(CHUNK);
        assert!(pieces.next().now_or_never().is_some());
        assert!(pieces.next().now_or_never().is_none(), "a break comes first");
        let (_, mut pieces) = counted(CHUNK / 10);
        assert!((0..10).all(|_| pieces.next().now_or_never().is_some()), "what is short is made at once");
    }
}
