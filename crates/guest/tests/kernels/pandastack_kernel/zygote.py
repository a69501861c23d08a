"""A kernel of one page that speaks the kernel protocol, for tests of the agent."""

import ast
import json
import os
import signal
import socket
import struct
import sys
import traceback


def send(control, *messages):
    payloads = [json.dumps(message).encode() for message in messages]
    control.sendall(b"".join(struct.pack("<I", len(payload)) + payload for payload in payloads))


def receive(control):
    def exactly(count):
        data = b""
        while len(data) < count:
            chunk = control.recv(count - len(data))
            if not chunk:
                os._exit(0)
            data += chunk
        return data

    return json.loads(exactly(struct.unpack("<I", exactly(4))[0]))


def evaluate(code, scope):
    tree = ast.parse(code)
    value = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
        exec(compile(tree, "<cell>", "exec"), scope)
        value = eval(compile(last, "<cell>", "eval"), scope)
    else:
        exec(compile(tree, "<cell>", "exec"), scope)
    return value


def run(order, scope):
    cell, messages, status, code = order["id"], [], "ok", 0
    saved = dict(os.environ)
    os.environ.update(order["env"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        value = evaluate(order["code"], scope)
        if value is not None:
            data = value if isinstance(value, dict) and all("/" in str(key) for key in value) else {"text/plain": repr(value)}
            messages.append({"type": "result", "id": cell, "data": data, "is_main": True})
    except BaseException as error:
        status, code = ("interrupted" if isinstance(error, KeyboardInterrupt) else "error"), 1
        text = traceback.format_exc().strip()
        name, value = type(error).__name__, str(error)
        messages.append({"type": "error", "id": cell, "name": name, "value": value, "traceback": [text], "text": text, "line": 1})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(saved)
    sys.stdout.flush()
    sys.stderr.flush()
    return messages, {"type": "done", "id": cell, "status": status, "execution_count": cell, "exit_code": code}


def kernel(control, stdout, stderr, cwd):
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.close(stdout)
    os.close(stderr)
    os.chdir(cwd)
    send(control, {"type": "ready"})
    scope = {"__name__": "__main__", "reseeds": 0, "quiesced": 0}
    while True:
        order = receive(control)
        if order["type"] == "configure":
            os.environ.update(order["env"])
            if order.get("cwd"):
                os.chdir(order["cwd"])
            scope["reseeds"] += order["reseed"]
            send(control, {"type": "configured"})
        elif order["type"] == "quiesce":
            scope["quiesced"] += 1
            send(control, {"type": "quiesced"})
        elif order["type"] == "execute":
            messages, done = run(order, scope)
            send(control, *messages, done)


def main(control):
    kernels = {}

    def reap():
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            send(control, {"type": "exited", "id": kernels.pop(pid, "?"), "pid": pid, "exit_code": code})

    fails = False

    def set_fails(number, _frame):
        nonlocal fails
        fails = number == signal.SIGUSR1

    signal.signal(signal.SIGUSR1, set_fails)
    signal.signal(signal.SIGUSR2, set_fails)
    send(control, {"type": "ready", "python": "3"})
    control.settimeout(0.05)
    while True:
        try:
            data, fds, _, _ = socket.recv_fds(control, 65536, 3)
        except TimeoutError:
            reap()
            continue
        if not data:
            os._exit(0)
        order = json.loads(data[4:])
        if fails:
            for fd in fds:
                os.close(fd)
            send(control, {"type": "fork_failed", "id": order["id"], "message": "no more processes"})
            continue
        pid = os.fork()
        if pid == 0:
            control.close()
            kernel(socket.socket(fileno=fds[0]), fds[1], fds[2], order["cwd"])
        for fd in fds:
            os.close(fd)
        kernels[pid] = order["id"]
        send(control, {"type": "forked", "id": order["id"], "pid": pid})


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[sys.argv.index("--control-fd") + 1])))
