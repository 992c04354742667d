from __future__ import annotations

import pytest

from fallback.backend import ModelInfo
from fallback.errors import CapabilityError
from fallback.routing import choose


def info(*capabilities: str) -> ModelInfo:
    return ModelInfo(name="m", capabilities=frozenset(capabilities))


def test_a_model_that_is_said_to_take_tools_is_asked_natively() -> None:
    assert choose(info("completion", "tools")).mode == "native"


def test_a_model_without_tools_is_asked_in_prompt_mode() -> None:
    route = choose(info("completion", "vision"))
    assert route.mode == "prompt"
    assert "says nothing of tools" in route.why


def test_a_server_that_lists_no_capabilities_is_tried_natively() -> None:
    assert choose(ModelInfo(name="m")).mode == "native"


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_a_forced_mode_is_obeyed(mode: str) -> None:
    assert choose(info("completion"), mode).mode == mode  # type: ignore[arg-type] # both are modes
    assert choose(info("completion", "tools"), mode).why == "asked for"  # type: ignore[arg-type] # both are modes


@pytest.mark.parametrize("mode", ["auto", "native", "prompt"])
def test_a_model_that_only_embeds_is_refused_in_every_mode(mode: str) -> None:
    with pytest.raises(
        CapabilityError, match=r"'m' does not write text \(it can: embedding\)"
    ) as e:
        choose(info("embedding"), mode)  # type: ignore[arg-type] # all three are modes
    assert e.value.missing == "completion"


def test_a_model_that_can_do_nothing_is_refused_too() -> None:
    with pytest.raises(CapabilityError, match="it can: nothing"):
        choose(info())
