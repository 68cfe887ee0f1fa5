"""The table of tools, their runners, and the specification's names around them."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from agent_security.agent import build_tool_registry, check_permission
from agent_security.calls import Effect, Mode, Origin, Permit, Status, ToolCall, ToolOutput
from agent_security.decision import allow
from agent_security.errors import NetError, UsageError
from agent_security.loop.asking import model_schemas
from agent_security.tools import runners
from agent_security.tools.memory import ScratchpadState, TodoState, scratchpad_state
from agent_security.tools.registry import TOOLS
from agent_security.tools.validators import ToolValidator, bounded_schemas

from .fakes import session_in

CONTRACT = {
    "read_file": ({"path", "offset", "limit"}, Effect.READ),
    "glob_files": ({"pattern", "path"}, Effect.READ),
    "grep": ({"pattern", "path", "glob", "ignore_case", "context", "max_results"}, Effect.READ),
    "write_file": ({"path", "content"}, Effect.WRITE),
    "edit_file": ({"path", "old_string", "new_string", "replace_all"}, Effect.WRITE),
    "run_bash": ({"command", "timeout_s"}, Effect.EXECUTE),
    "webfetch": ({"url"}, Effect.NETWORK),
    "scratchpad_read": (set(), Effect.PLAN),
    "scratchpad_write": ({"content"}, Effect.PLAN),
    "todo_read": (set(), Effect.PLAN),
    "todo_write": ({"todos"}, Effect.PLAN),
}


def run(name, session, **args):
    permit = Permit(ToolCall("a", name, json.dumps(args)), allow("test"), TOOLS[name].ran_on)
    return TOOLS[name].runner(permit, session, 5.0)


# --- the table ------------------------------------------------------------------------------------


def test_the_table_is_the_contract():
    assert {
        name: (set(tool.parameters["properties"]), tool.effect) for name, tool in TOOLS.items()
    } == CONTRACT


def test_every_schema_is_strict_and_every_argument_is_described():
    for tool in TOOLS.values():
        assert tool.parameters["additionalProperties"] is False
        assert set(tool.path_args) <= set(tool.parameters["properties"])
        assert all(field["description"] for field in tool.parameters["properties"].values())


def test_the_description_of_run_bash_says_what_does_not_last():
    description = TOOLS["run_bash"].description
    for words in (
        "fresh shell",
        "Nothing is left running",
        "start a server, use it over loopback and stop it",
    ):
        assert words in description


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("read_file", {"path": "a", "offset": 0}),
        ("read_file", {"path": "a", "limit": 2_001}),
        ("read_file", {"path": "a", "more": 1}),
        ("run_bash", {"command": "ls", "timeout_s": 0}),
        ("todo_write", {"todos": [{"content": "x", "status": "someday"}]}),
        ("todo_write", {"todos": [{"content": "x"}]}),
        ("scratchpad_read", {"x": 1}),
    ],
)
def test_arguments_outside_the_schema_are_refused(name, args):
    validator = ToolValidator(bounded_schemas([tool.schema for tool in TOOLS.values()]))
    assert validator.validate(name, args)


def test_the_model_sees_no_format_that_only_this_harness_knows():
    assert '"format"' not in json.dumps(model_schemas(TOOLS))


# --- filters --------------------------------------------------------------------------------------


def test_the_registry_holds_what_is_allowed_in_the_tables_order():
    assert list(build_tool_registry(None, ["run_bash", "read_file"])) == ["read_file", "run_bash"]
    assert list(build_tool_registry(None, "grep, read_file")) == ["read_file", "grep"]
    assert list(build_tool_registry(None)) == list(TOOLS)
    assert build_tool_registry(None, []) == {}


def test_an_unknown_tool_is_wrong_use_and_the_valid_ones_are_listed():
    with pytest.raises(UsageError, match=r"rm_all; the valid names are read_file, .*todo_write"):
        build_tool_registry(None, ["read_file", "rm_all"])


# --- runners --------------------------------------------------------------------------------------


def test_what_stands_in_an_added_folder_is_external(tmp_path):
    (tmp_path / "work").mkdir()
    session = session_in(str(tmp_path / "work"))
    inside, outside = run("read_file", session, path="a"), run("read_file", session, path=str(tmp_path / "b"))
    assert (inside.origin, outside.origin) == (Origin.WORKSPACE, Origin.FILE)
    assert outside.source == str(tmp_path / "b")
    assert run("grep", session, pattern="x").origin is Origin.WORKSPACE


def test_what_a_command_prints_is_the_workspaces_word(session):
    assert run("run_bash", session, command="ls").origin is Origin.WORKSPACE
    session.sandbox._output = lambda permit: ToolOutput("x", origin=Origin.WEB)
    assert run("run_bash", session, command="ls").origin is Origin.WEB


def fetched(**fields):
    page = {
        "url": "https://e.example/b",
        "status": 200,
        "content_type": "text/html",
        "body": b"<p>hi",
        "addresses": (),
    }
    return SimpleNamespace(**(page | fields))


@pytest.mark.parametrize(
    ("page", "text", "status"),
    [
        ({}, "text of 5 bytes", Status.OK),
        ({"content_type": "text/plain; charset=latin-1", "body": b"\xe9"}, "�", Status.OK),
        ({"content_type": "text/plain; charset=iso-8859-1", "body": b"\xe9"}, "é", Status.OK),
        ({"content_type": "text/plain; charset=unicode_escape", "body": b"\\x41"}, "\\x41", Status.OK),
        ({"content_type": "application/ld+json", "body": b"{}"}, "{}", Status.OK),
        ({"content_type": "application/pdf", "body": b"%PDF"}, "Error fetching: 4 bytes", Status.ERROR),
        ({"status": 404, "content_type": "text/plain", "body": b"gone"}, "HTTP 404\ngone", Status.ERROR),
    ],
)
def test_a_page_becomes_text_of_the_web(session, monkeypatch, page, text, status):
    seen = {}

    def fetch(url, **how):
        seen.update(how, url=url)
        return fetched(**page)

    monkeypatch.setattr(runners.net, "fetch", fetch)
    session.resolver = object()
    output = run("webfetch", session, url="https://e.example/a")
    assert output.text.startswith(text)
    assert output.status is status
    assert output.source == "https://e.example/b"
    assert output.origin is (Origin.HARNESS if "Error fetching" in text else Origin.WEB)
    assert (seen["url"], seen["resolver"], seen["max_bytes"]) == (
        "https://e.example/a",
        session.resolver,
        session.web_max_bytes,
    )


def test_a_refused_fetch_is_the_harnesss_own_word(session, monkeypatch):
    def refuse(url, **how):
        raise NetError("loopback", "a loopback address")

    monkeypatch.setattr(runners.net, "fetch", refuse)
    output = run("webfetch", session, url="https://e.example/")
    assert (output.status, output.origin) == (Status.ERROR, Origin.HARNESS)
    assert output.text.startswith("Error fetching: ")


def test_planning_tools_write_into_the_sessions_memory(session):
    assert "empty" in run("scratchpad_read", session).text
    run("scratchpad_write", session, content="a plan")
    assert run("scratchpad_read", session).text == "a plan"
    run(
        "todo_write",
        session,
        todos=[{"content": "x", "status": "in_progress"}, {"content": "y", "status": "pending"}],
    )
    assert run("todo_read", session).text == "[>] x\n[ ] y"
    assert session.todos.read()[1] == {"content": "y", "status": "pending"}
    assert scratchpad_state.read() == ""


def test_memory_is_empty_untrusted_and_ones_own():
    pad, other = ScratchpadState(), ScratchpadState()
    pad.write("x")
    assert (pad.read(), pad.trusted(), other.read()) == ("x", "", "")
    assert TodoState().as_text() == ""


# --- check_permission -----------------------------------------------------------------------------


def test_check_permission_is_the_pipelines_decision_as_a_pair(tmp_path):
    allowed, reason = check_permission("read_file", {"path": "a"}, "default", str(tmp_path))
    assert allowed is True
    allowed, reason = check_permission("run_bash", {"command": "rm -rf /"}, Mode.SKIP, str(tmp_path))
    assert allowed is False
    assert reason


def test_where_a_person_would_be_asked_nobody_is_no(tmp_path):
    call = ("write_file", {"path": "a", "content": "x"}, "default", str(tmp_path))
    assert check_permission(*call).ok is False
    assert check_permission(*call, approve=lambda prompt: True).ok is True
    assert check_permission(*call, approve=lambda prompt: "yes").ok is False


def test_destructive_calls_are_asked_with_their_label(tmp_path):
    prompts = []
    check_permission(
        "run_bash", {"command": "git push --force"}, "acceptEdits", str(tmp_path), approve=prompts.append
    )
    assert prompts[0].startswith("[DESTRUCTIVE] run_bash: ")


def test_arguments_that_do_not_fit_and_unknown_tools_are_refused(tmp_path):
    assert check_permission("read_file", {"file": "a"}, "default", str(tmp_path)).ok is False
    assert check_permission("rm", {}, "default", str(tmp_path)).ok is False


# --- starting -------------------------------------------------------------------------------------


def test_without_p_a_file_of_the_workspace_shadows_nothing(tmp_path):
    (tmp_path / "click.py").write_text("print('canary')\n")
    (tmp_path / "json.py").write_text("print('canary')\n")
    done = subprocess.run(
        [sys.executable, "-m", "agent_security.agent", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": _source(), "PATH": "/usr/bin:/bin"},
    )
    assert "canary" not in done.stdout + done.stderr


def _source() -> str:
    import agent_security

    return agent_security.__path__[0].removesuffix("/agent_security")
