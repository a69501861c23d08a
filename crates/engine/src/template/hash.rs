//! BLAKE3 of fields and files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Length of ids made here, in hex digits.
const ID_LENGTH: usize = 32;

/// An id of what the fields say; where one ends and the next begins counts.
pub(crate) fn hash_fields(fields: &[impl AsRef<[u8]>]) -> String {
    let mut hasher = blake3::Hasher::new();
    for field in fields {
        hasher.update(&(field.as_ref().len() as u64).to_le_bytes());
        hasher.update(field.as_ref());
    }
    hasher.finalize().to_hex()[..ID_LENGTH].to_owned()
}

/// The whole hash of a file, in hex.
pub(crate) fn hash_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().to_hex().to_string()),
            length => hasher.update(&buffer[..length]),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_borders_count() {
        assert_ne!(hash_fields(&["ab", "c"]), hash_fields(&["a", "bc"]));
        assert_eq!(hash_fields(&["ab", "c"]).len(), ID_LENGTH);
    }

    #[test]
    fn a_file_hashes_like_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes = vec![7; (1 << 20) + 5];
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(hash_file(&path).unwrap(), blake3::hash(&bytes).to_hex().to_string());
    }
}
