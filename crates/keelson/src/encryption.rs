//! Encryption at rest: reads and follows the configuration file, and adds metrics; the crate `encryption`
//! does the work.

mod numbers;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use futures_util::future::BoxFuture;
use keelson_codec::{config_file, yaml};
use keelson_encryption::{Configuration, Problem, Settings, Vault};
use keelson_server::metrics::Registry;
use keelson_server::{Builder, Check, NamedCheck};
use keelson_stdx::backoff::Backoff;
use keelson_stdx::clock::Clock;

use self::numbers::Numbers;
use crate::config::{Config, EncryptionChoice};
use crate::error::Error;
use crate::go_file;

/// How often the file is checked.
const INTERVAL: Duration = Duration::from_secs(1);
/// The longest pause between checks after the file was found to be invalid.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The name of the common check of all KMS plugins, as in upstream.
const CHECK: &str = "kms-providers";

/// The vault, and its configuration file.
#[derive(Clone)]
pub struct Encryption {
    vault: Vault,
    choice: EncryptionChoice,
    hash: String,
    numbers: Arc<Numbers>,
    clock: Clock,
}

impl Encryption {
    /// Reads the file, if there is one, and prepares its providers.
    pub async fn load(config: &Config, clock: &Clock) -> Result<Option<Encryption>, Error> {
        let Some(choice) = config.encryption.clone() else { return Ok(None) };
        let (configuration, hash) = read(&choice).map_err(|problem| Error::Invalid(vec![problem]))?;
        let numbers = Arc::new(Numbers::new(clock.clone()));
        let settings = Settings {
            clock: clock.clone(),
            meter: numbers.clone(),
            names_unreadable: config.feature_gates.is_on("AllowUnsafeMalformedObjectDeletion"),
            old_services: config.feature_gates.is_on("KMSv1"),
        };
        let vault = Vault::load(&configuration, settings).await;
        let vault = vault.map_err(|problem| Error::Invalid(vec![problem.to_string()]))?;
        numbers.in_use(&hash);
        Ok(Some(Encryption { vault, choice, hash, numbers, clock: clock.clone() }))
    }

    /// The vault, which has the transform of each resource.
    pub fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Adds upstream's health checks.
    pub fn checks(&self, mut builder: Builder) -> Builder {
        let services = self.vault.services();
        if !self.choice.reload && self.vault.has_old_services() {
            // As in upstream, before KMS v2.
            for position in 0..services {
                let check = NamedCheck::new(
                    format!("kms-provider-{position}"),
                    ServiceCheck(self.vault.clone(), position),
                );
                builder = builder.check(check.without_livez());
            }
        } else if self.choice.reload || services > 0 {
            let check = NamedCheck::new(CHECK, ServicesCheck(self.vault.clone()));
            builder = builder.check(check.without_livez());
        }
        if self.choice.reload {
            let name = "poststarthook/start-encryption-provider-config-automatic-reload";
            builder = builder.boot_check(NamedCheck::new(name, || Ok(())));
        }
        builder
    }

    /// Adds the metrics of a server that encrypts nothing.
    pub fn add_idle_numbers(clock: &Clock, registry: &Registry) {
        Numbers::new(clock.clone()).add_to(registry);
    }

    /// Adds the metrics to `registry`.
    pub fn add_numbers(&self, registry: &Registry) {
        self.numbers.add_to(registry);
    }

    /// Follows the file, if reloading is enabled. An invalid file changes nothing.
    pub async fn follow(mut self) {
        if !self.choice.reload {
            return;
        }
        let mut pause = Backoff::new(INTERVAL, LONGEST_PAUSE);
        loop {
            self.clock.sleep(INTERVAL).await;
            match self.look().await {
                Ok(None) => (),
                Ok(Some(hash)) => {
                    pause.reset();
                    self.numbers.reloaded(&hash);
                    self.hash = hash;
                    tracing::info!(file = %self.choice.file.display(), "the encryption configuration was read again");
                }
                Err(error) => {
                    self.numbers.not_reloaded();
                    let file = self.choice.file.display();
                    tracing::error!(%file, %error, "the encryption configuration stays as it was");
                    self.clock.sleep(pause.delay()).await;
                }
            }
        }
    }

    /// Applies the file if it has changed; returns its new hash then.
    async fn look(&self) -> Result<Option<String>, String> {
        let (choice, old) = (self.choice.clone(), self.hash.clone());
        let look = move || match contents(&choice.file) {
            Ok((_, hash)) if hash == old => Ok(None),
            Ok(_) => read(&choice).map(Some),
            Err(error) => Err(error),
        };
        let seen = tokio::task::spawn_blocking(look).await.map_err(|error| error.to_string())?;
        let Some((configuration, hash)) = seen? else { return Ok(None) };
        self.vault.replace(&configuration).await.map_err(|problem| problem.to_string())?;
        Ok(Some(hash))
    }
}

/// The bytes of the file and their hash.
fn contents(file: &Path) -> Result<(Vec<u8>, String), String> {
    let shown = file.display();
    let bytes = go_file::read(file).map_err(|error| {
        format!("error while parsing file: error while loading file: error reading encryption provider configuration \
                 file \"{shown}\": {error}")
    })?;
    if bytes.is_empty() {
        return Err(format!(
            "error while parsing file: error while loading file: encryption provider configuration file \"{shown}\" is \
             empty"
        ));
    }
    let hash = sha256(&bytes);
    Ok((bytes, hash))
}

/// Upstream: server/options/encryptionconfig/config.go, loadConfig (v1.36.4).
fn read(choice: &EncryptionChoice) -> Result<(Configuration, String), String> {
    let (bytes, hash) = contents(&choice.file)?;
    let form = |error: String| decoding(&choice.file, &error);
    let document = yaml::read(&bytes).map_err(|error| form(error.to_string()))?;
    if !matches!(document.value.json_type(), "null" | "object") {
        return Err(form(config_file::Error::NoObject { found: document.value.json_type() }.to_string()));
    }
    if let Some(problem) = document.strict_problem() {
        return Err(form(format!("strict decoding error: {problem}")));
    }
    let configuration = if choice.reload {
        Configuration::read_reloadable(&document.value)
    } else {
        Configuration::read(&document.value)
    };
    let configuration = configuration.map_err(|problem| match problem {
        Problem::Form(error) => form(error),
        other => format!("error while parsing file: {other}"),
    })?;
    Ok((configuration, hash))
}

fn decoding(file: &Path, error: &str) -> String {
    let file: PathBuf = file.to_owned();
    format!(
        "error while parsing file: error decoding encryption provider configuration file \"{}\": {error}",
        file.display()
    )
}

/// `sha256:…`
fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("sha256:");
    for byte in digest(&SHA256, bytes).as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

struct ServicesCheck(Vault);

impl Check for ServicesCheck {
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.0.health())
    }
}

struct ServiceCheck(Vault, usize);

impl Check for ServiceCheck {
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.0.service_health(self.1))
    }
}
