"""Writing files: complete or not at all, and never over an input."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from bayesdp.errors import BayesDPError, InvalidInputError

__all__ = ["refuse_overwriting", "refuse_replacing", "write_private"]

_DEVICES = ("/dev/", "/proc/")


def refuse_overwriting(output: str | Path, inputs: Iterable[str | Path]) -> None:
    """Refuse an output that is one of the inputs, also by way of a symbolic or hard link.

    Raises InvalidInputError. A file that does not exist or cannot be examined cannot be overwritten either.
    """
    for path in inputs:
        if _same(output, path):
            same = "" if str(output) == str(path) else f" (it is the file {path})"
            raise InvalidInputError(f"{output} is an input{same} and would be overwritten; write to another file")


def refuse_replacing(output: str | Path, kind: str, load: Callable[[str | Path], object]) -> None:
    """Refuse to replace an existing file of another kind, whose content would be lost.

    kind: what the output is, in words ("a model"); load: reads such a file and raises BayesDPError for any other.

    Raises InvalidInputError.
    """
    try:
        if Path(output).is_file():
            load(output)
    except BayesDPError:
        raise InvalidInputError(
            f"{output} is there already and is not {kind}; write to another file, or remove it first (fit: --force)"
        ) from None
    except (OSError, ValueError):
        return  # the path cannot be written to, and writing raises the reason


def write_private(path: str | Path, content: str) -> None:
    """Write a text file that only its owner can read: complete or, if that fails, not at all.

    The file is written under another name and then renamed; a symbolic link keeps pointing to it. A device such as
    /dev/stdout is written to directly. Raises OSError and ValueError as the file system does.
    """
    place = Path(os.path.realpath(path))
    if str(path).startswith(_DEVICES) or (place.exists() and not place.is_file()):
        Path(path).write_text(content, encoding="utf-8")
        return
    handle, name = tempfile.mkstemp(prefix=".bayesdp-", suffix=".new", dir=place.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            fresh.chmod(0o600)  # whatever the umask is
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(place)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _same(first: str | Path, second: str | Path) -> bool:
    try:
        return Path(first).samefile(second)
    except (OSError, ValueError):
        return False
