//! `/healthz`, `/version`, `/v1/me`.

use axum::Json;
use pandastack_protocol::Extra;
use pandastack_protocol::health::{Health, MeInfo, VersionInfo};
use serde_json::json;

/// The engine answers.
pub(crate) async fn health() -> Json<Health> {
    Json(Health { status: "ok".to_owned(), extra: Extra::new() })
}

/// What the engine is.
pub(crate) async fn version() -> Json<VersionInfo> {
    Json(VersionInfo {
        service: "pandastack-engine".to_owned(),
        semver: env!("CARGO_PKG_VERSION").to_owned(),
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
    })
}

/// The one user of a local engine.
pub(crate) async fn me() -> Json<MeInfo> {
    let extra = Extra::from_iter([("auth_method".to_owned(), json!("local")), ("orgs".to_owned(), json!([]))]);
    Json(MeInfo { user_id: "local".to_owned(), email: String::new(), extra })
}
