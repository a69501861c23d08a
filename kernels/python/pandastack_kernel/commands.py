"""Shell commands of a cell: `!cmd`, `%pip`, `os.system`. Their output goes to the descriptors of the kernel, live."""

import codecs
import importlib
import io
import os
import shlex
import signal
import site
import subprocess
import sys

# Between the signals that end an interrupted command.
_GRACE_SECONDS = (1.0, 0.5)


def run(command: str) -> int:
    """Runs a shell command to its end. Returns the exit code, or minus the signal that ended it.

    An interrupt ends the command with its whole process group. Output follows a redirected sys.stdout.
    """
    if sys.stdout is not sys.__stdout__:
        return _run_into(sys.stdout, command)
    return _run(command, None, lambda process: None)


def output(command: str) -> str:
    """Runs a shell command to its end. Returns what it wrote to both of its output streams."""
    text = io.StringIO()
    _run_into(text, command)
    return text.getvalue()


def _run_into(target, command: str) -> int:
    return _run(command, subprocess.PIPE, lambda process: _copy(process.stdout, target))


def _run(command: str, pipe: int | None, follow) -> int:
    process = subprocess.Popen(
        command,
        shell=True,
        executable=_shell(),
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe and subprocess.STDOUT,
        process_group=0,
    )
    try:
        follow(process)
        return process.wait()
    except BaseException:
        _end(process)
        raise
    finally:
        _notice_new_packages()


def _shell() -> str:
    return "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"


def _copy(source, target) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while data := source.read1(1 << 16):
        target.write(decoder.decode(data))
    target.write(decoder.decode(b"", final=True))


def _end(process: subprocess.Popen) -> None:
    for number, seconds in zip((signal.SIGINT, signal.SIGTERM), _GRACE_SECONDS, strict=True):
        _signal_group(process, number)
        try:
            process.wait(seconds)
            break
        except subprocess.TimeoutExpired:
            continue
        except BaseException:
            break
    _signal_group(process, signal.SIGKILL)


def _signal_group(process: subprocess.Popen, number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        process.poll()


def _notice_new_packages() -> None:
    """Makes what the command may have installed importable at once."""
    importlib.invalidate_caches()
    user_site = site.getusersitepackages() if site.ENABLE_USER_SITE else None
    if user_site and user_site not in sys.path and os.path.isdir(user_site):
        site.addsitedir(user_site)


def system(command) -> int:
    """os.system of a kernel. The original ignores SIGINT until the command has ended."""
    code = run(os.fsdecode(command))
    return -code if code < 0 else code << 8


def install(shell) -> None:
    """Registers `%pip` and replaces os.system."""
    os.system = system

    def pip(line):
        """Run pip of this kernel's Python."""
        shell.user_ns["_exit_code"] = run(f"{shlex.quote(sys.executable)} -m pip {shell.var_expand(line, depth=1)}")

    shell.register_magic_function(pip, "line", "pip")
