"""Output of ``hostagent nccl env``: exports for a shell, a Kubernetes ``env:`` list, lines of a conf file, or JSON with the reasons."""

from collections.abc import Iterator
from dataclasses import replace

from hostagent.domains.nccl.agreement import Refusal
from hostagent.domains.nccl.environment import Environment, Variable, variables_of
from hostagent.domains.nccl.quoting import Form, holds, in_conf, in_shell, in_yaml


def fitted(environment: Environment, form: Form) -> Environment:
    """The same, or a refusal where the format cannot hold a value."""
    own = ((one.node, each) for one in environment.by_node for each in one.variables)
    every = [*((name, each) for name in environment.nodes for each in environment.variables), *own]
    odd = [(node, each.name) for node, each in every if not holds(form, each.value)]
    if not odd:
        return environment
    nodes, name = tuple(dict.fromkeys(node for node, _ in odd)), odd[0][1]
    refusal = Refusal("value", f"{name}: the format {form} cannot hold the value that the report of {nodes[0]} gives it", nodes)
    return replace(environment, emitted=False, variables=(), by_node=(), provider=None, refusals=(*environment.refusals, refusal))


def render_environment(environment: Environment, form: Form, node: str = "") -> str:
    """One text; "" where nothing is emitted, but in JSON. `node`: with that node's own settings; "" for only the common ones."""
    if form == "json":
        from hostagent.outputs.json import render_json

        return render_json(environment)
    if not environment.emitted:
        return ""
    variables = variables_of(environment, node)
    lines = [*_comments(environment, form, node), *_body(environment, form, variables)]
    return "\n".join(lines) + "\n"


def _body(environment: Environment, form: Form, variables: tuple[Variable, ...]) -> Iterator[str]:
    """Each setting with its reason above it."""
    if form == "yaml":
        yield "env:" if variables else "env: []"
    for one in variables:
        yield from _comment(f"{one.name}: {one.why}", form)
        if form == "shell":
            yield f"export {one.name}={in_shell(one.value)}"
        elif form == "yaml":
            yield f"- name: {one.name}"
            yield f"  value: {in_yaml(one.value)}"
        else:
            yield f"{one.name}={in_conf(one.value)}"
    if form == "shell" and environment.provider and environment.provider.script:
        yield f". {in_shell(environment.provider.script)}"


def _comments(environment: Environment, form: Form, node: str) -> Iterator[str]:
    count = len(environment.nodes)
    who = node or (environment.nodes[0] if count == 1 else f"{count} nodes")
    version = "any NCCL from 2.18 on" if environment.nccl_version == "unknown" else f"NCCL {environment.nccl_version}"
    yield from _comment(f"hostagent nccl env: for {who} and {version}.", form)
    if form == "conf":
        yield from _comment("These lines come first in /etc/nccl.conf: of a name that stands there twice, the first counts.", form)
    if environment.provider:
        script = f" Script: {environment.provider.script}" if environment.provider.script else ""
        yield from _comment(f"{environment.provider.name}: {environment.provider.text}{script}", form)
    if not node and (apart := apart_of(environment)):
        yield from _comment(f"{apart} differs by node, and belongs into each node's own /etc/nccl.conf: --format conf --node NAME", form)
    for note in environment.notes:
        yield from _comment(note, form)


def apart_of(environment: Environment) -> str:
    """The names that differ by node, with commas."""
    return ", ".join(dict.fromkeys(each.name for one in environment.by_node for each in one.variables))


def _comment(text: str, form: Form) -> Iterator[str]:
    """Before 2.26.2 a conf file has no comments: a line with an equals sign sets a variable of that odd name."""
    safe = "".join(char if char.isprintable() else "?" for char in text)
    yield f"# {safe.replace('=', ' ') if form == 'conf' else safe}"
