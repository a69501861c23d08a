//! What one call sends and by which rules it may be sent again.

use std::time::Duration;

use bytes::Bytes;
use percent_encoding::percent_decode_str;
use reqwest::{Method, RequestBuilder, header};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::error::{Error, Result};

/// Most bytes of a JSON body that is sent.
const MAX_SENT: usize = 256 << 20;

/// How long a call may take, all tries and the answer's body included.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// The client's own limit.
    Client,
    /// The client's own limit or this one, whichever is longer.
    AtLeast(Duration),
    /// This long.
    Exactly(Duration),
    /// No limit.
    None,
}

/// When a call may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Never: the first try may have had its effect.
    Never,
    /// It changes nothing, or nothing more the second time: again after a lost connection or a passing refusal.
    Safe,
    /// Again while the sandbox is known not to have been reached yet.
    WarmUp,
    /// Again while the server says that it has no room.
    Capacity,
}

/// A request body.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// None; sent with `Content-Length: 0`.
    Empty,
    /// JSON text.
    Json(Bytes),
    /// Anything else.
    Bytes(Bytes, String),
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    path: Vec<String>,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    accept: &'static str,
    body: Body,
    /// Root of the server instead of `/v1`.
    at_root: bool,
    pub(crate) limit: Limit,
    pub(crate) rule: Rule,
    /// A 5xx that speaks of a timeout means the command's own time limit.
    pub(crate) runs_code: bool,
    /// Cancelled once nobody waits for the call: it is not sent again then.
    pub(crate) abandoned: CancellationToken,
}

impl Request {
    fn new(method: Method, path: &[&str], rule: Rule) -> Self {
        Self {
            method,
            path: path.iter().map(|part| (*part).to_owned()).collect(),
            query: Vec::new(),
            headers: Vec::new(),
            accept: "application/json",
            body: Body::Empty,
            at_root: false,
            limit: Limit::Client,
            rule,
            runs_code: false,
            abandoned: CancellationToken::new(),
        }
    }

    pub(crate) fn get(path: &[&str]) -> Self {
        Self::new(Method::GET, path, Rule::Safe)
    }

    pub(crate) fn delete(path: &[&str]) -> Self {
        Self::new(Method::DELETE, path, Rule::Safe)
    }

    pub(crate) fn post(path: &[&str]) -> Self {
        Self::new(Method::POST, path, Rule::Never)
    }

    pub(crate) fn put(path: &[&str]) -> Self {
        Self::new(Method::PUT, path, Rule::Safe)
    }

    pub(crate) fn patch(path: &[&str]) -> Self {
        Self::new(Method::PATCH, path, Rule::Safe)
    }

    /// Any method and encoded path, for calls that have no method of their own.
    pub(crate) fn raw(method: Method, path: &str) -> Result<Self> {
        let (plain, query) = path.split_once('?').unwrap_or((path, ""));
        let decoded: Result<Vec<_>, _> =
            plain.trim_start_matches('/').split('/').map(|part| percent_decode_str(part).decode_utf8()).collect();
        let decoded = decoded.map_err(|error| Error::option(format!("not a path: `{path}`")).with_source(error))?;
        let parts: Vec<&str> = decoded.iter().map(AsRef::as_ref).collect();
        let rule = if method.is_idempotent() { Rule::Safe } else { Rule::Never };
        let mut request = Self::new(method, &parts, rule);
        request.query = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Ok(request)
    }

    pub(crate) fn json(mut self, value: &impl Serialize) -> Result<Self> {
        let text =
            serde_json::to_vec(value).map_err(|error| Error::option("cannot be sent as JSON").with_source(error))?;
        if text.len() > MAX_SENT {
            return Err(Error::option(format!("too large to send: {} bytes, at most {MAX_SENT}", text.len())));
        }
        self.body = Body::Json(text.into());
        Ok(self)
    }

    pub(crate) fn body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    pub(crate) fn query(mut self, name: &str, value: impl Into<String>) -> Self {
        self.query.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn accept(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    pub(crate) fn limit(mut self, limit: Limit) -> Self {
        self.limit = limit;
        self
    }

    pub(crate) fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    pub(crate) fn runs_code(mut self) -> Self {
        self.runs_code = true;
        self
    }

    pub(crate) fn at_root(mut self) -> Self {
        self.at_root = true;
        self
    }

    /// True if the caller's own headers hold the key.
    pub(crate) fn names_its_key(&self) -> bool {
        self.names("authorization")
    }

    fn names(&self, header: &str) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(header))
    }

    /// The path as it is shown to people, without its query.
    pub(crate) fn path(&self) -> String {
        format!("/{}", self.path.join("/"))
    }

    /// The address under `base`, which ends in `/v1/`.
    pub(crate) fn url(&self, base: &Url) -> Result<Url> {
        if let Some(part) = self.path.iter().find(|part| matches!(part.as_str(), "" | "." | "..")) {
            return Err(Error::option(format!("not a valid id or name: `{part}`")));
        }
        let mut url = base.clone();
        let mut segments =
            url.path_segments_mut().map_err(|()| Error::option("the server's address cannot have a path"))?;
        segments.pop_if_empty();
        if self.at_root {
            segments.pop();
        }
        segments.extend(&self.path);
        drop(segments);
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }

    /// Everything but method, address and key.
    pub(crate) fn fill(&self, mut builder: RequestBuilder) -> Result<reqwest::Request> {
        if !self.names("accept") {
            builder = builder.header(header::ACCEPT, self.accept);
        }
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        builder = match &self.body {
            Body::Empty if matches!(self.method, Method::POST | Method::PUT | Method::PATCH) => {
                builder.header(header::CONTENT_LENGTH, "0")
            }
            Body::Empty => builder,
            Body::Json(text) => builder.header(header::CONTENT_TYPE, "application/json").body(text.clone()),
            Body::Bytes(bytes, content_type) => builder.header(header::CONTENT_TYPE, content_type).body(bytes.clone()),
        };
        builder.build().map_err(|error| Error::option("the request cannot be built").with_source(error.without_url()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &[&str]) -> Result<String> {
        Request::get(path).url(&Url::parse("http://h/base/v1/").unwrap()).map(String::from)
    }

    #[test]
    fn every_part_of_a_path_is_encoded() {
        assert_eq!(url(&["sandboxes", "a/b c?#%"]).unwrap(), "http://h/base/v1/sandboxes/a%2Fb%20c%3F%23%25");
        assert_eq!(
            Request::get(&["healthz"]).at_root().url(&Url::parse("http://h/base/v1/").unwrap()).unwrap().as_str(),
            "http://h/base/healthz"
        );
    }

    #[test]
    fn an_id_cannot_climb() {
        for id in ["", ".", ".."] {
            assert!(url(&["sandboxes", id]).is_err(), "{id}");
        }
    }

    #[test]
    fn queries_are_form_encoded() {
        let request = Request::get(&["fs"]).query("path", "/a b/ü&x");
        assert!(
            request.url(&Url::parse("http://h/v1/").unwrap()).unwrap().as_str().ends_with("?path=%2Fa+b%2F%C3%BC%26x")
        );
    }
}
