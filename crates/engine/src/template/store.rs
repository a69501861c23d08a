//! The templates of a home.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::base::remove;
use super::{Template, TemplateError, resolve_name};
use crate::home::{Home, create_private};

/// Folders of unfinished work begin with this.
const WORK_PREFIX: &str = "work-";
/// Folders of bases begin with this.
const BASE_PREFIX: &str = "base-";
/// Longest name of a template, in bytes.
const MAX_NAME: usize = 64;

/// The template of this name, alias or id.
///
/// # Errors
/// [`TemplateError::Unknown`] if there is none, [`TemplateError::Name`] if there can be none.
pub fn find(home: &Home, name: &str) -> Result<Template, TemplateError> {
    let name = resolve_name(name);
    check_name(name)?;
    let folder = match fs::read_link(names(home).join(name)) {
        Ok(target) => template_folder(home, &target.file_name().unwrap_or_default().to_string_lossy()),
        Err(_) => template_folder(home, name),
    };
    Template::read(&folder)?.ok_or_else(|| TemplateError::Unknown(name.to_owned()))
}

/// All templates that have a name, by name.
///
/// # Errors
/// If a folder cannot be read, or a template is damaged.
pub fn list(home: &Home) -> Result<Vec<Template>, TemplateError> {
    let mut found = entries(&names(home))?;
    found.sort();
    found.iter().map(|name| find(home, name)).filter(|found| !matches!(found, Err(TemplateError::Unknown(_)))).collect()
}

/// Deletes templates that neither have a name nor are in `keep` (ids in use by sandboxes or snapshots), and bases that no template with a name
/// came from. Gives the ids of the deleted templates.
///
/// # Errors
/// If a folder cannot be read or deleted.
pub fn prune(home: &Home, keep: &BTreeSet<String>) -> Result<Vec<String>, TemplateError> {
    let named = list(home)?;
    let mut deleted = Vec::new();
    for id in entries(&home.templates())? {
        let folder = template_folder(home, &id);
        let used = keep.contains(&id) || named.iter().any(|template| template.id == id);
        if !used && folder.join("template.json").exists() {
            // A folder without its metadata is no template any more, also if it is deleted only half.
            remove(&folder.join("template.json"))?;
            remove(&folder)?;
            deleted.push(id);
        }
    }
    prune_bases(home)?;
    Ok(deleted)
}

/// Deletes bases that no template with a name came from; nothing needs them but the next build.
pub(crate) fn prune_bases(home: &Home) -> Result<(), TemplateError> {
    let named = list(home)?;
    for entry in entries(&home.templates())? {
        let base = entry.strip_prefix(BASE_PREFIX);
        if base.is_some_and(|base| named.iter().all(|template| template.base_id != base)) {
            remove(&home.templates().join(&entry))?;
        }
    }
    Ok(())
}

/// Removes what a failed or killed build left. The caller holds the lock.
pub(crate) fn remove_leftovers(home: &Home) -> Result<(), TemplateError> {
    for entry in entries(&home.templates())? {
        let folder = home.templates().join(&entry);
        let unfinished = !entry.starts_with(BASE_PREFIX)
            && !entry.starts_with('.')
            && folder != names(home)
            && !folder.join("template.json").exists();
        if entry.starts_with(WORK_PREFIX) || unfinished {
            remove(&folder)?;
        }
    }
    Ok(())
}

/// Gives the template its name, which another may have had.
pub(crate) fn set_name(home: &Home, template: &Template) -> Result<(), TemplateError> {
    let folder = names(home);
    create_private(&folder).map_err(TemplateError::file("make folder", &folder))?;
    let (link, new) = (folder.join(&template.name), folder.join(format!(".{}.new", template.name)));
    remove(&new)?;
    symlink(Path::new("..").join(&template.id), &new).map_err(TemplateError::file("link", &new))?;
    fs::rename(&new, &link).map_err(TemplateError::file("link", &link))
}

/// Makes a new folder for unfinished work.
pub(crate) fn work_folder(home: &Home) -> Result<PathBuf, TemplateError> {
    let folder = home.templates().join(format!("{WORK_PREFIX}{}", std::process::id()));
    remove(&folder)?;
    create_private(&folder).map_err(TemplateError::file("make folder", &folder))?;
    Ok(folder)
}

pub(crate) fn base_folder(home: &Home, base_id: &str) -> PathBuf {
    home.templates().join(format!("{BASE_PREFIX}{base_id}"))
}

pub(crate) fn template_folder(home: &Home, id: &str) -> PathBuf {
    home.templates().join(id)
}

/// Refuses what cannot be a name: above all what would lead out of the folder.
pub(crate) fn check_name(name: &str) -> Result<(), TemplateError> {
    let fine = |character: char| {
        character.is_ascii_lowercase() || character.is_ascii_digit() || matches!(character, '.' | '-')
    };
    if name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.len() <= MAX_NAME && name.chars().all(fine)
    {
        Ok(())
    } else {
        Err(TemplateError::Name(name.chars().take(MAX_NAME).collect()))
    }
}

fn names(home: &Home) -> PathBuf {
    home.templates().join("names")
}

/// Names of a folder's entries; none if there is no folder.
fn entries(folder: &Path) -> Result<Vec<String>, TemplateError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(TemplateError::file("read folder", folder))?,
    };
    Ok(entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::metadata::tests::small;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        home.create().unwrap();
        (folder, home)
    }

    fn add(home: &Home, id: &str, name: &str) -> Template {
        let template = small(&template_folder(home, id), id, name);
        set_name(home, &template).unwrap();
        template
    }

    #[test]
    fn found_by_name_alias_and_id() {
        let (_folder, home) = home();
        assert!(
            matches!(find(&home, "code-interpreter"), Err(TemplateError::Unknown(name)) if name == "code-interpreter")
        );
        let template = add(&home, "abc1", "code-interpreter");
        for name in ["code-interpreter", "ubuntu-24.04", "abc1"] {
            assert_eq!(find(&home, name).unwrap(), template);
        }
        assert_eq!(list(&home).unwrap(), [template]);
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let (_folder, home) = home();
        for name in ["", "../x", "a/b", ".", "-x", "A", "a\0", &"a".repeat(65)] {
            assert!(matches!(find(&home, name), Err(TemplateError::Name(_))), "{name:?}");
        }
    }

    #[test]
    fn a_newer_template_takes_the_name_and_pruning_spares_what_is_used() {
        let (_folder, home) = home();
        let [old, used, new] = ["old", "used", "new"].map(|id| add(&home, id, "code-interpreter"));
        fs::create_dir_all(base_folder(&home, &new.base_id)).unwrap();
        fs::create_dir_all(base_folder(&home, "stale")).unwrap();

        assert_eq!(find(&home, "code-interpreter").unwrap().id, "new");
        fs::create_dir_all(home.templates().join("work-1")).unwrap();
        let deleted = prune(&home, &BTreeSet::from(["used".to_owned()])).unwrap();
        assert_eq!(deleted, ["old"]);
        assert!(!base_folder(&home, "stale").exists() && home.templates().join("work-1").exists());
        assert!(
            !old.folder.exists() && used.folder.exists() && new.folder.exists() && base_folder(&home, "base").exists()
        );
    }

    #[test]
    fn leftovers_of_a_killed_build_go() {
        let (_folder, home) = home();
        let template = add(&home, "good", "code-interpreter");
        for name in ["work-1", "unfinished", "base-kept"] {
            fs::create_dir_all(home.templates().join(name).join("checkpoint")).unwrap();
        }
        remove_leftovers(&home).unwrap();
        let mut left = entries(&home.templates()).unwrap();
        left.sort();
        assert_eq!(left, ["base-kept", "good", "names"]);
        template.verify().unwrap();
    }
}
