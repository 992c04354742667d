from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fallback.engine.models import list_models, model_path, remove
from fallback.engine.registry import Registry
from fallback.engine.store import Store, cache_dir
from fallback.errors import EngineError


@pytest.fixture
def store(tmp_path: Path, cut_model: object) -> Store:
    return Store(tmp_path / "cache", registry=Registry([cut_model.record]))  # type: ignore[attr-defined] # a fixture of ours


def keep(store: Store, data: bytes) -> Path:
    path = store.file(store.registry.records[0])
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def test_the_cache_folder_can_be_chosen() -> None:
    assert cache_dir({"FALLBACK_CACHE_DIR": "/some/where"}) == Path("/some/where")
    assert cache_dir({}).name == "fallback"
    assert cache_dir({"FALLBACK_CACHE_DIR": ""}) == cache_dir({})


def test_a_relative_cache_folder_does_not_move_with_the_working_directory() -> None:
    assert cache_dir({"FALLBACK_CACHE_DIR": "cache"}).is_absolute()


def test_a_model_is_found_under_all_its_names(store: Store) -> None:
    path = keep(store, b"x" * store.registry.records[0].size)

    for name in ("toy", "toy:1b", "TOY:latest", "library/toy"):
        found = store.find(name)
        assert found is not None
        assert found.path == path
    assert [model.name for model in store.models()] == ["toy:1b"]


def test_a_file_of_the_wrong_size_does_not_count_as_the_model(store: Store) -> None:
    keep(store, b"cut off")

    assert store.find("toy") is None
    assert store.models() == ()


def test_a_local_file_is_found_by_its_path_if_that_is_allowed(
    store: Store, write_gguf: Callable[..., Path]
) -> None:
    path = write_gguf()

    found = store.find(str(path))
    assert found is not None
    assert found.path == path
    assert store.find(str(path), local_files=False) is None


@pytest.mark.parametrize("name", ["/etc/passwd", "/nope/x.gguf", "x\0.gguf", "/", "~nobody/x.gguf"])
def test_other_paths_are_not_models(store: Store, name: str) -> None:
    assert store.find(name) is None


def test_the_list_says_which_models_are_here(store: Store) -> None:
    (before,) = list_models(store=store)
    path = keep(store, b"x" * before.size)
    (after,) = list_models(store=store)

    assert before.path is None
    assert after.path == path
    assert after.licence == "MIT"


def test_the_path_of_a_model_that_is_not_here_says_how_to_fetch_it(store: Store) -> None:
    with pytest.raises(EngineError, match=r"fallback models pull toy:1b"):
        model_path("toy", store=store)


def test_an_unknown_model_is_answered_with_the_known_ones(store: Store) -> None:
    with pytest.raises(EngineError, match=r"no model 'nope'.*toy:1b"):
        model_path("nope", store=store)


def test_removing_takes_the_model_and_what_is_left_of_a_fetch(store: Store) -> None:
    path = keep(store, b"x")
    store.partial(store.registry.records[0]).write_bytes(b"y")

    assert remove("toy", store=store) == ("toy:1b",)
    assert not path.exists()
    assert not store.partial(store.registry.records[0]).exists()
    assert remove(["toy"], store=store) == ()


def test_a_local_file_is_never_removed(store: Store, write_gguf: Callable[..., Path]) -> None:
    path = write_gguf()

    with pytest.raises(EngineError):
        remove(str(path), store=store)
    assert path.exists()
