//! One request to the agent: how it is sent, and what its answer may be.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, Stream, StreamExt, TryStreamExt};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use pandastack_guest_protocol::exec::{Failure, FailureCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::io::{CopyToBytes, SinkWriter, StreamReader};
use tokio_util::sync::PollSender;

use super::connection::Connection;
use super::json;
use crate::error::EngineError;

/// Longest JSON answer that is taken from an agent, in bytes. A directory with 100 000 entries fits.
const MAX_JSON: usize = 32 << 20;

/// Longest text of a refusal that is passed on, in bytes.
const MAX_REFUSAL: usize = 8 << 10;

/// How long the agent has for a request that does not stream.
const DEADLINE: Duration = Duration::from_secs(60);

/// Pieces of an egress connection that wait in each direction.
const EGRESS_PIECES: usize = 16;

/// How long a program has to close an egress connection that the engine has ended.
const LINGER: Duration = Duration::from_secs(10);

pub(super) type RequestBody = UnsyncBoxBody<Bytes, String>;

/// The bytes of one connection that a program in the sandbox made to its proxy.
pub type EgressStream = Box<dyn ReadWrite>;

/// Both directions.
pub trait ReadWrite: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ReadWrite for T {}

/// A body in one piece.
pub(super) fn whole(bytes: impl Into<Bytes>) -> RequestBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A body as it comes. An error of `pieces` makes the agent see a cut body.
pub(super) fn streamed(pieces: impl Stream<Item = Result<Bytes, String>> + Send + 'static) -> RequestBody {
    StreamBody::new(pieces.map_ok(Frame::data)).boxed_unsync()
}

pub(super) fn json_body(value: &impl Serialize) -> Result<RequestBody, EngineError> {
    serde_json::to_vec(value).map(whole).map_err(|error| EngineError::Internal(format!("cannot write JSON: {error}")))
}

impl Connection {
    /// Sends a request and gives the answer's head if it is a success.
    pub(super) async fn send(
        &self,
        method: Method,
        target: &str,
        body: RequestBody,
    ) -> Result<Response<Incoming>, EngineError> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://sandbox{target}"))
            .body(body)
            .map_err(|error| EngineError::Internal(format!("cannot build a request: {error}")))?;
        let mut requests = self.requests()?;
        let answer = async {
            requests.ready().await?;
            requests.send_request(request).await
        };
        let response = tokio::select! {
            answer = answer => match answer {
                Ok(response) => response,
                Err(error) => return Err(self.cut(&error).await),
            },
            reason = self.closed() => return Err(self.gone(&reason)),
        };
        if response.status().is_success() { Ok(response) } else { Err(self.refusal(response).await) }
    }

    /// Sends a request whose answer begins at once, and then takes as long as it takes.
    pub(super) async fn begin(
        &self,
        method: Method,
        target: &str,
        body: RequestBody,
    ) -> Result<Response<Incoming>, EngineError> {
        within(target, self.send(method, target, body)).await
    }

    /// Sends a request whose answer is JSON.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        target: &str,
        body: RequestBody,
    ) -> Result<T, EngineError> {
        let answer = async {
            let response = self.send(method, target, body).await?;
            self.read_json(response).await
        };
        within(target, answer).await
    }

    /// Sends a request whose answer is empty.
    pub(super) async fn act(&self, method: Method, target: &str) -> Result<(), EngineError> {
        within(target, self.send(method, target, whole(Bytes::new()))).await.map(drop)
    }

    pub(super) async fn read_json<T: DeserializeOwned>(&self, response: Response<Incoming>) -> Result<T, EngineError> {
        let body = tokio::select! {
            body = Limited::new(response.into_body(), MAX_JSON).collect() => body,
            reason = self.closed() => return Err(self.gone(&reason)),
        };
        let bytes = match body {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err(EngineError::Internal(format!("answer of the agent is longer than {MAX_JSON} bytes")));
            }
            Err(error) => return Err(self.cut(&error).await),
        };
        json::read("answer of the agent", &bytes)
    }

    async fn refusal(&self, response: Response<Incoming>) -> EngineError {
        let status = response.status();
        let body =
            within("refusal", async { Ok(Limited::new(response.into_body(), MAX_REFUSAL).collect().await) }).await;
        let failure = match body {
            Ok(Ok(body)) => serde_json::from_slice::<Failure>(&body.to_bytes()).ok(),
            _ => None,
        };
        EngineError::Guest(
            failure.unwrap_or_else(|| Failure { code: code_of(status), error: format!("the agent answered {status}") }),
        )
    }

    /// What a failed request means: the sandbox has ended, or only this stream was cut. The reason of an end can come a little later than the end.
    pub(super) async fn cut(&self, error: &impl std::fmt::Display) -> EngineError {
        match tokio::time::timeout(Duration::from_millis(500), self.closed()).await {
            Ok(reason) => self.gone(&reason),
            Err(_) => EngineError::Internal(format!("the sandbox cut the stream: {error}")),
        }
    }

    /// Parks a request for a connection from inside, until there is one.
    pub(super) async fn accept_egress(self: &Arc<Self>, target: &str) -> Result<EgressStream, EngineError> {
        let (pieces, mut receiver) = mpsc::channel::<Bytes>(EGRESS_PIECES);
        let body = futures::stream::poll_fn(move |context| receiver.poll_recv(context)).map(Ok);
        let response = self.send(Method::POST, target, streamed(body)).await?;

        let data = BodyStream::new(Lingering(Some(response.into_body())))
            .filter_map(|frame| async { frame.map(|frame| frame.into_data().ok()).transpose() });
        let reader = StreamReader::new(Box::pin(data.map_err(std::io::Error::other)));
        let sink = PollSender::new(pieces).sink_map_err(|_| std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        Ok(Box::new(tokio::io::join(reader, SinkWriter::new(CopyToBytes::new(sink)))))
    }
}

/// A body that is read to its end when it is dropped, for at most [`LINGER`]: a body that is dropped at once resets the stream, and with
/// it what is still on its way to the program.
struct Lingering(Option<Incoming>);

impl Body for Lingering {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let Some(mut body) = self.0.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tokio::time::timeout(LINGER, async move { while let Some(Ok(_)) = body.frame().await {} }));
        }
    }
}

fn code_of(status: StatusCode) -> FailureCode {
    match status.as_u16() {
        400 => FailureCode::BadRequest,
        404 => FailureCode::NotFound,
        409 => FailureCode::Conflict,
        507 => FailureCode::Exhausted,
        _ => FailureCode::Internal,
    }
}

async fn within<T>(what: &str, answer: impl Future<Output = Result<T, EngineError>>) -> Result<T, EngineError> {
    tokio::time::timeout(DEADLINE, answer).await.unwrap_or_else(|_| {
        Err(EngineError::Internal(format!("the agent did not answer within {} s: {what}", DEADLINE.as_secs())))
    })
}
