//! What a template is made of. The text files lie in `templates/` of the repository.

use std::collections::BTreeMap;

use pandastack_protocol::sandbox::{DEFAULT_TEMPLATE, DEFAULT_TEMPLATE_ALIAS};

use super::hash::hash_fields;

/// Grows when the same definition gives another base than before.
const BUILDER_VERSION: &str = "1";

/// Other names of templates: the 0.9.0 SDK asks for `ubuntu-24.04` unless told otherwise.
const ALIASES: [(&str, &str); 1] = [(DEFAULT_TEMPLATE_ALIAS, DEFAULT_TEMPLATE)];

/// The name behind an alias, or the name itself.
pub fn resolve_name(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, target)| target)
}

/// A template's recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Name by which sandboxes are made from it.
    pub name: String,
    /// Debian suite, such as `bookworm`.
    pub suite: &'static str,
    /// Debian packages beyond the essential ones.
    pub debian_packages: Vec<String>,
    /// Python packages with their versions, as a requirements file.
    pub python_packages: String,
    /// Environment of every program in its sandboxes.
    pub environment: BTreeMap<String, String>,
    /// Files of the root filesystem: absolute path and text.
    pub files: Vec<(String, String)>,
    /// What is removed at the end, relative to the root; a final `/*` means all files below a folder, whose folders stay.
    pub removed: Vec<String>,
}

impl Definition {
    /// `code-interpreter`: Python with numpy, pandas, matplotlib and plotly, git, curl and a C compiler.
    pub fn code_interpreter() -> Self {
        Self {
            name: DEFAULT_TEMPLATE.to_owned(),
            suite: "bookworm",
            debian_packages: lines(include_str!("../../../../templates/code-interpreter/debian-packages.txt"))
                .map(str::to_owned)
                .collect(),
            python_packages: lines(include_str!("../../../../templates/code-interpreter/python-packages.txt"))
                .flat_map(|line| [line, "\n"])
                .collect(),
            environment: lines(include_str!("../../../../templates/code-interpreter/environment.txt"))
                .filter_map(|line| pair(line, '='))
                .collect(),
            files: lines(include_str!("../../../../templates/code-interpreter/files.txt"))
                .filter_map(|line| pair(line, '\t'))
                .map(|(path, text)| (path, text.replace("\\n", "\n")))
                .collect(),
            removed: lines(include_str!("../../../../templates/code-interpreter/removed.txt"))
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Names the base: what only changes when the recipe does.
    pub fn base_id(&self) -> String {
        let environment: String = self.environment.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let files: String = self.files.iter().map(|(path, text)| format!("{path}\t{text}\u{0}")).collect();
        hash_fields(&[
            BUILDER_VERSION,
            self.suite,
            &self.debian_packages.join("\n"),
            &self.python_packages,
            &environment,
            &files,
            &self.removed.join("\n"),
            super::base::LEND,
        ])
    }
}

/// Lines that are neither empty nor comments.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn pair(line: &str, separator: char) -> Option<(String, String)> {
    line.split_once(separator).map(|(left, right)| (left.to_owned(), right.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_template_has_an_alias() {
        assert_eq!(resolve_name("ubuntu-24.04"), "code-interpreter");
        assert_eq!(resolve_name("code-interpreter"), "code-interpreter");
        assert_eq!(resolve_name("other"), "other");
    }

    #[test]
    fn every_python_package_is_pinned() {
        let definition = Definition::code_interpreter();
        for package in definition.python_packages.lines() {
            assert!(package.contains("=="), "{package}");
        }
        for needed in
            ["ipython==", "numpy==", "pandas==", "matplotlib==", "plotly==6", "kaleido==0.2.1", "requests==", "uv=="]
        {
            assert!(definition.python_packages.contains(needed), "{needed}");
        }
    }

    #[test]
    fn the_text_files_are_read_whole() {
        let definition = Definition::code_interpreter();
        assert!(definition.debian_packages.contains(&"procps".to_owned()));
        assert_eq!(definition.environment["PIP_ROOT_USER_ACTION"], "ignore");
        let hosts = definition.files.iter().find(|(path, _)| path == "/etc/hosts").unwrap();
        assert!(hosts.1.starts_with("127.0.0.1 localhost sandbox\n"));
        assert!(definition.files.contains(&("/etc/machine-id".to_owned(), String::new())));
        assert!(definition.removed.iter().all(|path| !path.starts_with('/') && !path.contains("..")));
    }

    #[test]
    fn the_base_changes_with_any_part_of_the_recipe() {
        let definition = Definition::code_interpreter();
        let mut other = definition.clone();
        other.files[0].1.push('x');
        assert_ne!(definition.base_id(), other.base_id());
        let mut other = definition.clone();
        other.debian_packages.pop();
        assert_ne!(definition.base_id(), other.base_id());
        assert_eq!(definition.base_id(), Definition::code_interpreter().base_id());
    }
}
