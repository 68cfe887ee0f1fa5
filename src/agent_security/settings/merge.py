"""Make one set of values of all levels: precedence, profiles, a project's tightening, ceilings.

Scalars: the first level that sets a key wins, in the order of `Level`. Lists marked `union` add
up. A project can only take away: a tool not in its list is gone, a limit above is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_security.errors import SettingsError
from agent_security.settings.files import Layer
from agent_security.settings.keys import CEILINGS, KEYS, PROFILES, Key, Level
from agent_security.settings.values import rank

Values = dict[str, Any]
_OPENAI_URL = "https://api.openai.com/v1"


def merge(layers: Sequence[Layer]) -> tuple[Values, dict[str, str]]:
    """(values by key, who set each by key). `layers` stand in order of precedence."""
    layers = with_profile(layers)
    above = [layer for layer in layers if layer.level is not Level.PROJECT]
    values: Values = {}
    sources: dict[str, str] = {}
    for name, key in KEYS.items():
        values[name], sources[name] = _joined(key, above) if key.union else _first(key, above)
    for layer in layers:
        if layer.level is Level.PROJECT:
            _tighten(values, sources, layer)
    for layer in layers:
        if layer.ceiling:
            _hold_under(values, sources, layer, above)
    return values, sources


def with_profile(layers: Sequence[Layer]) -> list[Layer]:
    """The profile's values stand right below the level that chose it."""
    for at, layer in enumerate(layers):
        if chosen := layer.values.get("profile"):
            profile = Layer(layer.level, f"profile {chosen}", PROFILES[chosen])
            return [*layers[: at + 1], profile, *layers[at + 1 :]]
        if "profile" in layer.values:
            break
    return list(layers)


def _first(key: Key, layers: Sequence[Layer]) -> tuple[Any, str]:
    for layer in layers:
        if key.name in layer.values:
            return layer.values[key.name], layer.source
    return key.default, str(Level.DEFAULT)


def _joined(key: Key, layers: Sequence[Layer]) -> tuple[tuple[str, ...], str]:
    setting = [layer for layer in layers if layer.values.get(key.name)]
    joined = dict.fromkeys(item for layer in setting for item in layer.values[key.name])
    return tuple(joined) or key.default, ", ".join(layer.source for layer in setting) or str(Level.DEFAULT)


# --- the project's file ---------------------------------------------------------------------------


def _tighten(values: Values, sources: dict[str, str], project: Layer) -> None:
    for name, value in project.values.items():
        if name == "tools":
            _fewer_tools(values, value, project)
        else:
            _lower_limit(values, sources, name, value, project)
            continue
        sources[name] = project.source


def _fewer_tools(values: Values, tools: tuple[str, ...], project: Layer) -> None:
    asked = values["tools"]
    left = tuple(tool for tool in asked if tool in tools) if asked else tools
    if not left:
        raise SettingsError(f"{project.name_of('tools')}: leaves no tool")
    values["tools"] = left


def _lower_limit(values: Values, sources: dict[str, str], name: str, value: Any, project: Layer) -> None:
    if rank(value) > max(rank(KEYS[name].default), rank(values[name])):
        raise SettingsError(
            f"{project.name_of(name)}: {value} would raise a limit; a project's file may only lower it"
        )
    if sources[name] == Level.DEFAULT:
        values[name], sources[name] = value, project.source


# --- ceilings -------------------------------------------------------------------------------------


def _hold_under(values: Values, sources: dict[str, str], managed: Layer, layers: Sequence[Layer]) -> None:
    """Refuse whatever was asked beyond the managed file's ceiling; a mere default moves under it."""
    ceiling = managed.ceiling
    names = {name: _asked_as(name, layers) for name in KEYS}
    _require(values, sources, ceiling.get("require", ()), managed)
    for limit, kind in CEILINGS.items():
        if kind.ordered and limit in ceiling:
            _limit(values, sources, limit, ceiling[limit], names)
    if "sandboxes" in ceiling and sources["sandbox"] == Level.DEFAULT and "auto" not in ceiling["sandboxes"]:
        values["sandbox"], sources["sandbox"] = ceiling["sandboxes"][0], managed.source
    for key, name, holds in _RULES:
        if name in ceiling and not holds(values[key], ceiling[name]):
            allowed = ceiling[name] if isinstance(ceiling[name], str) else ", ".join(ceiling[name]) or "none"
            raise SettingsError(f"{names[key]}: managed settings allow only {allowed}")


def _asked_as(name: str, layers: Sequence[Layer]) -> str:
    return next((layer.name_of(name) for layer in layers if name in layer.values), name)


def _require(values: Values, sources: dict[str, str], walls: Sequence[str], managed: Layer) -> None:
    if missing := [wall for wall in walls if wall not in values["require"]]:
        values["require"] = (*values["require"], *missing)
        sources["require"] = managed.source


def _limit(values: Values, sources: dict[str, str], name: str, most: Any, names: Mapping[str, str]) -> None:
    if rank(values[name]) <= rank(most):
        return
    if sources[name] != Level.DEFAULT:
        raise SettingsError(f"{names[name]}: {values[name]} is more than managed settings allow ({most})")
    values[name], sources[name] = most, "managed ceiling"


def _listed(value: str, allowed: Sequence[str]) -> bool:
    return value in allowed


def _all_listed(values: Sequence[str], allowed: Sequence[str]) -> bool:
    return all(value in allowed for value in values)


def _provider(value: str, allowed: Sequence[str]) -> bool:
    return (value or _OPENAI_URL).rstrip("/") in {url.rstrip("/") for url in allowed}


def within(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it, links followed."""
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return real == root or real.startswith(root.rstrip("/") + "/")


def _folders(values: Sequence[str], allowed: Sequence[str]) -> bool:
    return all(any(within(value, folder) for folder in allowed) for value in values)


def _domains(values: Sequence[str], allowed: Sequence[str]) -> bool:
    wild = tuple(name[1:] for name in allowed if name.startswith("*."))
    return all(
        value in allowed or (bool(wild) and value.removeprefix("*").endswith(wild)) for value in values
    )


def _no_looser(value: str, allowed: str) -> bool:
    return value == "ask" or allowed == "allow"


_RULES: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("mode", "modes", _listed),
    ("provider.base_url", "providers", _provider),
    ("sandbox", "sandboxes", _listed),
    ("shell.permit", "permit", _all_listed),
    ("add_dir", "add_dirs", _folders),
    ("allow_domain", "domains", _domains),
    ("permissions.sandboxed", "sandboxed", _no_looser),
)
"""(key, ceiling, whether a value stays under it)."""
