"""json-repair: the whole reply is repaired to JSON; what has a name and arguments is a call."""

from __future__ import annotations

import json_repair  # type: ignore[import-not-found]  # lives in its own environment
from protocol import Calls, Reply, call_objects, serve


def read(reply: Reply) -> Calls:
    return call_objects(json_repair.loads(reply["text"]))


if __name__ == "__main__":
    serve(read)
