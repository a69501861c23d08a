//! The server that a command talks to.

use pandastack_client::{Client, ClientOptions};
use pandastack_engine::home::Home;

use crate::arguments::ServerArguments;
use crate::error::{CliError, Result};

/// The server that was chosen: by `--api`, the environment or the configuration file.
pub(crate) fn client(server: &ServerArguments) -> Result<Client> {
    let options = ClientOptions {
        api_url: server.api.clone(),
        binary: std::env::current_exe().ok(),
        user_agent: Some(user_agent()),
        ..ClientOptions::default()
    };
    Ok(Client::new(options)?)
}

/// The engine of this home, which is not started if it does not run. None: it does not run.
pub(crate) fn running_engine() -> Result<Option<Client>> {
    let socket = home()?.socket();
    if std::os::unix::net::UnixStream::connect(&socket).is_err() {
        return Ok(None);
    }
    let options = ClientOptions {
        api_url: Some(format!("unix:{}", socket.display())),
        user_agent: Some(user_agent()),
        ..ClientOptions::default()
    };
    Ok(Some(Client::new(options)?))
}

/// `$PANDASTACK_HOME` or its default.
pub(crate) fn home() -> Result<Home> {
    Home::from_env().map_err(CliError::new)
}

fn user_agent() -> String {
    format!("pandastack-cli/{}", env!("CARGO_PKG_VERSION"))
}
