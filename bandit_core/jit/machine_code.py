"""Where machine code is kept.

Numba's disk cache cannot see a change in a function that a kernel calls, nor most compile flags, so its folder
carries a fingerprint of every source that is compiled: changed code never meets old machine code.
``LAB_KERNEL_CACHE=0`` switches the disk cache off; a path there is a folder of kernels that were compiled before (see
`bandit_core.simulation.warm_up`), used also where it is read-only.

Numba's files are pickles, and whoever can write them can run code here. A folder is therefore not used if anyone but
this user and root may write to it, or may put another one in its place (`replaceable_by_others`).
"""

import contextlib
import logging
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import numba
from numba.core.sigutils import normalize_signature

from bandit_core.jit.version import code_fingerprint
from bandit_core.paths import cache_folder

VERSIONS_KEPT = 4  # folders of machine code, of the last versions of the sources


def written_by_others(folder: Path) -> bool:
    """Whether someone other than this user and root owns a part of ``folder`` or may write to it."""
    if not hasattr(os, "getuid"):  # no such owners on Windows; the user's own folder is private there
        return False

    def strange(path: Path) -> bool:
        info = path.stat()
        return info.st_uid not in (os.getuid(), 0) or bool(info.st_mode & 0o022)

    closed = not folder.stat().st_mode & 0o077  # what no one else can enter needs no look inside
    return strange(folder) or (not closed and any(strange(path) for path in folder.rglob("*")))


def replaceable_by_others(folder: Path) -> bool:
    """Whether someone other than this user and root may rename ``folder`` or a folder above it.

    As sshd checks the folder of a user's keys: everyone who may write to a folder may rename what is in it. Folders
    such as ``/tmp`` are fine, where each user can rename only their own (the sticky bit). ``folder`` has no symbolic
    links in it (`Path.resolve`).
    """
    if not hasattr(os, "getuid"):
        return False

    def open_to_others(info: os.stat_result) -> bool:
        return info.st_uid not in (os.getuid(), 0) or (info.st_mode & 0o022 != 0 and not info.st_mode & stat.S_ISVTX)

    return any(open_to_others(above.stat()) for above in folder.parents)


def _create(folder: Path) -> None:
    """Create ``folder``, closed to others, and the missing ones above it, which others may enter and not write to."""
    for above in reversed(folder.parents):
        if not above.exists():
            above.mkdir(mode=0o755, exist_ok=True)  # not by `parents=True`: a lax umask would let a group write
    folder.mkdir(mode=0o700, exist_ok=True)


def _processor() -> str:
    """Machine code is for one model of processor only; numba looks for no other."""
    from llvmlite import binding

    return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"


def _usable(folder: Path) -> bool:
    """Whether machine code can be kept in ``folder``, or is there already for this processor."""
    try:
        _create(folder)
        if written_by_others(folder) or any(map(replaceable_by_others, {folder, folder.resolve()})):
            message = (
                "%s is not used for machine code: another user may write to it or to a folder above it "
                "(chmod go-w closes a folder)"
            )
            logging.getLogger(__name__).warning(message, folder)
            return False
        probe = folder / f".probe-{os.getpid()}"
        try:
            probe.touch()
            probe.unlink()
        except OSError:
            return (folder / "processor").read_text() == _processor() and _read_only()
    except (OSError, ValueError):  # ValueError: a file of other bytes than text
        return False
    others = [other for other in folder.parent.glob("kernels-*") if other != folder]
    for old in sorted(others, key=_last_use, reverse=True)[VERSIONS_KEPT - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
    return True


def _last_use(folder: Path) -> float:
    try:
        return folder.stat().st_mtime  # the probe of every start moves it
    except OSError:
        return 0.0


def _read_only() -> bool:
    """Let numba load from a folder that it cannot write to; whether that worked."""
    from numba.core import caching

    for name in ("UserProvidedCacheLocator", "_UserProvidedCacheLocator"):  # private, and renamed in between
        if hasattr(caching, name):
            getattr(caching, name).ensure_cache_path = lambda self: None
            return True
    return False


def kernel_folder() -> Path | None:
    """Where machine code is kept in this process, if anywhere."""
    return Path(numba.config.CACHE_DIR) if ON_DISK else None


def compiled_before() -> bool:
    """Whether every kernel was compiled for this processor before this process began."""
    folder = kernel_folder()
    try:
        return folder is not None and (folder / "processor").read_text() == _processor()
    except (OSError, ValueError):
        return False


def _use_disk() -> bool:
    chosen = os.environ.get("LAB_KERNEL_CACHE", "")
    if chosen == "0":
        return False
    places = [cache_folder()] if chosen in ("", "1") else [Path(chosen), cache_folder()]
    for place in places:
        folder = Path(os.path.realpath(place)) / f"kernels-{code_fingerprint()}"  # links are followed once, now
        if _usable(folder):
            numba.config.CACHE_DIR = str(folder)
            return True
    return False


def open_for_reading() -> None:
    """Let other users load the machine code of this process's folder, and note the processor that it is for."""
    folder = kernel_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):  # someone else's folder, who has done it
        (folder / "processor").write_text(_processor())
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


ON_DISK = _use_disk()


def kept_in_folder(kept: Any) -> bool:
    """Whether numba keeps the code of a function in our folder; where it cannot write, it takes others of its own."""
    folder = kernel_folder()
    return folder is not None and folder in Path(kept.cache_path).parents


def forgive_damage(kept: Any) -> None:
    """A damaged file of machine code is forgotten and compiled anew; numba itself would raise for ever after.

    Where none can be written (disk full, folder read-only) the code lives in memory. Two processes that save at once
    may give the code of different arguments one name: what is not for these arguments is not loaded.
    """
    load, save = kept.load_overload, kept.save_overload

    def save_if_possible(signature: Any, code: Any) -> None:
        with contextlib.suppress(OSError):
            save(signature, code)

    def load_or_forget(signature: Any, context: Any) -> Any:
        try:
            code = load(signature, context)
            return code if code is None or code.signature.args == normalize_signature(signature)[0] else None
        except Exception:
            with contextlib.suppress(OSError):
                kept.flush()
            return None

    kept.load_overload = load_or_forget
    kept.save_overload = save_if_possible
