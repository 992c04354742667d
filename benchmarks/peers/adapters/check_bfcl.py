"""BFCL's own checker: calls and accepted answers in, its verdict out, a line each.

In: ``{"id", "calls", "functions", "answers", "category"}``. Out: ``{"id", "valid", "error"}``.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from types import ModuleType, SimpleNamespace

# The checker asks the table of models one thing, whether a model spells the dots in names as
# underscores. Importing it takes every vendor's client library; ours reads the names as declared.
_models = ModuleType("bfcl_eval.constants.model_config")
_models.__dict__["MODEL_CONFIG_MAPPING"] = defaultdict(
    lambda: SimpleNamespace(underscore_to_dot=False)
)
sys.modules[_models.__name__] = _models

from bfcl_eval.constants.enums import (  # type: ignore[import-not-found]  # noqa: E402 - own environment
    Language,
)
from bfcl_eval.eval_checker.ast_eval.ast_checker import (  # type: ignore[import-not-found]  # noqa: E402 - the same
    ast_checker,
)

if __name__ == "__main__":
    for line in sys.stdin:
        case = json.loads(line)
        output = [{call["name"]: call["arguments"]} for call in case["calls"]]
        try:
            verdict = ast_checker(
                case["functions"],
                output,
                case["answers"],
                Language.PYTHON,
                case["category"],
                "fallback",
            )
        except Exception as error:  # noqa: BLE001 - the checker stumbles over some wrong shapes
            verdict = {"valid": False, "error": [f"{type(error).__name__}: {error}"]}
        said = {"id": case["id"], "valid": verdict["valid"], "error": verdict["error"]}
        sys.stdout.write(json.dumps(said, default=str) + "\n")
