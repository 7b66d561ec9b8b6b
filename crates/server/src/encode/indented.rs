//! Indented JSON (`?pretty=true`, and the default for curl), made from the compact JSON piece by piece.

use bytes::{Buf as _, Bytes, BytesMut};
use keelson_codec::json::Indenter;

use super::CHUNK;
use super::pace::Pieces;
use crate::error::Result;

/// The pieces of another iterator, indented. There is no line end after the last one.
pub(super) fn indented(compact: impl Pieces) -> impl Pieces {
    Indented { compact, rest: Bytes::new(), indenter: Indenter::default() }
}

struct Indented<P> {
    compact: P,
    /// The rest of the last piece.
    rest: Bytes,
    indenter: Indenter,
}

impl<P: Pieces> Pieces for Indented<P> {
    fn next_piece(&mut self) -> Option<Result<Bytes>> {
        while self.rest.is_empty() {
            match self.compact.next_piece()? {
                Ok(piece) => self.rest = piece,
                Err(error) => return Some(Err(error)),
            }
        }
        let mut out = BytesMut::with_capacity(CHUNK.min(2 * self.rest.len()) + (4 << 10));
        let done = self.indenter.indent(&self.rest, CHUNK, &mut out);
        self.rest.advance(done);
        Some(Ok(out.freeze()))
    }

    fn work(&self) -> usize {
        if self.rest.is_empty() { self.compact.work() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::indented;
    use crate::encode::CHUNK;
    use crate::encode::list::tests::{all, compact, things};
    use crate::encode::list::{Item, ListMeta};

    #[test]
    fn lists_are_indented_in_bounded_pieces() {
        let rest = vec![format!(",\"data\":[{}0]", "[],".repeat(9_000)); 40];
        let list = || things(&rest, &ListMeta::default(), Item::Bare);
        let mut expected = Vec::new();
        keelson_codec::json::indent(compact(list()).as_bytes(), &mut expected);
        let pieces = all(indented(list().json(b"]}")));
        assert!(pieces.len() > 40);
        assert!(pieces.iter().all(|it| it.len() < CHUNK + 100));
        assert!(pieces.concat() == expected);
    }
}
