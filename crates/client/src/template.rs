//! Templates.

use pandastack_protocol::template::TemplateInfo;

use crate::error::Result;
use crate::http::Client;
use crate::http::request::Request;

impl Client {
    /// All templates that sandboxes can be made from.
    ///
    /// # Errors
    /// Those of any call.
    pub async fn list_templates(&self) -> Result<Vec<TemplateInfo>> {
        crate::sandbox::items(self.json(Request::get(&["templates"])).await?, &["items", "templates"])
    }

    /// One template.
    ///
    /// # Errors
    /// `not_found` for an unknown name.
    pub async fn get_template(&self, name: &str) -> Result<TemplateInfo> {
        self.json(Request::get(&["templates", name])).await
    }
}
