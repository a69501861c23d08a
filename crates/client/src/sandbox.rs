//! Sandboxes.

use pandastack_protocol::error::ErrorCode;
use pandastack_protocol::sandbox::{CreateSandbox, SandboxInfo};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::http::Client;
use crate::http::request::{Limit, Request, Rule};

/// Time limit of a create: a first start of the local engine or a cold boot takes longer than a call.
const CREATE_LIMIT: std::time::Duration = std::time::Duration::from_secs(120);

impl Client {
    /// Creates a sandbox. While the server has no room it is asked again for at most `capacity_wait`.
    ///
    /// If the returned future is dropped, no sandbox stays behind. The local engine undoes a create whose connection is closed, so
    /// it is closed at once; any other server is heard to the end in the background, and what it made is deleted.
    ///
    /// # Errors
    /// `capacity` or `rate_limit` if there was no room, `bad_request` or `not_found` for an unknown template.
    pub async fn create_sandbox(&self, options: &CreateSandbox) -> Result<SandboxInfo> {
        let request =
            Request::post(&["sandboxes"]).json(options)?.rule(Rule::Capacity).limit(Limit::AtLeast(CREATE_LIMIT));
        let (hand_over, arrival) = tokio::sync::oneshot::channel();
        let client = self.clone();
        tokio::spawn(async move { client.create_and_hand_over(request, hand_over).await });
        arrival.await.map_err(|_| Error::new(ErrorCode::Network, "the client was shut down"))?
    }

    async fn create_and_hand_over(
        self,
        request: Request,
        mut hand_over: tokio::sync::oneshot::Sender<Result<SandboxInfo>>,
    ) {
        let undone_by_closing = self.config().endpoint.is_local();
        let abandoned = request.abandoned.clone();
        let mut creation = std::pin::pin!(self.json::<SandboxInfo>(request));
        let created = loop {
            tokio::select! {
                // First, so that a sandbox that has arrived is never overlooked.
                biased;
                created = &mut creation => break created,
                () = hand_over.closed(), if !abandoned.is_cancelled() => {
                    if undone_by_closing {
                        return;
                    }
                    abandoned.cancel();
                }
            }
        };
        if let Ok(info) = &created {
            self.created().note(&info.id);
        }
        if let Err(Ok(unwanted)) = hand_over.send(created) {
            let _ = self.delete_sandbox(&unwanted.id).await;
        }
    }

    /// A sandbox as it is now.
    ///
    /// # Errors
    /// `not_found` for an unknown id.
    pub async fn get_sandbox(&self, id: &str) -> Result<SandboxInfo> {
        self.json_about(id, Request::get(&["sandboxes", id])).await
    }

    /// All sandboxes, newest first.
    ///
    /// # Errors
    /// Those of any call.
    pub async fn list_sandboxes(&self) -> Result<Vec<SandboxInfo>> {
        items(self.json(Request::get(&["sandboxes"])).await?, &["items", "sandboxes"])
    }

    /// Ends a sandbox and deletes what belongs to it.
    ///
    /// # Errors
    /// `not_found` for an unknown id, `conflict` if something else needs it.
    pub async fn delete_sandbox(&self, id: &str) -> Result<()> {
        self.created().forget(id);
        self.empty(Request::delete(&["sandboxes", id])).await
    }
}

/// A list as servers send it: an array, an object that holds it under one of `keys`, or null for none.
pub(crate) fn items<T: DeserializeOwned>(answer: Value, keys: &[&str]) -> Result<Vec<T>> {
    let list = match answer {
        Value::Object(mut fields) => keys.iter().find_map(|key| fields.remove(*key)).unwrap_or(Value::Null),
        other => other,
    };
    if list.is_null() {
        return Ok(Vec::new());
    }
    serde_json::from_value(list)
        .map_err(|error| Error::new(ErrorCode::Network, "the server's list cannot be understood").with_source(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_shape_of_list() {
        for answer in [json!([1]), json!({"items": [1]}), json!({"x": 0, "sandboxes": [1]})] {
            assert_eq!(items::<u8>(answer, &["items", "sandboxes"]).unwrap(), [1]);
        }
        for answer in [json!(null), json!({}), json!({"items": null}), json!([])] {
            assert!(items::<u8>(answer, &["items"]).unwrap().is_empty());
        }
        assert!(items::<u8>(json!("x"), &["items"]).is_err());
    }
}
