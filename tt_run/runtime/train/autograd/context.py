"""`AutoContext`: the one per process that holds device, graph, gradient mode, arithmetic, seeds and distributed state.

Source: "Distributed Training Guide", device configuration and troubleshooting.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.train.autograd import arithmetic
from tt_run.runtime.train.autograd.graph import BackwardRule, GradMode, Graph, NodeId
from tt_run.runtime.train.autograd.parallelism import DistributedConfig, ParallelismContext
from tt_run.runtime.values.at_rest import dense

if TYPE_CHECKING:
    from tt_run.runtime.cores import CoreCoord
    from tt_run.runtime.mesh.device import MeshDevice
    from tt_run.runtime.train.autograd.core_split import CoreSplit
    from tt_run.runtime.train.autograd.multihost import DistributedContext, SocketManager, SocketType
    from tt_run.runtime.train.autograd.profiler import Profiler

DEFAULT_SEED = 5489


class AutoContext:
    """Get it with `AutoContext.get_instance()`; every call returns the same object."""

    _instance: AutoContext | None = None

    def __init__(self) -> None:
        self.graph = Graph()
        self._mode = GradMode.ENABLED
        self._device: MeshDevice | None = None
        self._split: CoreSplit | None = None
        self._parallelism: ParallelismContext | None = None
        self._implied = False
        self._distributed: DistributedContext | None = None
        self._sockets: SocketManager | None = None
        self._profiler: Profiler | None = None
        arithmetic.restart()
        self.set_seed(DEFAULT_SEED)

    @classmethod
    def get_instance(cls) -> AutoContext:
        """The context of this process."""
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    # --- arithmetic --------------------------------------------------------------------------------------------------

    def set_arithmetic(self, name: str) -> None:
        """Choose "bfloat16" (the default, as devices compute) or "float32" (nothing is rounded; for comparisons and debugging).

        Raises ValueError for another name. The environment variable TT_RUN_ARITHMETIC sets the choice at start.
        """
        arithmetic.choose(name)

    def get_arithmetic(self) -> str:
        """The name of the arithmetic in force."""
        return arithmetic.name()

    # --- device ------------------------------------------------------------------------------------------------------

    def open_device(
        self, mesh_shape: Any = None, device_ids: Sequence[int] | None = None, num_command_queues: int = 1
    ) -> None:
        """Open the mesh that everything runs on; 1x1 by default.

        Raises RuntimeError for a second call while open, for a shape that is no pair, and for one that does not fit the descriptor.
        """
        from tt_run.runtime.train.autograd.device import open_mesh

        if self._device is not None:
            raise RuntimeError(
                "open_device was called after the device was created. help: close_device() first"
            )
        self._device = open_mesh(mesh_shape, device_ids, num_command_queues)
        self._split = None

    def close_device(self) -> None:
        """Close the mesh, and forget what the names of its axes said; what the program initialised itself stays."""
        if self._device is not None:
            self._device.close()
            self._device = self._split = None
        self.forget_implied_parallelism()

    def num_command_queues(self) -> int:
        """Command queues of the open mesh; 1 when none is open."""
        return 1 if self._device is None else self._device.queues

    def enable_ccl_sub_device(self, num_columns: int = 0, num_rows: int = 0) -> None:
        """Keep the rightmost columns, or the bottom rows, of each device's cores for collectives from the second queue; the rest computes.

        Raises RuntimeError on a second call, for a mesh with one queue, for both or neither, and where no core is left to compute.
        """
        from tt_run.runtime.train.autograd.core_split import CoreSplit

        if self._split is not None:
            raise RuntimeError(
                "AutoContext: the CCL sub-device is already enabled; help: ask has_ccl_sub_device() first"
            )
        self._split = CoreSplit.of(self.get_device(), num_columns, num_rows)

    def has_ccl_sub_device(self) -> bool:
        """Whether `enable_ccl_sub_device` was called on the open mesh."""
        return self._split is not None

    def ccl_sub_device_index(self) -> int | None:
        """The number of the sub-device of collectives; None without one."""
        return None if self._split is None else 1

    def compute_sub_device_index(self) -> int:
        """The number of the sub-device that computes."""
        return 0

    def full_compute_grid_size(self) -> CoreCoord:
        """The cores of each device, those of collectives too, as columns and rows."""
        return (
            self.get_device().compute_with_storage_grid_size() if self._split is None else self._split.whole
        )

    @property
    def live_device(self) -> MeshDevice | None:
        """The mesh while it is open, None when it was never opened or was closed in whatever way; opens nothing."""
        return self._device if self._device is not None and self._device.is_open else None

    def get_device(self) -> MeshDevice:
        """The open mesh; opens a single device when none is open."""
        if self._device is None:
            self.open_device()
        assert self._device is not None
        return self._device

    @contextlib.contextmanager
    def standing_on(self, device: MeshDevice) -> Iterator[None]:
        """A block in which everything runs on devices that the program opened itself, as on one mesh without parallelism."""
        before = self._device, self._parallelism, self._implied, self._split
        self._device, self._parallelism, self._implied, self._split = device, None, False, None
        try:
            yield
        finally:
            self._device, self._parallelism, self._implied, self._split = before

    # --- seeds -------------------------------------------------------------------------------------------------------

    def set_seed(self, seed: int) -> None:
        """Restart the generator behind dropout and initial weights. Raises TypeError for what is no whole number from 0 on."""
        if not isinstance(seed, (int, np.integer)) or seed < 0:
            raise TypeError(
                f"set_seed: a seed is a whole number, 0 or above, not {seed!r}; help: set_seed(42)"
            )
        self._seed: int = seed
        self.generator: np.random.Generator = np.random.Generator(np.random.MT19937(seed))

    @contextlib.contextmanager
    def drawing_apart(self, purpose: str) -> Iterator[None]:
        """A block that draws from a generator of its own, which follows from the seed and the purpose alone."""
        before = self.generator
        self.generator = np.random.Generator(np.random.MT19937([self._seed, *purpose.encode()]))
        try:
            yield
        finally:
            self.generator = before

    def get_seed(self) -> int:
        """The seed last set."""
        return self._seed

    # --- graph -------------------------------------------------------------------------------------------------------

    @property
    def records(self) -> bool:
        """Whether operations enter the graph."""
        return self._mode is GradMode.ENABLED

    def set_gradient_mode(self, mode: GradMode) -> None:
        """Record backward nodes from now on, or stop. Raises TypeError for what is no mode."""
        if not isinstance(mode, GradMode):
            raise TypeError(f"set_gradient_mode: {mode!r} is no GradMode; help: GradMode.DISABLED")
        self._mode = mode

    def get_gradient_mode(self) -> GradMode:
        """The mode in force."""
        return self._mode

    def add_backward_node(
        self, grad_function: BackwardRule, links: Iterable[NodeId | None] | None
    ) -> NodeId | None:
        """Enter a backward rule behind the nodes of its inputs, None for none; None when gradients are off."""
        if not self.records:
            return None
        return self.graph.add_node(grad_function, [link for link in links or () if link is not None])

    def get_graph(self) -> Graph:
        """All nodes since the last reset."""
        return self.graph

    def is_backward_in_progress(self) -> bool:
        """Whether a backward pass is under way, as it is for what is computed again within it."""
        return self.graph.outermost().is_running

    def reset_graph(self) -> None:
        """Forget the graph after a backward pass; gradients of parameters stay."""
        self.graph.reset()
        dense.is_tight = False

    # --- parallelism over the mesh -----------------------------------------------------------------------------------

    def initialize_parallelism_context(self, config: DistributedConfig) -> None:
        """Decide which axis carries what, once per process. Raises RuntimeError on a second call and for a shape that does not fit."""
        if not isinstance(config, DistributedConfig):
            raise TypeError(
                f"initialize_parallelism_context: a DistributedConfig, not {config!r}; help: ttml.autograd.DistributedConfig(enable_ddp=True)"
            )
        if self._parallelism is not None and not self._implied:
            raise RuntimeError(
                "ParallelismContext is already initialized. help: take the one that get_parallelism_context() returns"
            )
        self._implied = False
        shape = self.get_device().shape
        self._parallelism = ParallelismContext(config, (shape[0], shape[1]))

    def imply_parallelism(self, parallelism: ParallelismContext | None) -> None:
        """Take what the names of a mesh say; a program that initialises the axes itself has the last word."""
        if parallelism is not None and (self._parallelism is None or self._implied):
            self._parallelism, self._implied = parallelism, True

    def forget_implied_parallelism(self) -> None:
        """Forget what the names of a mesh said; what the program initialised itself stays."""
        if self._implied:
            self._parallelism, self._implied = None, False

    def get_parallelism_context(self) -> ParallelismContext:
        """The axes. Raises RuntimeError before they are initialised."""
        if self._parallelism is None:
            raise RuntimeError(
                "ParallelismContext is not initialized. help: initialize_parallelism_context(ttml.autograd.DistributedConfig(enable_ddp=True)) after open_device"
            )
        return self._parallelism

    def is_parallelism_context_initialized(self) -> bool:
        """Whether `initialize_parallelism_context` was called."""
        return self._parallelism is not None

    # --- several hosts -----------------------------------------------------------------------------------------------

    def initialize_distributed_context(self, *argv: str) -> None:
        """Join the ranks of the job. Raises RuntimeError on a second call."""
        from tt_run.runtime.train.autograd.multihost import DistributedContext

        if self._distributed is not None:
            raise RuntimeError(
                "MPIContext is already initialized. help: take the one that get_distributed_context() returns"
            )
        self._distributed = DistributedContext.of_world()

    def get_distributed_context(self) -> DistributedContext:
        """The ranks of the job. Raises RuntimeError before they are joined."""
        if self._distributed is None:
            raise RuntimeError(
                "DistributedContext is not initialized. help: initialize_distributed_context() first, in a program that tt-run started"
            )
        return self._distributed

    def initialize_socket_manager(self, socket_type: SocketType) -> None:
        """Make what sends tensors between ranks; a further call replaces it."""
        from tt_run.runtime.train.autograd.multihost import SocketManager

        self._sockets = SocketManager(socket_type)

    def get_socket_manager(self) -> SocketManager:
        """What sends tensors between ranks. Raises RuntimeError before it is made."""
        if self._sockets is None:
            raise RuntimeError(
                "SocketManager is not initialized. Do not forget to call initialize_socket_manager. help: initialize_socket_manager(ttml.core.distributed.SocketType.MPI)"
            )
        return self._sockets

    # --- kernels of devices ------------------------------------------------------------------------------------------

    def get_profiler(self) -> Profiler:
        """What marks phases of the program in the timeline, the same until it is closed; kernels of devices are not emulated."""
        from tt_run.runtime.train.autograd.profiler import Profiler

        if self._profiler is None:
            self._profiler = Profiler()
        return self._profiler

    def close_profiler(self) -> None:
        """Forget it, with what it was told of being disabled."""
        self._profiler = None

    def get_ccl_resources(self) -> None:
        """None: collectives of the emulation need no semaphores, of which this gives a device its own on hardware."""
