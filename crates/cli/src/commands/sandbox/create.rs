//! `pandastack sandbox create`

use std::process::ExitCode;

use pandastack_protocol::limits::SandboxLimits;
use pandastack_protocol::sandbox::CreateSandbox;

use crate::api;
use crate::arguments::CreateArguments;
use crate::error::Result;
use crate::output;

/// Makes a sandbox and prints it.
pub(crate) async fn create(arguments: CreateArguments) -> Result<ExitCode> {
    let client = api::client(&arguments.server)?;
    let request = CreateSandbox {
        template: arguments.template,
        ttl_seconds: arguments.ttl,
        persistent: arguments.persistent.then_some(true),
        metadata: (!arguments.metadata.is_empty()).then(|| arguments.metadata.into_iter().collect()),
        limits: Some(arguments.limits.asked()).filter(|limits| *limits != SandboxLimits::default()),
        ..CreateSandbox::default()
    };
    output::json(&client.create_sandbox(&request).await?)?;
    Ok(ExitCode::SUCCESS)
}
