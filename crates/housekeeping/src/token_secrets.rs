//! Token secrets: fills secrets of type service-account-token with tokens that do not expire.
//!
//! Upstream leaves this to kube-controller-manager (pkg/controller/serviceaccount/tokens_controller.go,
//! v1.36.4). A standalone server has none.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_authn::service_account::{Issuer, Ref};
use keelson_object::{Frozen, Object, SmolStr};
use keelson_registry::options::{DeleteOptions, Part, WatchOptions};
use keelson_registry::{CatalogHandle, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;

use crate::follow::event;

const TYPE: &str = "kubernetes.io/service-account-token";
const NAME: &str = "kubernetes.io/service-account.name";
const UID: &str = "kubernetes.io/service-account.uid";

/// The pause after an interruption.
const RETRY: Duration = Duration::from_secs(1);

/// The content of token secrets and their signer.
pub struct TokenSecrets {
    /// Signs.
    pub issuer: Arc<Issuer>,
    /// The CA certificate of the server, in PEM.
    pub authority: String,
}

impl TokenSecrets {
    /// Runs for as long as it is polled.
    pub async fn run(self, catalog: CatalogHandle, clock: Clock) {
        loop {
            if let Err(error) = self.follow(&catalog, &clock).await {
                tracing::warn!(%error, "looking after secrets with tokens was interrupted");
            }
            clock.sleep(RETRY).await;
        }
    }

    /// Checks every token secret, and again those of a service account that changes.
    async fn follow(&self, catalog: &CatalogHandle, clock: &Clock) -> Result<()> {
        let find = |plural| catalog.load().find("", "v1", plural);
        let (Some(secrets), Some(accounts)) = (find("secrets"), find("serviceaccounts")) else {
            return Ok(());
        };
        let (secrets, accounts) = (&secrets.live, &accounts.live);
        // The watch begins with the existing objects.
        let mut of_secrets = operation::watch(secrets, "", &WatchOptions::default()).await?;
        let mut of_accounts = operation::watch(accounts, "", &WatchOptions::default()).await?;
        loop {
            let (change, is_secret) = tokio::select! {
                change = of_secrets.next() => (change, true),
                change = of_accounts.next() => (change, false),
            };
            let Some(change) = change.transpose()? else { return Ok(()) };
            let Some((_, object)) = event(&change) else { continue };
            let touched: Vec<SmolStr> = if is_secret {
                is_token(secrets, object).then(|| object.index().name.clone()).into_iter().collect()
            } else {
                let snapshot = secrets.cache()?.fresh().await?;
                let near = snapshot.namespace(&object.index().namespace);
                near.filter(|(_, it)| is_token(secrets, it)).map(|(_, it)| it.index().name.clone()).collect()
            };
            for name in touched {
                let place = Place::new(object.index().namespace.clone(), name);
                self.look_after(catalog, clock, (secrets, accounts), &place).await?;
            }
        }
    }

    async fn look_after(
        &self,
        catalog: &CatalogHandle,
        clock: &Clock,
        (secrets, accounts): (&Arc<Live>, &Arc<Live>),
        place: &Place,
    ) -> Result<()> {
        let context = crate::context(catalog, clock);
        let Some(found) = secrets.cache()?.fresh().await?.get(&place.namespace, &place.name).cloned() else {
            return Ok(());
        };
        let secret = secrets.thaw(&found)?;
        let Some(name) = secret.meta.annotations.get(NAME).filter(|it| !it.is_empty()) else { return Ok(()) };
        let account = accounts.cache()?.fresh().await?.get(&place.namespace, name).cloned();
        let account = account.map(|it| accounts.thaw(&it)).transpose()?;
        let uid = secret.meta.annotations.get(UID).unwrap_or_default();
        let account = account.filter(|it| uid.is_empty() || it.meta.uid == uid);
        let Some(account) = account.filter(|it| !it.meta.is_being_deleted()) else {
            // A token secret is deleted with its account.
            let deleted = operation::delete(secrets, &context, place, &DeleteOptions::default()).await;
            return done(deleted.map(drop));
        };
        if self.filled(&secret, &account).is_none() {
            return Ok(());
        }
        let fill = |old: &Object| Ok(self.filled(old, &account).unwrap_or_else(|| old.clone()));
        done(operation::patch(secrets, &context, place, Part::Main, fill).await.map(drop))
    }

    /// The secret with everything in it; `None` if that is so already.
    fn filled(&self, secret: &Object, account: &Object) -> Option<Object> {
        let mut object = secret.clone();
        object.meta.annotations.set(UID, account.meta.uid.as_str());
        let namespace = object.meta.namespace.to_string();
        let name = object.meta.name.to_string();
        let data = object.fields.map_mut("data");
        for (key, text) in [("ca.crt", &self.authority), ("namespace", &namespace)] {
            if data.str(key).is_none_or(str::is_empty) || key == "ca.crt" {
                data.set(key, STANDARD.encode(text));
            }
        }
        if data.str("token").is_none_or(str::is_empty) {
            let account = Ref::new(account.meta.name.as_str(), account.meta.uid.as_str());
            match self.issuer.issue_legacy(&namespace, &account, &name) {
                Ok(token) => data.set("token", STANDARD.encode(token)),
                Err(error) => {
                    tracing::error!(%error, %namespace, %name, "a token could not be made");
                    return None;
                }
            }
        }
        (object != *secret).then_some(object)
    }
}

/// The type of a secret is a selectable field, so it is in the index.
fn is_token(secrets: &Live, secret: &Frozen) -> bool {
    secrets.selected(secret, "type") == Some(TYPE)
}

/// Ignores conflicts with another writer, which has done the same, and secrets that were deleted meanwhile.
fn done(result: Result<()>) -> Result<()> {
    match result {
        Err(Error::NotFound { .. } | Error::Conflict { .. } | Error::Forbidden { .. }) => Ok(()),
        other => other,
    }
}
