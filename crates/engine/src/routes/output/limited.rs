//! Output of a sandbox with limits: so much of it and no more, and a word where memory was what ended a program.

use axum::body::Bytes;
use pandastack_guest_protocol::context::ErrorFrame;
use pandastack_guest_protocol::exec::Exit;
use pandastack_guest_protocol::frame::Kind;

use super::{Frame, Frames};
use crate::sandbox::Bounds;

/// Name of the error of a cell whose kernel has died.
const KERNEL_DIED: &str = "KernelDied";

/// Frames within the limits of their sandbox.
pub(crate) struct Limited<F> {
    frames: F,
    bounds: Bounds,
    /// What may still come of standard output and error, in bytes.
    left: [u64; 2],
    /// The last frame, after one that explains it.
    last: Option<Frame>,
}

impl<F: Frames> Limited<F> {
    pub(crate) fn new(frames: F, bounds: Bounds) -> Self {
        let left = bounds.output_bytes().unwrap_or(u64::MAX);
        Self { frames, bounds, left: [left; 2], last: None }
    }

    /// What is left of a piece of output; a note in the place of the first byte too many.
    fn cut(&mut self, kind: Kind, bytes: Bytes) -> Option<Bytes> {
        let left = &mut self.left[usize::from(kind == Kind::Stderr)];
        if bytes.len() as u64 <= *left {
            *left -= bytes.len() as u64;
            return Some(bytes);
        }
        if *left == 0 {
            return None;
        }
        let kept = bytes.slice(..*left as usize);
        *left = 0;
        let most = self.bounds.output_bytes().unwrap_or_default();
        let note = format!("\n[output limit of {most} bytes reached: the rest is left out]\n");
        Some([kept.as_ref(), note.as_bytes()].concat().into())
    }

    /// A kernel that was killed for want of memory says so.
    fn explain_error(&self, json: Bytes) -> Bytes {
        let Ok(mut error) = serde_json::from_slice::<ErrorFrame>(&json) else { return json };
        if error.name != KERNEL_DIED || !self.bounds.was_short_of_memory() {
            return json;
        }
        error.value = format!("{}: variables are lost, files are kept", self.bounds.memory_text("the Python process"));
        error.text = format!("{KERNEL_DIED}: {}", error.value);
        error.traceback = vec![error.text.clone()];
        serde_json::to_vec(&error).map_or(json, Bytes::from)
    }

    /// A line of standard error for a command of which a process was killed for want of memory.
    fn explain_exit(&self, json: &[u8]) -> Option<Bytes> {
        // SIGKILL; SIGSEGV or SIGBUS where a page of shared memory could not be had.
        const KILLED: [i32; 3] = [128 + 9, 128 + 11, 128 + 7];
        let exit: Exit = serde_json::from_slice(json).ok()?;
        let is_killed = KILLED.contains(&exit.exit_code) && self.bounds.was_short_of_memory();
        is_killed.then(|| format!("\n[{}]\n", self.bounds.memory_text("a process")).into())
    }
}

impl<F: Frames> Frames for Limited<F> {
    async fn next(&mut self) -> Option<Frame> {
        if let Some(last) = self.last.take() {
            return Some(last);
        }
        loop {
            return Some(match self.frames.next().await? {
                Ok((kind @ (Kind::Stdout | Kind::Stderr), bytes)) => match self.cut(kind, bytes) {
                    Some(bytes) => Ok((kind, bytes)),
                    None => continue,
                },
                Ok((Kind::Error, json)) => Ok((Kind::Error, self.explain_error(json))),
                Ok((Kind::Exit, json)) => match self.explain_exit(&json) {
                    Some(text) => {
                        self.last = Some(Ok((Kind::Exit, json)));
                        Ok((Kind::Stderr, text))
                    }
                    None => Ok((Kind::Exit, json)),
                },
                frame => frame,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::tests::{Scripted, frame};
    use super::*;

    async fn limited(frames: Vec<Frame>, bounds: Bounds) -> Vec<(Kind, String)> {
        let mut limited = Limited::new(Scripted::new(frames), bounds);
        let mut all = Vec::new();
        while let Some(Ok((kind, bytes))) = limited.next().await {
            all.push((kind, String::from_utf8_lossy(&bytes).into_owned()));
        }
        all
    }

    fn exit(code: i32) -> Frame {
        frame(Kind::Exit, serde_json::json!({"exit_code": code, "duration_ms": 1}).to_string())
    }

    #[tokio::test]
    async fn what_is_beyond_the_limit_is_left_out_and_that_is_said_once() {
        let stdout = |text: &'static str| frame(Kind::Stdout, text);
        let frames = vec![stdout("abc"), stdout("def"), stdout("ghi"), frame(Kind::Stderr, "own"), exit(0)];
        let all = limited(frames, Bounds::of_test(Some(5), false)).await;
        let note = "de\n[output limit of 5 bytes reached: the rest is left out]\n".to_owned();
        assert_eq!(
            all[..3],
            [(Kind::Stdout, "abc".to_owned()), (Kind::Stdout, note), (Kind::Stderr, "own".to_owned())]
        );
        assert_eq!((all.len(), all[3].0), (4, Kind::Exit));
    }

    #[tokio::test]
    async fn want_of_memory_is_told_where_it_was_the_reason() {
        let died = r#"{"name":"KernelDied","value":"the Python process ended","text":"KernelDied: x"}"#;
        for (is_short, expected) in [(true, "memory limit of 64 MiB"), (false, "the Python process ended")] {
            let all = limited(vec![frame(Kind::Error, died)], Bounds::of_test(None, is_short)).await;
            assert!(all[0].1.contains(expected), "{all:?}");
            for code in [137, 139] {
                let all = limited(vec![exit(code)], Bounds::of_test(None, is_short)).await;
                assert_eq!(all.len(), if is_short { 2 } else { 1 });
                assert!(!is_short || all[0].0 == Kind::Stderr && all[0].1.contains(expected));
            }
        }
        let other = r#"{"name":"ValueError","value":"v","text":"t"}"#;
        for frame in [frame(Kind::Error, other), exit(1)] {
            assert_eq!(limited(vec![frame], Bounds::of_test(None, true)).await.len(), 1);
        }
    }
}
