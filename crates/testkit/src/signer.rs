//! A signer of service account tokens (`--service-account-signing-endpoint`): what a plugin that keeps the keys is to an
//! API server.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;

use crate::grpc::{Plugin, Service, put, put_number};

/// Signs until it is dropped.
pub struct TokenSigner {
    state: Arc<State>,
    _plugin: Plugin,
}

struct State {
    inner: Mutex<Inner>,
}

struct Inner {
    keys: Vec<Key>,
    behaviour: Behaviour,
    fetches: usize,
}

struct Key {
    id: String,
    pair: EcdsaKeyPair,
    is_hidden: bool,
}

/// The behaviour of a signer; correct by default.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// The longest lifetime of its tokens.
    pub max_seconds: u64,
    /// The interval of fetches that it asks for.
    pub refresh_seconds: u64,
    /// Signs with a key that is not published.
    pub signs_with_hidden_key: bool,
    /// Refuses to sign, with this text.
    pub refusal: Option<String>,
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour { max_seconds: 86_400, refresh_seconds: 3600, signs_with_hidden_key: false, refusal: None }
    }
}

impl TokenSigner {
    /// Listens on `socket`, with the key `key-1`, and with `old`, which is hidden.
    pub fn start(socket: &Path, behaviour: Behaviour) -> Result<TokenSigner> {
        let keys = vec![Key::new("key-1", false)?, Key::new("old", true)?];
        let state = Arc::new(State { inner: Mutex::new(Inner { keys, behaviour, fetches: 0 }) });
        Ok(TokenSigner { _plugin: Plugin::start(socket, state.clone())?, state })
    }

    /// Signs with another key from now on, called `id`; the others still verify.
    pub fn rotate(&self, id: &str) -> Result<()> {
        self.state.inner.lock().keys.insert(0, Key::new(id, false)?);
        Ok(())
    }

    /// Behaves like this from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        self.state.inner.lock().behaviour = behaviour;
    }

    /// The number of fetches of its keys.
    pub fn fetches(&self) -> usize {
        self.state.inner.lock().fetches
    }
}

impl Key {
    fn new(id: &str, is_hidden: bool) -> Result<Key> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)?;
        Ok(Key { id: id.to_owned(), pair, is_hidden })
    }

    /// `header` and `signature` of a token.
    fn sign(&self, claims: &str) -> Result<(String, String)> {
        let header = format!(r#"{{"alg":"ES256","kid":"{}","typ":"JWT"}}"#, self.id);
        let header = URL_SAFE_NO_PAD.encode(header);
        let signature = self.pair.sign(&SystemRandom::new(), format!("{header}.{claims}").as_bytes())?;
        Ok((header, URL_SAFE_NO_PAD.encode(signature)))
    }

    fn to_message(&self) -> Result<Vec<u8>> {
        let der: PublicKeyX509Der<'_> = self.pair.public_key().as_der()?;
        let mut message = Vec::new();
        put(&mut message, 1, self.id.as_bytes());
        put(&mut message, 2, der.as_ref());
        put_number(&mut message, 3, u64::from(self.is_hidden));
        Ok(message)
    }
}

impl Inner {
    fn answer(&mut self, method: &str, message: &[(u64, Vec<u8>)]) -> Result<Vec<u8>> {
        let mut answer = Vec::new();
        match method {
            "v1.ExternalJWTSigner/Sign" => {
                if let Some(refusal) = &self.behaviour.refusal {
                    return Err(anyhow!(refusal.clone()));
                }
                let claims = message.iter().find(|it| it.0 == 1).map(|it| it.1.clone()).unwrap_or_default();
                let is_hidden = self.behaviour.signs_with_hidden_key;
                let key = self.keys.iter().find(|it| it.is_hidden == is_hidden);
                let key = key.ok_or_else(|| anyhow!("there is no such key"))?;
                let (header, signature) = key.sign(std::str::from_utf8(&claims)?)?;
                put(&mut answer, 1, header.as_bytes());
                put(&mut answer, 2, signature.as_bytes());
            }
            "v1.ExternalJWTSigner/FetchKeys" => {
                self.fetches += 1;
                for key in &self.keys {
                    put(&mut answer, 1, &key.to_message()?);
                }
                let mut timestamp = Vec::new();
                put_number(&mut timestamp, 1, 1_700_000_000);
                put(&mut answer, 2, &timestamp);
                put_number(&mut answer, 3, self.behaviour.refresh_seconds);
            }
            "v1.ExternalJWTSigner/Metadata" => put_number(&mut answer, 1, self.behaviour.max_seconds),
            other => return Err(anyhow!("there is no {other}")),
        }
        Ok(answer)
    }
}

impl Service for State {
    fn call(&self, method: &str, message: &[(u64, Vec<u8>)]) -> Result<Vec<u8>, String> {
        self.inner.lock().answer(method, message).map_err(|error| error.to_string())
    }
}
