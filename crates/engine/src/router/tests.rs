use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures::StreamExt;
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

use super::*;
use crate::access::TcpAccess;
use crate::engine::EngineConfig;
use crate::home::Home;
use crate::runsc::{FoundRunsc, Version};

struct Server {
    socket: Router,
    tcp: Router,
    engine: Engine,
    _home: tempfile::TempDir,
}

struct Answer {
    status: StatusCode,
    headers: axum::http::HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

/// An engine in an empty home, without any sandbox or template.
async fn server() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path()).unwrap();
    home.create().unwrap();
    let version = Version::parse("runsc version release-20260905.0").unwrap();
    let config = EngineConfig::new(home, FoundRunsc { path: folder.path().join("no-runsc"), version });
    let engine = Engine::open(config).await.unwrap();
    let (state, _) = AppState::new(engine.clone());
    let tcp = router(state.clone(), Access::Tcp(Arc::new(TcpAccess::default())));
    Server { socket: router(state, Access::Socket), tcp, engine, _home: folder }
}

async fn ask(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    Answer { status: parts.status, headers: parts.headers, text }
}

fn request(method: &str, path: &str, body: impl Into<Body>) -> Request<Body> {
    Request::builder().method(method).uri(path).body(body.into()).unwrap()
}

const ID: &str = "8c6c1a52-54ad-4d25-8f0e-5a5b1f0c2a11";

#[tokio::test]
async fn every_refusal_is_json_with_a_request_id() {
    let server = server().await;
    let bad_utf8 = format!("/v1/sandboxes/{ID}/repl/sessions/%ff/run");
    for (method, path, status, error) in [
        ("GET", "/v1/nothing", 404, "no such route: /v1/nothing"),
        ("GET", "/", 404, "no such route: /"),
        ("PUT", "/v1/sandboxes", 405, "method not allowed: PUT /v1/sandboxes"),
        ("POST", "/v1/databases", 501, "not supported by the local engine: databases"),
        ("POST", &format!("/v1/sandboxes/{ID}/ports"), 501, "not supported by the local engine: ports"),
        (
            "POST",
            "/v1/templates/build",
            501,
            "not supported by the local engine: template builds over HTTP; run `pandastack template build`",
        ),
        ("DELETE", "/v1/templates/x", 501, "not supported by the local engine: deleting templates over HTTP"),
        ("GET", "/v1/sandboxes/12", 404, "sandbox not found: 12"),
        ("DELETE", "/v1/sandboxes/..%2Fetc", 404, "sandbox not found: ../etc"),
        ("GET", &format!("/v1/sandboxes/{ID}"), 404, &format!("sandbox not found: {ID}")),
        ("DELETE", &format!("/v1/sandboxes/{ID}"), 404, &format!("sandbox not found: {ID}")),
        ("GET", "/v1/snapshots/..%2Fx", 404, "snapshot not found: ../x"),
        ("DELETE", &format!("/v1/snapshots/{ID}"), 404, &format!("snapshot not found: {ID}")),
        ("POST", &format!("/v1/sandboxes/{ID}/snapshots"), 404, &format!("sandbox not found: {ID}")),
        ("POST", &format!("/v1/sandboxes/{ID}/fork"), 404, &format!("sandbox not found: {ID}")),
        ("POST", &format!("/v1/sandboxes/{ID}/promote"), 404, &format!("sandbox not found: {ID}")),
        ("POST", &format!("/v1/sandboxes/{ID}/pause"), 404, &format!("sandbox not found: {ID}")),
        ("POST", &format!("/v1/sandboxes/{ID}/stop"), 404, &format!("sandbox not found: {ID}")),
        ("POST", &format!("/v1/sandboxes/{ID}/start"), 404, &format!("sandbox not found: {ID}")),
        ("GET", &format!("/v1/sandboxes/{ID}/fs?path=a"), 400, "path must be absolute: `a`"),
        ("POST", &bad_utf8, 404, "sandbox not found: "),
    ] {
        let answer = ask(&server.socket, request(method, path, "")).await;
        let json = answer.json();
        assert_eq!((answer.status.as_u16(), json["error"].as_str().unwrap()), (status, error), "{method} {path}");
        assert_eq!(json["request_id"], answer.headers["x-request-id"].to_str().unwrap(), "{method} {path}");
        assert!(json["code"].is_string(), "{method} {path}");
    }
}

#[tokio::test]
async fn bad_bodies_are_refused_at_the_edge() {
    let server = server().await;
    let exec = format!("/v1/sandboxes/{ID}/exec");
    let fork = format!("/v1/sandboxes/{ID}/fork-tree");
    for (path, body, error) in [
        ("/v1/sandboxes", "[]", "the body must be a JSON object"),
        ("/v1/sandboxes", "{\"ttl_seconds\":-1}", "ttl_seconds must not be negative: `-1`"),
        (
            "/v1/sandboxes",
            "{\"metadata\":{\"a\":[]}}",
            "wrong value for `metadata.a`: invalid type: sequence, expected a string",
        ),
        (
            "/v1/sandboxes",
            "{\"from_snapshot\":1}",
            "wrong value for `from_snapshot`: invalid type: integer `1`, expected a string",
        ),
        (fork.as_str(), "{\"count\":0}", "count must be between 1 and 16: `0`"),
        (fork.as_str(), "{\"count\":17}", "count must be between 1 and 16: `17`"),
        (exec.as_str(), "", "cmd required"),
        (exec.as_str(), "{\"cmd\":\"a\",\"timeout_seconds\":0}", "timeout_seconds must be greater than 0: `0`"),
    ] {
        let answer = ask(&server.socket, request("POST", path, body)).await;
        assert_eq!((answer.status.as_u16(), answer.json()["error"].as_str().unwrap()), (400, error), "{path} {body}");
    }
    let long = ask(&server.socket, request("POST", "/v1/sandboxes", vec![b' '; (64 << 20) + 1])).await;
    assert_eq!(
        (long.status.as_u16(), long.json()["error"].as_str().unwrap()),
        (413, "request body too long: more than 64 MiB")
    );
}

#[tokio::test]
async fn empty_lists_are_lists() {
    let server = server().await;
    for path in ["/v1/sandboxes", "/v1/templates"] {
        assert_eq!(ask(&server.socket, request("GET", path, "")).await.text, "[]", "{path}");
    }
    assert_eq!(ask(&server.socket, request("GET", "/v1/me/tokens", "")).await.text, "{\"items\":[]}");
}

#[tokio::test]
async fn tokens_are_made_listed_and_revoked() {
    let server = server().await;
    let made = ask(&server.socket, request("POST", "/v1/me/tokens", "{\"label\":\"laptop\"}")).await.json();
    let (token, prefix) = (made["token"].as_str().unwrap(), made["prefix"].as_str().unwrap());
    assert!(token.starts_with(prefix) && token.len() == 36 && prefix.len() == 12, "{made}");
    let listed = ask(&server.socket, request("GET", "/v1/me/tokens", "")).await;
    assert!(!listed.text.contains(token) && listed.json()["items"][0]["label"] == "laptop", "{}", listed.text);
    let revoke = format!("/v1/me/tokens/{prefix}");
    assert_eq!(ask(&server.socket, request("DELETE", &revoke, "")).await.status, 204);
    assert_eq!(ask(&server.socket, request("DELETE", &revoke, "")).await.status, 404);
}

#[tokio::test]
async fn tcp_needs_a_key_and_a_loopback_host() {
    let server = server().await;
    let token = server.engine.create_token(None).await.unwrap().token;
    let get = |host: &str, authorization: &str, path: &str| {
        let builder = Request::builder().uri(path).header("host", host);
        let builder = if authorization.is_empty() { builder } else { builder.header("authorization", authorization) };
        builder.body(Body::empty()).unwrap()
    };
    let bearer = format!("Bearer {token}");
    for (host, authorization, path, status, detail) in [
        ("127.0.0.1:8080", bearer.as_str(), "/v1/sandboxes", 200, ""),
        ("localhost", "", &format!("/v1/sandboxes?access_token={token}"), 200, ""),
        ("localhost", "", "/healthz", 200, ""),
        ("evil.example", bearer.as_str(), "/v1/sandboxes", 421, ""),
        ("evil.example", "", "/healthz", 421, ""),
        ("localhost", "", "/v1/sandboxes", 401, "missing bearer token"),
        ("localhost", "Bearer pds_00000000000000000000000000000000", "/v1/sandboxes", 401, "invalid api token"),
        ("localhost", "", "/v1/nothing", 401, "missing bearer token"),
    ] {
        let answer = ask(&server.tcp, get(host, authorization, path)).await;
        assert_eq!(answer.status.as_u16(), status, "{host} {path}: {}", answer.text);
        assert!(detail.is_empty() || answer.json()["detail"] == detail, "{}", answer.text);
    }
    let stop = Request::builder()
        .method("POST")
        .uri("/v1/engine/stop")
        .header("host", "localhost")
        .header("authorization", &bearer);
    assert_eq!(ask(&server.tcp, stop.body(Body::empty()).unwrap()).await.status, 403);
}

#[tokio::test]
async fn a_refused_upload_is_read_to_its_end() {
    let server = server().await;
    let pieces = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let sent = Arc::clone(&pieces);
    let stream = futures::stream::iter(0..100).map(move |_| {
        sent.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok::<_, std::convert::Infallible>(vec![0_u8; 1024])
    });
    let upload = request("PUT", &format!("/v1/sandboxes/{ID}/fs?path=/a"), Body::from_stream(stream));
    assert_eq!(ask(&server.socket, upload).await.status, 404);
    assert_eq!(pieces.load(std::sync::atomic::Ordering::Relaxed), 100);
}

#[tokio::test]
async fn request_ids_are_echoed() {
    let server = server().await;
    let with_id = Request::builder().uri("/version").header("x-request-id", "mine").body(Body::empty()).unwrap();
    let answer = ask(&server.socket, with_id).await;
    assert_eq!(
        (answer.headers["x-request-id"].to_str().unwrap(), answer.json()["service"].as_str()),
        ("mine", Some("pandastack-engine"))
    );
}
