//! An HTTP server on loopback for tests of authenticators that call others.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use keelson_stdx::task;
use parking_lot::Mutex;
use tokio::net::TcpListener;

/// Answers plain HTTP on loopback and records the requests.
pub(crate) struct Place {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Place {
    /// `answer` gets the path and the body, and gives status and body.
    pub(crate) async fn open(answer: impl Fn(&str, &str) -> (u16, String) + Send + Sync + 'static) -> Place {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (asked.clone(), Arc::new(answer));
        task::spawn("place", async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (log, answer) = (log.clone(), answer.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let (log, answer) = (log.clone(), answer.clone());
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body.collect().await.expect("a body").to_bytes();
                        let body = String::from_utf8_lossy(&body).into_owned();
                        log.lock().push(format!("{} {} {body}", head.method, head.uri.path()));
                        let (status, text) = answer(head.uri.path(), &body);
                        let response = Response::builder().status(status).body(Full::<Bytes>::from(text));
                        Ok::<_, Infallible>(response.expect("a response"))
                    }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                let connection = connection.serve_connection(TokioIo::new(tcp), service);
                task::spawn("connection", async move {
                    let _ = connection.await;
                });
            }
        });
        Place { address, asked }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// `POST /path body`, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().clone()
    }
}
