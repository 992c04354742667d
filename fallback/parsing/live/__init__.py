"""Arguments as they are written: the calls of a reply told before they are complete.

``calls`` keeps the calls that were started and sees that each of them ends; ``follow`` reads JSON
and Python literals as they arrive and ``gemma`` Gemma's values; ``shape`` follows their brackets;
``find`` sees where in an object a call's arguments begin; ``arguments`` writes what is certain as
JSON text and holds what the tool's schema may still change; ``tagged`` does so for raw text.

None of this decides what a call is or what its arguments are. That is done where it is done for a
whole reply, and what was told is compared with it in the end: pieces that turn out to be wrong are
never followed by ``CallReady``.
"""
