"""What each tool takes (CONTRACTS §1), as JSON Schema. `bounded_schemas` adds the bounds of §3.3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_security.tools.memory import TODO_STATUSES

Schema = dict[str, Any]

_MAX_NOTES_CHARS = 32_768
_MAX_TODOS = 100


def _takes(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """An object of exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def _count(description: str, **more: Any) -> Schema:
    return {"type": "integer", "description": description, "minimum": 1, **more}


def _flag(description: str) -> Schema:
    return {"type": "boolean", "description": description}


_FOLDER = "Folder or file to search, relative to the workspace. Default: the whole workspace."

PARAMETERS: Mapping[str, Schema] = {
    "read_file": _takes(
        ("path",),
        path=_text("The file, relative to the workspace."),
        offset=_count("First line to return, counted from 1. Default 1.", maximum=1_000_000),
        limit=_count("How many lines to return. Default and maximum 2000.", maximum=2_000),
    ),
    "glob_files": _takes(
        ("pattern",),
        pattern=_text("Pattern relative to `path`, such as `src/**/*.py`."),
        path=_text("Folder to look in, relative to the workspace. Default: the workspace."),
    ),
    "grep": _takes(
        ("pattern",),
        pattern=_text("Regular expression to search for."),
        path=_text(_FOLDER),
        glob=_text("Search only files whose names match this pattern, such as `*.py`."),
        ignore_case=_flag("Ignore upper and lower case. Default false."),
        context=_count("Lines to show around each match. Default 0.", minimum=0, maximum=50),
        max_results=_count("Stop after this many matches. Default 200.", maximum=2_000),
    ),
    "write_file": _takes(
        ("path", "content"),
        path=_text("The file, relative to the workspace. Missing folders are created."),
        content=_text("Everything the file shall hold."),
    ),
    "edit_file": _takes(
        ("path", "old_string", "new_string"),
        path=_text("The file, relative to the workspace."),
        old_string=_text("The exact text to replace, white space included."),
        new_string=_text("The text to put there."),
        replace_all=_flag("Replace every occurrence. Default false: `old_string` must occur once."),
    ),
    "run_bash": _takes(
        ("command",),
        command=_text("The command line for bash."),
        timeout_s=_count(
            "Stop the command after this many seconds. Can only shorten the session's time-out."
        ),
    ),
    "webfetch": _takes(("url",), url=_text("The address, starting with http:// or https://.")),
    "scratchpad_read": _takes(),
    "scratchpad_write": _takes(
        ("content",), content=_text("Everything the scratchpad shall hold.", maxLength=_MAX_NOTES_CHARS)
    ),
    "todo_read": _takes(),
    "todo_write": _takes(
        ("todos",),
        todos={
            "type": "array",
            "description": "The whole list, in order.",
            "maxItems": _MAX_TODOS,
            "items": _takes(
                ("content", "status"),
                content=_text("What is to be done.", minLength=1, maxLength=1_000),
                status=_text("How far it is.", enum=list(TODO_STATUSES)),
            ),
        },
    ),
}
