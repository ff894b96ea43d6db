"""The command that starts what was planned."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.plan.serving.command import Command
from bide.plan.serving.sglang import sglang_command
from bide.plan.serving.trtllm import trtllm_command
from bide.plan.serving.vllm import vllm_command

_ENGINES = {"vllm": vllm_command, "sglang": sglang_command, "trtllm": trtllm_command}


def serving(deployment: Deployment) -> Command:
    """The engine's own command for one replica, with remarks on what it cannot say.

    Every option stands in what the engine documents for the release (`facts.engine_options`).
    """
    command = _ENGINES[deployment.engine.name](deployment)
    return Command(command.argv, (*command.remarks, *_remarks(deployment)))


def _remarks(deployment: Deployment) -> Iterator[str]:
    """What no engine's options can say."""
    model, nodes = deployment.model.name, nodes_of(deployment)
    if model.startswith(("/", ".")) or model.endswith(".json"):
        yield _("{model} is a path on this machine: name a checkpoint that a server can load.").format(model=model)
    if nodes > 1:
        more = _("A replica of {gpus} GPUs takes {nodes} nodes: start a part on each, as the engine's docs say.")
        yield more.format(gpus=deployment.replica_gpus, nodes=nodes)


def nodes_of(deployment: Deployment) -> int:
    """Nodes that a replica's GPUs fill; 1 where the GPU is not known."""
    return 1 if deployment.gpu is None else -(-deployment.replica_gpus // deployment.gpu.node_gpus)


def serve_command(deployment: Deployment) -> str:
    """`serving` as one line for a shell."""
    return shlex.join(serving(deployment).argv)
