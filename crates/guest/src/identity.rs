//! What the engine told the sandbox about itself: environment and limits.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use pandastack_guest_protocol::hello::{Hello, Limits};

use crate::refusal::Refusal;

/// Variables by name.
pub(crate) type Environment = BTreeMap<String, String>;

/// The identity of the current epoch; empty until the first `Hello`.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    current: RwLock<Hello>,
}

impl Identity {
    /// Takes a new identity. True if environment or limits differ from the ones before.
    pub(crate) fn take(&self, hello: &Hello) -> bool {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let changed = current.env != hello.env || current.limits != hello.limits;
        *current = hello.clone();
        changed
    }

    /// Limits of what runs for the user.
    pub(crate) fn limits(&self) -> Limits {
        self.current.read().unwrap_or_else(PoisonError::into_inner).limits
    }

    /// The environment of a program: defaults, then the sandbox's, then `extra`.
    pub(crate) fn environment(&self, extra: &Environment) -> Environment {
        let mut environment: Environment =
            DEFAULTS.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        environment.extend(self.current.read().unwrap_or_else(PoisonError::into_inner).env.clone());
        environment.extend(extra.clone());
        environment
    }
}

const DEFAULTS: [(&str, &str); 7] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/root"),
    ("USER", "root"),
    ("LOGNAME", "root"),
    ("SHELL", "/bin/bash"),
    ("LANG", "C.UTF-8"),
    ("TERM", "dumb"),
];

/// Refuses names and values that no environment can hold.
pub(crate) fn check_environment(environment: &Environment) -> Result<(), Refusal> {
    for (name, value) in environment {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Refusal::bad_request(format!(
                "not a name of an environment variable: `{}`",
                name.escape_debug()
            )));
        }
        if value.contains('\0') {
            return Err(Refusal::bad_request(format!("the value of an environment variable contains NUL: `{name}`")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_layers_of_the_environment_win() {
        let identity = Identity::default();
        let env = Environment::from([("LANG".into(), "de".into()), ("A".into(), "1".into())]);
        assert!(identity.take(&Hello { env, ..Hello::default() }));
        let merged = identity.environment(&Environment::from([("A".into(), "2".into())]));
        assert_eq!((merged["LANG"].as_str(), merged["A"].as_str(), merged["HOME"].as_str()), ("de", "2", "/root"));
    }

    #[test]
    fn impossible_variables_are_refused() {
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0")] {
            assert!(
                check_environment(&Environment::from([(name.to_string(), value.to_string())])).is_err(),
                "{name:?}={value:?}"
            );
        }
    }
}
