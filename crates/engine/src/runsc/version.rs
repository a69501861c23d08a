//! Versions of `runsc`, which are dates.

use std::fmt;

/// The release that the engine is made for, and the oldest that it takes. Older ones can lose wake-ups of epoll when a sandbox is restored.
pub const PINNED_VERSION: &str = "20260905.0";

/// The Go module version of [`PINNED_VERSION`].
pub const GO_MODULE_VERSION: &str = "v0.0.0-20260905035102-160fafc42237";

/// A version as `runsc --version` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    text: String,
    date: Option<u32>,
}

impl Version {
    /// Reads the output of `runsc --version`; `None` if it is no such output.
    pub fn parse(output: &str) -> Option<Self> {
        let text = output.lines().find_map(|line| line.strip_prefix("runsc version "))?.trim();
        Some(Self { text: text.to_owned(), date: release_date(text) })
    }

    /// The whole text, such as `release-20260905.0`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Why this version cannot be used, or `None`.
    pub fn objection(&self) -> Option<String> {
        let oldest = release_date(PINNED_VERSION);
        if self.date.is_none() {
            Some(format!(
                "version `{self}` carries no release date, so that snapshots could not be matched to it; need {PINNED_VERSION} or newer"
            ))
        } else if self.date < oldest {
            Some(format!("version `{self}` is too old; need {PINNED_VERSION} or newer"))
        } else {
            None
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The date in `20260905.0`, `release-20260905.0`, `0.0~20221219` or `0.0.0-20260905035102-160fafc42237`, as the number yyyymmdd.
fn release_date(text: &str) -> Option<u32> {
    text.split(|character: char| !character.is_ascii_digit())
        .filter(|digits| digits.starts_with("20") && matches!(digits.len(), 8 | 14))
        .find_map(|digits| digits[..8].parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objection(version: &str) -> Option<String> {
        Version::parse(&format!("runsc version {version}\nspec: 1.2.1\n")).unwrap().objection()
    }

    #[test]
    fn the_pinned_and_newer_versions_pass() {
        for version in
            ["20260905.0", "release-20260905.0", "release-20270101.0-3-gabc", "0.0.0-20260905035102-160fafc42237"]
        {
            assert_eq!(objection(version), None, "{version}");
        }
    }

    #[test]
    fn older_versions_are_refused_by_name() {
        for version in ["0.0~20221219", "0.0~20221219.0-1", "release-20260904.0"] {
            let objection = objection(version).unwrap();
            assert!(
                objection.contains(version) && objection.contains("too old") && objection.contains(PINNED_VERSION),
                "{objection}"
            );
        }
    }

    #[test]
    fn a_binary_without_a_stamp_is_refused() {
        assert!(objection("VERSION_MISSING").unwrap().contains("VERSION_MISSING"));
        assert_eq!(Version::parse("runc version 1.1"), None);
    }
}
