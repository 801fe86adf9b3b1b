# SPDX-License-Identifier: BSD-2-Clause
"""Programs that a benchmark starts: one, or a server and its client, which end with the benchmark whatever
becomes of it."""
import contextlib
import os
import signal
import socket
import subprocess
import time

SECONDS = 60  # the longest that one program may take


class Failure(Exception):
    """One measurement could not be made; the text says why."""


class Program:
    """A program that this script started, ended with everything that it started."""

    def __init__(self, argv):
        self.argv = argv
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, start_new_session=True)

    def finish(self):
        try:
            out, _ = self.process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.end()
            raise Failure(f"{' '.join(self.argv)}: no end after {SECONDS} s") from None
        if self.process.returncode != 0:
            raise Failure(f"{' '.join(self.argv)}: exit code {self.process.returncode}\n{out}")
        return out

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def is_listening(port):
    """Without connecting: some servers take one connection only."""
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(path, encoding="ascii") as f:
                for line in f:
                    field = line.split()
                    if field[3] == "0A" and field[1].endswith(f":{port:04X}"):
                        return True
        except FileNotFoundError:
            pass
    return False


@contextlib.contextmanager
def running_pair(server_argv, client_argv, port):
    """A server and its client, started; both end with the block."""
    server, client = Program(server_argv), None
    try:
        deadline = time.monotonic() + 10
        while not is_listening(port):
            if server.process.poll() is not None or time.monotonic() > deadline:
                server.end()
                raise Failure(f"{' '.join(server_argv)} does not listen:\n"
                              f"{server.process.stdout.read()}")
            time.sleep(0.02)
        client = Program(client_argv)
        yield server, client
    finally:
        if client:
            client.end()
        server.end()


def pair(server_argv, client_argv, port):
    """Runs a server and its client. Returns the client's output."""
    with running_pair(server_argv, client_argv, port) as (server, client):
        try:
            return client.finish()
        except Failure as e:
            server.end()
            raise Failure(f"{e}\nserver:\n{server.process.stdout.read()}") from None
