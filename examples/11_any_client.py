"""Lesson 11: tools for a client that is not ours, without a server.

An application that uses the ``ollama`` package goes on as it is: it sends tools, gets calls, runs
them, and sends the results. One argument makes that work with a model that cannot call tools. Here
the model server is in this process, and its model says what is written down.
"""

import httpx
import ollama

import fallback
from fallback.testing.scripted_server import Model, Reply, create_app

WRITTEN = '```tool_call\n{"name": "multiply", "arguments": {"a": 6, "b": 7}}\n```'
model = Model(replies=[Reply(text=WRITTEN), Reply(text="Six times seven is 42.")])
server = httpx.ASGITransport(create_app({"writer": model}))


def multiply(a: int, b: int) -> int:
    """Multiply two numbers.

    Args:
        a: the one.
        b: the other.
    """
    return a * b


# In an application: ollama.Client(transport=fallback.Transport()), or fallback.wrap(client).
# ``network`` is only how the lesson reaches its server.
with ollama.Client(transport=fallback.Transport(network=server)) as client:
    assert client.show("writer").capabilities == ["completion", "tools"]

    messages = [ollama.Message(role="user", content="What is 6 times 7?")]
    reply = client.chat("writer", messages, tools=[multiply])
    assert reply.message.tool_calls
    (call,) = reply.message.tool_calls
    assert call.function.name == "multiply"
    assert call.function.arguments == {"a": 6, "b": 7}

    result = multiply(**call.function.arguments)
    messages += [
        reply.message,
        ollama.Message(role="tool", tool_name="multiply", content=str(result)),
    ]
    pieces = client.chat("writer", messages, tools=[multiply], stream=True)
    answer = "".join(piece.message.content or "" for piece in pieces)

assert result == 42
assert answer == "Six times seven is 42."
print(answer)
