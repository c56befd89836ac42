"""Stands in for the Python interpreter: `standin.py SOCKET PYTHON ARGUMENTS...`, run with -S -E.

It asks the worker server for a fork that runs ARGUMENTS, with this process's environment, working folder and standard
files, and stays as the process that its own parent knows: it passes on signals and ends as the fork ends. Without a
server, and for any other program than those a fork serves, it becomes PYTHON itself.
"""

import ctypes
import json
import os
import signal
import socket
import sys

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
PR_SET_PDEATHSIG = 1  # linux/prctl.h
UNSIGNED = 4  # [bytes] of a message's length


def main() -> None:
    """Ask for a fork and follow it, or become the interpreter."""
    path, python, *arguments = sys.argv[1:]
    if _is_dashboard_agent(arguments):
        _wait_for_parent()
    request = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd(), "umask": _umask()}
    connection = _ask(path, request) if _is_program(arguments) else None
    if connection is None:
        os.execv(python, [python, *arguments])
    _follow(*connection)


def _is_program(arguments: list[str]) -> bool:
    """Return whether these are what a fork serves: one of our modules, or a worker of Ray.

    Ray's agents look at their parent process, and need nothing that the server has imported.
    """
    if arguments[:1] == ["-m"]:
        return len(arguments) > 1 and arguments[1].startswith("dataflex_rl.")
    return bool(arguments) and os.path.basename(arguments[0]) in ("setup_worker.py", "default_worker.py")


def _is_dashboard_agent(arguments: list[str]) -> bool:
    """Return whether this is the agent of a dashboard, which a private instance does not have."""
    return any(item.endswith(os.path.join("dashboard", "agent.py")) for item in arguments[:2])


def _wait_for_parent() -> None:
    """Do nothing until the parent, which holds the other end of our standard input, is gone."""
    while os.read(0, 1024):
        continue
    os._exit(0)


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value


def _ask(path: str, request: dict[str, object]) -> tuple[socket.socket, int, int] | None:
    """Return (connection, pid of the fork, write end of the pipe that ends with this process); None: start cold."""
    read_end, write_end = os.pipe()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
        message = json.dumps(request).encode()
        socket.send_fds(connection, [len(message).to_bytes(UNSIGNED, "big")], [0, 1, 2, read_end])
        connection.sendall(message)
        answer = receive(connection)
    except (OSError, ValueError):
        answer = None
    os.close(read_end)
    if answer is None or "pid" not in answer:
        connection.close()
        os.close(write_end)
        return None
    return connection, int(answer["pid"]), write_end


def receive(connection: socket.socket) -> dict[str, int] | None:
    """Return the next message, one JSON line of at most 4 KiB; None at the end."""
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            return None
        line += byte
    answer: dict[str, int] = json.loads(line)
    return answer


def _end_with_parent() -> None:
    """Have the system end this process, and with it the fork, when its parent ends: a raylet, or a run's command."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _follow(connection: socket.socket, pid: int, lifeline: int) -> None:
    """Pass signals on to the fork until it has ended, then end as it did.

    `lifeline` stays open as long as this process lives: its end is how the fork learns of ours.
    """
    _end_with_parent()
    for number in PASSED_ON:
        signal.signal(number, lambda received, frame: _send(pid, received))
    message = _message(connection) or {}  # a fork says its exit code itself, so it needs no server at its end
    if "signal" in message:
        cause = message["signal"]
        if cause != signal.SIGKILL:
            signal.signal(cause, signal.SIG_DFL)
        os.kill(os.getpid(), cause)
    os._exit(message.get("exit", 1))


def _message(connection: socket.socket) -> dict[str, int] | None:
    try:
        return receive(connection)
    except OSError:
        return None


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    main()
