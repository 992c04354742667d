"""The adapter: clients of any wire in front, models without tools behind.

How a request travels, and where a new wire plugs in::

    bytes ── http.Incoming ──> Gateway ── wire.decode(body) ──> Ask
                                  │                              │
                                  │                    Answerer.answer(ask)
                                  │                              │
    bytes <── http.Outgoing <─────┴── wire.stream(ask) or wire.whole(ask, answer) <── events

* ``ask`` holds the request in our own words (:class:`~fallback.proxy.ask.Ask`), and
  :class:`~fallback.proxy.ask.Refused` for one that cannot be served.
* ``events`` are what the core answers with: the parser's ``TextDelta``, ``ReasoningDelta`` and
  ``CallReady`` (complete and validated), then exactly one ``Finished`` or ``Failed``. With
  ``--stream-arguments`` a ``CallReady`` may have been told before, as ``CallBegun`` and
  ``ArgumentsDelta`` events of its index; an encoder that wants whole calls leaves those out.
* ``wires`` has one module per wire. A wire decodes, which never raises on any JSON but
  ``Refused``, and encodes, which is pure. ``history``, ``content`` and ``toolset`` are what
  decoders share: any client's conversation, content parts and tools become ours there.
* ``answer`` is the core: it chooses the mode, renders, sends, reads and corrects; ``course`` and
  ``deciding`` say what is next. It knows no wire.
* ``gateway`` has the routes and no framework: ``await gateway.handle(incoming)`` is all that the
  ASGI application (``app``) and an in-process transport need. ``delivery`` starts a stream early,
  keeps it alive, and ends the generation when the client has gone.
* ``transport`` and ``wrap`` carry requests to a gateway in the client's own process; ``inside``
  says which upstream they mean, and ``loopthread`` lets blocking code wait for them.
* ``upstream`` is the server behind: a backend for generations, and everything else as it is.

To add a wire: write ``wires/<name>.py`` with a class that has the four methods of
:class:`~fallback.proxy.wires.Wire`, and name it with its path in ``gateway``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fallback.proxy.app import create_app as create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> Any:
    # Late: the values of this package are useful without the server, and without its extras.
    if name == "create_app":
        from fallback.proxy.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
