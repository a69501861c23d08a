//! Embeds the Python kernel, so that the engine can bake templates wherever its binary lies.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let package = manifest.join("../../kernels/python/pandastack_kernel");
    let mut sources = Vec::new();
    collect_sources(&package, &mut sources)?;
    sources.sort();
    let mut table = String::from("&[\n");
    for source in &sources {
        // Not the folder: Python's caches in it change with every run of the kernel's tests.
        println!("cargo:rerun-if-changed={}", source.display());
        let name = source.strip_prefix(&package).unwrap_or(source);
        let _ = writeln!(table, "    ({:?}, include_bytes!({:?})),", Path::new("pandastack_kernel").join(name), source);
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("kernels.rs"), table)
}

/// Python files only: caches and editors' leftovers are not part of the product.
fn collect_sources(folder: &Path, sources: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_sources(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "py") {
            sources.push(path);
        }
    }
    Ok(())
}
