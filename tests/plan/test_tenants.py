"""Two services on one kind of replica."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.physics.memory import Memory, memory_of
from bide.plan.tenants import Tenant, needs, needs_dict, parse_tenant, read_tenants, shared_gpus
from bide.units import GB, GIB


@pytest.fixture
def memory() -> Memory:
    raw = {"model": "llama-3.1-8b", "pool_bytes_per_gpu": 53 * GB, "max_model_len": 131072}
    return memory_of(Deployment.resolve(raw))


def test_chat_and_documents_on_one_h100(memory: Memory) -> None:
    chat, documents = needs(memory, [Tenant("chat", 1500, 100), Tenant("documents", 13000, 100)])
    # 1,500 x 131,072 = 197 MB (188 MiB); 100 users 19.7 GB
    assert chat.bytes_per_user == pytest.approx(197e6, rel=0.01)
    assert 100 * chat.bytes_per_user == pytest.approx(20e9, rel=0.02)
    # 13,000 x 131,072 = 1.70 GB = 1.59 GiB; 100 users 170 GB; 53 / 1.70 = 31
    assert documents.bytes_per_user == pytest.approx(1.59 * GIB, rel=0.01)
    assert 100 * documents.bytes_per_user == pytest.approx(170e9, rel=0.01)
    assert int(documents.users_that_fit) == 31
    assert (chat.gpus, documents.gpus) == (1, 4)  # 100 / 31.1 = 3.2


def test_sharing_adds_up_fractions(memory: Memory) -> None:
    # 100 / 268.9 + 100 / 31.1 = 0.37 + 3.22 = 3.59 replicas
    assert shared_gpus(memory, needs(memory, [Tenant("chat", 1500, 100), Tenant("documents", 13000, 100)])) == 4


def test_what_does_not_fit_is_null_not_infinite(memory: Memory) -> None:
    found = needs(memory, [Tenant("huge", 10**7, 1)])
    assert needs_dict(memory, found)["shared_gpus"] is None
    assert found[0].gpus == 0


def test_a_service_reads_as_name_tokens_users() -> None:
    assert parse_tenant("chat:8k:100") == Tenant("chat", 8192, 100)


@pytest.mark.parametrize(
    "text",
    [
        "chat",
        "chat:1500",
        "chat:1500:none",
        "chat:-5:3",
        ":1500:3",
        "chat:1500:0",
        "chat:1500:1.5",
        "chat:1500:" + "9" * 400,
        "\x1b[31m:1500:3",
    ],
)
def test_another_form_is_named(text: str) -> None:
    with pytest.raises(BadInput, match="service"):
        parse_tenant(text)


def test_services_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "services.yaml"
    file.write_text("services:\n  - {name: chat, tokens: 1500, users: 100}\n")
    assert read_tenants(file) == [Tenant("chat", 1500, 100)]


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("- {name: chat, tokens: 1500}", r"services\[0\].*users missing.*line 1"),
        ("- {name: chat, tokens: 1500, users: .inf}", r"services\[0\].users.*whole number"),
        ("- {name: chat, tokens: 1500, users: " + "9" * 400 + "}", r"services\[0\].users.*1,000,000,000"),
        ("- {name: chat, tokens: .nan, users: 1}", r"services\[0\].tokens.*line 1"),
        ("- {name: chat, name: docs, tokens: 5, users: 1}", "each key once"),
        ('- {name: "\\e[31m", tokens: 5, users: 1}', r"services\[0\].name"),
        ("services: [{name: chat, tokens: 5, users: 1}]\nservice: 3", "Did you mean services"),
        ("a: &a [1]\nservices: *a", "without anchors"),
        ("- !!timestamp x", r"services\[0\]"),
        ("- {name: chat, tokens: 1500, user: 3}", r"services\[0\].user"),
        ("- chat", r"services\[0\]"),
        ("[]", "services"),
        ("a: [", "services"),
    ],
)
def test_a_bad_file_names_what_is_wrong(tmp_path: Path, content: str, field: str) -> None:
    file = tmp_path / "services.yaml"
    file.write_text(content)
    with pytest.raises(BadInput, match=field):
        read_tenants(file)


def test_what_is_no_regular_file_is_refused_unopened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    for path in (tmp_path / "fifo.yaml", tmp_path, Path(os.devnull), tmp_path / ("x" * 300)):
        with pytest.raises(BadInput, match="services"):
            read_tenants(path)
