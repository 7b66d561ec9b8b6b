//! Reads many objects: of one snapshot, in pages, selected.

use std::sync::Arc;

use keelson_object::Frozen;
use keelson_stdx::offload;
use keelson_store::{At, Entry, Key, Revision, StoreError};
use keelson_watch_cache::{BLOCK_TIMEOUT, PageRequest, Snapshot};

use super::page::Token;
use super::select::{COMPARISON, Matcher};
use crate::error::{Error, Result};
use crate::live::{Live, Objects};
use crate::options::{Freshness, ListOptions};
use crate::report;
use crate::resource::Scope;

/// A page of a list.
#[derive(Clone)]
pub struct Listing {
    /// The objects, in the order of their keys.
    pub items: Vec<Arc<Frozen>>,
    /// The revision of which this is a list.
    pub revision: u64,
    /// How to get the next page; empty after the last one.
    pub continue_token: String,
    /// How many objects come after this page, if that is known.
    pub remaining: Option<u64>,
    /// Which part of the collection this is a list of; `None` for all of it.
    pub shard: Option<String>,
}

/// The objects of `namespace` (empty for all) that `options` selects.
pub async fn list(live: &Live, namespace: &str, options: &ListOptions) -> Result<Listing> {
    let matcher = Matcher::new(&live.resource, namespace, &options.selection)?;
    if let Some(report) = &live.resource.reports {
        let mut items = report::objects(report).await?;
        items.retain(|it| matcher.matches(it));
        return Ok(Listing {
            items,
            revision: 0,
            continue_token: String::new(),
            remaining: None,
            shard: None,
        });
    }
    let token =
        if options.continue_token.is_empty() { None } else { Some(Token::decode(&options.continue_token)?) };
    let freshness = match &token {
        None => options.freshness,
        Some(Token { revision: Some(revision), .. }) => Freshness::Exactly(*revision),
        Some(Token { revision: None, .. }) => Freshness::Latest,
    };
    let start = token.as_ref().map(|it| it.start.as_str());
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let walk = Walk {
        live,
        objects: live.objects()?,
        namespace,
        matcher: &matcher,
        start,
        limit: if limit == 0 { usize::MAX } else { limit },
    };
    let listing = match source(live, freshness).await? {
        Source::Snapshot(snapshot) => {
            let comparisons = walk.length(&snapshot).saturating_mul(matcher.comparisons());
            Ok(offload::run(comparisons.saturating_mul(COMPARISON), || walk.snapshot(&snapshot)).await)
        }
        Source::Past(revision) => walk.past(revision).await,
    };
    match listing {
        // The client may go on with what is there now, if it does not mind that the pages do not fit together.
        Err(Error::Expired { .. }) if token.is_some() => {
            let token = Token { revision: None, start: start.unwrap_or_default().to_owned() };
            Err(Error::ContinueExpired { token: token.encode() })
        }
        listing => listing,
    }
}

enum Source {
    Snapshot(Snapshot),
    /// No longer in memory: the store has it, if anyone.
    Past(Revision),
}

async fn source(live: &Live, freshness: Freshness) -> Result<Source> {
    let cache = live.cache()?;
    let snapshot = match freshness {
        Freshness::Latest => cache.fresh().await?,
        Freshness::Any | Freshness::AtLeast(0) | Freshness::Exactly(0) => cache.at_hand().await,
        Freshness::AtLeast(revision) => match Revision::new(revision) {
            Some(revision) => cache.at_least(revision, BLOCK_TIMEOUT).await?,
            None => cache.at_hand().await,
        },
        Freshness::Exactly(number) => {
            let revision = Revision::new(number).unwrap_or(Revision::FIRST);
            match cache.exact(revision) {
                Some(snapshot) => snapshot,
                None => return Ok(Source::Past(revision)),
            }
        }
    };
    Ok(Source::Snapshot(snapshot))
}

struct Walk<'l> {
    live: &'l Live,
    objects: &'l Objects,
    namespace: &'l str,
    matcher: &'l Matcher,
    start: Option<&'l str>,
    limit: usize,
}

impl Walk<'_> {
    fn snapshot(&self, snapshot: &Snapshot) -> Listing {
        let scope = self.matcher.scope(&self.live.resource);
        let after = self.start.map(|start| before(&self.prefix(), start));
        let request = PageRequest { scope: &scope, after: after.as_ref(), limit: self.limit };
        let page = if self.matcher.is_everything() {
            snapshot.page(&request)
        } else {
            snapshot.page_where(&request, |object| self.matcher.matches(object))
        };
        self.objects.cache.count_list(&scope, &page);
        if page.next.is_some() {
            // The next page is of the same state: keep it at hand for a while.
            self.objects.cache.keep(snapshot);
        }
        let more = page.next.is_some().then_some(page.remaining.map(|count| count as u64));
        self.page(page.objects, snapshot.revision().get(), more)
    }

    /// How many objects are looked at, at most. Those that an index finds are few.
    fn length(&self, snapshot: &Snapshot) -> usize {
        match self.matcher.scope(&self.live.resource) {
            keelson_watch_cache::Scope::Field { .. } => 0,
            keelson_watch_cache::Scope::All if self.matcher.is_everything() => snapshot.len().min(self.limit),
            _ => snapshot.len(),
        }
    }

    fn prefix(&self) -> Key {
        let keys = &self.objects.keys;
        match (self.live.resource.scope, self.namespace) {
            (Scope::Namespaced, namespace) if !namespace.is_empty() => keys.in_namespace(namespace),
            _ => keys.all().clone(),
        }
    }

    async fn past(&self, revision: Revision) -> Result<Listing> {
        let prefix = self.prefix();
        let mut after = self.start.map(|start| before(&prefix, start));
        let mut items = Vec::new();
        loop {
            let at = At::Exactly(revision);
            let page = self.objects.store.list(&prefix, after.as_ref(), self.page_size(), at).await;
            let page = page.map_err(|error| match error {
                StoreError::Compacted { asked, oldest } => {
                    Error::Expired { asked: asked.get(), oldest: oldest.get() }
                }
                StoreError::Future { asked, latest } => {
                    Error::TooLargeRevision { asked: asked.get(), current: latest.get() }
                }
                other => Error::Store(other),
            })?;
            let count = page.entries.len();
            for (position, object) in self.objects_of(&page.entries).await?.into_iter().enumerate() {
                items.extend(object.filter(|it| self.matcher.matches(it)));
                if items.len() == self.limit {
                    let unread = (count - position - 1) as u64;
                    let left = page.remaining.map(|remaining| remaining + unread);
                    let more = (unread > 0 || page.more).then_some(left);
                    return Ok(self.page(items, revision.get(), more));
                }
            }
            after = page.entries.last().map(|entry| entry.key.clone());
            if !page.more || after.is_none() {
                return Ok(self.page(items, revision.get(), None));
            }
        }
    }

    /// The objects of entries of the store. What cannot be decrypted is left out, as everywhere.
    async fn objects_of(&self, entries: &[Entry]) -> Result<Vec<Option<Arc<Frozen>>>> {
        let freeze = |entry: &Entry| match entry.value.is_empty() {
            true => Ok(None),
            false => self.live.freeze(&entry.value, entry.modified.get()).map(Some),
        };
        let size = entries.iter().map(|it| it.value.len()).sum();
        offload::run(size, || entries.iter().map(freeze).collect()).await
    }

    /// Pages of the store are bounded however long the client's list is.
    fn page_size(&self) -> usize {
        self.limit.clamp(1, 10_000)
    }

    /// `more` is `None` on the last page, else how many come after it, if that is known.
    fn page(&self, items: Vec<Arc<Frozen>>, revision: u64, more: Option<Option<u64>>) -> Listing {
        let shard = self.matcher.shard();
        let mut listing = Listing { items, revision, continue_token: String::new(), remaining: None, shard };
        if let Some(left) = more
            && let Some(last) = listing.items.last()
        {
            let index = last.index();
            let start = match (self.live.resource.scope, self.namespace) {
                (Scope::Namespaced, "") => format!("{}/{}\0", index.namespace, index.name),
                _ => format!("{}\0", index.name),
            };
            listing.continue_token = Token { revision: Some(revision), start }.encode();
            listing.remaining = left.filter(|_| self.matcher.is_unselective());
        }
        listing
    }
}

/// A key after which a list begins with `start`.
///
/// `a\0` is the first after `a`. A start that a client made up is itself the first: what comes after the text before
/// it that has every character there is, `a` is after `` ` `` and then the largest of all characters.
fn before(prefix: &Key, start: &str) -> Key {
    if let Some(last) = start.strip_suffix('\0') {
        return Key::from(format!("{prefix}{last}"));
    }
    let mut rest = start.chars();
    match rest.next_back() {
        None => prefix.clone(),
        Some(last) => {
            let smaller = (0..u32::from(last)).rev().find_map(char::from_u32);
            let smaller = smaller.map(|it| format!("{it}{}", char::MAX)).unwrap_or_default();
            Key::from(format!("{prefix}{}{smaller}", rest.as_str()))
        }
    }
}
