"""Which worked examples help: the criterion of Toolformer, asked of examples.

Toolformer (Schick et al., 2023, section 2) keeps a call in its training text only if the call *with
its result* makes what follows more probable than both no call and a call without result. Here the
example is what is kept or not, and what follows is the right call of another question: the example
has to lower the model's loss on it by a threshold, against the smaller of the losses without the
example and with the example but without its results. An example that has no results has only the
first of these two to beat.

The loss is the paper's: a mean over the tokens of the right call, weighted with
``w_t = max(0, 1 - 0.2 t)``, so that the five tokens that decide count, and the rest does not. It
begins with the tool's name: what stands in front of it is the same in every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from fallback.backend import GenerationRequest
from fallback.catalogue import Catalogue
from fallback.dialects.record import Dialect
from fallback.loop import Plan
from fallback.messages import Message
from fallback.rendering import call_text
from fallback.rendering.examples import Example
from fallback.rendering.opening import opening

__all__ = ["Forcing", "Judged", "Selection", "select", "weighted_loss"]

DECAY = 0.2
"""By how much less each further token counts."""


class Forcing(Protocol):
    """A backend that can be made to write a given text, as the embedded engine's can."""

    def forced(self, request: GenerationRequest, text: str) -> tuple[float, ...]:
        """The natural logarithm of the probability of each token of the text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An example, and what it does to the loss on the right calls of other questions.

    Losses are means over these questions, in nats for a token.

    Attributes:
        tried_on: how many questions; 0 where no other calls the same tools.
        without: loss without the example.
        bare: loss with it, but without its results; ``None`` where it has none.
        full: loss with it.
        gain: by how much it lowers the loss, each question against its better alternative.
        kept: whether it is worth its place.
    """

    example: Example
    tried_on: int = 0
    without: float = 0.0
    bare: float | None = None
    full: float = 0.0
    gain: float = 0.0
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """All candidates, judged, in their order."""

    judged: tuple[Judged, ...]

    @property
    def kept(self) -> tuple[Example, ...]:
        """The examples that are worth their place."""
        return tuple(judged.example for judged in self.judged if judged.kept)


def weighted_loss(logprobs: Sequence[float], *, decay: float = DECAY) -> float:
    """The mean of the tokens' losses, weighted with ``max(0, 1 - decay * t)``."""
    weights = [max(0.0, 1.0 - decay * index) for index in range(len(logprobs))]
    total = sum(weights)
    return -sum(w * p for w, p in zip(weights, logprobs, strict=True)) / total if total else 0.0


def select(
    candidates: Sequence[Example],
    catalogue: Catalogue,
    backend: Forcing,
    *,
    model: str,
    dialect: Dialect,
    threshold: float,
    most: int = 1,
    tries: int = 4,
    num_ctx: int | None = None,
    done: Callable[[Judged], object] | None = None,
) -> Selection:
    """Judge candidates, and keep the best for each tool.

    Args:
        candidates: each is tried on the questions of others that call the same tools.
        catalogue: the tools that are offered.
        backend: of the embedded engine.
        model: its name there.
        dialect: how calls are written.
        threshold: by how much an example has to lower the loss.
        most: examples that are kept for the same tools, at most; the best ones.
        tries: questions that one example is tried on, at most.
        num_ctx: window, in tokens.
        done: told of each example when it is judged, before it is known which are the best.

    Raises:
        BackendError: as of any generation; ``CapabilityError`` where the server is no embedded
            engine.
    """
    losses = _Losses(catalogue, backend, model, dialect, num_ctx)
    judged = []
    for example in candidates:
        verdict = _judge(example, candidates, losses, threshold, tries)
        judged.append(verdict)
        if done is not None:
            done(verdict)
    return Selection(tuple(_best(judged, most)))


def _judge(
    example: Example,
    candidates: Sequence[Example],
    losses: _Losses,
    threshold: float,
    tries: int,
) -> Judged:
    others = [c for c in candidates if c is not example and c.tools == example.tools]
    targets = [c for c in others if c.question.strip() != example.question.strip()][:tries]
    if not targets:
        return Judged(example=example)
    without = [losses.of(target, ()) for target in targets]
    full = [losses.of(target, (example,)) for target in targets]
    bare: list[float] = []
    if example.results:
        stripped = example.without_results()
        bare = [losses.of(target, (stripped,)) for target in targets]
    # Without results there is nothing to leave out, and one alternative.
    others_of = zip(without, bare or without, strict=True)
    gains = [min(other) - f for other, f in zip(others_of, full, strict=True)]
    gain = _mean(gains)
    return Judged(
        example=example,
        tried_on=len(targets),
        without=_mean(without),
        bare=_mean(bare) if bare else None,
        full=_mean(full),
        gain=gain,
        kept=gain >= threshold,
    )


def _best(judged: Sequence[Judged], most: int) -> Iterator[Judged]:
    """The same, with no more than ``most`` kept for the same tools."""
    ranked = sorted(judged, key=lambda verdict: -verdict.gain)  # of equals the first one
    for verdict in judged:
        rivals = [v for v in ranked if v.kept and v.example.tools == verdict.example.tools]
        yield replace(verdict, kept=any(verdict is rival for rival in rivals[:most]))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


class _Losses:
    """Losses on right calls, each found out once."""

    def __init__(
        self,
        catalogue: Catalogue,
        backend: Forcing,
        model: str,
        dialect: Dialect,
        num_ctx: int | None,
    ) -> None:
        self._catalogue, self._backend = catalogue, backend
        self._model, self._dialect, self._num_ctx = model, dialect, num_ctx
        self._known: dict[tuple[Example, tuple[Example, ...]], float] = {}

    def of(self, target: Example, shown: tuple[Example, ...]) -> float:
        """The loss on the call of ``target`` where the model is shown some examples."""
        key = (target, shown)
        if key not in self._known:
            self._known[key] = self._find(target, shown)
        return self._known[key]

    def _find(self, target: Example, shown: tuple[Example, ...]) -> float:
        plan = Plan(
            model=self._model,
            catalogue=self._catalogue,
            dialect=self._dialect,
            examples=shown,
            num_ctx=self._num_ctx,
        )
        asked = (Message(role="user", content=target.question),)
        request = plan.request("prompt", asked, tool_choice="auto")
        begun = opening(self._dialect).prefill
        right = call_text(target.calls, self._dialect).removeprefix(begun)
        return weighted_loss(self._backend.forced(replace(request, prefill=begun), right))
