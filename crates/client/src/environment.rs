//! Environment variables as the caller sees them. In a worker thread JavaScript has a copy of the environment that changes apart from
//! the process's, so it hands its own over.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Deserialize;

/// Variables by name; default: those of the process.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Environment(Option<HashMap<String, String>>);

impl Environment {
    /// The value of a variable. None: it is unset or no text.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        match &self.0 {
            Some(variables) => variables.get(name).cloned(),
            None => std::env::var(name).ok(),
        }
    }

    /// The value of a variable as a path; an empty one counts as unset.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        match &self.0 {
            Some(variables) => variables.get(name).map(PathBuf::from),
            None => std::env::var_os(name).map(PathBuf::from),
        }
        .filter(|path| !path.as_os_str().is_empty())
    }
}
