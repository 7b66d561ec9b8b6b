//! Conversion webhook: strategy `Webhook`. A program of others converts objects, many with one call.
//!
//! ```text
//! objects ──> batches ──> ConversionReview (review) ──> POST ──> answer (review) ──> each object (checks)
//! ```
//!
//! Upstream converts each object with a call of its own when it reads it from etcd, so clients know the texts of single
//! objects only. They are used here too: a failure names the object that it is about, or the first one of the batch.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go (v1.36.4).

mod checks;
mod observer;
mod review;

pub use observer::{Asked, FailureType, Observer};

use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use keelson_codec::stored;
use keelson_object::{Map, Object, ObjectMeta, SmolStr};
use keelson_registry::{Convert, Error, Result};
use keelson_stdx::offload;
use keelson_webhook_client::{Client, ClientConfig, Reply, ReviewVersion};

use super::Converters;

/// How long a webhook may take.
///
/// Upstream: apiserver/pkg/util/webhook/authentication.go, setGlobalDefaults (v1.36.4).
const TIMEOUT: Duration = Duration::from_secs(30);

/// How many objects are sent with one call at most.
const MAX_OBJECTS: usize = 500;

/// No object is added to a call that has this many bytes. One object has at most 3 MiB.
const FULL: usize = 8 << 20;

/// Answers are not read further. Upstream has no limit; this is more than twice of what is sent at most.
const MAX_ANSWER: usize = 32 << 20;

/// Converts the objects of one definition.
pub struct Webhook {
    /// The name of the definition.
    definition: SmolStr,
    /// The form of review that the webhook reads, if it is one that we write.
    review: Option<ReviewVersion>,
    config: ClientConfig,
    around: Converters,
    client: OnceLock<Client>,
}

/// Why a batch is not converted.
struct Failure {
    failure_type: FailureType,
    text: String,
}

/// Objects that go with one call, and their JSON.
#[derive(Default)]
struct Batch {
    objects: Vec<Object>,
    bodies: Vec<Bytes>,
    size: usize,
}

impl Webhook {
    /// The converter of a definition whose `spec.conversion.webhook` is `webhook`.
    pub fn new(definition: &str, webhook: &Map, around: Converters) -> Webhook {
        let config = webhook.map("clientConfig").map(ClientConfig::read).unwrap_or_default();
        Webhook {
            definition: definition.into(),
            review: webhook.strings("conversionReviewVersions").find_map(ReviewVersion::parse),
            config: config.without_blank_bundle(),
            around,
            client: OnceLock::new(),
        }
    }

    async fn convert_all(&self, objects: Vec<Object>, api_version: &str) -> Result<Vec<Object>> {
        let Some(form) = self.review else {
            return Err(Error::Unclassified("no supported conversion review versions".to_owned()));
        };
        let mut done = Vec::with_capacity(objects.len());
        let mut batch = Batch::default();
        for mut object in objects {
            if is_blank(&object) {
                self.convert_batch(form, std::mem::take(&mut batch), (api_version, &mut done)).await?;
                object.api_version = api_version.into();
                done.push(object);
                continue;
            }
            if batch.is_full() {
                self.convert_batch(form, std::mem::take(&mut batch), (api_version, &mut done)).await?;
            }
            batch.push(object);
        }
        self.convert_batch(form, batch, (api_version, &mut done)).await?;
        Ok(done)
    }

    /// Converts the objects of one call, and reports what came of it.
    async fn convert_batch(
        &self,
        form: ReviewVersion,
        batch: Batch,
        (api_version, done): (&str, &mut Vec<Object>),
    ) -> Result<()> {
        if batch.objects.is_empty() {
            return Ok(());
        }
        let mut from: Vec<SmolStr> = batch.objects.iter().map(|it| it.api_version.clone()).collect();
        from.sort_unstable();
        from.dedup();
        let clock = &self.around.clock;
        let started = clock.monotonic();
        let converted = self.exchange(form, batch, api_version).await;
        if let Some(observer) = &self.around.observer {
            observer.asked(&Asked {
                definition: &self.definition,
                from: &from.iter().map(|it| version_of(it)).collect::<Vec<_>>(),
                to: version_of(api_version),
                elapsed: clock.monotonic().saturating_sub(started),
                failure: converted.as_ref().err().map(|it| it.failure_type),
            });
        }
        done.extend(converted.map_err(|it| Error::Unclassified(it.text))?);
        Ok(())
    }

    async fn exchange(
        &self,
        form: ReviewVersion,
        batch: Batch,
        api_version: &str,
    ) -> std::result::Result<Vec<Object>, Failure> {
        let about = batch.objects.first().map(checks::about).unwrap_or_default();
        let failed =
            |failure_type, why: &str| Failure { failure_type, text: format!("{about} failed: {why}") };
        let uid = uuid::Uuid::new_v4().to_string();
        let question = review::question(form, &uid, api_version, &batch.bodies);
        let reply = self.ask(question).await;
        let reply = reply.map_err(|why| failed(FailureType::Call, &why))?;
        let size = reply.body.len();
        let read = || -> std::result::Result<Vec<Object>, Failure> {
            let review = review::read(form, &reply).map_err(|why| failed(FailureType::Call, &why))?;
            let converted = review::converted_objects(form, &uid, review);
            let converted = converted.map_err(|why| failed(FailureType::MalformedResponse, &why))?;
            if converted.len() != batch.objects.len() {
                let (found, expected) = (converted.len(), batch.objects.len());
                let text = format!("{about} returned {found} objects, expected {expected}");
                return Err(Failure { failure_type: FailureType::PartialResponse, text });
            }
            let pairs = batch.objects.into_iter().zip(converted);
            let accepted =
                pairs.map(|(original, converted)| checks::accept(original, converted, api_version));
            let invalid = |text| Failure { failure_type: FailureType::InvalidConvertedObject, text };
            accepted.collect::<std::result::Result<_, String>>().map_err(invalid)
        };
        offload::run(size, read).await
    }

    async fn ask(&self, question: Bytes) -> std::result::Result<Reply, String> {
        let path = self.config.path().ok_or("webhook configuration must have either service or URL")?;
        let client = self.client().map_err(|error| error.to_string())?;
        let path = format!("{path}?timeout={}s", TIMEOUT.as_secs());
        client.post_json(&path, question, Some(TIMEOUT)).await.map_err(|error| error.to_string())
    }

    fn client(&self) -> std::result::Result<&Client, keelson_webhook_client::Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let mut target = self.config.target(&self.around.services);
        target.max_reply = MAX_ANSWER;
        // What keeps us from making one may be gone the next time.
        let made = Client::new(target, &self.around.clock)?;
        Ok(self.client.get_or_init(|| made))
    }
}

impl Convert for Webhook {
    fn convert<'c>(
        &'c self,
        objects: Vec<Object>,
        api_version: &'c str,
    ) -> BoxFuture<'c, Result<Vec<Object>>> {
        Box::pin(self.convert_all(objects, api_version))
    }

    fn keeps_fields(&self) -> bool {
        false
    }
}

impl Batch {
    fn is_full(&self) -> bool {
        self.objects.len() == MAX_OBJECTS || self.size >= FULL
    }

    /// Upstream shows webhooks no resource versions: objects are converted before they get one, or without it.
    fn push(&mut self, object: Object) {
        let body = stored::encode(&object);
        self.size += body.len();
        self.bodies.push(body);
        self.objects.push(object);
    }
}

/// Whether an object has a kind and a version only: webhooks are not asked about such objects.
fn is_blank(object: &Object) -> bool {
    object.fields.is_empty() && object.meta == ObjectMeta::default()
}

/// `v1` of `example.com/v1`.
fn version_of(api_version: &str) -> &str {
    api_version.rsplit('/').next().unwrap_or_default()
}
