"""Looks from inside a sandbox for ways out of it, and for words of the host. Prints a line for each that it finds."""

import contextlib
import ctypes
import os
import platform
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {  # name: x86_64, aarch64
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "open_by_handle_at": (304, 265),
    "process_vm_writev of 1": (311, 271),
    "pidfd_getfd of 1": (438, 438),
}
NEW_USER, NEW_MOUNT, NEW_PID, NEW_NET = 0x10000000, 0x00020000, 0x20000000, 0x40000000


def found(*words):
    """Tells of a way."""
    print(*words, flush=True)


def call(name, function, *arguments):
    """Tells of a system call that is carried out."""
    if function(*arguments) >= 0:
        found("can", name)


def attempt(name, action):
    """Tells of an action that does not fail."""
    with contextlib.suppress(OSError):
        action()
        found("can", name)


def system_calls():
    """What only the owner of a machine may do."""
    column = 0 if platform.machine() == "x86_64" else 1
    for name, numbers in NUMBERS.items():
        call(name, libc.syscall, numbers[column], 1, 0, 0, 0, 0)
    for name, arguments in {
        "mount proc": (b"proc", b"/mnt", b"proc", 0, None),
        "mount tmpfs": (b"tmpfs", b"/mnt", b"tmpfs", 0, None),
        "bind the root": (b"/", b"/mnt", None, 4096, None),
        "remount the root": (None, b"/", None, 32, None),
    }.items():
        call(name, libc.mount, *arguments)
    call("umount /proc", libc.umount2, b"/proc", 2)
    call("ptrace 1", libc.ptrace, 16, 1, 0, 0)
    call("seize 1", libc.ptrace, 0x4206, 1, 0, 0)
    call("sethostname", libc.sethostname, b"mine", 4)
    call("settimeofday", libc.settimeofday, ctypes.create_string_buffer(16), None)
    call("swapon", libc.swapon, b"/root/swap", 0)
    call("reboot", libc.reboot, 0x01234567)
    for path, kind in {"/root/sda": 0o60600, "/root/mem": 0o20600}.items():
        attempt(f"mknod {path}", lambda path=path, kind=kind: os.mknod(path, kind, os.makedev(8 if "sda" in path else 1, 1)))


def sockets():
    """Ways into a network that are not the proxy."""
    kinds = [(family, kind) for family in ("AF_INET", "AF_INET6", "AF_PACKET", "AF_VSOCK", "AF_BLUETOOTH", "AF_ALG")
             for kind in ("SOCK_RAW", "SOCK_DGRAM", "SOCK_STREAM")]  # fmt: skip
    for family, kind in kinds:
        if family in ("AF_INET", "AF_INET6") and kind != "SOCK_RAW":
            continue
        attempt(f"open {family} {kind}", lambda: socket.socket(getattr(socket, family), getattr(socket, kind)))
    for address in ("169.254.169.254", "10.0.0.1", "192.168.0.1", "172.17.0.1", "8.8.8.8"):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(socket.AF_INET, kind) as connection:
                connection.settimeout(2)
                attempt(f"reach {address}", lambda: connection.connect((address, 80)))


def files():
    """Files that lead to the machine or to the agent."""
    for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse", "/proc/kcore",
                 "/proc/kmsg", "/proc/1/mem", "/proc/1/environ", "/proc/1/root/etc/passwd", "/proc/1/cwd/etc/passwd",
                 "/proc/1/fd/0", "/proc/1/fd/1", "/proc/1/fd/2", "/proc/1/maps", "/proc/keys", "/sys/firmware/dmi/tables/DMI"):  # fmt: skip
        attempt(f"read {path}", lambda path=path: beginning(path, 1) or missing())
    for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
                 "/proc/sys/vm/panic_on_oom", "/proc/1/fd/0", "/proc/1/fd/1", "/proc/1/mem",
                 "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/release_agent"):  # fmt: skip
        attempt(f"write {path}", lambda path=path: write(path))


def beginning(path, length):
    """The first bytes of a file, without waiting for any."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(descriptor, length)
    finally:
        os.close(descriptor)


def write(path):
    """Writes a byte."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        os.write(descriptor, b"h")
    finally:
        os.close(descriptor)


def missing():
    """An empty file is none."""
    raise OSError


def other_namespaces():
    """What root of a user namespace of its own can do: in a child, as it cannot go back."""
    child = os.fork()
    if child == 0:
        if libc.unshare(NEW_USER | NEW_MOUNT) == 0:
            call("umount the inner /proc", libc.umount2, b"/proc", 2)
            call("set time in a user namespace", libc.settimeofday, ctypes.create_string_buffer(16), None)
            attempt("mknod in a user namespace", lambda: os.mknod("/tmp/sda", 0o60600, os.makedev(8, 1)))
            if libc.mount(b"proc", b"/mnt", b"proc", 0, None) == 0:
                look_for_agent("/mnt")
        os._exit(0)
    os.waitpid(child, 0)


def look_for_agent(folder):
    """Tells of processes that belong to the agent."""
    # 1 is the inner init, which was the agent's copy and keeps its name.
    for pid in set(filter(str.isdigit, os.listdir(folder))) - {"1"}:
        with contextlib.suppress(OSError), open(f"{folder}/{pid}/cmdline", "rb") as command:
            if b"pandastack-guest" in command.read():
                found("sees the agent as", pid)


def words(needles):
    """Where something of the host is written."""
    for folder in ("/etc", "/root", "/opt", "/var/log", "/var/lib/dbus", "/usr/local", "/sys", "/proc/sys", "/proc/net", "/proc/self", "/run", "/tmp"):
        for parent, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in ("task", "root", "cwd")]
            for name in names:
                look_into(os.path.join(parent, name), needles)
    for name in filter(lambda name: os.path.isfile(f"/proc/{name}"), os.listdir("/proc")):
        look_into(f"/proc/{name}", needles)
    for name, value in os.environ.items():
        if any(needle in value for needle in needles):
            found("environment tells", name)


def look_into(path, needles):
    """Reads the beginning of a file."""
    if path == os.path.abspath(sys.argv[0]) or path.startswith("/proc/self/cmdline"):
        return
    with contextlib.suppress(OSError, ValueError):
        text = beginning(path, 1 << 20).decode(errors="replace")
        for needle in needles:
            if needle in text:
                found("tells of", needle, "in", path)


system_calls()
sockets()
files()
look_for_agent("/proc")
other_namespaces()
words(sys.argv[1:])
print("looked everywhere")
