"""The roles of hierarchical training and the messages between them.

    2-tier   workers ── gradients ──> aggregator_optimizer ── weights ──> workers
    3-tier   workers ── gradients ──> aggregator ── mean ──> optimizer ── weights ──> aggregator ── weights ──> workers

Parameters always travel in lexicographic order of their names, so both ends of a channel agree without talking. Workers send all
gradients before they take weights; the receiving side drains one parameter after the other, worker by worker. Gradients are averaged over
workers, and over the devices of the receiving mesh where that is data-parallel (plain sums would make them as many times too large,
which AdamW hides and SGD does not).
"""

from functools import reduce

import ttml
from ttml.common.utils import no_grad


class Channels:
    """Who talks to whom: ranks 0…workers-1 are workers, then the aggregator, then the optimizer of the 3-tier form."""

    def __init__(self, workers, size):
        if size not in (workers + 1, workers + 2):
            raise SystemExit(
                f"{workers} workers need {workers + 1} ranks (2-tier) or {workers + 2} (3-tier), the job has {size}; "
                "help: set num_workers in the multihost configuration, or bind other ranks"
            )
        self.context = ttml.autograd.AutoContext.get_instance()
        self.sockets = self.context.get_socket_manager()
        self.world = self.context.get_distributed_context()
        self.workers, self.three_tier = workers, size == workers + 2
        self.aggregator, self.optimizer = workers, workers + 1

    def check_links(self):
        """Refuse a descriptor in which a worker cannot reach the aggregator, or the aggregator the optimizer."""
        pairs = [(worker, self.aggregator) for worker in range(self.workers)]
        pairs += [(self.aggregator, self.optimizer)] if self.three_tier else []
        ttml.core.distributed.check_links(self.world, pairs)

    def role(self, wish=None):
        """The role of this rank; a role asked for on the command line must be the one that the rank has."""
        rank = self.world.rank()
        if rank < self.workers:
            role = "worker"
        elif rank == self.aggregator:
            role = "aggregator" if self.three_tier else "aggregator_optimizer"
        else:
            role = "optimizer"
        if wish not in (None, role):
            raise SystemExit(f"rank {rank} of {self.world.size()} is the {role}, not the {wish}")
        return role

    def with_workers(self):
        """The sub-context of workers and aggregator; the aggregator has the last number."""
        return self.world.create_sub_context(range(self.workers + 1))

    def with_optimizer(self):
        """The sub-context of aggregator (0) and optimizer (1)."""
        return self.world.create_sub_context([self.aggregator, self.optimizer])


def ordered(model):
    """Parameters by name in the order in which they travel."""
    return sorted(model.parameters().items())


def run_worker(channels, model, step_gradients, steps, on_step):
    """Receive weights; then, each step, compute gradients, send them, receive the new weights."""
    remote = ttml.optimizers.RemoteOptimizer(model.parameters(), channels.aggregator)
    remote.receive_weights()
    for step in range(steps):
        remote.zero_grad()
        loss = step_gradients(step)
        remote.step()
        on_step(step, loss)


def gather_mean(channels, group, tensor):
    """The mean over workers of a parameter's gradient, as the gradient of `tensor`."""

    def from_worker(worker):
        received = ttml.core.empty_like(tensor)
        channels.sockets.recv(received, group, worker)
        return received

    total = reduce(ttml.ops.binary.add, map(from_worker, range(channels.workers)))
    mean = ttml.ops.binary.mul(total, 1.0 / channels.workers)
    tensor.set_grad(mean.get_value())


@no_grad()
def run_aggregator_optimizer(channels, model, optimizer, steps, rate):
    """Send the first weights; then, each step, average the workers' gradients, step, send the new weights."""
    group = channels.with_workers()
    for worker in range(channels.workers):
        for _, tensor in ordered(model):
            channels.sockets.send(tensor, group, worker)
    for step in range(steps):
        for _, tensor in ordered(model):
            gather_mean(channels, group, tensor)
        ttml.core.distributed.synchronize_gradients(model.parameters())
        optimizer.step()
        optimizer.set_lr(rate(step))
        for _, tensor in ordered(model):
            for worker in range(channels.workers):
                channels.sockets.send(tensor, group, worker)


@no_grad()
def run_aggregator(channels, model, steps):
    """Pass the first weights on; then, each step, average the workers' gradients for the optimizer and pass its weights back."""
    group, upward = channels.with_workers(), channels.with_optimizer()

    def pass_weights_down():
        for _, tensor in ordered(model):
            channels.sockets.recv(tensor, upward, 1)
            for worker in range(channels.workers):
                channels.sockets.send(tensor, group, worker)

    pass_weights_down()
    for _ in range(steps):
        for _, tensor in ordered(model):
            gather_mean(channels, group, tensor)
        ttml.core.distributed.synchronize_gradients(model.parameters())
        for _, tensor in ordered(model):
            channels.sockets.send(tensor, upward, 1, use_grad=True)
        pass_weights_down()


@no_grad()
def run_optimizer(channels, model, optimizer, steps, rate):
    """Send the first weights; then, each step, take the mean gradients, step, send the new weights."""
    downward = channels.with_optimizer()
    for _, tensor in ordered(model):
        channels.sockets.send(tensor, downward, 0)
    for step in range(steps):
        for _, tensor in ordered(model):
            tensor.set_grad(ttml.core.empty_like(tensor).get_value())
            channels.sockets.recv(tensor, downward, 0, use_grad=True)
        optimizer.step()
        optimizer.set_lr(rate(step))
        for _, tensor in ordered(model):
            channels.sockets.send(tensor, downward, 0)
