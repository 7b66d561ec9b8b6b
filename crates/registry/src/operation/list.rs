//! List: reads many objects of one snapshot, in pages, with selectors.

use std::sync::Arc;

use keelson_object::Frozen;
use keelson_stdx::offload;
use keelson_store::{At, Entry, Key, Revision, StoreError};
use keelson_watch_cache::{BLOCK_TIMEOUT, PageRequest, Snapshot};

use super::page::{Origin, Token};
use super::select::{COMPARISON, Matcher};
use crate::error::{Error, Result};
use crate::live::{Live, Objects, Place, Reads};
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
    /// The continue token of the next page; empty after the last one.
    pub continue_token: String,
    /// The number of objects after this page, if it is known.
    pub remaining: Option<u64>,
    /// The shard that this is a list of; `None` for the whole collection.
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
    let objects = live.objects()?;
    let (token, freshness) = beginning(options)?;
    let start = token.as_ref().map(|it| it.start.as_str());
    let walk =
        Walk { live, objects, namespace, matcher: &matcher, start, limit: limit(objects.reads, options) };
    let listing = match source(objects, freshness).await? {
        Source::Snapshot(snapshot) if !live.keeps_fields() && !matcher.is_everything() => {
            walk.converted(&snapshot).await
        }
        Source::Snapshot(snapshot) => {
            let comparisons = walk.length(&snapshot).saturating_mul(matcher.comparisons());
            Ok(offload::run(comparisons.saturating_mul(COMPARISON), || walk.snapshot(&snapshot)).await)
        }
        Source::Store { at, not_before } => walk.stored(at, not_before).await,
    };
    match listing {
        // The client may go on with the current objects, if it accepts that the pages are inconsistent.
        Err(Error::Expired { .. }) if token.is_some() => {
            let token = Token { revision: None, start: start.unwrap_or_default().to_owned() };
            Err(Error::ContinueExpired { token: token.encode(Origin::Store) })
        }
        Ok(listing) => {
            let items = live.all_to_hub(listing.items).await?;
            Ok(Listing { items, ..listing })
        }
        Err(error) => Err(error),
    }
}

/// Where a list begins, and how new its state must be.
///
/// Upstream: apiserver/pkg/storage/interfaces.go, ValidateListOptions (v1.36.4).
fn beginning(options: &ListOptions) -> Result<(Option<Token>, Freshness)> {
    if options.continue_token.is_empty() {
        return Ok((None, options.freshness));
    }
    let token = Token::decode(&options.continue_token)?;
    if options.revision_beside_token {
        let text = "specifying resource version is not allowed when using continue";
        return Err(Error::BadRequest(text.to_owned()));
    }
    let freshness = token.revision.map_or(Freshness::Latest, Freshness::Exactly);
    Ok((Some(token), freshness))
}

/// Clients that accept any revision get the whole list of the cache in one page.
///
/// Upstream: apiserver/pkg/storage/cacher/cacher.go, GetList (v1.36.4).
fn limit(reads: Reads, options: &ListOptions) -> usize {
    let is_whole = reads == Reads::Cache && options.freshness == Freshness::Any;
    match usize::try_from(options.limit).unwrap_or(usize::MAX) {
        0 => usize::MAX,
        _ if is_whole => usize::MAX,
        limit => limit,
    }
}

enum Source {
    Snapshot(Snapshot),
    /// Not in memory, or not any more: only the store may have it. Refused if it is older than `not_before`.
    Store {
        at: At,
        not_before: u64,
    },
}

async fn source(objects: &Objects, freshness: Freshness) -> Result<Source> {
    let cache = &objects.cache;
    let is_near = objects.store.is_near();
    let snapshot = match (freshness, objects.reads) {
        (Freshness::Exactly(number), _) if number > 0 => {
            let revision = Revision::new(number).unwrap_or(Revision::FIRST);
            match cache.exact(revision).filter(|_| objects.reads == Reads::Cache || is_near) {
                Some(snapshot) => snapshot,
                None => return Ok(Source::Store { at: At::Exactly(revision), not_before: 0 }),
            }
        }
        (freshness, Reads::Store) => {
            let not_before = match freshness {
                Freshness::AtLeast(revision) => revision,
                Freshness::Latest | Freshness::Any | Freshness::Exactly(_) => 0,
            };
            if !is_near {
                return Ok(Source::Store { at: At::Latest, not_before });
            }
            // A local store is never ahead of the cache.
            let snapshot = cache.fresh().await?;
            not_older(snapshot.revision().get(), not_before)?;
            snapshot
        }
        (Freshness::Latest, Reads::Cache) => cache.fresh().await?,
        (Freshness::AtLeast(revision), Reads::Cache) => match Revision::new(revision) {
            Some(revision) => cache.at_least(revision, BLOCK_TIMEOUT).await?,
            None => cache.at_hand().await,
        },
        (Freshness::Any | Freshness::Exactly(_), Reads::Cache) => cache.at_hand().await,
    };
    Ok(Source::Snapshot(snapshot))
}

/// A store, unlike a cache, does not reach the revision by waiting.
///
/// Upstream: apiserver/pkg/storage/etcd3/store.go, validateMinimumResourceVersion (v1.36.4).
pub(super) fn not_older(current: u64, asked: u64) -> Result<()> {
    if current < asked {
        return Err(Error::TooLargeRevision { asked, current, retry_seconds: 0 });
    }
    Ok(())
}

/// The number of objects that a webhook converts in one call.
const CONVERTED_AT_ONCE: usize = 500;

fn place_of(object: &Frozen) -> Place {
    Place::new(object.index().namespace.clone(), object.index().name.clone())
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
            // The next page is of the same state: keep it in memory for a while.
            self.objects.cache.keep(snapshot);
        }
        let more = page.next.is_some().then_some(page.remaining.map(|count| count as u64));
        let origin = match self.objects.reads {
            Reads::Cache => Origin::Cache,
            Reads::Store => Origin::Store,
        };
        self.page(page.objects, (snapshot.revision().get(), origin), more)
    }

    /// A page of objects that a webhook converts: labels and fields are those of the version of the request.
    async fn converted(&self, snapshot: &Snapshot) -> Result<Listing> {
        let namespace = match self.namespace {
            "" => keelson_watch_cache::Scope::All,
            namespace => keelson_watch_cache::Scope::Namespace(namespace.into()),
        };
        let mut after = self.start.map(|start| before(&self.prefix(), start));
        let mut items: Vec<Arc<Frozen>> = Vec::new();
        loop {
            let request = PageRequest { scope: &namespace, after: after.as_ref(), limit: CONVERTED_AT_ONCE };
            let page = snapshot.page(&request);
            after = match (page.next.is_some(), page.objects.last()) {
                (true, Some(last)) => Some(self.live.key(&place_of(last))?),
                _ => None,
            };
            let converted = self.live.all_to_hub(page.objects).await?;
            items.extend(converted.into_iter().filter(|it| self.matcher.matches(it)));
            // One more object than the page holds shows that another page follows.
            if after.is_none() || items.len() > self.limit {
                break;
            }
        }
        let more = (items.len() > self.limit).then_some(None);
        items.truncate(self.limit);
        if more.is_some() {
            self.objects.cache.keep(snapshot);
        }
        Ok(self.page(items, (snapshot.revision().get(), Origin::Cache), more))
    }

    /// The number of objects to look at, at most. An index finds only few.
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

    async fn stored(&self, mut at: At, not_before: u64) -> Result<Listing> {
        let prefix = self.prefix();
        let mut after = self.start.map(|start| before(&prefix, start));
        let mut items = Vec::new();
        loop {
            let page = self.objects.store.list(&prefix, after.as_ref(), self.page_size(), at).await;
            let page = page.map_err(|error| self.not_listed(error))?;
            not_older(page.revision.get(), not_before)?;
            at = At::Exactly(page.revision);
            let origin = (page.revision.get(), Origin::Store);
            let count = page.entries.len();
            for (position, object) in self.objects_of(&page.entries).await?.into_iter().enumerate() {
                items.extend(object.filter(|it| self.matcher.matches(it)));
                if items.len() == self.limit {
                    let unread = (count - position - 1) as u64;
                    let left = page.remaining.map(|remaining| remaining + unread);
                    let more = (unread > 0 || page.more).then_some(left);
                    return Ok(self.page(items, origin, more));
                }
            }
            after = page.entries.last().map(|entry| entry.key.clone());
            if !page.more || after.is_none() {
                return Ok(self.page(items, origin, None));
            }
        }
    }

    /// The objects of entries of the store. Objects that cannot be decrypted are left out, as everywhere.
    async fn objects_of(&self, entries: &[Entry]) -> Result<Vec<Option<Arc<Frozen>>>> {
        let freeze = |entry: &Entry| match entry.value.is_empty() {
            true => Ok(None),
            false => self.live.freeze_stored(entry).map(Some),
        };
        let size = entries.iter().map(|it| it.value.len()).sum();
        offload::run(size, || entries.iter().map(freeze).collect()).await
    }

    fn not_listed(&self, error: StoreError) -> Error {
        let retry_seconds = match self.objects.reads {
            Reads::Cache => 1,
            Reads::Store => 0,
        };
        match error {
            StoreError::Compacted { asked, oldest } => {
                Error::Expired { asked: asked.get(), oldest: oldest.get() }
            }
            StoreError::Future { asked, latest } => {
                Error::TooLargeRevision { asked: asked.get(), current: latest.get(), retry_seconds }
            }
            other => Error::Store(other),
        }
    }

    /// Pages of the store are bounded however long the client's list is.
    fn page_size(&self) -> usize {
        self.limit.clamp(1, 10_000)
    }

    /// `more` is `None` on the last page, otherwise the number of objects after it, if that is known.
    fn page(
        &self,
        items: Vec<Arc<Frozen>>,
        (revision, origin): (u64, Origin),
        more: Option<Option<u64>>,
    ) -> Listing {
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
            listing.continue_token = Token { revision: Some(revision), start }.encode(origin);
            listing.remaining = left.filter(|_| self.matcher.is_unselective());
        }
        listing
    }
}

/// A key after which a list begins with `start`.
///
/// `a\0` is the first key after `a`. A start that a client made up, without the zero byte, is itself the
/// first key: its last character is replaced by the next smaller one and the largest of all characters, so
/// `a` follows `` ` `` and that character.
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
