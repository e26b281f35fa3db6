"""The registry: every module here, or in `contextual`, with ``POLICY`` (or ``POLICIES``) is found by itself.

A file on one's own machine is added by `load_policy`, which only the command line and users of the library call: it
runs what the file says. A guarantee from elsewhere for which no releases are listed is shown as `CLAIMED`.
"""

import difflib
import importlib.util
import linecache
import sys
from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from bandit_core.model import KEPT, Guarantee, Policy, RunSetup
from bandit_core.policies.visits import for_people
from bandit_core.spec.errors import InputError, Issue, unreadable
from bandit_core.spec.found import described, found

CLAIMED = "claimed by its file, not accounted"
_no_releases = next(field.default for field in fields(Policy) if field.name == "releases")
_added: dict[str, tuple[Path, Policy]] = {}  # from files


@cache
def registry() -> dict[str, Policy]:
    """Every policy by name: those for arms first, then grouped by promise (`KEPT`), then by file."""
    policies: list[Policy] = [*found(__name__, "POLICY"), *found(f"{__name__}.contextual", "POLICY")]
    policies += [_as_claimed(policy) for _, policy in _added.values()]
    policies.sort(key=lambda policy: (policy.setting == "contexts", KEPT.index(policy.privacy)))
    return {policy.name: for_people(policy) for policy in policies}


def unknown_policy(name: str) -> str:
    """What to do where no policy has that name."""
    near = difflib.get_close_matches(name, registry(), n=3, cutoff=0.5)
    others = f"did you mean {' or '.join(near)}?" if near else f"allowed: {', '.join(registry())}."
    return f"no such policy; {others} Is it in a file? Give the file: --policy FILE, or load_policy(FILE)"


def source_of(name: str) -> tuple[str, str] | None:
    """Name and text of the file that a policy was loaded from; None for a policy of the lab."""
    if name not in _added:
        return None
    path = _added[name][0]
    return path.name, "".join(linecache.getlines(str(path)))


def load_policy(path: Path) -> tuple[str, ...]:
    """Run a Python file on this machine and add its ``POLICY`` (or ``POLICIES``); afterwards specs may name them.

    Load a file again after an edit. Returns the names of its policies.

    Raises
    ------
    InputError
        When the file cannot be read or run, has no policy, or one whose name is taken.
    """
    name = f"policy_file_{path.stem}"  # never that of a module that someone else may import
    spec = importlib.util.spec_from_file_location(name, path, loader=SourceFileLoader(name, str(path)))
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    linecache.checkcache(str(path))  # for the version of its kernels: it may have been loaded before it was changed
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError as error:
        raise InputError([unreadable("policy", path, error)]) from None
    except (Exception, SystemExit) as error:
        words = f"cannot be loaded: {type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError):
            words += "; a policy is one file, which may import only what is installed"
        raise InputError([Issue("policy", str(path), words)]) from None
    own = [name for name, (file, _) in _added.items() if file == path.resolve()]
    offered = getattr(module, "POLICIES", getattr(module, "POLICY", None))
    policies = described(_checked(offered, str(path), registry().keys() - own), module)
    for name in own:
        del _added[name]
    _added.update({policy.name: (path.resolve(), policy) for policy in policies})
    registry.cache_clear()
    return tuple(policy.name for policy in policies)


def _as_claimed(policy: Policy) -> Policy:
    """A policy from elsewhere, whose guarantee says so where no releases are listed for it."""
    if policy.privacy == "none":
        return policy

    def guarantee(setup: RunSetup) -> Guarantee:
        kept = policy.guarantee(setup)
        return kept if policy.releases(setup) else replace(kept, words=f"{kept.words} ({CLAIMED})")

    if policy.releases is not _no_releases:
        return replace(policy, guarantee=guarantee)
    words = f"{policy.guarantee_words} ({CLAIMED})"
    return replace(policy, guarantee=guarantee, guarantee_words=words, title=f"{policy.title} (claimed)")


def _checked(offered: Any, place: str, taken: Collection[str]) -> Sequence[Policy]:
    policies = (offered,) if isinstance(offered, Policy) else offered
    if not isinstance(policies, Sequence) or not all(isinstance(policy, Policy) for policy in policies):
        raise InputError([Issue("policy", place, "a Policy, or several, named POLICY or POLICIES in a file")])
    names = [policy.name for policy in policies]
    if twice := sorted(name for name in names if name in taken or names.count(name) > 1):
        raise InputError([Issue("policy", place, f"names that no other policy has; taken: {', '.join(twice)}")])
    return policies
