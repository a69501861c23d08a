//! Calls whose body is sent piece by piece, such as files. They cannot be sent again, so one try it is.

use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use pandastack_protocol::error::ErrorCode;
use reqwest::Response;
use tokio::sync::mpsc;

use crate::error::{Error, Result};
use crate::health::RawRequest;
use crate::http::request::{Limit, Request};
use crate::http::{Client, answer};

/// Most pieces that wait to be sent.
const WAITING: usize = 4;

/// How long a server may take to store what it has received.
const FINISHING: Duration = Duration::from_secs(60);

/// What an upload sends. Its end is said in so many words: an upload that is dropped must not look like one that is whole.
enum Piece {
    Bytes(Bytes),
    End,
}

/// A call whose body is sent piece by piece. Dropped before [`Self::finish`], it is broken off.
pub struct Upload<T> {
    pieces: mpsc::Sender<Piece>,
    written: tokio::task::JoinHandle<Result<T>>,
    patience: Duration,
    finishing: Duration,
}

impl<T> Upload<T> {
    /// Takes the next piece. False: the call has ended already, and [`Self::finish`] tells why.
    ///
    /// # Errors
    /// `timeout` if the server takes nothing for as long as the client's time limit.
    pub async fn push(&self, piece: Bytes) -> Result<bool> {
        match tokio::time::timeout(self.patience, self.pieces.send(Piece::Bytes(piece))).await {
            Ok(sent) => Ok(sent.is_ok()),
            Err(_) => {
                Err(Error::new(ErrorCode::Timeout, format!("nothing was taken for {} ms", self.patience.as_millis())))
            }
        }
    }

    /// Ends the body and waits for the server's answer.
    ///
    /// # Errors
    /// Those of the call; `timeout` if the server does not answer.
    pub async fn finish(mut self) -> Result<T> {
        // Refused only if the call has ended already, and then its outcome tells why.
        let _ = tokio::time::timeout(self.patience, self.pieces.send(Piece::End)).await;
        let written = tokio::time::timeout(self.finishing, &mut self.written).await;
        let written =
            written.map_err(|_| Error::new(ErrorCode::Timeout, "the server does not answer to what it was sent"))?;
        written.map_err(|error| Error::new(ErrorCode::Interrupted, "the upload was broken off").with_source(error))?
    }
}

impl<T> Drop for Upload<T> {
    fn drop(&mut self) {
        self.written.abort();
    }
}

impl Client {
    /// Starts any call with a body that comes in pieces; its answer's bytes come with [`Upload::finish`]. Must be called inside a Tokio
    /// runtime.
    ///
    /// # Errors
    /// `invalid_option` for a method or path that is none.
    pub fn request_in_pieces(&self, call: &RawRequest, content_type: String) -> Result<Upload<Bytes>> {
        Ok(self.upload(Request::of(call)?, content_type, |client, request, response| async move {
            answer::read(response, answer::MAX_BODY).await.map_err(|error| client.described(&request, error))
        }))
    }

    pub(crate) fn upload<T, F>(
        &self,
        request: Request,
        content_type: String,
        read: impl FnOnce(Self, Request, Response) -> F + Send + 'static,
    ) -> Upload<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send,
    {
        let (pieces, receiver) = mpsc::channel(WAITING);
        let (client, request) = (self.clone(), request.limit(Limit::None));
        let sent = async move {
            let open = client.clone();
            let answered = async {
                let response = client.send_streamed(&request, &content_type, stream_of(receiver)).await?;
                read(client, request, response).await
            };
            open.while_open(answered).await
        };
        let finishing = self.patience_of_at_least(FINISHING);
        Upload { pieces, written: tokio::spawn(sent), patience: self.patience(), finishing }
    }
}

fn stream_of(pieces: mpsc::Receiver<Piece>) -> impl Stream<Item = std::io::Result<Bytes>> + Send + 'static {
    futures::stream::unfold(Some(pieces), async |pieces| {
        let mut pieces = pieces?;
        match pieces.recv().await {
            Some(Piece::Bytes(bytes)) => Some((Ok(bytes), Some(pieces))),
            Some(Piece::End) => None,
            None => Some((Err(std::io::Error::other("the upload was broken off")), None)),
        }
    })
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn only_an_upload_that_was_finished_comes_to_its_end() {
        for finished in [true, false] {
            let (sender, receiver) = mpsc::channel(2);
            sender.send(Piece::Bytes(Bytes::from_static(b"a"))).await.ok();
            if finished {
                sender.send(Piece::End).await.ok();
            }
            drop(sender);
            let sent: Result<Vec<Bytes>, _> = stream_of(receiver).try_collect().await;
            assert_eq!(sent.is_ok(), finished);
        }
    }
}
