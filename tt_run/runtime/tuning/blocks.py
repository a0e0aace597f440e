"""Chunks and blocks of attention, norms and softmax."""

from __future__ import annotations

from typing import ClassVar

from mgd.lean import dataclass
from tt_run.runtime.cores import CoreCoord, CoreRangeSet
from tt_run.runtime.enums import MathFidelity
from tt_run.runtime.native.classes import Native
from tt_run.runtime.native.fields import Checked
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.tuning.base import Tuning

Grid = CoreCoord | tuple[int, int]


@native_class("ttnn._ttnn.operations.transformer.SDPAProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class SDPAProgramConfig(Tuning, metaclass=Native):
    """Chunking of attention."""

    _separator: ClassVar[str] = ", "
    _flags: ClassVar[tuple[str, str]] = ("false", "true")

    compute_with_storage_grid_size: Grid
    sub_core_grids: CoreRangeSet | None = None
    q_chunk_size: int
    k_chunk_size: int
    exp_approx_mode: bool | None = None
    max_cores_per_head_batch: int = 16
    max_k_splits: int = 1
    matmul_math_fidelity: MathFidelity | None = None
    segmented_accumulation: bool = False


@native_class("ttnn._ttnn.operations.experimental.IndexerScoreProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class IndexerScoreProgramConfig(Checked, metaclass=Native):
    """Chunking of the indexer's scores."""

    q_chunk_size: int = 32
    k_chunk_size: int = 32
    head_group_size: int = 1


@native_class("ttnn._ttnn.operations.transformer.PagedCacheGeometryOverride")
@dataclass(kw_only=True, eq=False, repr=False)
class PagedCacheGeometryOverride(Tuning, metaclass=Native):
    """Block size and key-value heads of a paged cache where they differ from the tensor's; 0 leaves them."""

    _separator: ClassVar[str] = ", "

    block_size: int = 0
    num_kv_heads: int = 0

    @property
    def active(self) -> bool:
        """True when something is overridden."""
        return bool(self.block_size or self.num_kv_heads)


@native_class("ttnn._ttnn.operations.normalization.LayerNormDefaultProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class LayerNormDefaultProgramConfig(Tuning, metaclass=Native):
    """Norms on interleaved tensors."""

    _hidden: ClassVar[tuple[str, ...]] = ("legacy_rsqrt",)

    legacy_reduction: bool = False
    legacy_rsqrt: bool = False
    use_welford: bool = False


@native_class("ttnn._ttnn.operations.normalization.LayerNormShardedMultiCoreProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class LayerNormShardedMultiCoreProgramConfig(Tuning, metaclass=Native):
    """Norms on tensors spread over cores."""

    _hidden: ClassVar[tuple[str, ...]] = ("legacy_rsqrt",)

    compute_with_storage_grid_size: Grid
    subblock_w: int
    block_h: int
    block_w: int
    inplace: bool
    legacy_reduction: bool = False
    legacy_rsqrt: bool = False
    use_welford: bool = False


@native_class("ttnn._ttnn.operations.normalization.LayerNormProgramConfig")
class LayerNormProgramConfig(metaclass=Native):
    """The kind of argument that takes either program of a norm."""

    def __init__(self) -> None:
        raise TypeError("make a LayerNormDefaultProgramConfig or a LayerNormShardedMultiCoreProgramConfig")


@native_class("ttnn._ttnn.operations.normalization.SoftmaxProgramConfig")
class SoftmaxProgramConfig(metaclass=Native):
    """The kind of argument that takes either program of softmax."""


@native_class("ttnn._ttnn.operations.normalization.SoftmaxDefaultProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class SoftmaxDefaultProgramConfig(SoftmaxProgramConfig, metaclass=Native):
    """Softmax on interleaved tensors."""


@native_class("ttnn._ttnn.operations.normalization.SoftmaxShardedMultiCoreProgramConfig")
@dataclass(kw_only=True, eq=False, repr=False)
class SoftmaxShardedMultiCoreProgramConfig(Tuning, SoftmaxProgramConfig, metaclass=Native):
    """Softmax on tensors spread over cores."""

    _separator: ClassVar[str] = ", "

    compute_with_storage_grid_size: Grid
    subblock_w: int
    block_h: int
    block_w: int
