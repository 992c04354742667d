"""Whether our grader and the checker of the Berkeley leaderboard say the same of the same calls.

    python -m benchmarks.bfcl_agreement [--cache FOLDER] [--out FILE] [--seed N] [--record]

Calls are made from the accepted answers of ``bfcl-eval``: for every question each accepted value of
each parameter is used once, and each parameter that may be left out is left out once. Then every
question's answer is made wrong in each way of :data:`MUTATIONS` that it allows. The checker,
``ast_checker``, runs in an environment of its own. Every difference is printed; exits with 1 if
there is one.

``--record`` does the same with the questions of ``tests/data/bfcl_questions.jsonl``, which are our
own in the leaderboard's form, and keeps the checker's verdicts beside them for the tests.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.accuracy import checker_verdicts
from benchmarks.peers.environments import BFCL, default_cache, prepared
from fallback.compare.bfcl import CATEGORIES, question_case, questions
from fallback.compare.cases import Case
from fallback.compare.grading import Call, grade_calls

RESULT = Path(__file__).with_name("results") / "bfcl_agreement.md"
OWN = Path(__file__).resolve().parent.parent / "tests" / "data" / "bfcl_questions.jsonl"
VERDICTS = OWN.with_name("bfcl_verdicts.jsonl")
ROUNDS = 8
"""How often each of our own questions is made wrong in each way: more than 200 different ones."""

Calls = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Calls for one question, how they were made, and what our grader says of them."""

    id: str
    how: str
    line: Mapping[str, Any]
    answers: list[dict[str, Any]]
    category: str
    calls: Calls
    ours: bool

    def for_checker(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "calls": self.calls,
            "functions": self.line["function"],
            "answers": self.answers,
            "category": self.category,
        }


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.bfcl_agreement")
    options.add_argument("--cache", type=Path, default=default_cache(), help="environments go here")
    options.add_argument("--out", type=Path, default=RESULT, help="the Markdown file")
    options.add_argument("--seed", type=int, default=0, help="of the changes that make calls wrong")
    options.add_argument("--record", action="store_true", help="record verdicts for the tests")
    chosen = options.parse_args()
    cache = chosen.cache.resolve()
    chance = random.Random(chosen.seed)  # noqa: S311  # repeatable, keeps no secret
    data = next(prepared(BFCL, cache).glob("lib/python*/site-packages/bfcl_eval/data"))
    asked = own_questions() if chosen.record else all_questions(data)
    samples = list(samples_of(asked, chance, ROUNDS if chosen.record else 1))
    theirs = checker_verdicts((sample.for_checker() for sample in samples), cache)
    differing = [s for s in samples if s.ours != theirs[s.id]["valid"]]
    for sample in differing:
        said = theirs[sample.id]
        print(f"{sample.id}\tours {sample.ours}, theirs {said['valid']} {said['error']}")
        print(f"\t{sample.calls}\n\t{sample.answers}")
    if chosen.record:
        record(samples, theirs)
    else:
        chosen.out.write_text(document(samples, theirs), encoding="utf-8")
    return 1 if differing else 0


Question = tuple[str, Mapping[str, Any], list[dict[str, Any]]]
"""Category, line and accepted answers."""


def all_questions(data: Path) -> Iterator[Question]:
    """Every question of the leaderboard that has an answer."""
    for category in (name for name in CATEGORIES if name != "irrelevance"):
        for line, answers in questions(category, data=data):
            yield category, line, answers


def own_questions() -> Iterator[Question]:
    """Ours, in the leaderboard's form."""
    for text in OWN.read_text("utf-8").splitlines():
        line = json.loads(text)
        content = [[{"role": "user", "content": "?"}]]
        yield line["category"], line | {"question": content}, line["answers"]


def samples_of(asked: Iterable[Question], chance: random.Random, rounds: int) -> Iterator[Sample]:
    """Right and wrong calls for each question."""
    for category, line, answers in asked:
        case = question_case(category, line, answers)
        made = list(right(answers, case))
        for _ in range(rounds):
            made += wrong(answers, case, chance)
        for number, (how, calls) in enumerate(made):
            yield Sample(
                id=f"{case.id}:{how}:{number}",
                how=how,
                line=line,
                answers=answers,
                category=category,
                calls=calls,
                ours=ours(case, calls),
            )


def record(samples: Iterable[Sample], theirs: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep the checker's verdicts; calls that were made twice are kept once."""
    kept: dict[str, None] = {}
    for sample in samples:
        line = {
            "question": sample.line["id"],
            "how": sample.how,
            "calls": sample.calls,
            "valid": theirs[sample.id]["valid"],
        }
        kept[json.dumps(line)] = None
    VERDICTS.write_text("".join(line + "\n" for line in kept), encoding="utf-8")


def ours(case: Case, calls: Calls) -> bool:
    made = [Call(call["name"], call["arguments"]) for call in calls]
    return grade_calls(case.calls, made).exact


def right(answers: list[dict[str, Any]], case: Case) -> Iterator[tuple[str, Calls]]:
    """Every accepted value once, and the least that is accepted."""
    accepted = [values for answer in answers for values in answer.values()]
    variants = max((len(values) for fields in accepted for values in fields.values()), default=1)
    for variant in range(max(1, variants)):
        yield "accepted", written(answers, variant)
    yield "least", written(answers, 0, required=required_of(case))


def required_of(case: Case) -> dict[str, frozenset[str]]:
    return {tool["name"]: frozenset(tool["parameters"].get("required", ())) for tool in case.tools}


def written(
    answers: list[dict[str, Any]],
    variant: int,
    required: Mapping[str, frozenset[str]] | None = None,
) -> Calls:
    """Calls with the accepted values of one variant; ``required`` leaves out all that may be."""
    calls = []
    for answer in answers:
        for name, fields in answer.items():
            keep = None if required is None else required.get(name, frozenset())
            calls.append({"name": name, "arguments": _fields(fields, variant, keep)})
    return calls


def _fields(
    fields: Mapping[str, list[Any]], variant: int, keep: frozenset[str] | None = None
) -> dict[str, Any]:
    made = {}
    for name, values in fields.items():
        given = [value for value in values if value != ""]
        may_go = "" in values and (keep is None or name not in keep)
        if not given or (may_go and keep is not None):
            continue
        made[name] = _plain(given[variant % len(given)], variant, keep)
    return made


def _plain(value: Any, variant: int, keep: frozenset[str] | None) -> Any:
    if isinstance(value, dict) and all(isinstance(held, list) for held in value.values()):
        return _fields(value, variant, keep)
    if isinstance(value, list):
        return [_plain(item, variant, keep) for item in value]
    return value


# Ways to make calls wrong ------------------------------------------------------------------------


def _changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 7
    if isinstance(value, str):
        return value + " qz"
    if isinstance(value, list):
        return [*value[:-1], _changed(value[-1])] if value else ["qz"]
    return {**value, "qz": 1} if isinstance(value, dict) else "qz"


def change_value(calls: Calls, chance: random.Random, case: Case) -> bool:
    call = chance.choice(calls)
    if not call["arguments"]:
        return False
    name = chance.choice(list(call["arguments"]))
    call["arguments"][name] = _changed(call["arguments"][name])
    return True


def text_for_number(calls: Calls, chance: random.Random, case: Case) -> bool:
    places = [
        (call, name)
        for call in calls
        for name, value in call["arguments"].items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if not places:
        return False
    call, name = chance.choice(places)
    call["arguments"][name] = str(call["arguments"][name])
    return True


def drop_argument(calls: Calls, chance: random.Random, case: Case) -> bool:
    call = chance.choice(calls)
    required = [n for n in call["arguments"] if n in required_of(case).get(call["name"], ())]
    if not required:
        return False
    del call["arguments"][chance.choice(required)]
    return True


def add_argument(calls: Calls, chance: random.Random, case: Case) -> bool:
    chance.choice(calls)["arguments"]["qz_extra"] = 1
    return True


def other_name(calls: Calls, chance: random.Random, case: Case) -> bool:
    call = chance.choice(calls)
    others = [tool["name"] for tool in case.tools if tool["name"] != call["name"]]
    call["name"] = chance.choice(others) if others else call["name"] + "_qz"
    return True


def drop_call(calls: Calls, chance: random.Random, case: Case) -> bool:
    calls.remove(chance.choice(calls))
    return True


def repeat_call(calls: Calls, chance: random.Random, case: Case) -> bool:
    calls.append(copy.deepcopy(chance.choice(calls)))
    return True


def shorten_list(calls: Calls, chance: random.Random, case: Case) -> bool:
    lists = [v for call in calls for v in call["arguments"].values() if isinstance(v, list) and v]
    if not lists:
        return False
    chance.choice(lists).pop()
    return True


def turn_list(calls: Calls, chance: random.Random, case: Case) -> bool:
    lists = [
        value
        for call in calls
        for value in call["arguments"].values()
        if isinstance(value, list) and len(value) > 1 and value != value[::-1]
    ]
    if not lists:
        return False
    chance.choice(lists).reverse()
    return True


def recase(calls: Calls, chance: random.Random, case: Case) -> bool:
    """Not wrong: case and punctuation do not count."""
    texts = [
        (call["arguments"], name)
        for call in calls
        for name, value in call["arguments"].items()
        if isinstance(value, str) and value
    ]
    if not texts:
        return False
    arguments, name = chance.choice(texts)
    arguments[name] = arguments[name].swapcase().replace(" ", "_")
    return True


MUTATIONS: dict[str, Callable[[Calls, random.Random, Case], bool]] = {
    "value changed": change_value,
    "text for a number": text_for_number,
    "argument dropped": drop_argument,
    "argument added": add_argument,
    "another name": other_name,
    "call dropped": drop_call,
    "call repeated": repeat_call,
    "list shortened": shorten_list,
    "list turned round": turn_list,
    "other case and punctuation": recase,
}


def wrong(
    answers: list[dict[str, Any]], case: Case, chance: random.Random
) -> Iterator[tuple[str, Calls]]:
    """The first accepted calls after each change that can be made to them."""
    for how, change in MUTATIONS.items():
        calls = copy.deepcopy(written(answers, 0))
        if change(calls, chance, case):
            yield how, calls


def document(samples: list[Sample], theirs: Mapping[str, Mapping[str, Any]]) -> str:
    """The Markdown file."""
    total, accepted, same = Counter[str](), Counter[str](), Counter[str]()
    for sample in samples:
        total[sample.how] += 1
        accepted[sample.how] += theirs[sample.id]["valid"]
        same[sample.how] += sample.ours == theirs[sample.id]["valid"]
    rows = [f"| {how} | {n} | {accepted[how]} | {same[how]} |" for how, n in total.items()]
    head = [
        "| calls | number | accepted by the checker | same verdict |",
        "| --- | --- | --- | --- |",
    ]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return "\n".join(
        [
            "# Agreement with the leaderboard's checker",
            "",
            "Calls made from the accepted answers of BFCL's questions (simple, multiple, parallel,",
            "parallel_multiple), as they are and made wrong, judged by BFCL's `ast_checker` and by",
            "`fallback.compare.grading`.",
            "",
            *head,
            *rows,
            f"| all | {sum(total.values())} | {sum(accepted.values())} | {sum(same.values())} |",
            "",
            "    python -m benchmarks.bfcl_agreement",
            "",
            f"Measured {today} with {BFCL.bare[0]}.",
            "",
        ]
    )


if __name__ == "__main__":
    raise SystemExit(main())
