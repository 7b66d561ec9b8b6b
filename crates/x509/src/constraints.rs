//! Name constraints: for which names an authority may sign.
//!
//! They bind every alternative name of every certificate below the authority, whichever name is asked for.

use std::net::IpAddr;

use keelson_object::scalar::quote;

use crate::certificate::Certificate;
use crate::der::{Reader, SEQUENCE};
use crate::error::Error;
use crate::extensions::{AlternativeNames, SUBTREES, ascii};
use crate::uri;

/// The name constraints of one authority.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constraints {
    permitted: Subtrees,
    excluded: Subtrees,
}

#[derive(Clone, Debug, Default)]
struct Subtrees {
    dns: Vec<String>,
    addresses: Vec<Network>,
    emails: Vec<String>,
    uris: Vec<String>,
}

/// An address and its mask, four or sixteen bytes each.
#[derive(Clone, Debug)]
struct Network {
    address: Vec<u8>,
    mask: Vec<u8>,
}

/// More comparisons than this are not made for one chain.
const MOST_COMPARISONS: usize = 250_000;

impl Constraints {
    /// The constraints, and whether all of them are of a kind that is followed.
    ///
    /// Origin: Go, crypto/x509/parser.go, parseNameConstraintsExtension.
    pub(crate) fn parse(mut value: Reader<'_>) -> Result<(Constraints, bool), Error> {
        const INVALID: Error = Error::Malformed("invalid NameConstraints extension");
        let mut inner = value.enter(SEQUENCE).ok_or(INVALID)?;
        let permitted = inner.optional(SUBTREES[0]).ok_or(INVALID)?.unwrap_or_default();
        let excluded = inner.optional(SUBTREES[1]).ok_or(INVALID)?.unwrap_or_default();
        if !value.is_empty() || !inner.is_empty() {
            return Err(INVALID);
        }
        if permitted.is_empty() && excluded.is_empty() {
            return Err(Error::Malformed("empty name constraints extension"));
        }
        let (permitted, knows_permitted) = Subtrees::parse(Reader(permitted))?;
        let (excluded, knows_excluded) = Subtrees::parse(Reader(excluded))?;
        Ok((Constraints { permitted, excluded }, knows_permitted && knows_excluded))
    }

    fn comparisons(&self) -> usize {
        self.permitted.len() + self.excluded.len()
    }

    fn check(&self, names: &AlternativeNames) -> Result<(), String> {
        for address in &names.addresses {
            self.check_address(address)?;
        }
        for name in &names.dns {
            if !is_domain(name, Leading::LabelOnly) {
                return Err(format!("x509: cannot parse dnsName {}", quote(name)));
            }
            self.check_domain("DNS name", |it| &it.dns, name, name)?;
        }
        for uri in &names.uris {
            let Some(domain) = uri::domain(uri) else {
                return Err(format!("URI {} cannot be matched against constraints", quote(uri)));
            };
            self.check_domain("URI", |it| &it.uris, &domain, uri)?;
        }
        for email in &names.emails {
            let Some((local, domain)) = mailbox(email) else {
                return Err(format!("cannot parse rfc822Name {}", quote(email)));
            };
            self.check_email(local, &domain)?;
        }
        Ok(())
    }

    fn check_address(&self, address: &[u8]) -> Result<(), String> {
        if self.permitted.addresses.is_empty() && self.excluded.addresses.is_empty() {
            return Ok(());
        }
        let shown = quote(&shown(address));
        // An address that can be written in two ways might escape an exclusion.
        let is_ambiguous =
            address.len() == 16 && address.starts_with(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
        let is_permitted = self.permitted.addresses.is_empty()
            || self.permitted.addresses.iter().any(|it| it.contains(address));
        if !is_permitted || is_ambiguous {
            return Err(format!("IP address {shown} is not permitted by any constraint"));
        }
        match self.excluded.addresses.iter().find(|it| it.contains(address)) {
            Some(network) => {
                Err(format!("IP address {shown} is excluded by constraint {}", quote(&network.to_string())))
            }
            None => Ok(()),
        }
    }

    /// `shown` is what the certificate has, `domain` the part of it that constraints are about.
    fn check_domain(
        &self,
        kind: &str,
        of: impl Fn(&Subtrees) -> &Vec<String>,
        domain: &str,
        shown: &str,
    ) -> Result<(), String> {
        let (permitted, excluded) = (of(&self.permitted), of(&self.excluded));
        if !permitted.is_empty() && !permitted.iter().any(|it| is_below(domain, it)) {
            return Err(format!("{kind} {} is not permitted by any constraint", quote(shown)));
        }
        match excluded.iter().find(|it| is_below(domain, it) || covers(domain, it)) {
            Some(it) => Err(format!("{kind} {} is excluded by constraint {}", quote(shown), quote(it))),
            None => Ok(()),
        }
    }

    fn check_email(&self, local: &str, domain: &str) -> Result<(), String> {
        let matches = |constraint: &&String| match mailbox(constraint) {
            Some((of, at)) => of == local && at == domain,
            None => !constraint.contains('@') && is_below(domain, constraint),
        };
        let shown = quote(&format!("{local}@{domain}"));
        let (permitted, excluded) = (&self.permitted.emails, &self.excluded.emails);
        if !permitted.is_empty() && !permitted.iter().any(|it| matches(&it)) {
            return Err(format!("email address {shown} is not permitted by any constraint"));
        }
        match excluded.iter().find(matches) {
            Some(it) => Err(format!("email address {shown} is excluded by constraint {}", quote(it))),
            None => Ok(()),
        }
    }
}

/// Whether every name in a chain, leaf first, is one that the authorities above it may sign for.
///
/// Origin: Go, crypto/x509/constraints.go, checkChainConstraints.
pub(crate) fn check(chain: &[&Certificate]) -> Result<(), String> {
    let mut comparisons = 0;
    for (at, certificate) in chain.iter().enumerate() {
        let Some(names) = &certificate.extensions.names else { continue };
        for authority in &chain[at + 1..] {
            let Some(constraints) = &authority.extensions.constraints else { continue };
            comparisons += constraints.comparisons().saturating_mul(names.len());
            if comparisons > MOST_COMPARISONS {
                return Err("too many names and constraints".to_owned());
            }
            constraints.check(names)?;
        }
    }
    Ok(())
}

impl AlternativeNames {
    fn len(&self) -> usize {
        self.dns.len() + self.emails.len() + self.addresses.len() + self.uris.len()
    }
}

impl Subtrees {
    fn len(&self) -> usize {
        self.dns.len() + self.emails.len() + self.addresses.len() + self.uris.len()
    }

    fn parse(mut list: Reader<'_>) -> Result<(Subtrees, bool), Error> {
        const INVALID: Error = Error::Malformed("invalid NameConstraints extension");
        let mut found = Subtrees::default();
        let mut is_known = true;
        while !list.is_empty() {
            let mut subtree = list.enter(SEQUENCE).ok_or(INVALID)?;
            let base = subtree.any().ok_or(INVALID)?;
            let text = || ascii(base.content, "invalid constraint value");
            match base.tag {
                0x81 => found.emails.push(email_constraint(text()?)?),
                0x82 => {
                    found.dns.push(domain_constraint(text()?, "failed to parse dnsName constraint")?);
                }
                0x86 => {
                    let domain = domain_constraint(text()?, "failed to parse URI constraint")?;
                    if domain.parse::<IpAddr>().is_ok() {
                        return Err(Error::Malformed("failed to parse URI constraint: cannot be IP address"));
                    }
                    found.uris.push(domain);
                }
                0x87 => found.addresses.push(Network::parse(base.content)?),
                _ => is_known = false,
            }
        }
        Ok((found, is_known))
    }
}

fn email_constraint(text: String) -> Result<String, Error> {
    let is_good =
        if text.contains('@') { mailbox(&text).is_some() } else { is_domain(&text, Leading::DotAllowed) };
    if is_good { Ok(text) } else { Err(Error::Malformed("failed to parse rfc822Name constraint")) }
}

fn domain_constraint(text: String, or: &'static str) -> Result<String, Error> {
    if is_domain(&text, Leading::DotAllowed) { Ok(text) } else { Err(Error::Malformed(or)) }
}

impl Network {
    fn parse(bytes: &[u8]) -> Result<Network, Error> {
        if !matches!(bytes.len(), 8 | 32) {
            return Err(Error::Malformed("IP constraint contained value of unknown length"));
        }
        let (address, mask) = bytes.split_at(bytes.len() / 2);
        // Ones, then zeros.
        let is_mask = mask.iter().position(|it| *it != 0xff).is_none_or(|at| {
            mask[at].leading_ones() == mask[at].count_ones() && mask[at + 1..].iter().all(|it| *it == 0)
        });
        if !is_mask {
            return Err(Error::Malformed("IP constraint contained invalid mask"));
        }
        Ok(Network { address: address.to_vec(), mask: mask.to_vec() })
    }

    fn contains(&self, address: &[u8]) -> bool {
        let bytes = self.address.iter().zip(&self.mask).zip(address);
        self.address.len() == address.len() && bytes.into_iter().all(|((a, m), b)| a & m == b & m)
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ones: u32 = self.mask.iter().map(|it| it.count_ones()).sum();
        write!(f, "{}/{ones}", shown(&self.address))
    }
}

fn shown(bytes: &[u8]) -> String {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let address = four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
    address.map_or_else(|_| "?".to_owned(), |it| it.to_canonical().to_string())
}

/// Whether a domain may begin with a dot: `.example.com` are all domains below `example.com`, and not itself.
#[derive(Clone, Copy, PartialEq)]
enum Leading {
    DotAllowed,
    LabelOnly,
}

/// Origin: Go, crypto/x509/parser.go, domainNameValid.
fn is_domain(text: &str, leading: Leading) -> bool {
    let text = match text.strip_prefix('.') {
        Some(rest) if leading == Leading::DotAllowed => rest,
        _ if text.is_empty() => return true,
        _ => text,
    };
    text.split('.').all(|label| !label.is_empty() && label.bytes().all(|it| (33..=126).contains(&it)))
}

/// Origin: Go, crypto/x509/constraints.go, dnsHasSuffix.
fn is_below(name: &str, constraint: &str) -> bool {
    if constraint.is_empty() {
        return true;
    }
    let Some(start) = name.len().checked_sub(constraint.len()) else { return false };
    let (before, end) = name.as_bytes().split_at(start);
    end.eq_ignore_ascii_case(constraint.as_bytes())
        && (constraint.starts_with('.') || before.is_empty() || before.ends_with(b"."))
}

/// Whether a wildcard stands for a name that is excluded: `*.a` for `b.a`.
///
/// Origin: Go, crypto/x509/constraints.go, dnsConstraints.query.
fn covers(name: &str, constraint: &str) -> bool {
    let parent = |it: &str| it.find('.').map(|at| it[at..].to_ascii_lowercase());
    name.starts_with('*') && parent(name).is_some_and(|it| parent(constraint) == Some(it))
}

/// The local part and the domain, in lower case, of a mail address. Go reads quoted local parts, too.
///
/// Origin: Go, crypto/x509/verify.go, parseRFC2821Mailbox.
fn mailbox(text: &str) -> Option<(&str, String)> {
    let (local, domain) = text.split_once('@')?;
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&it);
    let is_local = local.bytes().all(is_letter) && local.split('.').all(|it| !it.is_empty());
    let is_good = is_local && !domain.is_empty() && is_domain(domain, Leading::LabelOnly);
    is_good.then(|| (local, domain.to_ascii_lowercase()))
}
