//! A key management service of versions 1 and 2: what a KMS plugin is to an API server, in one process and with a XOR for a
//! cipher.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Result;

use crate::grpc::{Plugin, Service, put};

/// A plugin that answers until it is dropped.
pub struct KmsPlugin {
    state: Arc<State>,
    plugin: Plugin,
}

struct State {
    /// The number of the key that encrypts.
    key: AtomicUsize,
    is_well: AtomicBool,
    decrypted: AtomicUsize,
    encrypted: AtomicUsize,
}

impl State {
    fn new() -> Arc<State> {
        Arc::new(State {
            key: AtomicUsize::new(1),
            is_well: AtomicBool::new(true),
            decrypted: AtomicUsize::new(0),
            encrypted: AtomicUsize::new(0),
        })
    }
}

impl KmsPlugin {
    /// Listens on `socket`; a file that is there already is replaced.
    pub fn start(socket: &Path) -> Result<KmsPlugin> {
        let state = State::new();
        Ok(KmsPlugin { plugin: Plugin::start(socket, state.clone())?, state })
    }

    /// Listens on an abstract socket. Upstream uses the name of the socket as the host of version 1 plugins,
    /// and our library does not accept the path of a file as a host.
    pub fn start_abstract(name: &str) -> Result<KmsPlugin> {
        let state = State::new();
        Ok(KmsPlugin { plugin: Plugin::start_abstract(name, state.clone())?, state })
    }

    /// The endpoint for a configuration.
    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.plugin.socket().display())
    }

    /// Encrypts with another key from now on; the old ones still decrypt.
    pub fn rotate(&self) {
        self.state.key.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it reports to be healthy.
    pub fn set_well(&self, is_well: bool) {
        self.state.is_well.store(is_well, Ordering::Relaxed);
    }

    /// The number of decrypted keys.
    pub fn decrypted(&self) -> usize {
        self.state.decrypted.load(Ordering::Relaxed)
    }

    /// The number of encrypted keys.
    pub fn encrypted(&self) -> usize {
        self.state.encrypted.load(Ordering::Relaxed)
    }
}

impl Service for State {
    fn call(&self, method: &str, message: &[(u64, Vec<u8>)]) -> Result<Vec<u8>, String> {
        let field =
            |number| message.iter().find(|it| it.0 == number).map(|it| it.1.clone()).unwrap_or_default();
        let key = self.key.load(Ordering::Relaxed);
        let mut answer = Vec::new();
        match method {
            "v1beta1.KeyManagementService/Version" => put(&mut answer, 1, b"v1beta1"),
            "v1beta1.KeyManagementService/Encrypt" => {
                self.encrypted.fetch_add(1, Ordering::Relaxed);
                put(&mut answer, 1, &turned(&field(2), key));
            }
            "v1beta1.KeyManagementService/Decrypt" => {
                self.decrypted.fetch_add(1, Ordering::Relaxed);
                put(&mut answer, 1, &turned(&field(2), key));
            }
            "v2.KeyManagementService/Status" => {
                let healthz = if self.is_well.load(Ordering::Relaxed) { "ok" } else { "it hurts" };
                put(&mut answer, 1, b"v2");
                put(&mut answer, 2, healthz.as_bytes());
                put(&mut answer, 3, format!("key-{key}").as_bytes());
            }
            "v2.KeyManagementService/Encrypt" => {
                self.encrypted.fetch_add(1, Ordering::Relaxed);
                put(&mut answer, 1, &turned(&field(1), key));
                put(&mut answer, 2, format!("key-{key}").as_bytes());
                let mut annotation = Vec::new();
                put(&mut annotation, 1, b"version.encryption.example.com");
                put(&mut annotation, 2, b"1");
                put(&mut answer, 3, &annotation);
            }
            "v2.KeyManagementService/Decrypt" => {
                self.decrypted.fetch_add(1, Ordering::Relaxed);
                let id = String::from_utf8_lossy(&field(3)).into_owned();
                let number = id.strip_prefix("key-").and_then(|it| it.parse().ok());
                let number = number.filter(|it| *it <= key).ok_or_else(|| format!("there is no key {id}"))?;
                if field(4).is_empty() {
                    return Err("the annotation is missing".to_owned());
                }
                put(&mut answer, 1, &turned(&field(1), number));
            }
            other => return Err(format!("there is no {other}")),
        }
        Ok(answer)
    }
}

/// The cipher of the plugin: it is its own inverse.
fn turned(bytes: &[u8], key: usize) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ (0xa5 ^ key as u8)).collect()
}
