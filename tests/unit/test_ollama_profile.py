from __future__ import annotations

from typing import Any

import pytest

from fallback.ollama.profile import digest_in, names_in, read_profile

CHATML = "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}"
SHOWN: dict[str, Any] = {
    "modelfile": "FROM qwen2\nTEMPLATE x\n",
    "parameters": 'stop                           "<|im_end|>"\n'
    'stop                           "<|im_start|>"\n'
    "num_ctx                        16384\ntemperature                    0.7",
    "template": CHATML,
    "system": "You are Qwen.",
    "details": {"family": "qwen2", "parameter_size": "494M"},
    "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
    "model_info": {
        "general.architecture": "qwen2",
        "qwen2.context_length": 32768,
        "tokenizer.ggml.add_bos_token": False,
    },
    "capabilities": ["completion", "tools"],
}


def shown(**changes: Any) -> dict[str, Any]:
    return {**SHOWN, **changes}


def test_what_the_server_says_is_put_into_our_words() -> None:
    profile = read_profile("qwen", SHOWN, "sha256:abc")
    info = profile.info
    assert (info.name, info.family, info.context_length) == ("qwen", "chatml", 32768)
    assert info.capabilities == {"completion", "tools"}
    assert info.digest == "sha256:abc"
    assert info.template == CHATML
    assert info.parser is None
    assert info.details["parameter_size"] == "494M"
    assert profile.system == "You are Qwen."
    assert [(m.role, m.content) for m in profile.history] == [("user", "a"), ("assistant", "b")]
    assert profile.stop == ("<|im_end|>", "<|im_start|>")
    assert profile.num_ctx == 16384
    assert not profile.bos
    assert not profile.thinks


def test_a_server_that_is_too_old_to_list_capabilities_is_not_taken_to_deny_them() -> None:
    answer = {name: value for name, value in SHOWN.items() if name != "capabilities"}
    assert read_profile("m", answer).info.capabilities is None


def test_a_thinking_model_is_known_by_its_capability() -> None:
    assert read_profile("m", shown(capabilities=["completion", "thinking"])).thinks


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"model_info": None, "details": None, "messages": None, "capabilities": None},
        {"model_info": [], "template": 5, "parameters": {}, "modelfile": None},
        {"messages": ["x", {"role": "tool", "content": "t"}, {"content": "y"}]},
    ],
)
def test_anything_may_be_missing_or_of_the_wrong_type(answer: dict[str, Any]) -> None:
    profile = read_profile("m", answer)
    assert profile.info.name == "m"
    assert profile.family is None
    assert profile.history == ()


def test_a_builtin_parser_and_renderer_are_read_from_the_modelfile() -> None:
    modelfile = (
        "# comment\nFROM /blob\nTEMPLATE {{ .Prompt }}\nRENDERER qwen3-coder\nPARSER qwen3-coder\n"
    )
    profile = read_profile("m", shown(modelfile=modelfile, template="{{ .Prompt }}"))
    assert profile.info.parser == "qwen3-coder"
    assert profile.info.family == "chatml"
    assert profile.info.details["renderer"] == "qwen3-coder"


def test_the_words_of_a_system_prompt_are_no_lines_of_the_modelfile() -> None:
    modelfile = 'FROM /blob\nSYSTEM """\nPARSER fake\n"""\n'
    assert read_profile("m", shown(modelfile=modelfile)).info.parser is None


def test_gpt_oss_is_read_by_a_parser_that_no_modelfile_names() -> None:
    info = {"general.architecture": "gptoss"}
    assert read_profile("m", shown(model_info=info)).info.parser == "harmony"


def test_bos_is_spelled_where_the_template_writes_it_and_the_tokenizer_does_not() -> None:
    llama = "{% x %}{{ bos_token }}<|start_header_id|><|end_header_id|>"
    key = "tokenizer.ggml.add_bos_token"
    assert read_profile("m", shown(template=llama, model_info={key: False})).bos
    assert not read_profile("m", shown(template=llama, model_info={key: True})).bos
    assert not read_profile("m", shown(template=llama, model_info={})).bos
    no_bos = "<|start_header_id|><|end_header_id|>"
    assert not read_profile("m", shown(template=no_bos, model_info={key: False})).bos


def test_parameters_are_unquoted_as_go_quotes_them() -> None:
    text = 'stop  "a\\nb"\nstop  "\\x41"\nstop  bare\nnum_ctx  many\n'
    profile = read_profile("m", shown(parameters=text))
    assert profile.stop == ("a\nb", "\\x41", "bare")
    assert profile.num_ctx is None


LISTING = {
    "models": [
        {"name": "gemma3:4b", "model": "gemma3:4b", "digest": "d1"},
        {"name": "qwen:latest", "model": "qwen:latest", "digest": "d2"},
        "nonsense",
    ]
}


def test_a_model_is_found_in_the_list_with_and_without_its_tag() -> None:
    assert digest_in(LISTING, "gemma3:4b") == "d1"
    assert digest_in(LISTING, "qwen") == "d2"
    assert digest_in(LISTING, "gemma3") == ""
    assert digest_in({"models": None}, "gemma3") == ""
    assert names_in(LISTING) == ("gemma3:4b", "qwen:latest")
    assert names_in({}) == ()
