//! `kube-system/extension-apiserver-authentication`: the CAs and headers that aggregated API servers should
//! trust.
//!
//! Several servers write the same config map, each with what it knows: a server does not remove what another
//! one added, except for expired certificates.
//!
//! Upstream: pkg/controlplane/controller/clusterauthenticationtrust (v1.36.4).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use keelson_object::selector::field;
use keelson_object::{Map, Object, SmolStr, Value};
use keelson_registry::options::{InitialEvents, Part, Selection, WatchOptions};
use keelson_registry::{CatalogHandle, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio::sync::Notify;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::certificates::pem;

/// Its namespace.
const NAMESPACE: &str = "kube-system";
/// Its name.
const NAME: &str = "extension-apiserver-authentication";

/// The interval of checks without a known change.
const INTERVAL: Duration = Duration::from_secs(60);
/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// Certificates are published for this many seconds after they have expired; clocks differ.
const SLACK: i64 = 300;

/// The CAs and front proxies that this server trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// The authorities of client certificates, in PEM.
    pub client_ca: String,
    /// Front proxies, if there are any.
    pub front_proxy: Option<FrontProxy>,
}

/// The front proxies that this server trusts, and the headers they use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontProxy {
    /// The authorities of its certificates, in PEM.
    pub ca: String,
    /// Headers with the name of the user.
    pub username_headers: Vec<String>,
    /// Headers with the uid.
    pub uid_headers: Vec<String>,
    /// Headers with groups.
    pub group_headers: Vec<String>,
    /// The prefixes of headers with extra fields.
    pub extra_headers_prefix: Vec<String>,
    /// The common names of proxies; empty is any.
    pub allowed_names: Vec<String>,
}

/// The controller of the config map.
pub struct ClusterAuthentication {
    /// The catalog of the config maps.
    pub catalog: CatalogHandle,
    /// Time.
    pub clock: Clock,
    /// Returns what the server trusts now.
    pub trust: Arc<dyn Fn() -> Trust + Send + Sync>,
    /// Notified when the trusted CAs or headers change.
    pub changed: Arc<Notify>,
}

impl ClusterAuthentication {
    /// Runs for as long as it is polled; calls `done` when the config map exists for the first time.
    pub async fn run(self, done: impl FnOnce()) {
        let mut done = Some(done);
        loop {
            let kept = self.keep(&mut done).await;
            if let Err(error) = kept {
                tracing::warn!(%error, "{NAMESPACE}/{NAME} could not be written");
            }
            self.clock.sleep(RETRY).await;
        }
    }

    async fn keep(&self, done: &mut Option<impl FnOnce()>) -> Result<()> {
        let Some(live) = self.catalog.load().live("", "configmaps").cloned() else { return Ok(()) };
        let options = WatchOptions {
            selection: Selection {
                fields: Some(field::Selector::equals("metadata.name", NAME)),
                ..Selection::default()
            },
            initial_events: InitialEvents::Skipped,
            ..WatchOptions::default()
        };
        let mut watch = operation::watch(&live, NAMESPACE, &options).await?;
        loop {
            self.sync(&live).await?;
            if let Some(done) = done.take() {
                done();
            }
            tokio::select! {
                change = watch.next() => match change {
                    Some(change) => drop(change?),
                    None => return Ok(()),
                },
                () = self.changed.notified() => (),
                () = self.clock.sleep(INTERVAL) => (),
            }
        }
    }

    async fn sync(&self, live: &Live) -> Result<()> {
        let (trust, now) = ((self.trust)(), self.clock.since_epoch());
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let context = crate::context(&self.catalog, &self.clock);
        let old = live.cache()?.fresh().await?.get(NAMESPACE, NAME).cloned();
        let Some(old) = old else {
            let mut object = crate::new_object(live, NAMESPACE, NAME);
            set(&mut object, &combined(&Data::new(), &trust, now));
            return match operation::create(live, &context, NAMESPACE, object).await {
                Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
                Err(error) => Err(error),
            };
        };
        let old = data(&live.thaw(&old)?);
        if combined(&old, &trust, now) == old {
            return Ok(());
        }
        let rewrite = |old: &Object| {
            let mut object = old.clone();
            set(&mut object, &combined(&data(old), &trust, now));
            Ok(object)
        };
        let place = Place::new(NAMESPACE, NAME);
        operation::patch(live, &context, &place, Part::Main, rewrite).await.map(|_| ())
    }
}

type Data = BTreeMap<String, String>;

fn data(object: &Object) -> Data {
    let data = object.fields.map("data").into_iter().flat_map(Map::iter);
    data.filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned()))).collect()
}

fn set(object: &mut Object, data: &Data) {
    let pairs = data.iter().map(|(key, value)| (SmolStr::from(key.as_str()), Value::from(value.as_str())));
    object.fields.set("data", Value::Map(Map::from_distinct(pairs.collect())));
}

/// The union of the old data and what this server knows.
fn combined(old: &Data, trust: &Trust, now: i64) -> Data {
    let old_text = |key: &str| old.get(key).map(String::as_str).unwrap_or_default();
    let mut data = Data::new();
    let client_ca = bundle([old_text("client-ca-file"), &trust.client_ca], now);
    if !client_ca.is_empty() {
        data.insert("client-ca-file".to_owned(), client_ca);
    }
    let nobody = FrontProxy::default();
    let proxy = trust.front_proxy.as_ref().unwrap_or(&nobody);
    let ca = bundle([old_text("requestheader-client-ca-file"), &proxy.ca], now);
    if ca.is_empty() {
        return data;
    }
    data.insert("requestheader-client-ca-file".to_owned(), ca);
    for (key, new) in [
        ("requestheader-username-headers", &proxy.username_headers),
        ("requestheader-uid-headers", &proxy.uid_headers),
        ("requestheader-group-headers", &proxy.group_headers),
        ("requestheader-extra-headers-prefix", &proxy.extra_headers_prefix),
        ("requestheader-allowed-names", &proxy.allowed_names),
    ] {
        let mut all: Vec<String> = Vec::new();
        let old: Vec<String> = serde_json::from_str(old_text(key)).unwrap_or_default();
        for text in old.iter().chain(new) {
            if !all.contains(text) {
                all.push(text.clone());
            }
        }
        if !all.is_empty() || key != "requestheader-uid-headers" {
            data.insert(key.to_owned(), serde_json::Value::from(all).to_string());
        }
    }
    data
}

/// All certificates without duplicates and without expired ones. Anything else in the texts is left out.
fn bundle(texts: [&str; 2], now: i64) -> String {
    let mut all: Vec<CertificateDer<'_>> = Vec::new();
    for text in texts {
        for certificate in CertificateDer::pem_slice_iter(text.as_bytes()).filter_map(std::result::Result::ok)
        {
            let is_good = X509Certificate::from_der(&certificate)
                .is_ok_and(|(_, it)| it.validity().not_after.timestamp() > now - SLACK);
            if is_good && !all.contains(&certificate) {
                all.push(certificate);
            }
        }
    }
    all.iter().map(|it| pem(it)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Data, FrontProxy, Trust, combined};

    const NOW: i64 = 1_767_225_600;

    fn authority(name: &str, expires: i32) -> String {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(expires, 1, 1);
        let key = rcgen::KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").pem().replace("\r\n", "\n")
    }

    fn data(pairs: &[(&str, &str)]) -> Data {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn texts(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_first_server_writes_what_it_knows() {
        let (client, proxy) = (authority("a", 2030), authority("b", 2030));
        let mut trust = Trust { client_ca: client.clone(), front_proxy: None };
        assert_eq!(combined(&Data::new(), &trust, NOW), data(&[("client-ca-file", &client)]));
        trust.front_proxy = Some(FrontProxy {
            ca: proxy.clone(),
            username_headers: texts("X-Remote-User"),
            group_headers: texts("X-Remote-Group X-Group"),
            extra_headers_prefix: texts("X-Remote-Extra-"),
            ..FrontProxy::default()
        });
        let expected = data(&[
            ("client-ca-file", &client),
            ("requestheader-client-ca-file", &proxy),
            ("requestheader-username-headers", "[\"X-Remote-User\"]"),
            ("requestheader-group-headers", "[\"X-Remote-Group\",\"X-Group\"]"),
            ("requestheader-extra-headers-prefix", "[\"X-Remote-Extra-\"]"),
            ("requestheader-allowed-names", "[]"),
        ]);
        assert_eq!(combined(&Data::new(), &trust, NOW), expected);
        assert_eq!(combined(&expected, &trust, NOW), expected);
    }

    #[test]
    fn what_others_wrote_stays_and_what_has_expired_goes() {
        let (own, other, old) = (authority("a", 2030), authority("b", 2030), authority("c", 2025));
        let trust = Trust { client_ca: format!("{own}{old}"), front_proxy: None };
        let before = data(&[
            ("client-ca-file", &format!("{old}{other}{own}")),
            ("requestheader-client-ca-file", &other),
            ("requestheader-username-headers", "[\"X-User\",\"X-User\"]"),
            ("requestheader-uid-headers", "[\"X-Uid\"]"),
            ("something", "else"),
        ]);
        let after = combined(&before, &trust, NOW);
        assert_eq!(after["client-ca-file"], format!("{other}{own}"));
        assert_eq!(after["requestheader-client-ca-file"], other);
        assert_eq!(after["requestheader-username-headers"], "[\"X-User\"]");
        assert_eq!(after["requestheader-uid-headers"], "[\"X-Uid\"]");
        assert_eq!(after["requestheader-group-headers"], "[]");
        assert!(!after.contains_key("something"));
    }

    #[test]
    fn rubbish_is_replaced() {
        let own = authority("a", 2030);
        let trust = Trust { client_ca: own.clone(), front_proxy: None };
        let before = data(&[("client-ca-file", "rubbish"), ("requestheader-client-ca-file", "rubbish")]);
        assert_eq!(combined(&before, &trust, NOW), data(&[("client-ca-file", &own)]));
    }
}
