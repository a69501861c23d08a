//! The limits of a sandbox as those see them who pass its output on.

use std::sync::Arc;

use super::Sandbox;
use crate::engine::Inner;
use crate::error::EngineError;

/// What holds for the output of one command or cell.
pub(crate) enum Bounds {
    /// Of a sandbox in which that many processes had been killed for want of memory when it began.
    Of(Arc<Sandbox>, u64),
    #[cfg(test)]
    Test { output_bytes: Option<u64>, is_short_of_memory: bool },
}

impl Bounds {
    #[cfg(test)]
    pub(crate) fn of_test(output_bytes: Option<u64>, is_short_of_memory: bool) -> Self {
        Self::Test { output_bytes, is_short_of_memory }
    }

    /// Most bytes of each output stream. None: no limit.
    pub(crate) fn output_bytes(&self) -> Option<u64> {
        match self {
            Self::Of(sandbox, _) => sandbox.limits().output_bytes,
            #[cfg(test)]
            Self::Test { output_bytes, .. } => *output_bytes,
        }
    }

    /// The time limit in milliseconds of a cell that asks for `asked`.
    pub(crate) fn cell_ms(&self, asked: Option<u64>) -> Option<u64> {
        match self {
            Self::Of(sandbox, _) => sandbox.limits().cell_ms(asked),
            #[cfg(test)]
            Self::Test { .. } => asked,
        }
    }

    /// True if processes of the sandbox were killed for want of memory meanwhile.
    pub(crate) fn was_short_of_memory(&self) -> bool {
        match self {
            Self::Of(sandbox, before) => sandbox.group().memory_kills().unwrap_or_default() > *before,
            #[cfg(test)]
            Self::Test { is_short_of_memory, .. } => *is_short_of_memory,
        }
    }

    /// What became of `who`.
    pub(crate) fn memory_text(&self, who: &str) -> String {
        let memory_mb = match self {
            Self::Of(sandbox, _) => sandbox.limits().memory_mb,
            #[cfg(test)]
            Self::Test { .. } => 64,
        };
        format!("{who} was killed because the sandbox reached its memory limit of {memory_mb} MiB")
    }
}

impl Inner {
    /// What holds for the output of a sandbox, which is woken if it is hibernated.
    pub(crate) async fn bounds(self: &Arc<Self>, id: &str) -> Result<Bounds, EngineError> {
        let sandbox = self.running(id).await?;
        let kills = sandbox.group().memory_kills().unwrap_or_default();
        Ok(Bounds::Of(sandbox, kills))
    }
}
