//! Routes that the agent serves over HTTP/2. Refusals are a [`crate::exec::Failure`] as JSON with the status of its code.

/// `GET`: 200 with `{"version": string, "uptime_ms": number}`. The engine's heartbeat.
pub const HEALTH: &str = "/health";

/// `POST` [`crate::exec::ExecRequest`]: 200 with frames. A client that resets the stream ends the command.
pub const EXEC: &str = "/exec";

/// `GET`: `[ContextInfo]`. `POST` [`crate::context::CreateContext`]: 201 with `ContextInfo`.
pub const CONTEXTS: &str = "/contexts";

/// `DELETE`: 204; ends the kernel. `GET`: `ContextInfo`.
pub fn context(id: &str) -> String {
    format!("/contexts/{id}")
}

/// `POST` [`crate::context::RunRequest`]: 200 with frames. A client that resets the stream interrupts the cell, or takes it out of the queue.
pub fn context_run(id: &str) -> String {
    format!("/contexts/{id}/run")
}

/// `POST`: 204; interrupts the running cell, if any.
pub fn context_interrupt(id: &str) -> String {
    format!("/contexts/{id}/interrupt")
}

/// `POST`: 200 with `ContextInfo`; a new kernel under the same id.
pub fn context_restart(id: &str) -> String {
    format!("/contexts/{id}/restart")
}

/// `POST`: 204 when the agent has ended what a copy of the sandbox need not hold: a kernel that nobody uses yet, and what kernels have started to
/// help them. All of that comes back by itself some time after the next `Thaw` or `Hello`, or when it is asked for.
pub const QUIESCE: &str = "/quiesce";

/// `GET ?path=`: the bytes. `PUT ?path=` with a body: [`crate::file::FileWritten`], parents are made. `DELETE ?path=`: 204, recursive, also if there is none.
pub const FILES: &str = "/files";

/// `GET ?path=`: [`crate::file::FileList`].
pub const FILE_LIST: &str = "/files/list";

/// `GET ?path=`: [`crate::file::FileEntry`]; links are not followed.
pub const FILE_STAT: &str = "/files/stat";

/// `POST` with a streaming body: parked until a program in the sandbox connects to the proxy listener, then 200; from then on both bodies
/// carry the bytes of that connection.
pub const EGRESS_ACCEPT: &str = "/egress/accept";

/// Where the agent listens for programs that want out, in the sandbox. `HTTP_PROXY` and its kin point to it.
pub const EGRESS_LISTENER: &str = "127.0.0.1:3128";
