"""The words and pieces of which generated tools and replies are made."""

from __future__ import annotations

TRICKY = (
    "```", "````", "\n```\n", "\n```tool_call\n", "```tool_result\n", "~~~", "`", "<", ">",
    "</tool_call>", "<tool_call>", "</parameter>", "</function>", "<think>", "</think>",
    "[TOOL_CALLS]", "<|im_end|>", "<｜tool▁call▁end｜>", "Observation: ", "Action: now\n",
    '{"name": "now", "arguments": {}}', "now()", "{{ x }}", '"', "'", '"""', "\\", "\\n", "\n",
    "\r\n", "\t", "\u2028", "\x00", "\ud83d", "\ufeff", "{", "}", "(", ")", "[", "]]", ":", ",",
    "#", "//", "/*", "> ", "- ", "    ", "名前", "😀", "Oslo", "it's", "C:\\temp", "true", "null",
)  # fmt: skip
"""Pieces on which a reader may trip: ends of fences, tags and strings, protocol words."""

SPOILERS = (
    '{"name": "now", "arguments": {}}</tool_call>', '"}}</tool_call>', '"}}]</s>', "'}\n```\n",
    '```json\n{"name": "now", "arguments": {}}\n```', "[now()]", '")]\n```', "}<|call|>",
    "<tool_call>\n<function=now>\n</function>\n</tool_call>", '{"a": 1}\n```<｜tool▁call▁end｜>',
    "<think>now()</think>", "Observation: {}\nAction: now\nAction Input: {}",
)  # fmt: skip
"""Strings that end a call too early for whoever looks for its end instead of reading it."""

OPENERS = (
    "{", "[", "(", "<", "`", "~", '"', "'", "> ", '{"a":', '{"name":', "[[", "{[", "```\n",
    "```json\n", "```tool_call\n", "<tool_call>", "<tool_call>{", '{"name": "now", "arguments": {',
    "now(", "now(x=", "[now(), ", "<think>", "</think>", "<function=now>", "<parameter=a>",
    "<function=now><parameter=a>x", "<arg_key>", "[TOOL_CALLS]", "functools[", "<|channel|>",
    "Action: now\n", "Action Input: {", "Observation: ", "\n", " ", "\\", '\\"', "<|python_tag|>",
    "<｜tool▁calls▁begin｜>", "call:now{a:", '<|"|>', "{'a': ", '"""', "#", "//", "/*", "**",
)  # fmt: skip
"""What a flood consists of: openers that are never closed, and signs that may begin anything."""

WORDS = (
    "get_weather", "search", "write_file", "now", "send-mail", "math.add", "list_users", "run",
)  # fmt: skip

KEYS = (
    "city", "days", "path", "content", "query", "unit", "tags", "options", "user_id", "limit",
    "name", "input", "from", "class",
)  # fmt: skip

PROSE = (
    "The weather is fine.", "Let me see.", "I will look it up:", "Done!", "Zuerst das Wetter.",
)  # fmt: skip
