"""The pieces that encoder towers are made of: matrices, small vectors, and stacks of transformer blocks.

A `Place` knows the component and the module prefix that a tower's tensors share. Encoders keep
nothing in the cache, so a tower is only a tuple of tensors, all with `part="encoder"`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from bide.facts.model import Component, Split, Tensor

Tensors = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Style:
    """How a tower's blocks name their modules; two `ins` are a gate and an up projection."""

    root: str
    qkv: tuple[str, ...]
    out: str
    ins: tuple[str, ...]
    down: str
    norms: tuple[str, ...]


CLIP_STYLE = Style(
    "encoder.layers.{i}",
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attn.out_proj",
    ("mlp.fc1",),
    "mlp.fc2",
    ("layer_norm1", "layer_norm2"),
)
QWEN_STYLE = Style("blocks.{i}", ("attn.qkv",), "attn.proj", ("mlp.fc1",), "mlp.fc2", ("norm1", "norm2"))
GATED_QWEN_STYLE = replace(QWEN_STYLE, ins=("mlp.gate_proj", "mlp.up_proj"), down="mlp.down_proj")
WHISPER_STYLE = Style(
    "layers.{i}",
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attn.out_proj",
    ("fc1",),
    "fc2",
    ("self_attn_layer_norm", "final_layer_norm"),
)


@dataclass(frozen=True, slots=True)
class Blocks:
    """A stack of attention and feed-forward blocks.

    `bias` holds the letters of what has one: `q`, `k`, `v`, `o` (attention), `i`, `d` (into and
    out of the feed-forward). `inner` and `kv_inner` are heads x head_dim of queries and of keys
    (0: the hidden size); `extras` are small vectors of each block, by module name.
    """

    style: Style
    layers: int
    hidden: int
    intermediate: int
    bias: str = "qkvoid"
    norm_bias: bool = True
    inner: int = 0
    kv_inner: int = 0
    extras: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where tensors belong. `whole`: the engine gives every tensor-parallel rank a full copy."""

    component: Component
    prefix: str
    whole: bool = False

    def at(self, path: str) -> Place:
        """The same place, further in."""
        return replace(self, prefix=self.prefix + path)

    def matrix(
        self, path: str, rows: int, cols: int, *, layers: int = 0, split: Split = "none", bias: bool = True
    ) -> Tensors:
        """A linear layer: `rows` outputs from `cols` inputs, in each of `layers` blocks (0: once)."""
        where = tuple(range(layers))
        if self.whole:
            split = "none"
        made = Tensor(self.component, self.prefix + path, rows, cols, where, split=split, linear=True, part="encoder")
        bias_split: Split = "none" if split == "row" else split
        return (made, *self._small(path + ".bias", rows, 1, layers, bias_split)) if bias else (made,)

    def table(self, path: str, rows: int, cols: int = 1, *, layers: int = 0) -> Tensors:
        """Parameters that are never quantised or divided: norms, embeddings, positions, scales."""
        return self._small(path, rows, cols, layers, "none")

    def conv(self, path: str, outs: int, ins: int, *, layers: int = 0, bias: bool = True) -> Tensors:
        """A convolution: `ins` = input channels x kernel elements."""
        made = self.table(path, outs, ins, layers=layers)
        return made + self.table(path + ".bias", outs, layers=layers) if bias else made

    def norm(self, path: str, size: int, *, layers: int = 0, bias: bool = True) -> Tensors:
        return self.table(path, size, 2 if bias else 1, layers=layers)

    def norms(self, paths: tuple[str, ...], size: int, *, layers: int = 0, bias: bool = True) -> Tensors:
        return tuple(t for path in paths for t in self.norm(path, size, layers=layers, bias=bias))

    def blocks(self, b: Blocks) -> Tensors:
        """Every tensor of a stack of blocks."""
        inside = self.at(b.style.root + ".")
        made = inside._attention(b) + inside._mlp(b)
        made += inside.norms(b.style.norms, b.hidden, layers=b.layers, bias=b.norm_bias)
        return made + tuple(t for path, size in b.extras.items() for t in inside.table(path, size, layers=b.layers))

    def _attention(self, b: Blocks) -> Tensors:
        inner = b.inner or b.hidden
        kv_inner = b.kv_inner or inner
        sizes = {"q": inner, "k": kv_inner, "v": kv_inner}
        if len(b.style.qkv) == 1:
            sizes = {"q": inner + 2 * kv_inner}
        made: Tensors = ()
        for (letter, rows), path in zip(sizes.items(), b.style.qkv, strict=True):
            made += self.matrix(path, rows, b.hidden, layers=b.layers, split="column", bias=letter in b.bias)
        return made + self.matrix(b.style.out, b.hidden, inner, layers=b.layers, split="row", bias="o" in b.bias)

    def _mlp(self, b: Blocks) -> Tensors:
        made: Tensors = ()
        for path in b.style.ins:
            made += self.matrix(path, b.intermediate, b.hidden, layers=b.layers, split="column", bias="i" in b.bias)
        return made + self.matrix(
            b.style.down, b.hidden, b.intermediate, layers=b.layers, split="row", bias="d" in b.bias
        )

    def _small(self, path: str, rows: int, cols: int, layers: int, split: Split) -> Tensors:
        where = tuple(range(layers))
        return (Tensor(self.component, self.prefix + path, rows, cols, where, split=split, part="encoder"),)


def vision_at(prefix: str, *, whole: bool = False) -> Place:
    return Place("vision", prefix, whole)


def audio_at(prefix: str, *, whole: bool = False) -> Place:
    return Place("audio", prefix, whole)


def projector_at(prefix: str = "multi_modal_projector.") -> Place:
    return Place("projector", prefix)


def mlp(at: Place, *widths: int, names: tuple[str, ...] = ("linear_1", "linear_2"), bias: bool = True) -> Tensors:
    """A projector of plain linear layers between `widths`: `mlp(at, 1024, 4096, 4096)` is two of them."""
    steps = zip(names, widths[:-1], widths[1:], strict=True)
    return tuple(t for name, ins, outs in steps for t in at.matrix(name, outs, ins, bias=bias))
