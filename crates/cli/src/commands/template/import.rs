//! `pandastack template import`

use std::path::Path;
use std::process::ExitCode;

use pandastack_engine::runsc;
use pandastack_engine::template::{self, RecordWarmUp};

use super::describe;
use crate::api;
use crate::error::Result;
use crate::output;

/// Makes a template from a root image; needs no root.
pub(crate) async fn import(image: &Path) -> Result<ExitCode> {
    let home = api::home()?;
    home.create()?;
    let runsc = runsc::find(&home).await?;
    let image = std::path::absolute(image)?;
    let imported = template::import(&home, &runsc, &image, &RecordWarmUp::default(), &|step: &str| {
        output::say(&format!("template: {step}"))
    })
    .await?;
    output::json(&describe(&imported))?;
    Ok(ExitCode::SUCCESS)
}
