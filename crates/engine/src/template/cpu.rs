//! What the processor can do. A checkpoint taken with a feature cannot go on without it.

use std::fs;

/// The features of this machine's processor, sorted; empty if unknown.
pub fn cpu_features() -> Vec<String> {
    parse(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

fn parse(cpuinfo: &str) -> Vec<String> {
    let flags = cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        matches!(name.trim(), "flags" | "Features").then_some(value)
    });
    let mut features: Vec<String> = flags.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    features.sort();
    features.dedup();
    features
}

/// Those of `recorded` that are not in `present`.
pub(crate) fn missing(recorded: &[String], present: &[String]) -> Vec<String> {
    recorded.iter().filter(|feature| !present.contains(feature)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read() {
        assert_eq!(parse("processor\t: 0\nflags\t\t: sse2 avx fpu avx\nflags: other\n"), ["avx", "fpu", "sse2"]);
        assert_eq!(parse("Features\t: fp asimd\n"), ["asimd", "fp"]);
        assert!(parse("").is_empty());
    }

    #[test]
    fn only_what_is_gone_is_missing() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(missing(&words("avx sse2"), &words("sse2 sse3")), ["avx"]);
    }
}
