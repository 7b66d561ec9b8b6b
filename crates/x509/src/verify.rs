//! Verification: finds a chain from a certificate to a trust anchor that holds now and for the purpose.
//!
//! ```text
//! leaf ──issuer──▶ intermediates that the other side sent ──issuer──▶ trust anchor
//!  │ time, critical extensions, host name          │ authority, path length, time
//!  └────────── the whole chain: policies, extended key usages, name constraints
//! ```
//!
//! The search is bounded: at most a hundred candidates are looked at, whatever a peer sends.

use std::time::Duration;

use crate::authorities::Authorities;
use crate::certificate::Certificate;
use crate::constraints;
use crate::error::{Error, Hint};
use crate::host;
use crate::signature;

/// What a certificate is to be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To show it to clients.
    Server,
    /// To show it to servers.
    Client,
}

impl Purpose {
    /// The extended key usage as encoded arcs.
    fn usage(self) -> &'static [u8] {
        match self {
            Purpose::Server => &[0x2b, 6, 1, 5, 5, 7, 3, 1],
            Purpose::Client => &[0x2b, 6, 1, 5, 5, 7, 3, 2],
        }
    }
}

const ANY_USAGE: &[u8] = &[0x55, 0x1d, 0x25, 0];

/// What a certificate is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Verification<'v> {
    /// Trust anchors.
    pub authorities: &'v Authorities,
    /// What else the other side sent.
    pub intermediates: &'v Authorities,
    /// The time since 1970.
    pub now: Duration,
    /// What the certificate is for.
    pub purpose: Purpose,
    /// The name or address that the certificate must have.
    pub host: Option<&'v str>,
}

/// Leaf first.
type Chain<'c> = Vec<&'c Certificate>;

/// Origin: Go, crypto/x509/verify.go, maxChainSignatureChecks.
const MOST_CANDIDATES: usize = 100;

impl Verification<'_> {
    /// Origin: Go, crypto/x509/verify.go, Verify.
    pub fn verify(&self, leaf: &Certificate) -> Result<(), Error> {
        self.check_one(leaf)?;
        if let Some(host) = self.host {
            host::check(leaf, host)?;
        }
        let chains = if self.authorities.contains(leaf) {
            vec![vec![leaf]]
        } else {
            let mut search = Search { verification: self, candidates: 0, chains: Vec::new() };
            search.extend(&vec![leaf])?;
            search.chains
        };
        self.check_chains(&chains)
    }

    fn check_one(&self, certificate: &Certificate) -> Result<(), Error> {
        if certificate.extensions.has_unknown_critical {
            return Err(Error::CriticalExtension);
        }
        let seconds = i64::try_from(self.now.as_secs()).unwrap_or(i64::MAX);
        let is_past = |limit: i64| seconds > limit || seconds == limit && self.now.subsec_nanos() > 0;
        if seconds < certificate.not_before {
            return Err(Error::NotYetValid { now: seconds, limit: certificate.not_before });
        }
        if is_past(certificate.not_after) {
            return Err(Error::Expired { now: seconds, limit: certificate.not_after });
        }
        Ok(())
    }

    /// Origin: Go, crypto/x509/verify.go, isValid.
    fn check_parent(&self, place: Place, parent: &Certificate, below: &Chain<'_>) -> Result<(), Error> {
        self.check_one(parent)?;
        let basic = parent.extensions.basic;
        if place == Place::Intermediate && !basic.is_some_and(|it| it.is_authority) {
            return Err(Error::NotAuthorizedToSign);
        }
        let most = basic.and_then(|it| it.most_intermediates);
        let intermediates = u64::try_from(below.len().saturating_sub(1)).unwrap_or(u64::MAX);
        if most.is_some_and(|most| intermediates > most) {
            return Err(Error::TooManyIntermediates);
        }
        Ok(())
    }

    /// One chain that may be used is enough.
    fn check_chains(&self, chains: &[Chain<'_>]) -> Result<(), Error> {
        let (mut policies, mut usages, mut name) = (0, 0, None);
        for chain in chains {
            if is_bound_to_policies(chain) {
                policies += 1;
            } else if !is_for(self.purpose, chain) {
                usages += 1;
            } else {
                match constraints::check(chain) {
                    Ok(()) => return Ok(()),
                    Err(why) => name = name.or(Some(why)),
                }
            }
        }
        Err(match (name, policies, usages) {
            (Some(why), _, _) => Error::NameNotAuthorized(why),
            (None, 0, _) => Error::IncompatibleUsage,
            (None, _, 0) => {
                Error::NoValidChains(format!("{policies} candidate chains with invalid policies"))
            }
            (None, _, _) => Error::NoValidChains(format!(
                "{usages} candidate chains with incompatible key usage, {policies} candidate chains with invalid \
                 policies"
            )),
        })
    }
}

/// The anchor is trusted whatever it says about policies.
fn is_bound_to_policies(chain: &Chain<'_>) -> bool {
    let below_anchor = &chain[..chain.len().saturating_sub(1)];
    below_anchor.iter().any(|it| it.extensions.is_bound_to_policies)
}

/// Authorities bind what is below them, the anchor included.
///
/// Origin: Go, crypto/x509/verify.go, checkChainForKeyUsage.
fn is_for(purpose: Purpose, chain: &Chain<'_>) -> bool {
    chain.iter().all(|certificate| {
        let usages = &certificate.extensions.extended_key_usages;
        usages.is_empty() || usages.iter().any(|it| it == ANY_USAGE || it == purpose.usage())
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Anchor,
    Intermediate,
}

struct Search<'s, 'c> {
    verification: &'s Verification<'c>,
    candidates: usize,
    chains: Vec<Chain<'c>>,
}

impl<'c> Search<'_, 'c> {
    /// Adds all chains that begin like this one. The number of candidates bounds the depth.
    ///
    /// Origin: Go, crypto/x509/verify.go, buildChains.
    fn extend(&mut self, chain: &Chain<'c>) -> Result<(), Error> {
        let Some(child) = chain.last().copied() else { return Ok(()) };
        let verification = self.verification;
        let anchors = verification.authorities.parents_of(child).into_iter();
        let intermediates = verification.intermediates.parents_of(child).into_iter();
        let candidates =
            anchors.map(|it| (Place::Anchor, it)).chain(intermediates.map(|it| (Place::Intermediate, it)));
        let known = self.chains.len();
        let mut hint: Option<Box<Hint>> = None;
        let mut last: Option<Error> = None;
        for (place, parent) in candidates {
            self.candidates += 1;
            if self.candidates > MOST_CANDIDATES {
                last = Some(Error::SignatureLimit);
                break;
            }
            if is_in(chain, parent) {
                continue;
            }
            let mut remember = |error: &Error| {
                hint.get_or_insert_with(|| {
                    Box::new(Hint { error: error.clone(), candidate: parent.label() })
                });
            };
            if let Err(error) = signature::check(child, parent) {
                remember(&error);
                continue;
            }
            let verdict = verification.check_parent(place, parent, chain);
            if let Err(error) = &verdict {
                remember(error);
            }
            last = verdict.err();
            if last.is_some() {
                continue;
            }
            let mut longer = chain.clone();
            longer.push(parent);
            match place {
                Place::Anchor => self.chains.push(longer),
                Place::Intermediate => last = self.extend(&longer).err(),
            }
            if last == Some(Error::SignatureLimit) {
                break;
            }
        }
        if self.chains.len() > known {
            return Ok(());
        }
        Err(last.unwrap_or(Error::UnknownAuthority(hint)))
    }
}

/// Whether the same subject with the same key is there already: authorities may sign each other.
///
/// Origin: Go, crypto/x509/verify.go, alreadyInChain.
fn is_in(chain: &Chain<'_>, candidate: &Certificate) -> bool {
    let names = |it: &Certificate| {
        let names = it.extensions.names.as_ref()?;
        Some((names.dns.clone(), names.emails.clone(), names.addresses.clone(), names.uris.clone()))
    };
    chain.iter().any(|it| {
        it.subject.raw() == candidate.subject.raw()
            && it.key.info == candidate.key.info
            && names(it) == names(candidate)
    })
}
