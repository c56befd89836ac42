"""A stand-in for the W&B service: it keeps the history lines that a client streams, and tells a resumed run of them."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Service:
    """What the service was told: `history` holds the lines of the run's history, `runs` what each start said of it."""

    def __init__(self) -> None:
        self.history: list[dict[str, Any]] = []
        self.runs: list[dict[str, Any]] = []
        self.url = ""

    def answer(self, path: str, body: bytes) -> dict[str, Any]:
        """Return the answer to a request, as JSON."""
        if path.endswith("/file_stream"):
            self._stream(json.loads(body).get("files") or {})
        if not path.endswith("/graphql"):
            return {}
        query = json.loads(body)
        variables = query.get("variables") or {}
        if query.get("operationName") == "RunResumeStatus":
            return {"data": {"model": self._model() if self.runs else None}}
        if query.get("operationName") == "UpsertBucket":
            self.runs.append({key: value for key, value in variables.items() if value is not None})
            return {"data": {"upsertBucket": {"bucket": self._bucket(), "inserted": len(self.runs) == 1}}}
        if query.get("operationName") == "CreateRunFiles":
            files = [{"name": name, "uploadUrl": f"{self.url}/upload/{name}"} for name in variables["files"]]
            return {"data": {"createRunFiles": {"runID": "r", "uploadHeaders": [], "files": files}}}
        return {"data": {}}

    def _stream(self, files: dict[str, Any]) -> None:
        part = files.get("wandb-history.jsonl")
        if part:
            assert part["offset"] == len(self.history), "the client continues after the last line that the service has"
            self.history += [json.loads(line) for line in part["content"]]

    def _bucket(self) -> dict[str, Any]:
        project = {"id": "p", "name": "p", "entity": {"id": "e", "name": "e"}}
        return {"id": "r", "name": self.runs[0]["name"], "displayName": "n", "config": "{}", "project": project}

    def _model(self) -> dict[str, Any]:
        tail = json.dumps([json.dumps(line) for line in self.history[-1:]])
        lines = {"logLineCount": 0, "historyLineCount": len(self.history), "eventsLineCount": 0}
        tails = {"summaryMetrics": "{}", "historyTail": tail, "eventsTail": "[]", "wandbConfig": '{"t": 1}', "tags": []}
        return {
            "id": "m",
            "name": "p",
            "entity": {"id": "e", "name": "e"},
            "bucket": {**self._bucket(), **lines, **tails},
        }


@contextmanager
def service() -> Iterator[Service]:
    """Serve a stand-in on a free port of this machine."""
    found = Service()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            text = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
            content = json.dumps(found.answer(self.path, text)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = _answer

        def log_message(self, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
