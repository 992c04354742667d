"""Coverage-guided fuzzing of the parser: any bytes, the laws as oracle. Run by ``scripts/fuzz``.

An input is a reply and, in its last four bytes, how it is read: why the generation ended, whether
the reasoning was open, what was to be called, whether the reply is quoted first, whether calls in
running text are read, and in which pieces it arrives. Bytes that are not UTF-8 become lone
surrogates, so that any bytes are a reply.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["fallback.parsing", "fallback.validation", "fallback.catalogue", "fallback.dialects"]
):
    import fallback.catalogue
    import fallback.dialects.markers
    import fallback.parsing
    import fallback.parsing.channels
    import fallback.parsing.gemma
    import fallback.parsing.labelled
    import fallback.parsing.lenient
    import fallback.parsing.passages
    import fallback.validation

from fallback.dialects.names import READ
from fallback.dialects.record import FENCED
from fallback.messages import FinishReason, Reading, ToolResult
from fallback.rendering import result_text
from fallback.rendering.fences import fence_for
from fallback.testing.cases import cases
from fallback.testing.laws import tiles, valid
from fallback.testing.samples import LawBroken
from fallback.testing.streaming import check_pieces, told
from fallback.testing.writers import WRITERS, Written

ANY = {"type": "object", "properties": {}}
CATALOGUE = fallback.catalogue.Catalogue(
    [
        {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer", "minimum": 0},
                    "unit": {"enum": ["celsius", "fahrenheit"]},
                },
                "required": ["city"],
            },
        },
        {"name": "now", "parameters": ANY},
        {
            "name": "write-file",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                "required": ["path", "content"],
                "additionalProperties": False,
            },
        },
        {
            "name": "math.add",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": ["number", "null"]}},
            },
        },
        {
            "name": "search",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "exact": {"type": "boolean"},
                    "options": {"type": "object", "additionalProperties": True},
                },
                "required": ["query"],
            },
        },
        {
            "name": "run",
            "parameters": {
                "type": "object",
                "properties": {"input": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
                "required": ["input"],
            },
        },
    ]
)
SEEDS = (
    [Written("get_weather", {"city": "Oslo", "days": 2}), Written("now", {})],
    [Written("write-file", {"path": "a.py", "content": 'print("```")\n# {}'})],
    [Written("search", {"query": "x", "tags": ["a", "b"], "exact": True, "options": {"n": None}})],
)
REASONS: tuple[FinishReason, ...] = ("stop", "length", "tool_call", "cancelled")
CHOICES = ("auto", "auto", "required", "get_weather")


def pieces(text: str, sizes: bytes) -> Iterator[str]:
    """The text in pieces of one to some forty characters."""
    lengths = cycle([1 + sizes[0] % 40, 1 + sizes[1] % 5, 1 + sizes[2] % 13])
    at = 0
    for length in lengths:
        if at >= len(text):
            return
        yield text[at : at + length]
        at += length


def read(text: str, chunks: Iterator[str], how: int) -> Reading:
    parser = fallback.parsing.Parser(
        CATALOGUE,
        tool_choice=CHOICES[how >> 2 & 3],
        reasoning_open=bool(how >> 4 & 1),
        dialects=READ if how >> 7 & 1 else None,  # with calls in running text
    )
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    events += parser.close(REASONS[how & 3])
    ready = [call for call in told(events) if call.call]
    if tuple(call.call for call in ready) != parser.reading.calls:
        raise LawBroken("every_start_ends", repr(text))
    for call in ready:
        check_pieces(call)
    return parser.reading


def check(data: bytes) -> None:
    """Read one input in every way and hold the laws against it."""
    control = data[-4:] if len(data) > 4 else b"\0\0\0\0"
    text = (data[:-4] if len(data) > 4 else data).decode("utf-8", "surrogateescape")
    how = control[0]
    masked = how >> 5 & 3
    if masked == 1:
        fence = fence_for(text)
        text = f"An example:\n\n{fence}text\n{text}\n{fence}\n\nI have called nothing."
        how &= ~16
    elif masked == 2:
        text = result_text(ToolResult(call_id="c", name="f", content=text), FENCED)
        how &= ~16
    whole = read(text, iter([text]), how)
    if read(text, pieces(text, control[1:]), how) != whole:
        raise LawBroken("chunks_do_not_matter", repr(text))
    tiles(whole, text)
    valid(whole, CATALOGUE)
    if masked in (1, 2) and whole.calls:
        raise LawBroken("quoted_never_called", repr(text))


def write_corpus(folder: Path) -> None:
    """What the search starts from: the conformance cases, and calls in every dialect."""
    texts = [case["output"] for case in cases()]
    texts += [
        writer.write(calls if writer.many else calls[:1])
        for writer in WRITERS.values()
        for calls in SEEDS
    ]
    for number, text in enumerate(texts):
        data = text.encode("utf-8", "surrogatepass")
        (folder / f"{number:04d}").write_bytes(data + bytes([0, number % 256, 3, 7]))


def write_dictionary(path: Path) -> None:
    """Every marker as a word that the mutations may insert."""
    words = [
        *fallback.dialects.markers.table(),
        '"arguments": {',
        '"name": "now"',
        "```tool_call\n",
    ]
    lines = []
    for word in words:
        escaped = "".join(
            chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\x{byte:02x}"
            for byte in word.encode()
        )
        lines.append(f'"{escaped}"\n')
    path.write_text("".join(lines), encoding="ascii")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--executions", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds-per-input", type=int, default=10)
    options.add_argument("--max-length", type=int, default=2048, help="bytes of one input")
    options.add_argument("--found", type=Path, default=Path(), help="folder for failing inputs")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as made:
        corpus = Path(made) / "corpus"
        corpus.mkdir()
        write_corpus(corpus)
        dictionary = Path(made) / "markers.dict"
        write_dictionary(dictionary)
        arguments = [
            sys.argv[0],
            f"-runs={given.executions}",
            f"-seed={given.seed}",
            f"-max_len={given.max_length}",
            f"-timeout={given.seconds_per_input}",
            "-rss_limit_mb=4096",
            "-print_final_stats=1",
            f"-dict={dictionary}",
            f"-artifact_prefix={given.found.resolve()}/",
            str(corpus),
        ]
        atheris.Setup(arguments, check)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
