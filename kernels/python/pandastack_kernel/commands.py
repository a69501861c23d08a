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
import tempfile

# Between the signals that end an interrupted command.
_GRACE_SECONDS = (1.0, 0.5)


def run(command: str, stdin=subprocess.DEVNULL) -> int:
    """Runs a shell command to its end. Returns the exit code, or minus the signal that ended it.

    An interrupt ends the command with its whole process group. Output follows a redirected sys.stdout.
    """
    return _run(command, stdin, None if sys.stdout is sys.__stdout__ else sys.stdout)


def run_script(interpreter: str, script: str) -> None:
    """Runs a script from the standard input of an interpreter. Raises CalledProcessError if it fails."""
    with tempfile.TemporaryFile() as file:
        file.write(script.encode("utf-8", "surrogateescape"))
        file.seek(0)
        code = run(interpreter, stdin=file)
    if code != 0:
        raise subprocess.CalledProcessError(code, interpreter)


def output(command: str) -> str:
    """Runs a shell command to its end. Returns what it wrote to both of its output streams."""
    text = io.StringIO()
    _run(command, subprocess.DEVNULL, text)
    return text.getvalue()


def _run(command: str, stdin, target=None) -> int:
    pipe = None if target is None else subprocess.PIPE
    process = subprocess.Popen(
        command,
        shell=True,
        executable=_shell(),
        stdin=stdin,
        stdout=pipe,
        stderr=pipe and subprocess.STDOUT,
        process_group=0,
    )
    try:
        if target is not None:
            _copy(process.stdout, target)
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
    """Registers `%pip`, `%%bash` and `%%sh`, and replaces os.system."""
    os.system = system

    def pip(line):
        """Run pip of this kernel's Python."""
        shell.user_ns["_exit_code"] = run(f"{shlex.quote(sys.executable)} -P -m pip {shell.var_expand(line, depth=1)}")

    shell.register_magic_function(pip, "line", "pip")
    for interpreter in ("bash", "sh"):
        shell.register_magic_function(_script_magic(shell, interpreter), "cell", interpreter)


def _script_magic(shell, interpreter: str):
    def script(line, cell):
        """Run the cell with a shell; options as for %%script."""
        if line.strip():
            shell.run_cell_magic("script", f"{interpreter} {line}", cell)
        else:
            run_script(interpreter, cell)

    return script
