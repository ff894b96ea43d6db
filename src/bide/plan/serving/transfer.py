"""How vLLM's replicas for prompts send the cache to those that answer: the options that give each its role.

NixlConnector, which pulls the cache over NVLink, InfiniBand or Ethernet and is what llm-d's sidecar and vLLM's own
example proxy speak. Since 0.33 it warns about the role `kv_both` and asks for one of the two
(distributed/kv_transfer/kv_connector/v1/nixl/connector.py); before, either role was taken.
"""

from __future__ import annotations

import json
from typing import Literal

from bide.facts.deployment import Deployment
from bide.facts.engine_options import command_line
from bide.i18n import _
from bide.plan.serving.command import Command

Role = Literal["prefill", "decode"]

OPTION = "--kv-transfer-config"
CONNECTOR = "NixlConnector"
SIDE_CHANNEL_PORT = 5600
"""vLLM's default (envs.py); a rank of data parallelism takes the next."""
SIDE_CHANNEL = ("VLLM_NIXL_SIDE_CHANNEL_HOST", "VLLM_NIXL_SIDE_CHANNEL_PORT")
_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}


def transfers(deployment: Deployment) -> bool:
    """Whether this release of vLLM is told by a JSON object how to send its cache."""
    engine = deployment.engine
    if engine.name != "vllm":
        return False
    option = command_line(engine.name, engine.version_text).options.get(OPTION)
    return option is not None and option.kind == "json"


def with_role(command: Command, role: Role) -> Command:
    """The command of a replica that does one of the two stages. Those that answer load what they are sent or fail."""
    config = {"kv_connector": CONNECTOR, "kv_role": _ROLES[role]}
    words = (*command.argv, OPTION, json.dumps(config, separators=(",", ":")))
    needs = _(
        "Set {host} to an address of the replica that the others reach (the default is localhost); NIXL is in vLLM's "
        "image, elsewhere `pip install nixl`."
    ).format(host=SIDE_CHANNEL[0])
    return Command(words, (*command.remarks, needs))
