//! The base of a template: Debian and Python packages. Takes minutes, and so is kept until the recipe changes.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::step::{Steps, base_environment};
use super::{Definition, TemplateError, certificates, host};

/// Runs a command in a root filesystem with files of the host lent to it.
pub(crate) const LEND: &str = include_str!("../../../../templates/lend.sh");

/// Where the trusted certificates lie in the template.
pub(crate) const BUNDLE_PATH: &str = "etc/ssl/certs/ca-certificates.crt";

/// Where pip finds the configuration of the user who builds: on a tmpfs, so that credentials in it never reach the image.
const USER_PIP_CONFIGURATION: &str = "/run/pip.conf";

/// What is left out of every Debian package: nobody reads it in a sandbox, and it doubles the image.
const EXCLUDED: [&str; 5] =
    ["/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/lintian/*"];

/// Makes the root filesystem of `definition` in the new folder `rootfs`.
pub(crate) async fn build_base(
    definition: &Definition,
    rootfs: &Path,
    steps: &Steps,
    progress: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), TemplateError> {
    progress(&format!("installing {} Debian packages ({})", definition.debian_packages.len(), definition.suite));
    install_debian(definition, rootfs, steps).await?;
    progress("installing Python packages");
    install_python(definition, rootfs, steps).await?;
    progress("compiling Python files");
    let caches = "import matplotlib.pyplot, compileall; [compileall.compile_dir(p, quiet=2, workers=0) for p in ('/usr/lib/python3', '/usr/lib/python3.11', '/usr/local/lib/python3.11')]";
    in_root(rootfs, &["python3", "-c", caches], &[], steps, "compiling Python files").await?;
    clean(definition, rootfs)
}

async fn install_debian(definition: &Definition, rootfs: &Path, steps: &Steps) -> Result<(), TemplateError> {
    let mut command: Vec<OsString> =
        vec!["mmdebstrap".into(), "--mode=root".into(), "--variant=minbase".into(), "--quiet".into()];
    command.push(format!("--include={}", definition.debian_packages.join(",")).into());
    command.push("--aptopt=APT::Install-Recommends \"false\"".into());
    command.extend(host::apt_proxies().into_iter().map(OsString::from));
    command.extend(EXCLUDED.map(|path| format!("--dpkgopt=path-exclude={path}").into()));
    command.push("--dpkgopt=path-include=/usr/share/doc/*/copyright".into());
    command.extend([definition.suite.into(), rootfs.into()]);
    command.extend(host::mirrors(definition.suite).into_iter().map(OsString::from));
    let command: Vec<&OsStr> = command.iter().map(OsString::as_os_str).collect();
    steps.fenced("installing Debian packages", &command, &base_environment()).await
}

async fn install_python(definition: &Definition, rootfs: &Path, steps: &Steps) -> Result<(), TemplateError> {
    let requirements = rootfs.join("root/requirements.txt");
    fs::write(&requirements, &definition.python_packages).map_err(TemplateError::file("write", &requirements))?;
    let pip = [
        "python3",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-cache-dir",
        "--no-compile",
        "--break-system-packages",
        "-r",
        "/root/requirements.txt",
    ];
    in_root(rootfs, &pip, &network_files(), steps, "installing Python packages").await?;
    fs::remove_file(&requirements).map_err(TemplateError::file("remove", &requirements))?;
    trust_system_certificates(rootfs)
}

/// The `certifi` package has a bundle of its own: it gives way to the system's, as in Debian's own Python packages.
fn trust_system_certificates(rootfs: &Path) -> Result<(), TemplateError> {
    let own = rootfs.join("usr/local/lib/python3.11/dist-packages/certifi/cacert.pem");
    if !own.exists() {
        return Ok(());
    }
    fs::remove_file(&own).map_err(TemplateError::file("remove", &own))?;
    std::os::unix::fs::symlink(Path::new("/").join(BUNDLE_PATH), &own).map_err(TemplateError::file("link", &own))
}

/// Name resolution, certificates and pip configuration of the host, each with its place in the root filesystem.
fn network_files() -> Vec<(PathBuf, &'static str)> {
    let (machine, user) = host::pip_configurations();
    let files = [
        (Some(PathBuf::from("/etc/resolv.conf")), "/etc/resolv.conf"),
        (Some(PathBuf::from("/etc/hosts")), "/etc/hosts"),
        (certificates::host_bundle(), "/etc/ssl/certs/ca-certificates.crt"),
        (machine, "/etc/pip.conf"),
        (user, USER_PIP_CONFIGURATION),
    ];
    files.into_iter().filter_map(|(from, to)| from.filter(|path| path.exists()).map(|path| (path, to))).collect()
}

/// Runs a command in `rootfs`; `lent` are files of the host and where the command sees them meanwhile.
pub(crate) async fn in_root(
    rootfs: &Path,
    command: &[&str],
    lent: &[(PathBuf, &str)],
    steps: &Steps,
    step: &'static str,
) -> Result<(), TemplateError> {
    let mut environment = base_environment();
    environment.extend([
        ("PIP_CERT", format!("/{BUNDLE_PATH}")),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1".to_owned()),
        ("PIP_ROOT_USER_ACTION", "ignore".to_owned()),
    ]);
    if lent.iter().any(|(_, to)| *to == USER_PIP_CONFIGURATION) {
        environment.push(("PIP_CONFIG_FILE", USER_PIP_CONFIGURATION.to_owned()));
    }
    let mut words: Vec<&OsStr> = vec!["sh".as_ref(), "-c".as_ref(), LEND.as_ref(), "lend".as_ref(), rootfs.as_os_str()];
    words.extend(lent.iter().flat_map(|(from, to)| [from.as_os_str(), to.as_ref()]));
    words.push("--".as_ref());
    words.extend(command.iter().map(OsStr::new));
    steps.fenced(step, &words, &environment).await
}

/// Writes the definition's files and removes the traces of the host.
fn clean(definition: &Definition, rootfs: &Path) -> Result<(), TemplateError> {
    for path in &definition.removed {
        match path.strip_suffix("/*") {
            Some(folder) => remove_files(&rootfs.join(folder))?,
            None => remove(&rootfs.join(path))?,
        }
    }
    for (path, text) in &definition.files {
        let path = rootfs.join(path.trim_start_matches('/'));
        remove(&path)?;
        fs::write(&path, text).map_err(TemplateError::file("write", &path))?;
    }
    let sources = rootfs.join("etc/apt/sources.list");
    if let Ok(text) = fs::read_to_string(&sources) {
        let text: String = text.lines().map(|line| host::without_credentials(line) + "\n").collect();
        fs::write(&sources, text).map_err(TemplateError::file("write", &sources))?;
    }
    let workspace = rootfs.join("workspace");
    fs::create_dir_all(&workspace).map_err(TemplateError::file("make folder", &workspace))
}

/// Removes all files below a folder. Its folders stay: apt, for one, does not work without those for its logs.
fn remove_files(folder: &Path) -> Result<(), TemplateError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(TemplateError::file("read folder", folder))?,
    };
    for entry in entries {
        let path = entry.map_err(TemplateError::file("read folder", folder))?.path();
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => remove_files(&path)?,
            _ => remove(&path)?,
        }
    }
    Ok(())
}

/// Removes a file, a link or a folder with all that is in it; none is fine.
pub(crate) fn remove(path: &Path) -> Result<(), TemplateError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(TemplateError::file("remove", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_go_and_files_come() {
        let folder = tempfile::tempdir().unwrap();
        let rootfs = folder.path();
        for path in ["etc/apt", "var/log/apt", "run"] {
            fs::create_dir_all(rootfs.join(path)).unwrap();
        }
        fs::write(rootfs.join("var/log/apt/history.log"), "host").unwrap();
        fs::write(rootfs.join("etc/hostname"), "host").unwrap();
        fs::write(rootfs.join("etc/apt/sources.list"), "deb http://me:secret@mirror.example bookworm main\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", rootfs.join("etc/resolv.conf")).unwrap();
        let mut definition = Definition::code_interpreter();
        definition.files.retain(|(path, _)| !path.contains("apt.conf.d"));

        clean(&definition, rootfs).unwrap();

        assert_eq!(fs::read_dir(rootfs.join("var/log/apt")).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(rootfs.join("etc/hostname")).unwrap(), "sandbox\n");
        assert!(!fs::symlink_metadata(rootfs.join("etc/resolv.conf")).unwrap().is_symlink());
        assert!(!fs::read_to_string(rootfs.join("etc/apt/sources.list")).unwrap().contains("secret"));
        assert!(rootfs.join("workspace").is_dir());
    }
}
