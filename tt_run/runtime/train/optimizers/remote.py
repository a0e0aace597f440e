"""`RemoteOptimizer`: a worker's side of hierarchical training: gradients go to an aggregator, new weights come back."""

from __future__ import annotations

from collections.abc import Mapping

from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.optimizers.base import OptimizerBase, emits_step, of_state, print_sizes


class RemoteOptimizer:
    """Walks the parameters in lexicographic order of their names, so that both sides agree without talking.

    The context of ranks 0…aggregator_rank is made when the optimizer is; all of those ranks must make it.
    """

    def __init__(self, parameters: Mapping[str, Tensor], aggregator_rank: int) -> None:
        context = AutoContext.get_instance()
        self._parameters = dict(parameters)
        self._aggregator = aggregator_rank
        self._sockets = context.get_socket_manager()
        self._group = context.get_distributed_context().create_sub_context(range(aggregator_rank + 1))
        self._steps = 0

    def get_sorted_parameters(self) -> list[tuple[str, Tensor]]:
        """Parameters by name, in the order in which they are sent and received."""
        return sorted(self._parameters.items())

    def receive_weights(self) -> None:
        """Take every weight from the aggregator."""
        for _, tensor in self.get_sorted_parameters():
            self._sockets.recv(tensor, self._group, self._aggregator)

    def send_gradients(self) -> None:
        """Send every gradient to the aggregator; zeros for frozen parameters, which the aggregator reads like the others.

        Raises RuntimeError, before anything is sent, naming trained parameters without gradient: the aggregator would wait for them for ever.
        """
        parameters = self.get_sorted_parameters()
        missing = [
            name
            for name, tensor in parameters
            if tensor.get_requires_grad() and not tensor.is_grad_initialized()
        ]
        if missing:
            raise RuntimeError(
                f"RemoteOptimizer: no gradient for {', '.join(missing[:4])}{' …' if len(missing) > 4 else ''}; "
                "the aggregator waits for every parameter. help: call backward() first, or leave unused parameters out of the model"
            )
        for _, tensor in parameters:
            if tensor.is_grad_initialized():
                self._sockets.send(tensor, self._group, self._aggregator, use_grad=True)
            else:
                nothing = stacks.full_like(tensor.get_value(), 0.0)
                self._sockets.send(Tensor(nothing), self._group, self._aggregator)

    @emits_step
    def step(self) -> None:
        """Send all gradients, then take all new weights."""
        self.send_gradients()
        self.receive_weights()
        self._steps += 1

    def zero_grad(self) -> None:
        """Take gradients away."""
        for tensor in self._parameters.values():
            tensor.set_grad(None)

    def get_lr(self) -> float:
        """0.0: the rate is the remote optimizer's."""
        return 0.0

    def set_lr(self, lr: float) -> None:
        """Nothing: the rate is the remote optimizer's."""

    def get_steps(self) -> int:
        """Steps taken."""
        return self._steps

    def set_steps(self, steps: int) -> None:
        """Set the number of steps taken."""
        self._steps = steps

    def get_name(self) -> str:
        """The class name."""
        return "RemoteOptimizer"

    def print_stats(self) -> None:
        """Print how large each parameter and its gradient are (root mean squares on the first device of this rank)."""
        print_sizes(self._parameters)

    def get_state_dict(self) -> dict[str, int]:
        """The step count; the moments are the remote optimizer's."""
        return {"steps": self._steps}

    def set_state_dict(self, dict: Mapping[str, int]) -> None:
        """Take back what `get_state_dict` gave. Raises KeyError for a state that is none."""
        self._steps = int(of_state(dict, "steps", self))


OptimizerBase.register(RemoteOptimizer)
