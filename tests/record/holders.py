"""What the tests of locks share: hand-written holders, and processes that hold one."""

import signal
import subprocess
import sys

from dataflex_rl.record.lockfile import host_id


def holder(**changes):
    processes = [{"pid": 2**22 - 1, "start": 1}]
    return {"host": "h", "host_id": host_id(), "since": "noon", "token": "t", "processes": processes} | changes


def start(script, folder):
    command = [sys.executable, "-c", script, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def end(child):
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    child.stdin.close()
