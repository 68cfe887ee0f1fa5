"""A script plays a model, and says exactly what is wrong with itself."""

from __future__ import annotations

import json

import pytest

from agent_security.errors import Aborted, UsageError
from agent_security.ports import Reply, Usage
from agent_security.providers import OpenAIProvider, ScriptedProvider, ollama_models, open_provider
from agent_security.providers.scripted import END_OF_SCRIPT

YAML = r"""
model: hostile
turns:
  - say: Let me look.
    call: {read_file: {path: "${workspace}/README.md"}}
  - when: "password is (?P<word>\\w+)"
    say: It is ${word}, ${unknown} and $HOME.
    else: {say: I found none.}
  - when: never there
    say: skipped
  - calls:
      - {run_bash: {command: ls}}
      - {todo_read: }
    usage: {prompt_tokens: 7, completion_tokens: 3}
  - raw: {content: null, tool_calls: [{id: x, function: {name: grep, arguments: "{broken"}}]}
    finish_reason: length
"""


def ask(provider, *contents, **how):
    messages = [{"role": "user", "content": content} for content in contents or ("hello",)]
    return provider.complete(messages, (), timeout_s=1, **how)


def test_a_script_plays_turn_after_turn(tmp_path):
    file = tmp_path / "script.yaml"
    file.write_text(YAML)
    provider = ScriptedProvider.from_file(str(file), variables={"workspace": "/w"})
    assert provider.model == "hostile"

    first = ask(provider)
    assert first.content == "Let me look."
    assert [(call.name, json.loads(call.arguments)) for call in first.tool_calls] == [
        ("read_file", {"path": "/w/README.md"})
    ]
    assert ask(provider, "the password is swordfish").content == "It is swordfish, ${unknown} and $HOME."

    both = ask(provider)
    assert [call.name for call in both.tool_calls] == ["run_bash", "todo_read"]
    assert len({call.id for call in both.tool_calls}) == 2
    assert both.usage == Usage(7, 3)

    raw = ask(provider)
    assert (raw.tool_calls[0].arguments, raw.finish_reason) == ("{broken", "length")
    assert ask(provider).content == END_OF_SCRIPT
    assert provider.requests == 5


def test_else_is_taken_where_the_condition_does_not_hold():
    turns = [
        {"when": "yes", "say": "then", "else": {"when": "no", "say": "else", "else": {"say": "neither"}}}
    ]
    assert ask(ScriptedProvider(turns), "no").content == "else"
    assert ask(ScriptedProvider(turns), "maybe").content == "neither"


def test_conditions_look_at_the_last_tool_result():
    messages = [{"role": "user", "content": "yes"}, {"role": "assistant", "content": None}]
    messages.append({"role": "tool", "tool_call_id": "a", "content": "no"})
    provider = ScriptedProvider([{"when": "yes", "say": "wrong"}, "right"])
    assert provider.complete(messages, (), timeout_s=1).content == "right"


def test_a_turn_may_be_a_function_of_the_messages():
    provider = ScriptedProvider(
        [
            lambda messages: messages[-1]["content"].upper(),
            lambda messages: {"say": "b"},
            lambda _: Reply("c"),
        ]
    )
    assert [ask(provider, "a").content for _ in "abc"] == ["A", "b", "c"]


def test_usage_is_estimated_where_the_script_is_silent():
    usage = ask(ScriptedProvider(["x" * 40]), "y" * 400).usage
    assert usage == Usage(100, 10)


def test_a_stop_ends_a_script():
    with pytest.raises(Aborted):
        ask(ScriptedProvider(["never"]), stop=lambda: True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("turns: [{say: a}, {sya: b}]", "turn 2: unknown key 'sya'"),
        ("turns: [{when: x}]", "turn 1: nothing to do"),
        ("turns: [{when: '(', say: a}]", "turn 1: `when` is no regular expression"),
        ("turns: [{say: a, else: {call: 5}}]", "turn 1, else: a call is {tool"),
        ("turns: [{calls: {a: {}}}]", "turn 1: `calls` is a list"),
        ("turns: [{call: {a: [1]}}]", "turn 1: the arguments of a"),
        ("turns: [{call: {a: {}}, calls: []}]", "turn 1: give `call` or `calls`"),
        ("turns: [{raw: x}]", "turn 1: `raw` is an assistant message"),
        ("turns: [just text]", "turn 1: a turn is a mapping"),
        ("turn: []", "a list of turns"),
        ("{turns: [], extra: 1}", "unknown key 'extra'"),
        ("turns: [", "while parsing"),
        ("!!python/object/apply:os.getcwd []", "python/object"),
        ("5", "a list of turns"),
    ],
)
def test_a_wrong_script_names_the_file_and_the_turn(tmp_path, text, words):
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        open_provider(f"script:{file}")
    assert str(file) in str(caught.value)
    assert words in str(caught.value)


def test_json_scripts_work_and_wrong_ones_say_where(tmp_path):
    file = tmp_path / "script.json"
    file.write_text(json.dumps([{"say": "hi"}]))
    assert ask(open_provider(f"script:{file}")).content == "hi"
    file.write_text("[{")
    with pytest.raises(UsageError, match=r"script\.json"):
        open_provider(f"script:{file}")


def test_a_missing_script_is_wrong_use(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        open_provider(f"script:{tmp_path / 'none.yaml'}")


# --- which provider -------------------------------------------------------------------------------


def test_a_key_is_asked_for_only_where_one_is_needed():
    assert isinstance(open_provider("m", "http://127.0.0.1:9/v1"), OpenAIProvider)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        open_provider("m")
    with pytest.raises(UsageError, match="--model"):
        open_provider("", "http://127.0.0.1:9/v1")


def test_the_only_model_of_a_local_ollama_needs_no_setting(loopback):
    server = loopback("hi")
    url = server.base_url.removesuffix("/v1")
    assert ollama_models(url) == ("loopback",)
    assert open_provider(ollama_url=url).model == "loopback"


def test_without_a_model_and_without_ollama_the_line_to_type_is_told():
    with pytest.raises(UsageError, match="--model"):
        open_provider(ollama_url="http://127.0.0.1:9")


def test_importing_the_providers_imports_no_client():
    import subprocess
    import sys

    code = "import sys, agent_security.providers; print({'openai', 'httpx2', 'yaml'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
