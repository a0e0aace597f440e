"""Descriptions of kernels and of programs made of them."""

from __future__ import annotations

import copy
import enum
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, ClassVar

from tt_run.runtime.cores import CoreRangeSet
from tt_run.runtime.descriptors import words
from tt_run.runtime.descriptors.arguments import RuntimeArgs, as_words, runtime_args
from tt_run.runtime.descriptors.buffers import CBDescriptor
from tt_run.runtime.descriptors.words import (
    NOC_MODE,
    DataMovementProcessor,
    UnpackToDestMode,
)
from tt_run.runtime.enums import MathFidelity
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.geometry.ranges import MeshCoordinateRange
from tt_run.runtime.native.classes import Native, home_of, native
from tt_run.runtime.tuning.choices import NOC, CoreType


@native("ttnn._ttnn.program_descriptor.ReaderConfigDescriptor")
class ReaderConfigDescriptor(metaclass=Native):
    """A kernel that reads into circular buffers."""


@native("ttnn._ttnn.program_descriptor.WriterConfigDescriptor")
class WriterConfigDescriptor(metaclass=Native):
    """A kernel that writes from circular buffers."""


@native("ttnn._ttnn.program_descriptor.DataMovementConfigDescriptor")
class DataMovementConfigDescriptor(metaclass=Native):
    """A kernel that moves data, with its processor and network on chip."""

    def __init__(
        self,
        processor: DataMovementProcessor = DataMovementProcessor.RISCV_0,
        noc: NOC = NOC.RISCV_0_default,
        noc_mode: NOC_MODE = NOC_MODE.DM_DEDICATED_NOC,
    ) -> None:
        self.processor, self.noc, self.noc_mode = processor, noc, noc_mode


@native("ttnn._ttnn.program_descriptor.ComputeConfigDescriptor")
class ComputeConfigDescriptor(metaclass=Native):
    """A kernel that computes, with its precision."""

    def __init__(
        self,
        math_fidelity: MathFidelity = MathFidelity.HiFi4,
        math_approx_mode: bool = False,
        fp32_dest_acc_en: bool = False,
        dst_full_sync_en: bool = False,
        bfp8_pack_precise: bool = False,
    ) -> None:
        self.math_fidelity = math_fidelity
        self.math_approx_mode = math_approx_mode
        self.fp32_dest_acc_en = fp32_dest_acc_en
        self.dst_full_sync_en = dst_full_sync_en
        self.bfp8_pack_precise = bfp8_pack_precise
        self.unpack_to_dest_mode: list[UnpackToDestMode] = []
        self.enable_trisc2_rvv = False


Config = (
    ReaderConfigDescriptor | WriterConfigDescriptor | DataMovementConfigDescriptor | ComputeConfigDescriptor
)


@native("ttnn._ttnn.program_descriptor.KernelDescriptor")
class KernelDescriptor(metaclass=Native):
    """A kernel: its source, the cores it would run on, and what it would be given."""

    SourceType: ClassVar[type[words.SourceType]] = words.SourceType

    def __init__(
        self,
        kernel_source: str | KernelDescriptor = "",
        source_type: words.SourceType = words.SourceType.FILE_PATH,
        core_ranges: CoreRangeSet | None = None,
        compile_time_args: Iterable[int] = (),
        named_compile_time_args: Sequence[tuple[str, int]] = (),
        defines: Sequence[tuple[str, str]] = (),
        runtime_args: Any = (),
        common_runtime_args: Iterable[int] = (),
        opt_level: object = None,
        config: Config | None = None,
        compiler_include_paths: Sequence[str] = (),
        blaze_named_compile_time_args: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Raises TypeError for a source without its cores and its `config`; another descriptor in its place is copied."""
        if isinstance(kernel_source, KernelDescriptor):
            self.__dict__.update({name: copy.copy(value) for name, value in vars(kernel_source).items()})
            return
        if kernel_source and (core_ranges is None or config is None):
            raise TypeError(
                "KernelDescriptor(): a kernel needs core_ranges and config, which is a ttnn.ReaderConfigDescriptor(), "
                "WriterConfigDescriptor(), DataMovementConfigDescriptor() or ComputeConfigDescriptor()"
            )
        self.kernel_source: str = kernel_source
        self.source_type = source_type
        self.core_ranges = core_ranges or CoreRangeSet()
        self.compile_time_args = as_words(compile_time_args)
        self.named_compile_time_args = list(named_compile_time_args)
        self.defines = list(defines)
        self.runtime_args = runtime_args
        self.common_runtime_args = as_words(common_runtime_args)
        self.config: Config = config or ReaderConfigDescriptor()
        self.compiler_include_paths = list(compiler_include_paths)
        self.blaze_named_compile_time_args = list(blaze_named_compile_time_args)
        self.blaze_named_common_runtime_args: list[tuple[str, int]] = []
        self.blaze_named_common_runtime_arg_arrays: list[tuple[str, list[int]]] = []
        self.blaze_named_per_core_runtime_args: list[tuple[str, dict[Any, int]]] = []
        self.blaze_named_per_core_runtime_arg_arrays: list[tuple[str, dict[Any, list[int]]]] = []

    @property
    def runtime_args(self) -> RuntimeArgs:
        """Arguments of each core; also set from a list of pairs of a CoreCoord and its arguments."""
        return self._runtime_args

    @runtime_args.setter
    def runtime_args(self, given: Any) -> None:
        self._runtime_args = runtime_args(given)

    def clear_runtime_args(self) -> None:
        """Forget the arguments of all cores."""
        self._runtime_args = RuntimeArgs()

    def extend_runtime_args_uniform(self, values: Iterable[int]) -> None:
        """Append the same arguments to those of every core that has any."""
        more = as_words(values)
        for _, own in self._runtime_args:
            own.extend(more)

    def append_runtime_args_from(self, other: KernelDescriptor) -> None:
        """Append another kernel's arguments, core by core."""
        for core, values in other.runtime_args:
            self._runtime_args[core.x][core.y].extend(values)

    def append_common_runtime_args_from(self, other: KernelDescriptor) -> None:
        """Append another kernel's arguments for all cores."""
        self.common_runtime_args.extend(other.common_runtime_args)


@native("ttnn._ttnn.program_descriptor.SemaphoreDescriptor")
class SemaphoreDescriptor(metaclass=Native):
    """A semaphore of a program."""

    def __init__(
        self,
        id: int = 0,
        core_type: CoreType = CoreType.WORKER,
        core_ranges: CoreRangeSet | None = None,
        initial_value: int = 0,
    ) -> None:
        self.id, self.core_type = id, core_type
        self.core_ranges = core_ranges or CoreRangeSet()
        self.initial_value = initial_value


@native("ttnn._ttnn.program_descriptor.ProgramDescriptor")
class ProgramDescriptor(metaclass=Native):
    """Kernels, semaphores and circular buffers of one device's program."""

    def __init__(
        self,
        kernels: Iterable[KernelDescriptor] = (),
        semaphores: Iterable[SemaphoreDescriptor] = (),
        cbs: Iterable[CBDescriptor] = (),
    ) -> None:
        self.kernels, self.semaphores, self.cbs = list(kernels), list(semaphores), list(cbs)
        self.custom_program_hash: int | None = None
        self.reload_table_addr: int | None = None
        self.reload_core_ranges = CoreRangeSet()


@native("ttnn._ttnn.program_descriptor.MeshProgramDescriptor")
class MeshProgramDescriptor(metaclass=Native):
    """A program for each range of a mesh's coordinates: `mesh_program[coordinate_range] = program`."""

    def __init__(self, mesh_programs: dict[MeshCoordinateRange, ProgramDescriptor] | None = None) -> None:
        self._programs = dict(mesh_programs or {})

    def __getitem__(self, where: MeshCoordinateRange) -> ProgramDescriptor:
        return self._programs[where]

    def __setitem__(self, where: MeshCoordinateRange, program: ProgramDescriptor) -> None:
        self._programs[where] = program

    def __contains__(self, where: object) -> bool:
        return where in self._programs

    def __iter__(self) -> Iterator[MeshCoordinateRange]:
        return iter(self._programs)


def merge_program_descriptors(descriptors: Sequence[ProgramDescriptor]) -> ProgramDescriptor:
    """One program of all. Raises RuntimeError when kernels of two of them share a core."""
    cores = [[kernel.core_ranges for kernel in each.kernels] for each in descriptors]
    for (i, some), (j, others) in combinations(enumerate(cores), 2):
        if any(a.subtract(b).num_cores() < a.num_cores() for a in some for b in others):
            raise fatal(
                f"Cannot merge ProgramDescriptors with overlapping kernel core ranges between descriptor {i} and {j}. "
                "Ensure that each descriptor operates on a distinct set of cores.",
                "!ranges_overlap_between_descriptors(ranges_i, ranges_j)",
                hint="disjoint core_ranges: a.subtract(b).num_cores() == a.num_cores()",
            )
    return ProgramDescriptor(
        [kernel for each in descriptors for kernel in each.kernels],
        [semaphore for each in descriptors for semaphore in each.semaphores],
        [buffer for each in descriptors for buffer in each.cbs],
    )


def compute_program_descriptor_hash(program_descriptor: ProgramDescriptor) -> int:
    """A number that programs share which are described alike; `custom_program_hash` where it is set."""
    if program_descriptor.custom_program_hash is not None:
        return program_descriptor.custom_program_hash
    text = repr(_described(program_descriptor))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _described(value: object) -> object:
    """A description as names and values, without what differs from call to call: runtime arguments and addresses."""
    if isinstance(value, (list, tuple)):
        return [_described(entry) for entry in value]
    if not home_of(type(value))[0].startswith(__package__) or isinstance(value, enum.Enum):
        return repr(value)
    skipped = ("_buffer", "_runtime_args", "common_runtime_args")
    fields = sorted((name, entry) for name, entry in vars(value).items() if name not in skipped)
    return type(value).__name__, [(name, _described(entry)) for name, entry in fields]
