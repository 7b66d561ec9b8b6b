//! Cluster IPs: one IPAddress object for each allocated address, out of the ranges of all ServiceCIDRs.
//!
//! ```text
//! 10.0.0.0/24   .0      is the network
//!               .1-.16  are for explicit requests, as long as other addresses are free
//!               .17-…   are for dynamic allocation
//!               .255    is the broadcast address of IPv4
//! ```
//!
//! Allocating an address means creating its object: the store lets only one writer do that.
//!
//! Upstream: pkg/registry/core/service/ipallocator/{cidrallocator,ipallocator}.go (v1.36.4).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use keelson_authn::User;
use keelson_object::{Frozen, Map, Object, ObjectMeta, Value};
use keelson_registry::options::DeleteOptions;
use keelson_registry::{Catalog, Context, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;
use rand::RngExt as _;

use super::counts::{Asked, ServiceCounts};
use super::facts::Family;

/// Names the family of an IPAddress.
pub const FAMILY_LABEL: &str = "ipaddress.kubernetes.io/ip-family";
/// The label that names the manager of an IPAddress.
pub const MANAGED_BY: &str = "ipaddress.kubernetes.io/managed-by";
/// The manager of the IPAddresses of services.
pub const KEEPER: &str = "ipallocator.k8s.io";

const GROUP: &str = "networking.k8s.io";

/// Why an address cannot be allocated.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The address is allocated already.
    Taken,
    /// No range has it.
    Outside,
    /// The address is in the range, but reserved.
    NotUsable(IpAddr, IpNet),
    /// All addresses are allocated.
    Full,
    /// Something went wrong on the way.
    Failed(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Failed(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Taken => f.write_str("provided IP is already allocated"),
            Refusal::Outside => f.write_str("the provided network does not match the current range"),
            Refusal::NotUsable(address, range) => write!(
                f,
                "the provided IP ({address}) is not in the valid range. The range of valid IPs is {range}"
            ),
            Refusal::Full => f.write_str("range is full"),
            // The message that a client would get that creates the object.
            Refusal::Failed(Error::Invalid { kind, name, errors }) => {
                write!(f, "{}.{} {name:?} is invalid: {}", kind.kind, kind.group, errors.aggregate())
            }
            Refusal::Failed(error) => error.fmt(f),
        }
    }
}

/// The addresses of a cluster, as the server itself sees them.
#[derive(Clone)]
pub struct ClusterAddresses {
    catalog: Option<Arc<Catalog>>,
    clock: Clock,
    counts: Arc<ServiceCounts>,
}

/// The service that owns an address.
#[derive(Clone, Copy)]
pub struct Owner<'o> {
    /// Its namespace.
    pub namespace: &'o str,
    /// Its name.
    pub name: &'o str,
}

impl Owner<'_> {
    fn has(&self, address: &Object) -> bool {
        let parent = address.fields.map("spec").and_then(|it| it.map("parentRef"));
        parent.is_some_and(|it| {
            let text = |key| it.str(key).unwrap_or_default();
            (text("group"), text("resource")) == ("", "services")
                && (text("namespace"), text("name")) == (self.namespace, self.name)
        })
    }
}

impl ClusterAddresses {
    /// The addresses in the catalog of `context`.
    pub fn new(context: &Context) -> ClusterAddresses {
        ClusterAddresses {
            catalog: context.catalog.clone(),
            clock: context.clock.clone(),
            counts: Arc::default(),
        }
    }

    /// The same with these metrics.
    #[must_use]
    pub(super) fn counted(self, counts: Arc<ServiceCounts>) -> ClusterAddresses {
        ClusterAddresses { counts, ..self }
    }

    /// A context of the server itself.
    pub(super) fn context(&self) -> Context {
        let mut context =
            Context::new(User::new("system:apiserver", &["system:masters"]), self.clock.clone());
        context.catalog = self.catalog.clone();
        context.field_manager = "kube-apiserver".into();
        context
    }

    /// Takes this address.
    pub(super) async fn take(&self, address: IpAddr, owner: Owner<'_>) -> std::result::Result<(), Refusal> {
        let context = self.context();
        let ranges = ranges(&context).await?;
        let range = containing(&ranges, address)?;
        let begun = self.clock.monotonic();
        let made = match range.check(address) {
            Ok(()) => make(&context, address, owner).await,
            refused => refused,
        };
        match made {
            Ok(()) => self.taken(range, Asked::Static, begun),
            Err(_) => self.counts.address_refused(range.net, Asked::Static),
        }
        made
    }

    fn taken(&self, range: &Range, asked: Asked, begun: Duration) {
        let elapsed = self.clock.monotonic().saturating_sub(begun);
        self.counts.address_taken(range.net, asked, elapsed);
    }

    /// The result of a dry run for this address: it checks only whether the address is in range.
    pub(super) async fn try_take(&self, address: IpAddr) -> std::result::Result<(), Refusal> {
        let ranges = ranges(&self.context()).await?;
        let of_family = |it: &&Range| it.is_ready && it.family() == Family::of(address);
        match (containing(&ranges, address), ranges.iter().find(of_family)) {
            (Ok(_), _) => Ok(()),
            (Err(_), Some(other)) => other.check(address),
            (Err(refusal), None) => Err(refusal),
        }
    }

    /// Takes any address of a family.
    pub(super) async fn take_any(
        &self,
        family: Family,
        owner: Owner<'_>,
    ) -> std::result::Result<IpAddr, Refusal> {
        let context = self.context();
        let taken = live(&context, "ipaddresses")?.cache().map_err(Refusal::from)?.clone();
        for range in ranges(&context).await?.iter().filter(|it| it.is_ready && it.family() == family) {
            let begun = self.clock.monotonic();
            let snapshot = taken.fresh().await.map_err(Error::from)?;
            for address in range.candidates() {
                if snapshot.get("", &address.to_string()).is_some() {
                    continue;
                }
                let made = make(&context, address, owner).await;
                if made.is_err() {
                    self.counts.address_refused(range.net, Asked::Dynamic);
                }
                match made {
                    Ok(()) => {
                        self.taken(range, Asked::Dynamic, begun);
                        return Ok(address);
                    }
                    Err(Refusal::Taken) => {}
                    Err(refusal) => return Err(refusal),
                }
            }
            self.counts.address_refused(range.net, Asked::Dynamic);
        }
        Err(Refusal::Full)
    }

    /// A placeholder for a dry run: the network address of a range. No free address is searched for.
    pub(super) async fn guess(&self, family: Family) -> std::result::Result<IpAddr, Refusal> {
        let ranges = ranges(&self.context()).await?;
        let range = ranges.iter().find(|it| it.is_ready && it.family() == family);
        range.map(|it| it.net.network()).ok_or(Refusal::Full)
    }

    /// Releases an address if it belongs to the owner. Failures are handled by the repair loop.
    pub async fn give_back(&self, address: IpAddr, owner: Owner<'_>) {
        let context = self.context();
        let gone = async {
            let addresses = live(&context, "ipaddresses")?;
            let name = address.to_string();
            let snapshot = addresses.cache()?.fresh().await?;
            let Some(there) = snapshot.get("", &name).map(|it| addresses.thaw(it)).transpose()? else {
                return Ok(());
            };
            if !owner.has(&there) {
                return Ok(());
            }
            let mut options = DeleteOptions::default();
            options.preconditions.uid = Some(there.meta.uid);
            operation::delete(addresses, &context, &Place::new("", name), &options).await.map(|_| ())
        };
        match gone.await {
            Ok(()) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => {}
            Err(error) => tracing::warn!(%error, %address, "an address of a service could not be given back"),
        }
    }

    /// Makes the object of an address that its owner has already.
    pub async fn record(&self, address: IpAddr, owner: Owner<'_>) -> Result<()> {
        match make(&self.context(), address, owner).await {
            Ok(()) | Err(Refusal::Taken) => Ok(()),
            Err(Refusal::Failed(error)) => Err(error),
            Err(refusal) => Err(Error::Unclassified(refusal.to_string())),
        }
    }

    /// Whether any range contains this address.
    pub async fn is_inside(&self, address: IpAddr) -> Result<bool> {
        Ok(ranges(&self.context()).await?.iter().any(|it| it.contains(address)))
    }
}

fn live<'c>(context: &'c Context, plural: &str) -> Result<&'c Arc<Live>> {
    context.reach(GROUP, plural)
}

async fn make(context: &Context, address: IpAddr, owner: Owner<'_>) -> std::result::Result<(), Refusal> {
    let addresses = live(context, "ipaddresses")?;
    let mut meta = ObjectMeta { name: address.to_string().into(), ..ObjectMeta::default() };
    meta.labels.set(FAMILY_LABEL, Family::of(address).as_str());
    meta.labels.set(MANAGED_BY, KEEPER);
    let mut parent = Map::new();
    parent.set("resource", "services");
    parent.set("namespace", owner.namespace);
    parent.set("name", owner.name);
    let mut object = Object {
        kind: addresses.resource.kind.clone(),
        api_version: addresses.resource.stored_version().api_version.clone(),
        meta,
        ..Object::default()
    };
    object.fields.map_mut("spec").set("parentRef", parent);
    match operation::create(addresses, context, "", object).await {
        Ok(_) => Ok(()),
        Err(Error::AlreadyExists { .. }) => Err(Refusal::Taken),
        Err(error) => Err(error.into()),
    }
}

/// A range of a ServiceCIDR.
struct Range {
    net: IpNet,
    /// Whether addresses may be allocated from it.
    is_ready: bool,
}

/// The ranges of all ServiceCIDRs: few.
async fn ranges(context: &Context) -> Result<Vec<Range>> {
    let cidrs = live(context, "servicecidrs")?;
    let snapshot = cidrs.cache()?.fresh().await?;
    ranges_of(cidrs, snapshot.iter().map(|(_, frozen)| &**frozen))
}

fn ranges_of<'f>(cidrs: &Live, objects: impl Iterator<Item = &'f Frozen>) -> Result<Vec<Range>> {
    let mut ranges = Vec::new();
    for frozen in objects {
        let object = cidrs.thaw(frozen)?;
        let is_ready = !object.meta.is_being_deleted() && is_ready(&object);
        let texts = object.fields.map("spec").map(|it| it.list("cidrs")).unwrap_or_default();
        let nets = texts.iter().filter_map(|it| it.as_str()?.parse::<IpNet>().ok());
        ranges.extend(nets.map(|net| Range { net: net.trunc(), is_ready }).filter(Range::is_usable));
    }
    Ok(ranges)
}

/// Like upstream, a range without conditions counts as ready, so that it works without a controller manager.
fn is_ready(object: &Object) -> bool {
    let status = object.fields.map("status");
    let mut conditions = status.into_iter().flat_map(|it| it.maps("conditions"));
    let ready = conditions.find(|it| it.str("type") == Some("Ready"));
    ready.is_none_or(|it| it.str("status") == Some("True"))
}

/// The usage of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeUse {
    /// The range.
    pub net: IpNet,
    /// The number of allocated addresses.
    pub used: usize,
    /// The number of addresses for services.
    pub size: f64,
}

/// The usage of each range, as this server has seen it.
pub fn range_use(catalog: &Catalog) -> Result<Vec<RangeUse>> {
    let (Some(cidrs), Some(addresses)) =
        (catalog.live(GROUP, "servicecidrs"), catalog.live(GROUP, "ipaddresses"))
    else {
        return Ok(Vec::new());
    };
    let snapshot = addresses.cache()?.snapshot();
    let kept = snapshot.iter().map(|(_, frozen)| frozen.index());
    let kept = kept.filter(|it| it.labels.get(MANAGED_BY) == Some(KEEPER));
    let kept: Vec<IpAddr> = kept.filter_map(|it| it.name.parse().ok()).collect();
    let of_range = |range: Range| {
        let (first, last) = range.edges();
        let used = kept.iter().filter(|it| range.contains(**it)).count();
        RangeUse { net: range.net, used, size: last.saturating_add(1).saturating_sub(first) as f64 }
    };
    let snapshot = cidrs.cache()?.snapshot();
    let ranges = ranges_of(cidrs, snapshot.iter().map(|(_, frozen)| &**frozen))?;
    Ok(ranges.into_iter().map(of_range).collect())
}

fn containing(ranges: &[Range], address: IpAddr) -> std::result::Result<&Range, Refusal> {
    ranges.iter().find(|it| it.is_ready && it.contains(address)).ok_or(Refusal::Outside)
}

impl Range {
    /// Upstream has no allocator for shorter ones.
    fn is_usable(&self) -> bool {
        matches!(self.net, IpNet::V4(_)) || self.net.prefix_len() >= 64
    }

    fn family(&self) -> Family {
        Family::of(self.net.addr())
    }

    /// Upstream: pkg/api/servicecidr/servicecidr.go, PrefixContainsIP (v1.36.4).
    fn contains(&self, address: IpAddr) -> bool {
        let is_edge = address == self.net.network() || (address.is_ipv4() && address == self.net.broadcast());
        self.net.contains(&address) && !is_edge
    }

    /// The first and the last address that can be allocated; the first is larger if there is none.
    fn edges(&self) -> (u128, u128) {
        let last = bits(self.net.broadcast());
        (
            bits(self.net.network()) + 1,
            if self.family() == Family::V4 { last.saturating_sub(1) } else { last },
        )
    }

    fn check(&self, address: IpAddr) -> std::result::Result<(), Refusal> {
        let (first, last) = self.edges();
        if (first..=last).contains(&bits(address)) {
            Ok(())
        } else {
            Err(Refusal::NotUsable(address, self.net))
        }
    }

    /// The number of addresses at the beginning that are reserved for explicit requests.
    ///
    /// Upstream: pkg/registry/core/service/ipallocator/bitmap.go, calculateRangeOffset (v1.36.4).
    fn band(&self) -> u128 {
        let width = u32::from(self.net.max_prefix_len() - self.net.prefix_len());
        let size = 1_u128.checked_shl(width).unwrap_or(u128::MAX);
        if size <= 16 { 0 } else { (size / 16).clamp(16, 256) }
    }

    /// Every address that can be allocated, each once: those behind the reserved band first, from a random
    /// start.
    fn candidates(&self) -> impl Iterator<Item = IpAddr> {
        let (first, last) = self.edges();
        let behind = first + self.band();
        let family = self.family();
        around(behind, last)
            .chain(around(first, behind.saturating_sub(1).min(last)))
            .map(move |bits| address(bits, family))
    }
}

/// The numbers from `first` to `last`, beginning anywhere.
fn around(first: u128, last: u128) -> impl Iterator<Item = u128> {
    let count = last.saturating_add(1).saturating_sub(first);
    let start = if count == 0 { 0 } else { rand::rng().random_range(0..count) };
    (0..count).map(move |step| first + (start + step) % count)
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(it) => u128::from(it.to_bits()),
        IpAddr::V6(it) => it.to_bits(),
    }
}

fn address(bits: u128, family: Family) -> IpAddr {
    match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(bits).unwrap_or_default())),
        Family::V6 => IpAddr::V6(Ipv6Addr::from_bits(bits)),
    }
}

/// A list of texts as a value.
pub(super) fn list(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|it| Value::from(it.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Range;

    fn range(text: &str) -> Range {
        Range { net: text.parse().expect("a range"), is_ready: true }
    }

    #[test]
    fn every_usable_address_is_a_candidate_once() {
        let check = |text: &str, expected: usize| {
            let given: Vec<_> = range(text).candidates().collect();
            let distinct: BTreeSet<_> = given.iter().collect();
            assert_eq!((given.len(), distinct.len()), (expected, expected), "{text}");
            assert!(given.iter().all(|it| range(text).contains(*it)), "{text}");
        };
        check("10.0.0.0/24", 254);
        check("10.0.0.0/28", 14);
        check("10.0.0.0/30", 2);
        check("10.0.0.0/31", 0);
        check("10.0.0.0/32", 0);
        check("255.255.255.0/24", 254);
        check("fd00::/120", 255);
        check("fd00::/128", 0);
    }

    #[test]
    fn the_beginning_of_a_range_is_given_last() {
        let check = |text: &str, band: usize| {
            let range = range(text);
            let given: Vec<_> = range.candidates().collect();
            let (early, late) = given.split_at(given.len() - band);
            assert!(early.iter().min() > late.iter().max(), "{text}");
        };
        check("10.0.0.0/24", 16);
        check("10.0.0.0/22", 64);
        check("10.0.0.0/16", 256);
        check("fd00::/112", 256);
    }

    #[test]
    fn a_very_long_range_begins_anywhere() {
        let range = range("fd00::/64");
        assert!(range.candidates().take(3).all(|it| range.contains(it)));
    }

    #[test]
    fn the_edges_of_a_range_are_not_its_own() {
        let check = |text: &str, address: &str, expected: bool| {
            let found = range(text).contains(address.parse().expect("an address"));
            assert_eq!(found, expected, "{address} in {text}");
        };
        check("10.0.0.0/24", "10.0.0.0", false);
        check("10.0.0.0/24", "10.0.0.1", true);
        check("10.0.0.0/24", "10.0.0.255", false);
        check("10.0.0.0/24", "10.0.1.1", false);
        check("fd00::/120", "fd00::ff", true);
        check("fd00::/120", "fd00::", false);
    }
}
