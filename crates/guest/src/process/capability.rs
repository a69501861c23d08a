//! Capabilities of what runs for the user: enough for root to use apt and pip, none that reaches beyond the inner namespace.

use nix::errno::Errno;

/// CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, SYS_CHROOT, AUDIT_WRITE, SETFCAP.
const KEPT: [u32; 12] = [0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31];

/// Highest number the kernel may know.
const LAST: u32 = 63;

const VERSION_3: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Drops everything but [`KEPT`] from the bounding set: after an `exec` root has no more than that. Safe between fork and exec.
pub(super) fn bound() -> Result<(), Errno> {
    for capability in (0..=LAST).filter(|capability| !KEPT.contains(capability)) {
        // SAFETY: prctl with plain numbers.
        let result = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, u64::from(capability), 0, 0, 0) };
        if result < 0 && Errno::last() == Errno::EINVAL {
            return Ok(());
        }
        Errno::result(result)?;
    }
    Ok(())
}

/// An inheritable capability would survive `exec` whatever the bounding set says.
pub(super) fn clear_inheritable() -> Result<(), Errno> {
    change(|_, data| data.inheritable = 0)
}

/// Leaves a process that never executes anything with the right to signal and to limit others. Allocates nothing.
pub(super) fn keep_orders() -> Result<(), Errno> {
    // KILL and SYS_RESOURCE, both in the first half.
    const KEPT: [u32; 2] = [1 << 5 | 1 << 24, 0];
    change(|half, data| {
        data.effective &= KEPT[half];
        data.permitted &= KEPT[half];
        data.inheritable = 0;
    })
}

/// Changes the capabilities of this thread, given in two halves of 32.
fn change(change: impl Fn(usize, &mut Data)) -> Result<(), Errno> {
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut data = [Data::default(); 2];
    // SAFETY: both point to structures of the layout of version 3, which live through the calls.
    unsafe {
        Errno::result(libc::syscall(libc::SYS_capget, &raw mut header, data.as_mut_ptr()))?;
        data.iter_mut().enumerate().for_each(|(half, data)| change(half, data));
        Errno::result(libc::syscall(libc::SYS_capset, &raw mut header, data.as_ptr()))?;
    }
    Ok(())
}
