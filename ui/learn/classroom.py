"""Classes that guess together: codes, who guessed what, and coins that everyone tosses."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core.mechanisms.randomised_response import CTB
from bandit_core.paths import cache_folder
from ui import charts, stylesheet, theme
from ui.learn import pictures
from ui.learn.measured import Number, spread

# ---------------------------------------------------------------------------------------------------------------------
# Classes that guess together: codes, the step that the teacher is at, and who guessed what.
#
# All processes of a server share one file in the cache folder. A class knows its phones by random tokens only, and its
# teacher by a key, of which a hash is kept. Four hours after the last action of a class all of it is deleted, and the
# file keeps no trace of what was deleted. ``LAB_CLASSROOM=0`` switches classes off.


LIFETIME = 4 * 3600.0  # seconds after the last action
MAX_CLASSES = 100  # of the server at once
UNUSED = 600.0  # seconds without a guess after which a class makes room, where the server is full
MAX_GUESSES = 300  # of a class at one step, one for each phone
MAX_A_SECOND = 400  # guesses of a class: all of its phones at once, far less than a machine can
LETTERS, LENGTH = "ABCDEFGHJKMNPQRSTUVWXYZ23456789", 6  # no signs that look alike; 9 * 10^8 codes
WRITER_SECONDS = 5.0  # to wait for another process that is writing

_SCHEMA = """
PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=OFF; PRAGMA secure_delete=ON;
CREATE TABLE IF NOT EXISTS classes (code TEXT PRIMARY KEY, teacher TEXT NOT NULL, step TEXT NOT NULL,
    changed REAL NOT NULL, second INTEGER NOT NULL DEFAULT 0, in_second INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS revealed (code TEXT, step TEXT, PRIMARY KEY (code, step));
CREATE TABLE IF NOT EXISTS guesses (code TEXT, step TEXT, phone TEXT, value REAL NOT NULL,
    PRIMARY KEY (code, step, phone));
CREATE TRIGGER IF NOT EXISTS closed AFTER DELETE ON classes BEGIN
    DELETE FROM guesses WHERE code = old.code; DELETE FROM revealed WHERE code = old.code; END;
"""


class Refused(Exception):
    """What a class does not take, in words."""


def offered() -> bool:
    """Whether this host lets teachers open classes; what ``LAB_CLASSROOM`` says other than 1 means no."""
    return os.environ.get("LAB_CLASSROOM", "").strip() in ("", "1")


@dataclass(frozen=True)
class Moment:
    """Where a class is now: the teacher's step, whether its answer is out, and how many have guessed there."""

    step: str
    revealed: bool
    guesses: int


class Classroom:
    """All classes of a server; any thread and process may ask. ``clock`` tells seconds that all of them agree on.

    ``folder`` is where the file lies; where it cannot be written, classes live in the memory of this process.
    """

    def __init__(self, folder: Callable[[], Path] | None = None, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._clock, self._lock = folder, clock, threading.RLock()
        self._opened: sqlite3.Connection | None = None  # by who is asking now
        self._memory: sqlite3.Connection | None = None  # where no file can be written

    def __len__(self) -> int:
        """How many classes there are."""
        return sum(count for (count,) in self._rows("SELECT COUNT(*) FROM classes"))

    def open(self, step: str) -> tuple[str, str]:
        """Open a class at a step: its code, and the key of its teacher.

        Raises
        ------
        Refused
            Where the server is full.
        """
        key = secrets.token_urlsafe(12)
        with self._writing() as database:
            if len(self) >= MAX_CLASSES:
                _make_room(database, self._clock() - UNUSED)
            if len(self) >= MAX_CLASSES:
                raise Refused("This server has as many classes as it takes. Try again later.")
            code = ""
            while not code or self.now(code):
                code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
            database.execute(
                "INSERT INTO classes (code, teacher, step, changed) VALUES (?, ?, ?, ?)",
                (code, _hash(key), step, self._clock()),
            )
        return code, key

    def now(self, code: str) -> Moment | None:
        """Where a class is; None where there is no such class (any more)."""
        rows = self._rows(
            "SELECT step, EXISTS (SELECT 1 FROM revealed r WHERE r.code = c.code AND r.step = c.step),"
            " (SELECT COUNT(*) FROM guesses g WHERE g.code = c.code AND g.step = c.step)"
            " FROM classes c WHERE code = ? AND changed > ?",
            code,
            self._clock() - LIFETIME,
        )
        return Moment(rows[0][0], bool(rows[0][1]), rows[0][2]) if rows else None

    def is_teacher(self, code: str, key: str) -> bool:
        """Whether the key is that of the class's teacher."""
        rows = self._rows("SELECT teacher FROM classes WHERE code = ?", code)
        return bool(rows) and secrets.compare_digest(rows[0][0], _hash(key))

    def guess(self, code: str, phone: str, step: str, value: float) -> None:
        """Take the guess of a phone at a step, in the place of an earlier one.

        Raises
        ------
        Refused
            Where the class is gone, elsewhere or full, the answer is out, or guesses come in too fast.
        """
        with self._writing() as database:
            moment = self.now(code)
            if moment is None:
                raise Refused("This class is closed. Your guess was not counted.")
            if moment.step != step:
                raise Refused("The class has moved on. Your guess was not counted.")
            if moment.revealed:
                raise Refused("The answer was out before. Your guess was not counted.")
            if moment.guesses >= MAX_GUESSES and self.guess_of(code, phone, step) is None:
                raise Refused(f"This class is full: it takes {MAX_GUESSES} guesses. Yours was not counted.")
            second = int(self._clock())
            before, count = database.execute("SELECT second, in_second FROM classes WHERE code = ?", (code,)).fetchone()
            count = count + 1 if before == second else 1
            if count > MAX_A_SECOND:
                raise Refused("Too many guesses came at once. Yours was not counted; send it again.")
            database.execute(
                "UPDATE classes SET second = ?, in_second = ?, changed = ? WHERE code = ?",
                (second, count, self._clock(), code),
            )
            database.execute("INSERT OR REPLACE INTO guesses VALUES (?, ?, ?, ?)", (code, step, phone, value))

    def guess_of(self, code: str, phone: str, step: str) -> float | None:
        """What this phone guessed, if it did."""
        asked = "SELECT value FROM guesses WHERE code = ? AND step = ? AND phone = ?"
        return next((value for (value,) in self._rows(asked, code, step, phone)), None)

    def guesses(self, code: str, step: str) -> tuple[float, ...]:
        """What was guessed at a step, sorted: nothing tells whose guess is whose or who came first."""
        asked = "SELECT value FROM guesses WHERE code = ? AND step = ? ORDER BY value"
        return tuple(value for (value,) in self._rows(asked, code, step))

    def bits(self, code: str, step: str) -> tuple[float, ...]:
        """The same in the order of the phones' random tokens: a bit that comes later may stand anywhere."""
        asked = "SELECT value FROM guesses WHERE code = ? AND step = ? ORDER BY phone"
        return tuple(value for (value,) in self._rows(asked, code, step))

    def go(self, code: str, key: str, step: str) -> None:
        """Lead the class to a step. Of others than the teacher, nothing."""
        self._change(code, key, ("UPDATE classes SET step = ? WHERE code = ?", (step, code)))

    def reveal(self, code: str, key: str, step: str) -> None:
        """Show the answer of a step; from now on its guesses stay as they are. Of others than the teacher, nothing."""
        self._change(code, key, ("INSERT OR IGNORE INTO revealed VALUES (?, ?)", (code, step)))

    def again(self, code: str, key: str, step: str) -> None:
        """Forget the guesses of a step and ask once more. Of others than the teacher, nothing."""
        where = "WHERE code = ? AND step = ?"
        self._change(code, key, *((f"DELETE FROM {table} {where}", (code, step)) for table in ("guesses", "revealed")))

    def close(self, code: str, key: str) -> None:
        """Delete a class. Of others than its teacher, nothing."""
        self._change(code, key, ("DELETE FROM classes WHERE code = ?", (code,)))

    def forget(self) -> None:
        """Delete the classes whose time is over."""
        with contextlib.suppress(Refused), self._writing():
            pass  # every change begins so

    def _change(self, code: str, key: str, *orders: tuple[str, tuple[str, ...]]) -> None:
        with contextlib.suppress(Refused), self._writing() as database:
            if not self.is_teacher(code, key):
                return
            for order, values in orders:
                database.execute(order, values)
            database.execute("UPDATE classes SET changed = ? WHERE code = ?", (self._clock(), code))

    def _rows(self, asked: str, *values: str | float) -> list[Any]:
        """What the file says; nothing where it cannot be read."""
        try:
            with self._open() as database:
                return database.execute(asked, values).fetchall()
        except sqlite3.Error:
            return []

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All changes or none, after the classes whose time is over have gone."""
        try:
            with self._open() as database:
                database.execute("BEGIN IMMEDIATE")
                with database:  # commits, or rolls back
                    database.execute("DELETE FROM classes WHERE changed <= ?", (self._clock() - LIFETIME,))
                    yield database
        except sqlite3.Error as error:
            raise Refused("This server is busy. Try again.") from error

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The file, opened anew as someone may have removed it; the connection that is open, for who is writing."""
        with self._lock:
            if self._opened is not None:
                yield self._opened
                return
            self._opened = database = self._connect()
            try:
                yield database
            finally:
                self._opened = None
                if database is not self._memory:
                    database.close()

    def _connect(self) -> sqlite3.Connection:
        if self._memory is not None:
            return self._memory
        for _ in range(2):
            path = None
            try:
                path = self._place()
                return _opened(path)
            except (sqlite3.Error, OSError) as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    raise
                if path is not None:  # a damaged file holds nothing that a class could still use
                    with contextlib.suppress(OSError):
                        path.unlink(missing_ok=True)
        self._memory = _opened(Path(":memory:"))
        weakref.finalize(self, self._memory.close)  # one left to the collector is a warning
        return self._memory

    def _place(self) -> Path:
        folder = self._folder() if self._folder is not None else None
        if folder is None:
            raise OSError("no folder")
        folder.mkdir(parents=True, exist_ok=True)
        return folder / "classes.sqlite"


def _opened(path: Path) -> sqlite3.Connection:
    if path.name != ":memory:":
        path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=WRITER_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        connection.executescript(_SCHEMA)
    except sqlite3.Error:  # a damaged file
        connection.close()
        raise
    return connection


def _hash(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def _make_room(database: sqlite3.Connection, before: float) -> None:
    """Close the oldest class in which no one has guessed for long: one person can open many, and not fill them."""
    database.execute(
        "DELETE FROM classes WHERE code = (SELECT code FROM classes c WHERE changed <= ?"
        " AND NOT EXISTS (SELECT 1 FROM guesses g WHERE g.code = c.code) ORDER BY changed LIMIT 1)",
        (before,),
    )


CLASSES = Classroom(cache_folder)


# ---------------------------------------------------------------------------------------------------------------------
# Toss your own coin: each phone sends one bit behind two coins, and the class sees the share of yes.


EPSILON = math.log(3)  # of two coins: the truth unless both show heads
SCRIPT = stylesheet.asset("coins.js")
SHARE, REPEATS, MOST = 0.6, 1000, 1000.0
POINTS = 60  # of a curve, at most
ESTIMATE = "estimate (shaded: ± 2 standard errors)"


@dataclass(frozen=True)
class Bits:
    """What the phones of a class sent, in random order; the true share of yes where it is known."""

    bits: tuple[float, ...]
    truth: float | None = None
    typical: Number | None = None  # error of the estimate over repeats, in points

    def message(self) -> str:
        """The estimate in words, beside the truth where it is known."""
        yes = int(sum(self.bits))
        bits = f"{yes} of {len(self.bits)} bits say yes. So about **{self.share}%** of the class mean yes."
        if self.truth is None:
            return bits
        return f"{bits} In truth {self.truth:.0f}% do."

    @property
    def share(self) -> Number:
        """The estimated share of yes in percent."""
        return Number(float(self.estimates()[-1]), float(error(len(self.bits))))

    def estimates(self) -> np.ndarray:
        """The estimated share of yes after each bit, in percent."""
        means = np.cumsum(self.bits) / np.arange(1, len(self.bits) + 1)
        return 100 * CTB.estimate(means, EPSILON)

    def numbers(self, at: float) -> dict[str, Number | str | None]:
        """The message, the share, how much it is above one half, and the typical error."""
        lead = Number(self.share.value - 50, self.share.error)
        return {"message": self.message(), "share": self.share, "lead": lead, "typical": self.typical}

    def draw(self, at: float, dark: bool, height: int) -> go.Figure:
        """The estimate after each bit, two standard errors around it, and the truth where it is known."""
        most = len(self.bits)
        phones = np.unique(np.geomspace(1, most, min(most, POINTS)).round().astype(int))
        values = self.estimates()[phones - 1]
        room, shade = 2 * error(phones), pictures.colour(pictures.PRIVATE, dark)
        band = {"low": values - room, "high": values + room}
        curves = [charts.Curve(phones, values, ESTIMATE, shade, "%{y:.0f}%", **band)]
        if self.truth is not None:
            truth, ink = [self.truth] * 2, theme.ink(dark)
            curves.append(charts.Curve([1, MOST], truth, "truth", ink, "%{y:.0f}%", "dash", width=2))
        across = {"title": "phones that sent a bit", "type": "log", "dtick": 1, "range": [0, 3]}
        up = {"title": "estimated share of yes (%)", "tickvals": [0, 25, 50, 75, 100], "range": [-50, 150]}
        return pictures.draw(curves, across, up, dark, height)


def error(phones: int | np.ndarray) -> np.ndarray:
    """Standard error of the estimate, in points: what the coins alone do, so it is the same for all true answers."""
    return 100 * np.sqrt(CTB.variance(1.0, EPSILON) / phones) / math.tanh(EPSILON / 2)


def sample(at: float, seed: int) -> Bits:
    """The bits of a class of which 60% mean yes."""
    rng = np.random.default_rng([seed, 14])
    truth = np.zeros(int(at))
    truth[: round(SHARE * at)] = 1
    sent = CTB.release(np.tile(truth, (REPEATS, 1)), EPSILON, rng)
    typical = spread(100 * CTB.estimate(sent.mean(axis=1), EPSILON), 100 * truth.mean())
    return Bits(tuple(rng.permutation(sent[0]).tolist()), 100 * float(truth.mean()), typical)


def own_coins(question: str) -> None:
    """The same coins for one person alone; the browser tosses them, and nothing is sent."""
    page = stylesheet.filled("own-coins.html", question=question, script=SCRIPT)
    st.html(page.rstrip(), unsafe_allow_javascript=True)
