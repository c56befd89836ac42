"""Files of a run record: written whole or not at all, read strictly, errors that name the file."""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from dataflex_rl.errors import ConfigError


class RecordError(RuntimeError):
    """A file of a run record cannot be read or written, or does not hold what it must. One line, naming the file."""

    @classmethod
    def of(cls, action: str, path: Path, error: OSError) -> RecordError:
        """Build the error from a failed system call: `cannot write /a/b: No space left on device (ENOSPC)`."""
        name = errno.errorcode.get(error.errno or 0, type(error).__name__)
        return cls(f"run record: cannot {action} {path}: {error.strerror or error} ({name})")


class UnreadableError(RecordError):
    """The system refused to read (a stale handle, no permission, ...): nothing is known of what is there.

    A file that is missing is None where it may be, and one that was read and does not hold what it must is a plain
    RecordError. Nobody may delete, cut or overwrite anything on the strength of this error.
    """


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file in one step: a reader or a kill sees the old file or the new one, never a part.

    Raises:
        RecordError: the disk is full, the folder missing or not writable; the old file is left as it was.
        ValueError: NaN or infinity in the value (JSON has none).
    """
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace a text file in one step, on the disk when this returns. Errors as write_json."""
    write_with(path, lambda file: file.write(text.encode("utf-8", "surrogatepass")))


Guard = Callable[[], AbstractContextManager[None]]
_guards: dict[Path, Guard] = {}  # folder -> the guard of the lock that this process holds on all below it


def set_guard(folder: Path, guard: Guard | None) -> None:
    """Have every write below a folder happen inside a guard, which raises where the folder is no longer ours."""
    if guard is None:
        _guards.pop(folder.absolute(), None)
    else:
        _guards[folder.absolute()] = guard


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Write a file inside the guard of its folder, if this process holds one."""
    guard = next((_guards[folder] for folder in path.absolute().parents if folder in _guards), None)
    with guard() if guard is not None else nullcontext():
        yield


def write_with(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Replace a file in one step with what `write` puts into it, on the disk when this returns.

    Raises:
        RecordError: the disk is full, the folder missing or not writable, or another process has taken the record over;
            the old file is left as it was.
    """
    with guarded(path):
        _write_with(path, write)


def _write_with(path: Path, write: Callable[[BinaryIO], object]) -> None:
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise RecordError.of("write", path, error) from error


def sync_folder(folder: Path) -> None:
    """Make renames and removals inside a folder last through a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the system refuses inside into an UnreadableError; FileNotFoundError passes, for it is an answer."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableError.of("read", path, error) from error


def read_bytes(path: Path) -> bytes | None:
    """Return what a file holds, None if there is no such file; UnreadableError if the system refuses."""
    try:
        with reading(path):
            return path.read_bytes()
    except FileNotFoundError:
        return None


def size_of(path: Path) -> int | None:
    """Return the size of a file [bytes], None if there is no such file; UnreadableError if the system refuses."""
    try:
        with reading(path):
            found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none without one. UnreadableError if the system refuses."""
    try:
        with reading(folder):
            return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def read_json(path: Path) -> Any:
    """Return what a JSON file holds, or None if there is no such file.

    Raises:
        UnreadableError: the system refuses; RecordError: it is no JSON.
    """
    content = read_bytes(path)
    try:
        return None if content is None else json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"run record: {path} is no JSON ({error})") from error


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object of a file, None if there is none; errors as read_json, or for anything but an object."""
    value = read_json(path)
    if value is not None and not isinstance(value, dict):
        raise RecordError(f"run record: {path} holds a {type(value).__name__}, expected an object")
    return value


def check_writable(folder: str | Path, *, create: bool = True) -> Path:
    """Create a folder where it is missing, prove that a file can be written there, return it absolute.

    Without `create` nothing is written: the nearest folder that exists must allow it.

    Raises:
        ConfigError: it cannot be; for `runs_dir`, before anything starts.
    """
    path = Path(folder).expanduser().resolve()
    if not create:
        there = next(place for place in (path, *path.parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise ConfigError(f"runs_dir={folder!s}: cannot write to {path}: {there} is no folder one may write to")
        return path
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path, prefix=".writable.") as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        raise ConfigError(f"runs_dir={folder!s}: cannot write to {path}: {error.strerror or error}") from error
    return path
