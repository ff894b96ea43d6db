"""How the elements of quantised matrices are stored: bits, scales, and which modules are left alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import translate
from itertools import groupby

from bide.facts.module_names import canonical, parts, runs, spellings


@dataclass(frozen=True, slots=True)
class Format:
    """Bytes of a quantised `rows x cols` matrix (rows = outputs, cols = inputs).

    elements x `bits` / 8
    + `group_bytes` for each group of `group_size` inputs in a row (0: no groups)
    + `block_bytes` for each `block[0] x block[1]` tile (rounded up at the edges)
    + `row_bytes` for each output, `col_bytes` for each input, `matrix_bytes` once.
    """

    name: str
    bits: float
    group_size: int = 0
    group_bytes: float = 0.0
    block: tuple[int, int] | None = None
    block_bytes: float = 0.0
    row_bytes: float = 0.0
    col_bytes: float = 0.0
    matrix_bytes: float = 0.0

    @property
    def family(self) -> str:
        """The name's first word: `fp8` of `fp8-block`."""
        return self.name.split("-")[0]

    def matrix_size_bytes(self, rows: int, cols: int) -> float:
        """Stored bytes of one matrix.

        >>> Format("fp8-block", 8, block=(128, 128), block_bytes=4).matrix_size_bytes(256, 256)
        65552.0
        """
        size = rows * cols * self.bits / 8 + rows * self.row_bytes + cols * self.col_bytes + self.matrix_bytes
        if self.group_size:
            size += rows * -(-cols // self.group_size) * self.group_bytes
        if self.block:
            size += -(-rows // self.block[0]) * -(-cols // self.block[1]) * self.block_bytes
        return size


@dataclass(frozen=True, slots=True)
class Rule:
    """Modules that match `pattern` are stored in `format` (None: left in the model's dtype).

    A pattern is one of three.

    - `re:` and a regular expression, matched from the start of the name (compressed-tensors).
    - A glob, where it has `*`, `?` or `[`: it matches a module, or a parent and so all within it.
    - Else whole words of a dotted name: the module itself (`model.layers.0.mlp.gate`), a parent
      (`model.layers.0.self_attn`), an ending (`lm_head`, `mlp.gate`) or words between
      (`visual`, `layers.1`, which is not `layers.11`). A fused name (`qkv_proj`) stands for its parts.

    Wrappers before `layers`, family-specific words (`block_sparse_moe`, `w1`) and experts' numbers
    make no difference: the experts of a layer are taken to be stored alike.
    """

    pattern: str
    format: Format | None


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Neighbouring rules that give the same format and cannot be looked up by name.

    Globs with one `*`, at the end, are kept as `prefixes`: most of a ModelOpt list. `*x*` is kept as x in `inner`:
    all of an AutoAWQ list.
    """

    order: int
    format: Format | None
    prefixes: tuple[str, ...]
    inner: tuple[str, ...]
    globs: re.Pattern[str] | None
    expressions: tuple[re.Pattern[str], ...]

    def match(self, name: str, spelt: str) -> bool:
        if spelt.startswith(self.prefixes) or any(part in spelt for part in self.inner):
            return True
        if self.globs is not None and self.globs.match(spelt):
            return True
        return any(expression.match(way) for expression in self.expressions for way in spellings(name))


@dataclass(frozen=True, slots=True)
class _Index:
    """Rules arranged so that a name meets a dictionary first and few patterns after."""

    exact: dict[str, int]
    patterns: tuple[_Patterns, ...]
    known: dict[str, Rule | None] = field(default_factory=dict)

    def first(self, name: str, rules: tuple[Rule, ...]) -> Rule | None:
        """The first of `rules` that matches `name`."""
        if name not in self.known:
            self.known[name] = self._search(name, rules)
        return self.known[name]

    def _search(self, name: str, rules: tuple[Rule, ...]) -> Rule | None:
        spelt = canonical(name)
        candidates = [run for part in parts(spelt) for run in runs(part)]
        best = min((self.exact[run] for run in candidates if run in self.exact), default=len(rules))
        for pattern in self.patterns:
            if pattern.order < best and pattern.match(name, spelt):
                return rules[pattern.order]
        return rules[best] if best < len(rules) else None


@dataclass(frozen=True, slots=True)
class Quantisation:
    """A checkpoint's scheme: the first rule that matches a module decides, else `default`.

    `default` is for the linear layers of `parts` (`text`, `mtp`, `encoder`); routers, the output
    head and what schemes never touch are quantised only where a rule names them. `embeddings`:
    the scheme quantises the embedding and the head too (MLX).
    """

    method: str
    default: Format | None
    rules: tuple[Rule, ...] = ()
    parts: tuple[str, ...] = ("text", "mtp")
    embeddings: bool = False
    _index: _Index = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", _indexed(self.rules))

    def format_for(self, *names: str, named_only: bool = False) -> Format | None:
        """The format of the linear that any of `names` calls; None means unquantised.

        `named_only`: without the default, for modules that only an explicit rule quantises.
        """
        for name in names:
            rule = self._index.first(name, self.rules)
            if rule is not None:
                return rule.format
        return None if named_only else self.default

    @property
    def formats(self) -> tuple[Format, ...]:
        """The formats that occur, the default first."""
        found = (self.default, *(rule.format for rule in self.rules))
        return tuple(dict.fromkeys(f for f in found if f is not None))


def _indexed(rules: tuple[Rule, ...]) -> _Index:
    exact: dict[str, int] = {}
    patterns: list[_Patterns] = []
    for _format, run in groupby(enumerate(rules), key=lambda entry: entry[1].format):
        loose: list[tuple[int, Rule]] = []
        for order, rule in run:
            if _is_pattern(rule.pattern):
                loose.append((order, rule))
                continue
            for part in parts(canonical(rule.pattern)):
                exact.setdefault(part, order)
        if loose:
            patterns.append(_compiled(loose[0][0], [rule for _order, rule in loose]))
    return _Index(exact, tuple(patterns))


def _is_pattern(text: str) -> bool:
    return text.startswith("re:") or any(sign in text for sign in "*?[")


def _compiled(order: int, rules: list[Rule]) -> _Patterns:
    texts = [rule.pattern for rule in rules]
    globs = [part for text in texts if not text.startswith("re:") for part in parts(canonical(text))]
    prefixes = tuple(glob[:-1] for glob in globs if glob.endswith("*") and not _is_pattern(glob[:-1]))
    inner = tuple(glob[1:-1] for glob in globs if _is_inner(glob))
    rest = [glob for glob in globs if _is_pattern(glob[:-1]) and not _is_inner(glob)]
    # A glob of a parent (`layers.*.self_attn`) stands for all that lies within it.
    whole = "|".join(translate(way) for glob in rest for way in (glob, f"{glob}.*"))
    expressions = tuple(re.compile(text[3:]) for text in texts if text.startswith("re:"))
    return _Patterns(order, rules[0].format, prefixes, inner, re.compile(whole) if whole else None, expressions)


def _is_inner(glob: str) -> bool:
    return len(glob) > 2 and glob[0] == glob[-1] == "*" and not _is_pattern(glob[1:-1])
