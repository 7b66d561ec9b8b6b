//! Audit log: from its config to its backends.
//!
//! Upstream: staging/src/k8s.io/apiserver/pkg/server/options/audit.go, ApplyTo (v1.36.4).

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use keelson_audit::backend::{LogFile, Output, Post, Webhook};
use keelson_audit::{Audit, Policy};
use keelson_object::scalar::quote;
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Client, Proxy, Target};
use tracing::{info, warn};

use crate::config::{Config, LogChoice};
use crate::error::Error;
use crate::{go_file, kubeconfig_file};

/// The configured audit log; `None` if nothing is audited. All errors are reported at once.
pub(crate) fn audit(config: &Config, clock: &Clock) -> Result<Option<Audit>, Error> {
    let choice = &config.audit;
    let Some(policy_file) = &choice.policy_file else {
        // Upstream creates the file although nothing will be written to it.
        if let Some(log) = &choice.log {
            log_file(log, clock).map_err(|error| Error::Invalid(vec![error]))?;
        }
        for (backend, is_wanted) in [("log", choice.log.is_some()), ("webhook", choice.webhook.is_some())] {
            if is_wanted {
                info!("No audit policy file provided, no events will be recorded for {backend} backend");
            }
        }
        return Ok(None);
    };
    let mut errors = Vec::new();
    let mut keep = |error: String| errors.push(error);
    let policy =
        policy(policy_file).map_err(|error| keep(format!("loading audit policy file: {error}"))).ok();
    let log = choice.log.as_ref().and_then(|it| {
        let file = log_file(it, clock).map_err(&mut keep).ok()?;
        Some((it.settings, Output::Log(file)))
    });
    let webhook = choice.webhook.as_ref().and_then(|it| {
        let client = client(&it.config_file, config.egress.controlplane.as_ref(), clock);
        let client = client.map_err(|error| keep(format!("initializing audit webhook: {error}"))).ok()?;
        Some((it.settings, Output::Webhook(Webhook::new(Arc::new(client), it.first_delay))))
    });
    match policy {
        Some(_) if log.is_none() && webhook.is_none() && errors.is_empty() => Ok(None),
        Some(policy) if errors.is_empty() => {
            let outputs = log.into_iter().chain(webhook);
            let audit = Audit::new(policy, clock.clone());
            Ok(Some(outputs.fold(audit, |audit, (settings, output)| audit.with(settings, output))))
        }
        _ => Err(Error::Invalid(errors)),
    }
}

fn policy(file: &Path) -> Result<Policy, String> {
    let shown = file.display();
    let text = go_file::read(file)
        .map_err(|error| format!("failed to read file path {}: {error}", quote(&shown.to_string())))?;
    let (policy, complaints) = Policy::read(&text).map_err(|error| format!("{error}: from file {shown}"))?;
    if !complaints.is_empty() {
        let complaints = complaints.join(", ");
        warn!(
            "Audit policy contains errors, falling back to lenient decoding: strict decoding error: {complaints}"
        );
    }
    Ok(policy)
}

fn log_file(choice: &LogChoice, clock: &Clock) -> Result<LogFile, String> {
    let file = match choice.path.to_str() {
        Some("-") => LogFile::stdout(),
        _ => {
            check_log_path(&choice.path).map_err(|problem| format!("ensureLogFile: {problem}"))?;
            LogFile::open(&choice.path, choice.rotation, clock).map_err(|error| {
                let source = std::error::Error::source(&error).map(|it| format!(": {it}"));
                format!("ensureLogFile: {error}{}", source.unwrap_or_default())
            })?
        }
    };
    Ok(if choice.legacy { file.legacy() } else { file })
}

/// Why the log cannot be written, in Go's words.
fn check_log_path(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err(format!("open {}: is a directory", path.display()));
    }
    let is_in_the_way = |folder: &&Path| folder.exists() && !folder.is_dir();
    match path.ancestors().skip(1).find(is_in_the_way) {
        Some(file) => Err(format!("mkdir {}: not a directory", file.display())),
        None => Ok(()),
    }
}

fn client(file: &Path, proxy: Option<&Arc<Proxy>>, clock: &Clock) -> Result<Kubeconfigured, String> {
    let target = kubeconfig_file::target(file)?;
    let client = Client::new(Target { proxy: proxy.cloned(), ..target }, clock);
    client.map(Kubeconfigured).map_err(|error| error.to_string())
}

/// An endpoint that a kubeconfig names.
struct Kubeconfigured(Client);

impl Post for Kubeconfigured {
    fn post(&self, body: Bytes) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let reply = self.0.post_json("", body, None).await.and_then(keelson_webhook_client::Reply::ok);
            reply.map(drop).map_err(|error| {
                let source = std::error::Error::source(&error).map(|it| format!(": {it}"));
                format!("{error}{}", source.unwrap_or_default())
            })
        })
    }
}
