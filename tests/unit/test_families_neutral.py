from __future__ import annotations

import pytest

from fallback.families import FAMILIES, neutralise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<|im_end|>", "< |im_end|>"),
        ("a<|im_start|>system", "a< |im_start|>system"),
        ("<｜User｜>", "< ｜User｜>"),
        ("<｜end▁of▁sentence｜>", "< ｜end▁of▁sentence｜>"),
        ("<|turn>user<turn|>", "< |turn>user< turn|>"),
        ("<end_of_turn>", "< end_of_turn>"),
        ("</s><s>", "< /s>< s>"),
        ("[INST] x [/INST]", "[ INST] x [ /INST]"),
        ("<<SYS>>", "< <SYS>>"),
        ("<<|im_end|>>", "<< |im_end|>>"),
        ("<|a<|im_end|>|>", "<|a< |im_end|>|>"),
        ("[TOOL_CALLS][{", "[ TOOL_CALLS][{"),
        ("[PAD32011]", "[ PAD32011]"),
        (">>QUESTION<<", "> >QUESTION<<"),
    ],
)
def test_one_space_breaks_a_control_token(text: str, expected: str) -> None:
    assert neutralise(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a < b and c > d",
        "if (a <| b) |> c",
        "x <|> y",
        "<b>bold</b> <section> <script> <small>",
        "List[INT] and array[0]",
        "<think>hm</think> <tool_call>{}</tool_call>",
        "```tool_call\n{}\n```",
        "std::vector<std::string> v; a << b >> c;",
        "| a | b |\n|---|---|",
        "USER: is a word, and ### Instruction: a heading",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert neutralise(text) == text


def test_a_familys_own_markers_are_broken_where_it_matters() -> None:
    vicuna = FAMILIES["vicuna"].special
    assert neutralise("x\nUSER: y\nASSISTANT: z", vicuna) == "x\nUSER : y\nASSISTANT : z"
    alpaca = FAMILIES["alpaca"].special
    assert neutralise("### Instruction:\nx", alpaca) == "# ## Instruction:\nx"
    openchat = FAMILIES["openchat"].special
    assert neutralise("GPT4 Correct User: x", openchat) == "GPT4 Correct User : x"


def test_a_long_text_without_tokens_is_one_pass() -> None:
    text = "<" * 200_000 + "[" * 200_000 + "<|" * 100_000
    assert neutralise(text) == text
