"""What is right and wrong about the calls and the answer of one turn.

The calls of a turn are matched with those expected so that as many as possible are right; a call
that only repeats one of an earlier step is not counted twice, since nothing new was asked for.
On the Berkeley leaderboard's questions the verdict is that of its own checker, see
``benchmarks/bfcl_agreement.py``; the one wilful difference is that an integer is accepted in an
array of numbers, as JSON Schema has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fallback.compare import patterns
from fallback.compare.cases import Case, ExpectedAnswer, ExpectedCall
from fallback.compare.patterns import wrong_fields

__all__ = ["Call", "CallsGrade", "answer_faults", "grade_calls"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was made: what of it is judged."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsGrade:
    """The verdict on calls.

    Attributes:
        names: whether the right tools were called, each as often as is right.
        exact: whether everything about the calls is right.
        fields_right: arguments that are right, of ``fields``: those expected or given.
        fields: 0 where no call was expected.
        faults: a clause for each thing that is wrong.
    """

    names: bool
    exact: bool
    fields_right: int
    fields: int
    faults: tuple[str, ...] = ()


def grade_calls(
    expected: Sequence[ExpectedCall], made: Sequence[Call], *, ordered: bool = False
) -> CallsGrade:
    """Judge the calls of a turn, in the order they were made."""
    names = Counter(call.name for call in expected) == Counter(call.name for call in made)
    pairs = _matched(expected, made, ordered=ordered)
    right = total = 0
    faults: list[str] = []
    for wanted, index in zip(expected, pairs, strict=True):
        given = made[index].arguments if index is not None else None
        good, all_fields, wrong = _fields(wanted, given)
        right, total = right + good, total + all_fields
        faults += wrong
    taken = {index for index in pairs if index is not None}
    for index, call in enumerate(made):
        if index not in taken:
            faults.append(f"`{call.name}` was called and should not have been")
            total += len(call.arguments) if expected else 0
    if ordered and not faults and pairs != sorted(pairs, key=lambda index: index or 0):
        faults.append("the calls came in the wrong order")
    return CallsGrade(
        names=names, exact=not faults, fields_right=right, fields=total, faults=tuple(faults)
    )


def _matched(
    expected: Sequence[ExpectedCall], made: Sequence[Call], *, ordered: bool
) -> list[int | None]:
    """For each expected call the index of the call that stands for it.

    First as many wholly right ones as there can be (augmenting paths), then for what is left the
    nearest of the same name.
    """
    fits = [[i for i, call in enumerate(made) if _right(wanted, call)] for wanted in expected]
    owner: dict[int, int] = {}

    def assign(wanted: int, seen: set[int]) -> bool:
        for index in fits[wanted]:
            if index in seen:
                continue
            seen.add(index)
            if index not in owner or assign(owner[index], seen):
                owner[index] = wanted
                return True
        return False

    for wanted in range(len(expected)):
        assign(wanted, set())
    pairs: list[int | None] = [None] * len(expected)
    for index, wanted in owner.items():
        pairs[wanted] = index
    free = [i for i in range(len(made)) if i not in owner]
    for wanted, call in enumerate(expected):
        if pairs[wanted] is None:
            same = [i for i in free if made[i].name == call.name]
            if same:
                best = max(same, key=lambda i: _fields(call, made[i].arguments)[0])
                pairs[wanted] = best
                free.remove(best)
    return _in_order(expected, made, pairs) if ordered else pairs


def _in_order(
    expected: Sequence[ExpectedCall], made: Sequence[Call], pairs: list[int | None]
) -> list[int | None]:
    """Where equal calls are expected, any order of them will do: take them as they come."""
    if len(expected) == len(made) and all(map(_right, expected, made)):
        return list(range(len(expected)))
    return pairs


def _right(wanted: ExpectedCall, call: Call) -> bool:
    return wanted.name == call.name and patterns.matches(wanted.arguments, call.arguments)


def _fields(wanted: ExpectedCall, given: Mapping[str, Any] | None) -> tuple[int, int, list[str]]:
    """Right arguments, all arguments, and what is wrong with the rest."""
    pattern = wanted.arguments
    if given is None:
        needed = len(pattern.fields.keys() - pattern.optional)
        right = _brief(patterns.shown(pattern))
        return 0, needed, [f"`{wanted.name}` was not called with {right}"]
    wrong = wrong_fields(pattern, given)
    counted = {name for name in pattern.fields if name in given or name not in pattern.optional}
    counted |= given.keys()
    faults = [_fault(wanted, name, what, given) for name, what in wrong.items()]
    return len(counted) - len(wrong), len(counted), faults


def _fault(wanted: ExpectedCall, name: str, what: str, given: Mapping[str, Any]) -> str:
    place = f"`{wanted.name}` argument `{name}`"
    if what == "missing":
        return f"{place} is missing"
    if what == "unexpected":
        return f"{place} should not be there"
    right = patterns.shown(wanted.arguments.fields[name])
    return f"{place} is {_brief(given[name])}, right is {_brief(right)}"


def _brief(value: Any) -> str:
    from fallback.templating import to_json

    text = to_json(value)
    return text if len(text) <= 200 else text[:199] + "…"


def calls_of_turn(steps: Sequence[Sequence[Call]]) -> list[Call]:
    """The calls of a turn without those that repeat a call of an earlier step."""
    kept: list[Call] = []
    for step in steps:
        before = list(kept)
        kept += [call for call in step if call not in before]
    return kept


_GROUPED = re.compile(r"(?<=\d)[,\u202f\u00a0' ](?=\d{3}(?!\d))")


def answer_faults(expected: ExpectedAnswer, answer: str) -> tuple[str, ...]:
    """What the final answer lacks, or says and should not; text is compared without case."""
    said = _plain(answer)
    lacking = [f"the answer does not say {_either(any_of)}" for any_of in expected.has
               if not any(_says(said, text) for text in any_of)]  # fmt: skip
    wrong = [f"the answer says {_either(any_of)}" for any_of in expected.lacks
             if any(_says(said, text) for text in any_of)]  # fmt: skip
    return (*lacking, *wrong)


def _says(said: str, text: str) -> bool:
    """Whether the words occur; a number only as a whole: ``12`` is not said by ``125``."""
    wanted = re.escape(_plain(text))
    before = r"(?<![\d.])" if text[:1].isdigit() else ""
    after = r"(?!\d|[.,]\d)" if text[-1:].isdigit() else ""
    return re.search(f"{before}{wanted}{after}", said) is not None


def _plain(text: str) -> str:
    folded = _GROUPED.sub("", text.casefold())
    return re.sub(r"[\s*_`]+", " ", folded).replace("’", "'")


def _either(texts: Sequence[str]) -> str:
    return " or ".join(repr(text) for text in texts)


def grade_of(case: Case, steps: Sequence[Sequence[Call]]) -> CallsGrade:
    """Judge the calls of a turn, step by step, against a case."""
    return grade_calls(case.calls, calls_of_turn(steps), ordered=case.ordered)
