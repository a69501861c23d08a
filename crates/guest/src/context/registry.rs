//! All contexts of the sandbox, by id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::join_all;
use pandastack_guest_protocol::context::{ContextInfo, CreateContext};
use pandastack_guest_protocol::exec::FailureCode;
use uuid::Uuid;

use super::handle::Context;
use super::keeper::{Keeper, Settings};
use crate::identity::{Identity, check_environment};
use crate::kernel::Kernels;
use crate::refusal::Refusal;

/// Most contexts at once; each is a process with its own memory.
const MAX_CONTEXTS: usize = 64;

/// Longest id, in bytes.
const MAX_ID: usize = 128;

const PYTHON: &str = "python";

/// The contexts. `None`: the id is taken, the kernel is still on its way.
pub(crate) struct Contexts {
    kernels: Arc<Kernels>,
    identity: Arc<Identity>,
    by_id: Mutex<HashMap<String, Option<Arc<Context>>>>,
}

impl Contexts {
    pub(crate) fn new(kernels: Arc<Kernels>, identity: Arc<Identity>) -> Self {
        Self { kernels, identity, by_id: Mutex::default() }
    }

    /// All contexts, oldest first.
    pub(crate) fn list(&self) -> Vec<ContextInfo> {
        let mut infos: Vec<_> = self.all().iter().map(|context| context.info()).collect();
        infos.sort_by(|a, b| (a.created_at_ms, &a.id).cmp(&(b.created_at_ms, &b.id)));
        infos
    }

    /// The context of that id.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Context>, Refusal> {
        self.lock().get(id).cloned().flatten().ok_or_else(|| unknown(id))
    }

    /// Makes a context, or hands over one that was inherited by a restore or a fork.
    ///
    /// # Errors
    /// If the request makes no sense, the id is taken, there are too many, or no kernel can be had.
    pub(crate) async fn create(&self, request: CreateContext) -> Result<ContextInfo, Refusal> {
        check(&request).await?;
        let settings = Settings { env: request.env, cwd: request.cwd };
        if request.id.is_none()
            && !request.fresh
            && let Some(inherited) = self.take_inherited()
        {
            inherited.hand_over(settings).await?;
            return Ok(inherited.info());
        }
        let reservation = self.reserve(request.id)?;
        let keeper = Keeper::start(Arc::clone(&self.kernels), Arc::clone(&self.identity), settings).await?;
        let context = Context::new(reservation.id.clone(), PYTHON, keeper);
        let info = context.info();
        reservation.fill(context);
        Ok(info)
    }

    /// Ends a context and its kernel.
    ///
    /// # Errors
    /// If there is none of that id.
    pub(crate) async fn remove(&self, id: &str) -> Result<(), Refusal> {
        let context = self.find(id)?;
        self.lock().remove(id);
        context.close().await;
        Ok(())
    }

    /// After a new identity: kernels take it before their next cell.
    pub(crate) fn take_identity(&self, reseed: bool) {
        for context in self.all() {
            context.take_identity(reseed);
        }
    }

    /// Lets all kernels that rest end their helper processes. One that does not answer is not waited for.
    pub(crate) async fn quiesce(&self) {
        let contexts = self.all();
        join_all(contexts.iter().map(|context| context.quiesce())).await;
    }

    /// Whether there is none, also none on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn all(&self) -> Vec<Arc<Context>> {
        self.lock().values().flatten().cloned().collect()
    }

    /// The oldest context that nobody of this sandbox has asked for yet.
    fn take_inherited(&self) -> Option<Arc<Context>> {
        let mut inherited: Vec<_> = self.all();
        inherited.sort_by_key(|context| context.info().created_at_ms);
        inherited.into_iter().find(|context| context.claim())
    }

    fn reserve(&self, id: Option<String>) -> Result<Reservation<'_>, Refusal> {
        let mut by_id = self.lock();
        if by_id.len() >= MAX_CONTEXTS {
            return Err(Refusal::new(
                FailureCode::Exhausted,
                format!("the sandbox has {MAX_CONTEXTS} code contexts, which is the limit; close one first"),
            ));
        }
        let id = id.unwrap_or_else(|| Uuid::new_v4().to_string());
        if by_id.contains_key(&id) {
            return Err(Refusal::conflict(format!("a code context of that id exists: `{id}`")));
        }
        by_id.insert(id.clone(), None);
        Ok(Reservation { contexts: self, id })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Option<Arc<Context>>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frees the id again if the context does not come to be.
struct Reservation<'a> {
    contexts: &'a Contexts,
    id: String,
}

impl Reservation<'_> {
    fn fill(self, context: Arc<Context>) {
        self.contexts.lock().insert(self.id.clone(), Some(context));
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut by_id = self.contexts.lock();
        if matches!(by_id.get(&self.id), Some(None)) {
            by_id.remove(&self.id);
        }
    }
}

fn unknown(id: &str) -> Refusal {
    Refusal::not_found(format!("no such code context: `{}`", id.escape_debug()))
}

async fn check(request: &CreateContext) -> Result<(), Refusal> {
    if request.language != PYTHON {
        return Err(Refusal::bad_request(format!(
            "unknown language: `{}`; `{PYTHON}` is supported",
            request.language.escape_debug()
        )));
    }
    if let Some(id) = &request.id
        && (id.is_empty()
            || id.len() > MAX_ID
            || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)))
    {
        return Err(Refusal::bad_request(format!("not an id of a code context: `{}`", id.escape_debug())));
    }
    check_environment(&request.env)?;
    match &request.cwd {
        Some(cwd) if cwd.contains('\0') || !cwd.starts_with('/') => {
            Err(Refusal::bad_request(format!("the working directory must be absolute: `{}`", cwd.escape_debug())))
        }
        Some(cwd) if !tokio::fs::metadata(cwd).await.is_ok_and(|found| found.is_dir()) => Err(Refusal::bad_request(
            format!("working directory cannot be used: `{}`: no such directory", cwd.escape_debug()),
        )),
        _ => Ok(()),
    }
}
