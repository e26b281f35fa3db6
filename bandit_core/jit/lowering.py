"""How numba writes functions down for LLVM: the same, in fewer words.

LLVM takes all of this out again, so machine code is the same. Only the time to write, read and drop it is spared. The
names that are overridden here are private to numba, hence the tight version range.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from functools import cache
from typing import Any

from numba.core import analysis, ir
from numba.core.base import BaseContext
from numba.core.compiler_machinery import register_pass
from numba.core.datamodel import DataModelManager
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import AnnotateTypes, BaseNativeLowering, NativeLowering
from numba.core.types.containers import UniTuple
from numba.extending import overload
from numba.np import arrayobj


@cache
def _counted(models: DataModelManager, kind: Any) -> bool:
    """Whether values of a type hold references that are counted."""
    return bool(models[kind].contains_nrt_meminfo())


def _references(self: NRTContext, builder: Any, kind: Any, value: Any) -> list[Any]:
    """The counted references in a value. Numba takes every number of every record out, too, to find none in it."""
    models = self._context.data_model_manager
    found = []
    if models[kind].has_nrt_meminfo():
        found.append((kind, models[kind].get_nrt_meminfo(builder, value)))
    for member, taken_out in models[kind].traverse(builder):
        if _counted(models, member):
            found += self.get_meminfos(builder, member, taken_out(value))
    return found


_sizes: dict[str, int] = {}
_size_of = BaseContext.get_abi_sizeof


def _size(self: BaseContext, kind: Any) -> int:
    """Bytes of a type: numba has LLVM read a program of one line for each question."""
    name = f"{self.target_data} {kind}"
    if name not in _sizes:
        _sizes[name] = _size_of(self, kind)
    return _sizes[name]


_PLAIN = {ir.Loc, ir.Scope, str, int, bool, float, type(None)}


def _variables(self: ir.Inst, value: Any) -> list[ir.Var]:
    """The variables in a part of an instruction, its most frequent types first."""
    kind = type(value)
    if kind is ir.Var:
        return [value]
    if kind in _PLAIN:
        return []
    if isinstance(value, ir.Inst):
        return value.list_vars()
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return [value] if isinstance(value, ir.Var) else []
    return [found for each in value for found in _variables(self, each)]


_equal = TargetConfig.__eq__


def _same_flags(self: TargetConfig, other: object) -> Any:
    """Whether two sets of flags are equal: numba lists both whenever it looks for one of its own functions."""
    same = self is other or (type(self) is type(other) and self._values == other._values)  # type: ignore[attr-defined]
    return same or _equal(self, other)


def _shapes_differ(source: Any, place: Any) -> None:
    """Numba's own message puts both shapes into words, by thirty functions that join texts."""


@overload(_shapes_differ)
def _raise_shapes_differ(source: Any, place: Any) -> Any:
    if isinstance(source, UniTuple) and isinstance(place, UniTuple):

        def fail(source: Any, place: Any) -> None:
            raise ValueError("cannot assign slice from input of different size")

        return fail
    return None


with contextlib.suppress(AttributeError):
    _ = arrayobj.raise_with_shape_context
    arrayobj.raise_with_shape_context = _shapes_differ
with contextlib.suppress(AttributeError):
    TargetConfig.__hash__ = lambda self: hash(type(self))  # as numba's, which hashes the names of all options
    TargetConfig.__eq__ = _same_flags
with contextlib.suppress(AttributeError):
    _ = NRTContext.get_meminfos, BaseContext.get_abi_sizeof, ir.Inst._rec_list_vars
    NRTContext.get_meminfos = _references
    BaseContext.get_abi_sizeof = _size
    ir.Inst._rec_list_vars = _variables


class _Lower(Lower):
    """Keeps what is assigned once and not counted as a value, in place of a variable in memory."""

    def _find_singly_assigned_variable(self) -> None:
        """Numba does so within one block; here also from a block to those that come after it on every path."""
        super()._find_singly_assigned_variable()
        if self.func_ir.func_id.is_generator:
            return
        assigned = [
            (each.target.name, label) for label, block in self.blocks.items() for each in block.find_insts(ir.Assign)
        ]
        times, where = Counter(name for name, _ in assigned), dict(assigned)
        before = analysis.compute_cfg_from_blocks(self.blocks).dominators()
        elsewhere = set(analysis.must_use_alloca(self.blocks))
        for label, names in analysis.compute_use_defs(self.blocks).usemap.items():
            elsewhere |= {
                name for name in names if not (where.get(name, label) < label and where[name] in before[label])
            }
        once = {name for name, count in times.items() if count == 1 and not self._is_counted(name)}
        self._singly_assigned_vars |= once - elsewhere

    def _is_counted(self, name: str) -> bool:
        return self.context.enable_nrt and _counted(self.context.data_model_manager, self.typeof(name))

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Without a look at the value before, whose references numba would give back."""
        if name in self._singly_assigned_vars or self._is_counted(name):
            super().storevar(value, name, argidx)
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """Nothing, where there are no references to give back."""
        if self._is_counted(name):
            super().delvar(name)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(BaseNativeLowering):
    _name = "lean_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """What writes a function down."""
        return _Lower


def lean(manager: Any) -> Any:
    """The passes of ``manager``, with our way of lowering in the place of numba's, and without a list of all types,
    which is for people to read and keeps the whole function in memory.
    """
    steps = [(_Lowering if step is NativeLowering else step, words) for step, words in manager.passes]
    manager.passes = [each for each in steps if each[0] is not AnnotateTypes]
    manager.finalize()
    return manager
