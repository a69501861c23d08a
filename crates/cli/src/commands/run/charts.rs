//! Charts of a run, as files.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pandastack_protocol::code_context::MimeBundle;

use crate::error::{CliError, Result};
use crate::output;

/// What is saved, best first, with its file extension and whether it comes as base64.
const FORMATS: [(&str, &str, bool); 4] = [
    ("image/png", "png", true),
    ("image/jpeg", "jpg", true),
    ("image/svg+xml", "svg", false),
    ("application/pdf", "pdf", true),
];

/// Saves charts as `chart-1.png`, `chart-2.png`, …
pub(super) struct Charts {
    folder: Option<PathBuf>,
    count: u32,
}

impl Charts {
    /// Saves into `folder`, which is made; without one, charts are only counted.
    pub(super) fn new(folder: Option<&Path>) -> Result<Self> {
        if let Some(folder) = folder {
            fs::create_dir_all(folder)
                .map_err(|error| CliError::new(format!("cannot make the folder ({error}): `{}`", folder.display())))?;
        }
        Ok(Self { folder: folder.map(Path::to_owned), count: 0 })
    }

    /// Saves the chart of a result and says where. False: the result is no chart.
    pub(super) fn save(&mut self, data: &MimeBundle) -> Result<bool> {
        let found = FORMATS
            .iter()
            .find_map(|(mime, extension, is_base64)| data.get(*mime).map(|content| (content, extension, is_base64)));
        let Some((content, extension, is_base64)) = found else { return Ok(false) };
        self.count += 1;
        let Some(folder) = &self.folder else {
            output::say(&format!("chart {} not saved: give --out DIR", self.count));
            return Ok(true);
        };
        let path = folder.join(format!("chart-{}.{extension}", self.count));
        let bytes = if *is_base64 { decode(content)? } else { content.clone().into_bytes() };
        fs::write(&path, bytes)
            .map_err(|error| CliError::new(format!("cannot save the chart ({error}): `{}`", path.display())))?;
        output::say(&format!("chart {}: {}", self.count, path.display()));
        Ok(true)
    }
}

fn decode(content: &str) -> Result<Vec<u8>> {
    let compact: String = content.split_ascii_whitespace().collect();
    STANDARD.decode(compact).map_err(|error| CliError::new(format!("a chart is no base64: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_format_is_saved() {
        let folder = tempfile::tempdir().unwrap();
        let mut charts = Charts::new(Some(&folder.path().join("out"))).unwrap();
        let bundle = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(mime, content)| ((*mime).to_owned(), (*content).to_owned())).collect()
        };
        assert!(!charts.save(&bundle(&[("text/plain", "1")])).unwrap());
        assert!(
            charts
                .save(&bundle(&[("image/svg+xml", "<svg/>"), ("image/png", "aGk=\n"), ("text/plain", "<Figure>")]))
                .unwrap()
        );
        assert!(charts.save(&bundle(&[("image/svg+xml", "<svg/>")])).unwrap());
        assert_eq!(fs::read(folder.path().join("out/chart-1.png")).unwrap(), b"hi");
        assert_eq!(fs::read(folder.path().join("out/chart-2.svg")).unwrap(), b"<svg/>");
    }
}
