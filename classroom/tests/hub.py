"""A JupyterHub on loopback and the users of a class, as their browsers would talk to it."""

import asyncio
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import uuid
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

import psutil
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

__all__ = ["Hub", "Kernel", "running_hub"]

CLASSROOM = Path(__file__).resolve().parent.parent
PATIENCE_S = 400


def free_ports(count):
    """Ports of loopback that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@contextmanager
def running_hub(folder: Path):
    """Start the class's hub in `folder`; yields a Hub and ends it with all its servers."""
    front, hub_port, proxy_port = free_ports(3)
    url, token = f"http://127.0.0.1:{front}", secrets.token_hex(16)
    env = dict(os.environ, TRIAL_CONFIG=str(CLASSROOM / "jupyterhub_config.py"), TRIAL_URL=url,
               TRIAL_HUB_PORT=str(hub_port), TRIAL_PROXY_PORT=str(proxy_port),
               TRIAL_TOKEN=token, CONFIGPROXY_AUTH_TOKEN=secrets.token_hex(16))  # fmt: skip
    config = str(CLASSROOM / "tests" / "hub_config.py")
    with open(folder / "hub.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen([sys.executable, "-m", "jupyterhub", "-f", config], cwd=folder,
                                   env=env, stdout=log, stderr=subprocess.STDOUT)  # fmt: skip
        try:
            yield Hub(url, token, process, folder / "hub.log")
        finally:
            end(process)


def end(process):
    """End the hub and whatever it started."""
    try:
        started = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return
    process.terminate()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
    for one in started:
        with suppress(psutil.NoSuchProcess):
            one.kill()  # psutil makes sure that it is still the same process


class Hub:
    """The hub's and the servers' addresses, asked with a token that may act for every user."""

    def __init__(self, url, token, process, log):
        self.url, self.token, self.process, self.log = url, token, process, log

    async def ask(self, path, method="GET", body=None, timeout=PATIENCE_S):
        """The reply's body; an error carries the end of the hub's log."""
        data = None if body is None and method == "GET" else json.dumps(body or {})
        request = HTTPRequest(self.url + path, method=method, headers=self.headers(), body=data,
                              request_timeout=timeout, connect_timeout=timeout)  # fmt: skip
        try:
            reply = await AsyncHTTPClient().fetch(request)
        except HTTPClientError as error:
            said = error.response.body[-500:] if error.response else b""
            raise RuntimeError(f"{method} {path}: {error} {said!r}\n{self.tail()}") from error
        return reply.body.decode()

    def headers(self):
        return {"Authorization": f"token {self.token}"}

    def tail(self):
        return self.log.read_text(encoding="utf-8", errors="replace")[-3000:]

    async def ready(self):
        """Wait until the hub answers."""
        limit = time.monotonic() + 90
        while True:
            try:
                return await self.ask("/hub/api/", timeout=5)
            except (RuntimeError, OSError):
                if self.process.poll() is not None or time.monotonic() > limit:
                    raise RuntimeError(f"the hub does not start:\n{self.tail()}") from None
                await asyncio.sleep(0.3)

    async def spawn(self, user):
        """Create a user and start their server; returns when it answers."""
        await self.ask(f"/hub/api/users/{user}", "POST")
        await self.ask(f"/hub/api/users/{user}/server", "POST")
        limit = time.monotonic() + PATIENCE_S
        while not json.loads(await self.ask(f"/hub/api/users/{user}"))["servers"].get("", {}).get(
            "ready"
        ):
            if time.monotonic() > limit:
                raise RuntimeError(f"{user}'s server does not start:\n{self.tail()}")
            await asyncio.sleep(0.3)

    async def pull(self, user, repository, folder):
        """Let nbgitpuller fetch a repository into the user's folder."""
        asked = {"repo": repository, "branch": "main", "targetpath": folder}
        said = await self.ask(f"/user/{user}/git-pull/api?{urlencode(asked)}")
        if '"phase": "finished"' not in said:
            raise RuntimeError(f"git-pull of {user}: {said[-500:]}")

    @asynccontextmanager
    async def kernel(self, user, folder):
        """A kernel of the user's server, running in `folder`."""
        told = await self.ask(f"/user/{user}/api/kernels", "POST", {"path": folder})
        base = f"/user/{user}/api/kernels/{json.loads(told)['id']}"
        address = self.url.replace("http", "ws", 1) + base + "/channels"
        request = HTTPRequest(address, headers=self.headers(), connect_timeout=PATIENCE_S)
        socket_ = await websocket_connect(request, max_message_size=2**28)
        try:
            yield Kernel(socket_)
        finally:
            socket_.close()

    def memory(self):
        """User -> bytes of their server and kernels (proportional share of what is shared)."""
        found = {}
        for process in psutil.Process(self.process.pid).children():
            user = process.environ().get("JUPYTERHUB_USER")
            if user:
                family = [process, *process.children(recursive=True)]
                found[user] = sum(size(one) for one in family)
        return found


def size(process):
    try:
        told = process.memory_full_info()
    except psutil.NoSuchProcess:
        return 0
    return getattr(told, "pss", told.rss)


class Kernel:
    """Runs cells over the websocket, as JupyterLab does."""

    def __init__(self, socket_):
        self.socket = socket_

    async def run(self, code):
        """Run one cell; the plain text of its results. RuntimeError when it fails."""
        ident = uuid.uuid4().hex
        header = {"msg_id": ident, "msg_type": "execute_request", "username": "", "session": ident,
                  "version": "5.3", "date": ""}  # fmt: skip
        content = {"code": code, "silent": False, "store_history": False, "user_expressions": {},
                   "allow_stdin": False, "stop_on_error": True}  # fmt: skip
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content,
                   "channel": "shell", "buffers": []}  # fmt: skip
        await self.socket.write_message(json.dumps(message))
        return await asyncio.wait_for(self.result(ident), PATIENCE_S)

    async def result(self, ident):
        """Collect what one request gives until its kernel is idle again."""
        texts, replied, idle = [], False, False
        while not (replied and idle):
            raw = await self.socket.read_message()
            if raw is None:
                raise RuntimeError("the kernel's connection was closed")
            if isinstance(raw, bytes):
                continue  # a picture's buffers, of no interest here
            message = json.loads(raw)
            if message["parent_header"].get("msg_id") != ident:
                continue
            kind, content = message["msg_type"], message["content"]
            replied |= kind == "execute_reply"
            idle |= kind == "status" and content["execution_state"] == "idle"
            if kind == "error":
                raise RuntimeError("\n".join(content["traceback"]))
            if kind in ("execute_result", "display_data"):
                texts.append(content["data"].get("text/plain", ""))
            elif kind == "stream":
                texts.append(content["text"])
        return "\n".join(texts)
