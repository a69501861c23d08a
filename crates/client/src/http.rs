//! The client itself: one request in, one answer or error out.

pub(crate) mod answer;
mod backoff;
pub(crate) mod lines;
pub(crate) mod request;
mod retry;
pub(crate) mod sse;
mod tls;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use pandastack_protocol::error::ErrorCode;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::{ClientOptions, Config};
use crate::error::{Error, Result};
use request::Request;
use transport::Transport;

/// A connection to one server. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    config: Arc<Config>,
    transport: Arc<Transport>,
    created: Arc<retry::CreatedLately>,
    limit: Option<Duration>,
    closed: CancellationToken,
}

impl Client {
    /// A client for what `options`, environment and configuration file say. Nothing is sent yet.
    ///
    /// # Errors
    /// As [`Config::resolve`].
    pub fn new(options: ClientOptions) -> Result<Self> {
        let config = Config::resolve(options)?;
        let transport = Transport::new(&config)?;
        Ok(Self {
            config: Arc::new(config),
            transport: Arc::new(transport),
            created: Arc::default(),
            limit: None,
            closed: CancellationToken::new(),
        })
    }

    /// What the client was made from.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The same client with another time limit for all that a call does; it replaces the limit that the call has by itself.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The same client, closed also when `owner` is cancelled.
    #[must_use]
    pub fn owned_by(mut self, owner: &CancellationToken) -> Self {
        self.closed = owner.child_token();
        self
    }

    /// Ends all calls and streams of this client and its clones; later ones fail with `aborted`.
    pub fn close(&self) {
        self.closed.cancel();
    }

    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// When a stream must have ended: after the caller's own limit, else after `limit`.
    pub(crate) fn stream_deadline(&self, limit: Option<Duration>) -> Option<Instant> {
        self.limit.or(limit).map(|limit| Instant::now() + limit)
    }

    /// How long a stream of bytes may stand still.
    pub(crate) fn patience(&self) -> Duration {
        self.limit.unwrap_or(self.config.timeout)
    }

    /// How long a server may take for what it needs at least `limit` for, unless the caller says otherwise.
    pub(crate) fn patience_of_at_least(&self, limit: Duration) -> Duration {
        self.limit.unwrap_or(self.config.timeout.max(limit))
    }

    pub(crate) fn created(&self) -> &retry::CreatedLately {
        &self.created
    }

    /// Sends `request`, again where its rules allow, and returns the first answer with a status of 2xx.
    pub(crate) async fn send(&self, request: Request) -> Result<reqwest::Response> {
        let deadline = self.deadline(&request);
        self.while_open(self.send_until(&request, deadline)).await
    }

    /// Like [`Self::send`], then reads the answer as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, request: Request) -> Result<T> {
        self.while_open(async {
            let deadline = self.deadline(&request);
            let response = self.send_until(&request, deadline).await?;
            self.rest(&request, response, deadline).await
        })
        .await
    }

    /// Like [`Self::send`], then reads the answer whatever it is.
    pub(crate) async fn bytes(&self, request: Request) -> Result<Bytes> {
        self.while_open(async {
            let deadline = self.deadline(&request);
            let response = self.send_until(&request, deadline).await?;
            self.body(&request, response, deadline).await
        })
        .await
    }

    /// Runs `work` until it ends or the client is closed.
    pub(crate) async fn while_open<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(client_closed()),
            result = work => result,
        }
    }

    /// Reads the rest of an answer as JSON.
    pub(crate) async fn rest_as_json<T: DeserializeOwned>(
        &self,
        request: &Request,
        response: reqwest::Response,
        deadline: Instant,
    ) -> Result<T> {
        self.rest(request, response, Some(deadline)).await
    }

    async fn rest<T: DeserializeOwned>(
        &self,
        request: &Request,
        response: reqwest::Response,
        deadline: Option<Instant>,
    ) -> Result<T> {
        let (status, request_id) = (response.status().as_u16(), answer::request_id(response.headers()));
        let body = self.body(request, response, deadline).await?;
        serde_json::from_slice(&body).map_err(|error| {
            let error = answer::not_json(&body).with_status(status).with_request_id(request_id).with_source(error);
            self.described(request, error)
        })
    }

    async fn body(&self, request: &Request, response: reqwest::Response, deadline: Option<Instant>) -> Result<Bytes> {
        until(deadline, request, self.url(request)?, answer::read(response, answer::MAX_BODY))
            .await?
            .map_err(|error| self.described(request, error))
    }

    /// Sends `body` as it comes. It cannot be sent again, so one try it is.
    pub(crate) async fn send_streamed(
        &self,
        request: &Request,
        content_type: &str,
        body: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static,
    ) -> Result<reqwest::Response> {
        self.transport.ready().await?;
        let body = std::sync::Mutex::new(Some(reqwest::Body::wrap_stream(body)));
        let response = self
            .transport
            .send(|client, base| {
                let mut filled = self.filled(request, client, base)?;
                let body = body.lock().ok().and_then(|mut body| body.take());
                *filled.body_mut() =
                    Some(body.ok_or_else(|| Error::new(ErrorCode::Network, "the server cannot be reached"))?);
                let value = content_type.parse().map_err(|_| Error::option("not a content type"))?;
                filled.headers_mut().insert(reqwest::header::CONTENT_TYPE, value);
                filled.headers_mut().remove(reqwest::header::CONTENT_LENGTH);
                Ok(filled)
            })
            .await
            .map_err(|error| self.described(request, error))?;
        if !response.status().is_success() {
            let refusal = answer::refusal(response, false).await;
            return Err(self.described(request, self.advised(request, refusal)));
        }
        Ok(response)
    }

    /// Reads the answer of a streamed call as JSON.
    pub(crate) async fn streamed_json<T: DeserializeOwned>(
        &self,
        request: &Request,
        response: reqwest::Response,
    ) -> Result<T> {
        self.rest(request, response, Some(Instant::now() + self.config.timeout)).await
    }

    /// Like [`Self::send`], then drops the answer's body.
    pub(crate) async fn empty(&self, request: Request) -> Result<()> {
        let deadline = self.deadline(&request);
        let response = self.while_open(self.send_until(&request, deadline)).await?;
        // The body is read so that the connection can be used again; what it says does not matter.
        let _ = until(deadline, &request, self.url(&request)?, answer::read(response, 1 << 20)).await?;
        Ok(())
    }

    fn deadline(&self, request: &Request) -> Option<Instant> {
        if let Some(limit) = self.limit {
            return Some(Instant::now() + limit);
        }
        match request.limit {
            request::Limit::Client => Some(Instant::now() + self.config.timeout),
            request::Limit::AtLeast(limit) => Some(Instant::now() + self.config.timeout.max(limit)),
            request::Limit::Exactly(limit) => Some(Instant::now() + limit),
            request::Limit::None => None,
        }
    }

    /// One try. Any answer is returned, whatever its status.
    async fn attempt(&self, request: &Request, deadline: Option<Instant>) -> Result<reqwest::Response> {
        let url = self.url(request)?;
        let sent = self.transport.send(|client, base| self.filled(request, client, base));
        until(deadline, request, url.clone(), sent).await?.map_err(|error| error.with_request(&request.method, &url))
    }

    fn filled(&self, request: &Request, client: &reqwest::Client, base: &url::Url) -> Result<reqwest::Request> {
        self.config.check()?;
        let mut builder = client.request(request.method.clone(), request.url(base)?);
        if let Some(key) = self.config.api_key.as_ref().filter(|_| !request.names_its_key()) {
            builder = builder.bearer_auth(key);
        }
        request.fill(builder)
    }

    fn url(&self, request: &Request) -> Result<url::Url> {
        request.url(self.transport.base())
    }

    /// A refused key without its source cannot be found.
    fn advised(&self, request: &Request, refusal: Error) -> Error {
        match refusal.status() {
            Some(401) if !request.names_its_key() => refusal.with_advice(&self.config.key_advice()),
            _ => refusal,
        }
    }

    pub(crate) fn described(&self, request: &Request, error: Error) -> Error {
        match self.url(request) {
            Ok(url) => error.with_request(&request.method, &url),
            Err(_) => error,
        }
    }
}

pub(crate) fn client_closed() -> Error {
    Error::new(ErrorCode::Aborted, "the client is closed")
}

/// Waits for `work` until `deadline`; then it is dropped, which closes its connection.
async fn until<T>(
    deadline: Option<Instant>,
    request: &Request,
    url: url::Url,
    work: impl Future<Output = T>,
) -> Result<T> {
    let Some(deadline) = deadline else { return Ok(work.await) };
    let started = Instant::now();
    tokio::time::timeout_at(deadline, work).await.map_err(|_| {
        let waited = Duration::as_millis(&started.elapsed());
        Error::new(ErrorCode::Timeout, format!("no answer within {waited} ms: `{} {}`", request.method, url.path()))
            .with_request(&request.method, &url)
    })
}
