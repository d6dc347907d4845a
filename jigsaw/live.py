"""A page that shows a run as it goes: the best assembly, how fitness develops, how long it will take.

It is served to this machine alone, on a port that the system chooses, and what it shows goes to browsers as
server-sent events. The solver only leaves numbers and a copy of its best layout here. All that costs time is
done in the threads of the server, while a browser is looking, a few times a second; the browser draws.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import logging
import math
import socketserver
import threading
import time
from collections.abc import Generator, Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from types import TracebackType
from typing import Any

import numpy as np
from PIL import Image

from jigsaw.drawing import draw_bag
from jigsaw.errors import JigsawError
from jigsaw.geometry import moved_onto
from jigsaw.pieces import Bag
from jigsaw.presets import Settings
from jigsaw.solution import Solution

log = logging.getLogger(__name__)

_PAGE = files("jigsaw").joinpath("templates", "live.html")
_HOST = "127.0.0.1"
_INTERVAL = 0.1  # seconds between two events, at least,
_SILENCE = 10.0  # and at most: a browser that has gone is noticed only when it is told something
_GOODBYE = 2.0  # seconds that browsers have to hear of the end
_POLL = 0.1  # seconds between two looks whether the server is to end
_POINTS = 1000  # of the history that a browser is told when it comes late
_SIDE = 2048  # pixels of the picture that holds all pieces, at most
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; img-src 'self' data:; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Page:
    """What is known of a run, and the server that tells it; a context manager."""

    def __init__(self, settings: Settings) -> None:
        self._changed = threading.Condition()
        self._version = 0
        self._open = True
        self._browsers = 0
        self._bag: Bag | None = None
        self._searches = settings.members > 0
        self._settings = settings
        self._facts: dict[str, Any] = {"stage": "cut", "generations": settings.generations, "seconds": 0.0}
        self._history: list[tuple[int, float, float]] = []
        self._steps: list[tuple[str, float, float]] = []
        self._layout: np.ndarray | None = None
        self._encoding = threading.Lock()
        self._shown: tuple[np.ndarray, np.ndarray] | None = None  # the layout told last, as taken and as told
        self._begin = time.monotonic()
        self._server = _Server(self)

    @property
    def address(self) -> str:
        """Where browsers on this machine find the page."""
        return f"http://{_HOST}:{self._server.server_port}/"

    def __enter__(self) -> Page:
        threading.Thread(target=self._server.serve_forever, args=(_POLL,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._open = False
            self._changed.notify_all()
            if kind is None:
                self._changed.wait_for(lambda: self._browsers == 0, _GOODBYE)
        self._server.shutdown()
        self._server.server_close()

    def pieces(self, bag: Bag) -> None:
        """Take the pieces, which are compared now."""
        self._bag = bag
        self._tell(
            None, stage="compare", pieces=len(bag), budget=self._settings.seconds(len(bag)) * self._searches
        )

    def generation(
        self, number: int, fitness: np.ndarray, layout: np.ndarray, speed: float | None, left: float | None
    ) -> None:
        """Take the best of a generation, how many there are in a second, and how many seconds are left."""
        self._history.append((number, float(fitness[0]), float(fitness[1])))
        self._tell(layout.copy(), stage="generations", generation=number, speed=speed, left=left)
        if number == self._facts["generations"] and self._searches:
            self._tell(self._layout, stage="search", searching=self._seconds())

    def step(self, name: str, gain: float, layout: np.ndarray) -> None:
        """Take the best of a step of the search."""
        self._steps.append((name, gain, self._seconds()))
        self._tell(layout, stage="search", searching=self._facts.get("searching", self._seconds()))

    def done(self, solution: Solution) -> None:
        """Take the end of it."""
        images = len(np.unique(solution.image))
        self._tell(solution.layout, stage="done", fitness=solution.fitness, images=images)

    def _tell(self, layout: np.ndarray | None, **facts: Any) -> None:
        with self._changed:
            self._facts.update(facts, seconds=self._seconds())
            self._layout = layout
            self._version += 1
            self._changed.notify_all()

    def _seconds(self) -> float:
        return time.monotonic() - self._begin

    def events(self) -> Generator[bytes]:
        """Yield what a browser is told, all of it at first and then what is new, until the run has ended."""
        seen, points, steps = -1, 0, 0
        with self._changed:
            self._browsers += 1
        try:
            while self._wait(seen):
                with self._changed:
                    seen, layout, facts = self._version, self._layout, self._facts.copy()
                    history, further = self._history[points:], self._steps[steps:]
                points, steps = points + len(history), steps + len(further)
                facts |= {"history": _some(history), "steps": further, "layout": self._encoded(layout)}
                yield b"data: " + json.dumps(facts).encode() + b"\n\n"
                time.sleep(_INTERVAL)
        finally:
            with self._changed:
                self._browsers -= 1
                self._changed.notify_all()

    def _wait(self, seen: int) -> bool:
        """Wait for something new, but not for ever; return whether there is anything to tell, or may be."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != seen or not self._open, _SILENCE)
            return self._version != seen or self._open

    def _encoded(self, layout: np.ndarray | None) -> str | None:
        """Return a layout, moved as a whole to where the one before lay, so that the picture keeps still."""
        if layout is None:
            return None
        with self._encoding:
            if self._shown is None:
                self._shown = layout, layout
            elif self._shown[0] is not layout:
                self._shown = layout, moved_onto(layout, self._shown[1])
            return base64.b64encode(self._shown[1].astype("<i4").tobytes()).decode()

    def atlas(self) -> bytes | None:
        """Return a picture of all pieces in a square, made smaller if they are many; none before the cut."""
        if self._bag is None:
            return None
        stream = io.BytesIO()
        Image.fromarray(draw_bag(self._bag, longest=_SIDE)).save(stream, "PNG", compress_level=1)
        return stream.getvalue()


def _some(points: list[Any]) -> list[Any]:
    """Return no more points than can be seen, the last among them."""
    step = math.ceil(len(points) / _POINTS)
    return points[::-step][::-1] if step > 1 else points


class _Server(ThreadingHTTPServer):
    def __init__(self, page: Page) -> None:
        self.page = page
        try:
            super().__init__((_HOST, 0), _Handler)
        except OSError as error:
            raise JigsawError(f"the live page cannot be served ({error.strerror}); leave it out") from error

    def server_bind(self) -> None:
        """Bind without asking for the name of the host, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer a browser."""
        with contextlib.suppress(ConnectionError):  # it has gone
            self._answer()

    def _answer(self) -> None:
        names = [f"{host}:{self.server.server_port}" for host in (_HOST, "localhost")]
        if self.headers.get("Host") not in names:  # a foreign page, whose name was made to point here
            self.send_error(HTTPStatus.FORBIDDEN)
        elif self.path == "/":
            self._send("text/html; charset=utf-8", [_PAGE.read_bytes()])
        elif self.path == "/pieces.png" and (picture := self.server.page.atlas()) is not None:
            self._send("image/png", [picture])
        elif self.path == "/events":
            with contextlib.closing(self.server.page.events()) as events:
                self._send("text/event-stream", events)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _send(self, kind: str, parts: Iterable[bytes]) -> None:
        self.send_response(HTTPStatus.OK)
        for name, value in {"Content-Type": kind, **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        for part in parts:
            self.wfile.write(part)

    def log_message(self, format: str, *values: Any) -> None:
        """Say what was asked for, to those who want to know."""
        log.debug("live page: " + format, *values)
