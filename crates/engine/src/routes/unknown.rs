//! Requests that no route takes.

use axum::extract::OriginalUri;
use axum::http::{Method, StatusCode};
use pandastack_protocol::error::ErrorCode;

use super::error::{ApiError, excerpt};

/// Nouns of the protocol that the local engine has not, below `/v1`.
const NOUNS: [&str; 19] = [
    "volumes",
    "functions",
    "schedules",
    "databases",
    "db",
    "apps",
    "domains",
    "repos",
    "preview-repos",
    "github",
    "orgs",
    "stats",
    "audit",
    "metrics",
    "mcp",
    "p",
    "lsp",
    "invites",
    "usage",
];

/// Actions on a sandbox that the local engine has not.
const ACTIONS: [&str; 12] = [
    "snapshot",
    "ports",
    "proxy",
    "preview",
    "preview-token",
    "ssh",
    "pty",
    "lsp",
    "mcp",
    "metrics",
    "postgres-info",
    "pg-tunnel",
];

/// 501 for what the protocol knows, 404 for the rest.
pub(crate) async fn not_found(OriginalUri(uri): OriginalUri) -> ApiError {
    match unsupported(uri.path()) {
        Some(what) => ApiError::not_supported(&what),
        None => ApiError::not_found(format!("no such route: {}", excerpt(uri.path()))),
    }
}

/// 405.
pub(crate) async fn method_not_allowed(method: Method, OriginalUri(uri): OriginalUri) -> ApiError {
    let text = format!("method not allowed: {} {}", excerpt(method.as_str()), excerpt(uri.path()));
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, ErrorCode::BadRequest, text)
}

fn unsupported(path: &str) -> Option<String> {
    let path = path.strip_prefix("/v1").unwrap_or(path).trim_matches('/');
    let segments: Vec<&str> = path.split('/').collect();
    match segments[..] {
        ["sandboxes", _, "exec", "ws" | "pty", ..] => Some(segments[2..4].join("/")),
        ["sandboxes", _, "repl", "sessions", _, _] => None,
        ["sandboxes", _, action, ..] if ACTIONS.contains(&action) => Some(action.to_owned()),
        ["templates", "build" | "builds", ..] => {
            Some("template builds over HTTP; run `pandastack template build`".to_owned())
        }
        ["templates", _] => Some("deleting templates over HTTP".to_owned()),
        [noun, ..] if NOUNS.contains(&noun) => Some(noun.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_protocol_knows_is_told_from_what_it_does_not() {
        for (path, what) in [
            ("/v1/sandboxes/x/ports", "ports"),
            ("/v1/sandboxes/x/exec/ws", "exec/ws"),
            ("/sandboxes/x/proxy/80/a/b", "proxy"),
            ("/v1/databases/x/wake", "databases"),
            ("/v1/templates/builds/x/logs", "template builds over HTTP; run `pandastack template build`"),
        ] {
            assert_eq!(unsupported(path).as_deref(), Some(what), "{path}");
        }
        for path in ["/", "/v1", "/v1/sandboxes/x/nothing", "/v1/nothing", "/v1/sandboxes/x/repl/sessions/y/pause"] {
            assert_eq!(unsupported(path), None, "{path}");
        }
    }
}
