"""A contender that compiles once and then runs a round whenever it is asked (benchmarks/peers/torch_ddp.py --resident)."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time

GRACE_S = 10  # between the request to end and the kill


class NoAnswer(Exception):
    """It ended, or its time was up; args[0] is "failed" or "timeout"."""


def end_group(process):
    """Ends a process and all that is left of its group; members may outlive the leader."""
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)


class Resident:
    """Owns the process, its group and its pipes; to be used as a context."""

    def __init__(self, line, folder, environment):
        self.errors = open(folder / "stderr.txt", "wb")
        self.log = open(folder / "stdout.txt", "wb")
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        env=os.environ | environment, process_group=0)
        self.pending = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        end_group(self.process)
        self.process.stdout.close()
        self.errors.close()
        self.log.close()

    def ready(self, timeout_s):
        """Waits until it has compiled and is warm."""
        self._answer(timeout_s)

    def round(self, timeout_s):
        """One round's result."""
        try:
            self.process.stdin.write(b"round\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise NoAnswer("failed") from None
        return self._answer(timeout_s)

    def _answer(self, timeout_s):
        """The next line that is a JSON object: libraries write to stdout as they like."""
        end = time.monotonic() + timeout_s
        while True:
            line = self._line(end)
            self.log.write(line)
            with contextlib.suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict):
                    return found

    def _line(self, end):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.pending:
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise NoAnswer("timeout")
                received = os.read(self.process.stdout.fileno(), 65536)
                if not received:
                    raise NoAnswer("failed")
                self.pending += received
        line, _, self.pending = self.pending.partition(b"\n")
        return line + b"\n"
