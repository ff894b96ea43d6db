"""How many tokens each chunk of a stream holds, when the server told only their sum."""

from __future__ import annotations

from collections.abc import Sequence


def apportioned(weights: Sequence[int], total: int) -> list[int]:
    """`total` whole tokens over chunks by `weights` (bytes of text): largest remainders, one each if there are enough.

    The first chunk never gets none, because it is what proves that a token had come.

    >>> apportioned([4, 4, 4, 4], 4), apportioned([30, 60, 30], 4), apportioned([5, 5, 5], 2)
    ([1, 1, 1, 1], [1, 2, 1], [1, 1, 0])
    """
    count = len(weights)
    if total == count:
        return [1] * count
    least = 1 if total > count else 0
    spare, known = total - least * count, weights if sum(weights) else [1] * count
    whole = sum(known)
    shares = [spare * weight / whole for weight in known]
    tokens = [least + int(share) for share in shares]
    order = sorted(range(count), key=lambda chunk: int(shares[chunk]) - shares[chunk])
    for chunk in order[: total - sum(tokens)]:
        tokens[chunk] += 1
    if count and tokens[0] == 0:
        tokens[0], largest = 1, max(range(count), key=tokens.__getitem__)
        tokens[largest] -= 1 if largest else 0
    return tokens
