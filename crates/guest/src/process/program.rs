//! A program that is to be started, made ready before the fork.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use pandastack_guest_protocol::hello::Limits;

use crate::identity::Environment;
use crate::refusal::Refusal;
use crate::user::User;

/// All that is needed between fork and exec, where nothing may be allocated.
#[derive(Debug)]
pub(crate) struct Program {
    pub(super) argv: Vec<CString>,
    /// Paths to try, in order.
    pub(super) candidates: Vec<CString>,
    pub(super) environment: Vec<CString>,
    pub(super) cwd: CString,
    pub(super) user: User,
    pub(super) limits: Limits,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    /// Becomes descriptor 3.
    pub(super) control: Option<OwnedFd>,
}

impl Program {
    /// A program of `argv`, found in the `PATH` of its own environment.
    ///
    /// # Errors
    /// If `argv` is empty, or anything contains NUL.
    pub(crate) fn new(
        argv: &[String],
        environment: &Environment,
        cwd: &str,
        user: User,
        limits: Limits,
        [stdout, stderr]: [OwnedFd; 2],
    ) -> Result<Self, Refusal> {
        let name =
            argv.first().filter(|name| !name.is_empty()).ok_or_else(|| Refusal::bad_request("no program given"))?;
        let path = environment.get("PATH").map_or("", String::as_str);
        Ok(Self {
            candidates: candidates(name, path)
                .iter()
                .map(|candidate| text(candidate, "program"))
                .collect::<Result<_, _>>()?,
            argv: argv.iter().map(|argument| text(argument, "command")).collect::<Result<_, _>>()?,
            environment: environment
                .iter()
                .map(|(name, value)| text(&format!("{name}={value}"), "environment"))
                .collect::<Result<_, _>>()?,
            cwd: text(cwd, "working directory")?,
            user,
            limits,
            stdout,
            stderr,
            control: None,
        })
    }

    /// Gives the program a descriptor 3.
    pub(crate) fn with_control(mut self, control: OwnedFd) -> Self {
        self.control = Some(control);
        self
    }
}

fn candidates(name: &str, path: &str) -> Vec<String> {
    if name.contains('/') {
        return vec![name.to_string()];
    }
    path.split(':')
        .map(|folder| if folder.is_empty() { format!("./{name}") } else { format!("{folder}/{name}") })
        .collect()
}

fn text(value: &str, what: &str) -> Result<CString, Refusal> {
    CString::new(value).map_err(|_| Refusal::bad_request(format!("the {what} contains NUL: `{}`", shorten(value))))
}

/// The beginning of a text, for messages.
pub(crate) fn shorten(text: &str) -> String {
    let escaped = text.escape_debug().to_string();
    match escaped.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &escaped[..end]),
        None => escaped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_up_like_a_shell_does() {
        assert_eq!(candidates("/bin/true", "/x"), ["/bin/true"]);
        assert_eq!(candidates("true", "/a::/b"), ["/a/true", "./true", "/b/true"]);
    }
}
