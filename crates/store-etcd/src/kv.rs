//! Reads and writes: one request each.

use bytes::Bytes;
use keelson_store::{At, Entry, Expect, Key, Page, Result, Revision, StoreError, Write};
use tonic::{Code, Status};

use crate::client::Repeat;
use crate::error::{Error, Told, told};
use crate::messages::{
    CompactionRequest, CompactionResponse, Compare, CompareResult, CompareTarget, CompareWith,
    DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, RangeResponse, Request, RequestOp,
    ResponseHeader, TxnRequest, TxnResponse, path,
};
use crate::store::Shared;

/// The page size: a list without a limit must not become one huge message.
const PAGE: usize = 10_000;

impl Shared {
    /// The latest revision of the whole store. `key` is only used for the request.
    pub(crate) async fn latest(&self, key: &Key) -> Result<Revision> {
        let request = RangeRequest { key: bytes(key), count_only: true, ..RangeRequest::default() };
        revision(self.range(request).await.map_err(Error::from)?.header.as_ref())
    }

    /// The latest revision, if `asked` is neither compacted nor in the future.
    pub(crate) async fn latest_if_kept(&self, key: &Key, asked: Revision) -> Result<Revision> {
        let request = RangeRequest {
            key: bytes(key),
            count_only: true,
            revision: number(asked),
            ..RangeRequest::default()
        };
        match self.range(request).await {
            Ok(answer) => revision(answer.header.as_ref()),
            Err(status) => Err(self.refused(&status, asked).await),
        }
    }

    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Entry>> {
        let request = RangeRequest { key: bytes(key), ..RangeRequest::default() };
        let answer = self.range(request).await.map_err(Error::from)?;
        Ok(answer.kvs.into_iter().next().and_then(entry))
    }

    pub(crate) async fn list(&self, prefix: &Key, after: Option<&Key>, limit: usize, at: At) -> Result<Page> {
        let range_end = end_of(prefix.as_str());
        let mut start = bytes(prefix);
        if let Some(after) = after.filter(|after| after.as_str() >= prefix.as_str()) {
            start = behind(after.as_str().as_bytes());
        }
        let mut page =
            Page { entries: Vec::new(), revision: Revision::FIRST, more: false, remaining: Some(0) };
        let mut at = at;
        // There are no keys behind the end of the prefix, but the revision is still needed.
        if !range_end.is_empty() && start >= range_end {
            page.revision = match at {
                At::Latest => self.latest(prefix).await?,
                At::Exactly(asked) => self.latest_if_kept(prefix, asked).await.map(|_| asked)?,
            };
            return Ok(page);
        }
        loop {
            let wanted = limit - page.entries.len();
            let request = RangeRequest {
                key: start,
                range_end: range_end.clone(),
                limit: i64::try_from(wanted.min(PAGE)).unwrap_or(i64::MAX),
                revision: match at {
                    At::Latest => 0,
                    At::Exactly(asked) => number(asked),
                },
                count_only: limit == 0,
            };
            let answer = match (self.range(request).await, at) {
                (Ok(answer), _) => answer,
                (Err(status), At::Exactly(asked)) => return Err(self.refused(&status, asked).await),
                (Err(status), At::Latest) => return Err(Error::from(status).into()),
            };
            page.revision = match at {
                At::Latest => revision(answer.header.as_ref())?,
                At::Exactly(asked) => asked,
            };
            at = At::Exactly(page.revision);
            let received = answer.kvs.len();
            start = answer.kvs.last().map(|last| behind(&last.key)).unwrap_or_default();
            page.entries.extend(answer.kvs.into_iter().filter_map(entry));
            let remaining = usize::try_from(answer.count).unwrap_or_default().saturating_sub(received);
            (page.more, page.remaining) = (remaining > 0, Some(remaining as u64));
            if !page.more || received == 0 || page.entries.len() >= limit {
                return Ok(page);
            }
        }
    }

    pub(crate) async fn commit(&self, key: &Key, expect: Expect, write: Write) -> Result<Revision> {
        if expect == Expect::Absent && write == Write::Delete {
            return Err(match self.get(key).await? {
                Some(_) => StoreError::Exists(key.clone()),
                None => StoreError::Changed { key: key.clone(), current: None },
            });
        }
        let answer = match self.transact(key, expect, &write).await {
            // The lease expired while we wanted to use it for one more entry.
            Err(status) if status.code() == Code::NotFound && status.message().contains("lease") => {
                self.leases.forget().await;
                self.transact(key, expect, &write).await
            }
            answer => answer,
        };
        let answer = answer.map_err(|status| not_written(&status))?;
        if answer.succeeded {
            return revision(answer.header.as_ref());
        }
        if expect == Expect::Absent {
            return Err(StoreError::Exists(key.clone()));
        }
        let current = answer.responses.into_iter().next().and_then(|response| response.range);
        let current = current.ok_or(Error::Incomplete("the current entry"))?.kvs.into_iter().next();
        Err(StoreError::Changed { key: key.clone(), current: current.and_then(entry).map(Box::new) })
    }

    async fn transact(
        &self,
        key: &Key,
        expect: Expect,
        write: &Write,
    ) -> std::result::Result<TxnResponse, Status> {
        let expected = match expect {
            Expect::Absent => 0,
            Expect::Unchanged(revision) => number(revision),
        };
        let key = bytes(key);
        let write = match write {
            Write::Put { value, lives } => {
                let lease = match lives {
                    Some(lives) => self.leases.lease(&self.client, *lives).await?,
                    None => 0,
                };
                Request::Put(PutRequest { key: key.clone(), value: value.clone(), lease })
            }
            Write::Delete => Request::DeleteRange(DeleteRangeRequest { key: key.clone() }),
        };
        let read = Request::Range(RangeRequest { key: key.clone(), ..RangeRequest::default() });
        let request = TxnRequest {
            compare: vec![Compare {
                result: CompareResult::Equal.into(),
                target: CompareTarget::ModRevision.into(),
                key,
                with: Some(CompareWith::ModRevision(expected)),
            }],
            success: vec![RequestOp { request: Some(write) }],
            // A create does not need the current value.
            failure: match expect {
                Expect::Absent => Vec::new(),
                Expect::Unchanged(_) => vec![RequestOp { request: Some(read) }],
            },
        };
        self.client.call(path::TXN, request, Repeat::IfUnsent).await
    }

    pub(crate) async fn compact(&self, before: Revision) -> Result<()> {
        let request = CompactionRequest { revision: number(before) };
        let answer: std::result::Result<CompactionResponse, Status> =
            self.client.call(path::COMPACT, request, Repeat::Freely).await;
        match answer {
            Ok(_) => {
                self.forgotten.learn(before);
                Ok(())
            }
            Err(status) if told(&status) == Told::Compacted => Ok(()),
            Err(status) => Err(self.refused(&status, before).await),
        }
    }

    /// The error for a read that etcd refused at a revision.
    async fn refused(&self, status: &Status, asked: Revision) -> StoreError {
        let error = match told(status) {
            Told::Compacted => self.oldest().await.map(|oldest| {
                self.forgotten.learn(oldest);
                StoreError::Compacted { asked, oldest }
            }),
            Told::Future => {
                self.latest(&Key::from("/")).await.map(|latest| StoreError::Future { asked, latest })
            }
            Told::TooLarge | Told::Other => Err(Error::from(status).into()),
        };
        error.unwrap_or_else(|error| error)
    }

    async fn range(&self, request: RangeRequest) -> std::result::Result<RangeResponse, Status> {
        self.client.call(path::RANGE, request, Repeat::Freely).await
    }
}

/// etcd has its own size limit, which only etcd knows.
fn not_written(status: &Status) -> StoreError {
    let error = Error::from(status);
    match told(status) {
        Told::TooLarge => StoreError::Refused(error.to_string()),
        _ => error.into(),
    }
}

/// A key as etcd has it.
pub(crate) fn bytes(key: &Key) -> Bytes {
    Bytes::copy_from_slice(key.as_str().as_bytes())
}

/// A revision as etcd has it.
pub(crate) fn number(revision: Revision) -> i64 {
    i64::try_from(revision.get()).unwrap_or(i64::MAX)
}

/// A revision of etcd.
pub(crate) fn revision_of(number: i64) -> Option<Revision> {
    u64::try_from(number).ok().and_then(Revision::new)
}

/// The revision at which etcd answered.
pub(crate) fn revision(header: Option<&ResponseHeader>) -> Result<Revision> {
    let revision = header.and_then(|header| revision_of(header.revision));
    Ok(revision.ok_or(Error::Incomplete("its revision"))?)
}

/// `None` for entries that we cannot have written: our keys are text.
pub(crate) fn entry(kv: KeyValue) -> Option<Entry> {
    let Ok(key) = std::str::from_utf8(&kv.key) else {
        tracing::warn!(key = %String::from_utf8_lossy(&kv.key), "key in etcd is not text and is left out");
        return None;
    };
    Some(Entry {
        key: Key::from(key),
        created: revision_of(kv.create_revision)?,
        modified: revision_of(kv.mod_revision)?,
        version: u64::try_from(kv.version).ok()?,
        value: kv.value,
    })
}

/// The first key that does not begin with `prefix`; empty if there is none.
pub(crate) fn end_of(prefix: &str) -> Bytes {
    let mut end = prefix.as_bytes().to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Bytes::from(end);
        }
    }
    Bytes::from_static(b"\0")
}

/// The key next to this one.
fn behind(key: &[u8]) -> Bytes {
    [key, b"\0"].concat().into()
}

#[cfg(test)]
mod tests {
    use super::{behind, end_of};

    #[test]
    fn a_prefix_ends_where_the_next_one_begins() {
        for (prefix, end) in [("/registry/pods/", "/registry/pods0"), ("/", "0"), ("a", "b"), ("", "\0")] {
            assert_eq!(end_of(prefix), end, "{prefix:?}");
        }
        assert_eq!(behind(b"/a"), "/a\0");
    }
}
