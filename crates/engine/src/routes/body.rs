//! JSON bodies of requests.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use futures::StreamExt;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Longest JSON body, in bytes.
pub(crate) const MAX_JSON: usize = 64 << 20;

/// How much of a body that is too long is still read, so that the client gets to see the answer.
const MAX_DRAINED: usize = 1 << 30;
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

/// A JSON object, whatever the content type; no body at all is an empty object.
pub(crate) struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        let bytes = read(request.into_body()).await?;
        parse(&bytes).map(Self)
    }
}

/// Reads a body up to [`MAX_JSON`].
async fn read(body: Body) -> Result<Vec<u8>, ApiError> {
    let mut stream = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| ApiError::bad_request(format!("the body could not be read: {error}")))?;
        if bytes.len() + chunk.len() > MAX_JSON {
            drain(&mut stream).await;
            return Err(ApiError::too_large(format!("request body too long: more than {} MiB", MAX_JSON >> 20)));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Reads what is left of a body that is not wanted, within limits.
pub(crate) async fn drain(stream: &mut (impl futures::Stream<Item = Result<Bytes, axum::Error>> + Unpin)) {
    let mut drained = 0;
    let reading = async {
        while let Some(Ok(chunk)) = stream.next().await {
            drained += chunk.len();
            if drained > MAX_DRAINED {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_LIMIT, reading).await;
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let bytes = bytes.trim_ascii();
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    if !bytes.starts_with(b"{") {
        return Err(ApiError::bad_request("the body must be a JSON object"));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value =
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| ApiError::bad_request(describe(&error)))?;
    deserializer.end().map_err(|error| ApiError::bad_request(format!("the body is not JSON: {error}")))?;
    Ok(value)
}

fn describe(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let (path, inner) = (error.path().to_string(), error.inner());
    if !inner.is_data() {
        return format!("the body is not JSON: {inner}");
    }
    let text = inner.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    if path == "." { text.to_owned() } else { format!("wrong value for `{path}`: {text}") }
}

#[cfg(test)]
mod tests {
    use pandastack_protocol::sandbox::CreateSandbox;

    use super::*;

    fn error(body: &str) -> String {
        parse::<CreateSandbox>(body.as_bytes()).unwrap_err().body.error
    }

    #[test]
    fn no_body_is_an_empty_object() {
        assert_eq!(parse::<CreateSandbox>(b" \n").unwrap(), CreateSandbox::default());
        assert_eq!(parse::<CreateSandbox>(b"{\"new\": 1, \"template\": null}").unwrap(), CreateSandbox::default());
    }

    #[test]
    fn wrong_values_name_their_field() {
        assert_eq!(
            error(r#"{"metadata":{"a":1}}"#),
            "wrong value for `metadata.a`: invalid type: integer `1`, expected a string"
        );
        assert_eq!(
            error(r#"{"ttl_seconds":"5"}"#),
            "wrong value for `ttl_seconds`: invalid type: string \"5\", expected i64"
        );
        assert_eq!(error("[]"), "the body must be a JSON object");
        assert_eq!(error("null"), "the body must be a JSON object");
        assert!(error("{\"template\":").starts_with("the body is not JSON: EOF"));
        assert!(error("{} x").starts_with("the body is not JSON: trailing characters"));
        assert!(error("{\"template\":\"\\ud800\"}").starts_with("the body is not JSON: "));
        assert!(parse::<CreateSandbox>(b"{\"template\":\"\xff\"}").is_err());
    }
}
