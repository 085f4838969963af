"""Files that appear under their name when they are complete, or not at all."""

import errno
import fcntl
import glob
import os
import re
import secrets
import stat
from contextlib import contextmanager
from typing import BinaryIO, Iterator

_PARTIAL = re.compile(r"\.partial-([0-9]+)-[0-9a-f]{16}$")  # as the program names its own
_LONGEST_STEM = 200


@contextmanager
def whole_file(path: str) -> Iterator[BinaryIO]:
    """A new file that replaces `path` at the end of the block; without a trace of it if the block fails.

    Its name cannot be foreseen and it is never one that is there, so that no link can lead it elsewhere. What killed
    processes have left for the same path is removed.
    """
    folder, name = os.path.split(path)
    stem = os.path.join(folder, name[:_LONGEST_STEM])
    _remove_abandoned(stem)
    temporary = f"{stem}.partial-{os.getpid()}-{secrets.token_hex(8)}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        with open(descriptor, "wb") as file:
            _lock(descriptor)
            if os.path.isfile(path):
                os.fchmod(descriptor, stat.S_IMODE(os.stat(path).st_mode))
            yield file
            file.flush()
            os.fsync(descriptor)
            os.replace(temporary, path)
    except BaseException:
        if os.path.lexists(temporary):
            os.remove(temporary)
        raise


def write_text(path: str, text: str) -> None:
    with whole_file(path) as file:
        file.write(text.encode())


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # a file system may have no locks
        return error.errno != errno.EWOULDBLOCK
    return True


def _remove_abandoned(stem: str) -> None:
    for path in glob.iglob(glob.escape(stem) + ".partial-*"):
        found = _PARTIAL.fullmatch(path, len(stem))
        try:
            if found and not _is_written(path, int(found[1])):
                os.remove(path)
        except OSError:  # of another user, or gone
            pass


def _is_written(path: str, process: int) -> bool:
    """Whether a process still writes the file: that of its name, or one of another container."""
    try:
        os.kill(process, 0)
        return True
    except (PermissionError, OverflowError):
        return True
    except ProcessLookupError:
        pass
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return not _lock(descriptor)
    finally:
        os.close(descriptor)
