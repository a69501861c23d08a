//! Building and importing templates.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::base::{build_base, remove};
use super::hash::{hash_fields, hash_file};
use super::image::{Additions, build_image, verify_erofs};
use super::metadata::{measure, sync};
use super::step::Steps;
use super::store::{base_folder, check_name, prune_bases, remove_leftovers, set_name, template_folder, work_folder};
use super::{Definition, Template, TemplateError, WarmUp, bake, clean_bake, cpu_features, host, kernels};
use crate::home::{Home, create_private};
use crate::runsc::{FoundRunsc, SandboxSpec};

/// Takes one line for each step of a build.
pub type Progress<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Disk space for a base with its image and checkpoint, and for an image and a checkpoint alone, in bytes.
const SPACE_FOR_BASE: u64 = 5 << 30;
const SPACE_FOR_IMAGE: u64 = 3 << 30;

/// Pause between two tries to get the lock.
const LOCK_POLL: Duration = Duration::from_millis(200);

/// What a template is built with.
#[derive(Debug, Clone)]
pub struct BuildOptions<'a> {
    /// Where it goes.
    pub home: &'a Home,
    /// What boots it.
    pub runsc: &'a FoundRunsc,
    /// The recipe.
    pub definition: &'a Definition,
    /// The guest agent's binary.
    pub guest: &'a Path,
}

/// Gives the template of the recipe, the agent, the kernels and `runsc`; builds what of it is not there yet. One build at a time; others wait.
///
/// # Errors
/// If something is missing (root, commands, disk space), or a step fails. What is left is cleaned up by the next build.
pub async fn build(
    options: &BuildOptions<'_>,
    warm_up: &impl WarmUp,
    progress: Progress<'_>,
) -> Result<Template, TemplateError> {
    let BuildOptions { home, definition, guest, .. } = *options;
    check_name(&definition.name)?;
    if !guest.is_file() {
        return Err(TemplateError::NoGuest(guest.to_owned()));
    }
    let _lock = begin(home, options.runsc, progress).await?;
    let steps = Steps::new(home.root().join("template-build.log"));
    let base_id = definition.base_id();
    let base = base_folder(home, &base_id);
    if !base.exists() {
        check_can_build(home, SPACE_FOR_BASE)?;
        let work = work_folder(home)?;
        build_base(definition, &work.join("rootfs"), &steps, progress).await?;
        fs::rename(&work, &base).map_err(TemplateError::file("move", &work))?;
        sync(&home.templates())?;
    }
    let additions = Additions::for_base(&base.join("rootfs"), guest.to_owned())?;
    let origin = Origin { base_id, id: template_id(options, &additions)?, definition };
    let folder = template_folder(home, &origin.id);
    if let Some(template) = finished(&folder)? {
        set_name(home, &template)?;
        return Ok(template);
    }
    check_can_build(home, SPACE_FOR_IMAGE)?;
    progress("packing the root image");
    let work = work_folder(home)?;
    create_private(&folder).map_err(TemplateError::file("make folder", &folder))?;
    let made = async {
        build_image(&base.join("rootfs"), &additions, &work, &folder.join("rootfs.erofs"), &steps).await?;
        remove(&work)?;
        finish(home, options.runsc, &origin, warm_up, progress).await
    };
    let template = or_remove(&folder, made.await)?;
    prune_bases(home)?;
    Ok(template)
}

/// Makes a template from the root image of another home; needs no root. The image is linked if it can be, else copied.
///
/// # Errors
/// If `image` is no EROFS image, has no agent that answers, or the disk is full.
pub async fn import(
    home: &Home,
    runsc: &FoundRunsc,
    image: &Path,
    warm_up: &impl WarmUp,
    progress: Progress<'_>,
) -> Result<Template, TemplateError> {
    verify_erofs(image)?;
    let _lock = begin(home, runsc, progress).await?;
    progress("checking the image");
    let definition = Definition::code_interpreter();
    let base_id = hash_file(image).map_err(TemplateError::file("read", image))?;
    let id = hash_fields(&[&base_id, runsc.version.as_str(), &fixed_parts(home), &cpu_features().join(" ")]);
    let origin = Origin { base_id, id, definition: &definition };
    let folder = template_folder(home, &origin.id);
    if let Some(template) = finished(&folder)? {
        set_name(home, &template)?;
        return Ok(template);
    }
    check_space(home, SPACE_FOR_IMAGE)?;
    create_private(&folder).map_err(TemplateError::file("make folder", &folder))?;
    let own = folder.join("rootfs.erofs");
    if fs::hard_link(image, &own).is_err() {
        progress("copying the image");
        or_remove(&folder, tokio::fs::copy(image, &own).await.map_err(TemplateError::file("copy", image)))?;
    }
    or_remove(&folder, finish(home, runsc, &origin, warm_up, progress).await)
}

/// After a failure removes the folder of what did not become a template.
fn or_remove<T>(folder: &Path, outcome: Result<T, TemplateError>) -> Result<T, TemplateError> {
    if outcome.is_err() {
        remove(folder)?;
    }
    outcome
}

/// What a template comes from.
struct Origin<'a> {
    base_id: String,
    id: String,
    definition: &'a Definition,
}

/// Bakes the image in the template's folder and makes it a template.
async fn finish(
    home: &Home,
    runsc: &FoundRunsc,
    origin: &Origin<'_>,
    warm_up: &impl WarmUp,
    progress: Progress<'_>,
) -> Result<Template, TemplateError> {
    progress("booting and warming up");
    let folder = template_folder(home, &origin.id);
    let environment = origin.definition.environment.clone();
    // A gigabyte takes its time to reach the disk: meanwhile the sandbox boots.
    let image = folder.join("rootfs.erofs");
    let synced = tokio::task::spawn_blocking(move || sync(&image));
    let spec = SandboxSpec { env: environment.clone(), ..SandboxSpec::new(folder.join("rootfs.erofs")) };
    let boot = bake(home, runsc, &spec, warm_up, &folder.join("checkpoint")).await?;
    progress("checking the result");
    synced.await.map_err(|error| TemplateError::file("sync", &folder)(error.into()))??;
    let (hashes, rootfs_bytes, checkpoint_bytes) = measure(&folder)?;
    let template = Template {
        id: origin.id.clone(),
        name: origin.definition.name.clone(),
        base_id: origin.base_id.clone(),
        folder,
        environment,
        runsc_version: runsc.version.as_str().to_owned(),
        cpu_features: cpu_features(),
        rootfs_bytes,
        checkpoint_bytes,
        boot_ms: u64::try_from(boot.as_millis()).unwrap_or(u64::MAX),
        created_at: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        hashes,
    };
    template.write()?;
    set_name(home, &template)?;
    Ok(template)
}

/// Takes the lock of builds and cleans up after a build that was killed.
///
/// The lock is given up when it is dropped, and not only when the file is closed: a program that is just being started has the file open, too.
async fn begin(home: &Home, runsc: &FoundRunsc, progress: Progress<'_>) -> Result<Flock<File>, TemplateError> {
    home.create().map_err(TemplateError::file("make folder", home.root()))?;
    let path = home.templates().join(".lock");
    let mut file = File::options().create(true).append(true).open(&path).map_err(TemplateError::file("open", &path))?;
    let mut waiting = false;
    let lock = loop {
        file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => break lock,
            Err((file, Errno::EWOULDBLOCK)) => file,
            Err((_, error)) => return Err(TemplateError::file("lock", &path)(error.into())),
        };
        if !waiting {
            progress("waiting for another build");
            waiting = true;
        }
        tokio::time::sleep(LOCK_POLL).await;
    };
    clean_bake(home, runsc).await?;
    remove_leftovers(home)?;
    Ok(lock)
}

fn finished(folder: &Path) -> Result<Option<Template>, TemplateError> {
    let Some(template) = Template::read(folder)? else { return Ok(None) };
    template.verify_checkpoint()?;
    Ok(Some(template))
}

fn template_id(options: &BuildOptions<'_>, additions: &Additions) -> Result<String, TemplateError> {
    let guest = hash_file(&additions.guest).map_err(TemplateError::file("read", &additions.guest))?;
    let mut fields = vec![
        options.definition.base_id().into_bytes(),
        guest.into_bytes(),
        additions.certificates.concat().into_bytes(),
        options.runsc.version.as_str().as_bytes().to_vec(),
        fixed_parts(options.home).into_bytes(),
        cpu_features().join(" ").into_bytes(),
    ];
    fields.extend(kernels::KERNELS.iter().flat_map(|(name, content)| [name.as_bytes().to_vec(), content.to_vec()]));
    Ok(hash_fields(&fields))
}

/// The parts of a sandbox that are fixed in a checkpoint; the place of the home is one.
fn fixed_parts(home: &Home) -> String {
    SandboxSpec::new(home.templates()).fingerprint()
}

fn check_can_build(home: &Home, needed: u64) -> Result<(), TemplateError> {
    if !host::is_real_root() {
        return Err(TemplateError::NeedsRoot { commands: host::ROOT_COMMANDS.to_owned() });
    }
    let missing = host::missing_commands();
    if !missing.is_empty() {
        let (commands, packages): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
        return Err(TemplateError::MissingCommands { commands: commands.join(", "), packages: packages.join(" ") });
    }
    check_space(home, needed)
}

fn check_space(home: &Home, needed: u64) -> Result<(), TemplateError> {
    let folder: PathBuf = home.templates();
    match host::free_bytes(&folder) {
        Some(free) if free < needed => {
            Err(TemplateError::DiskSpace { folder, free_mb: free >> 20, needed_mb: needed >> 20 })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
