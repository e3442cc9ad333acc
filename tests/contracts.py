"""A contract of import-linter: modules that must not reach the host. Its wildcards stand for whole names, and readers are known by a part."""

import re
from collections.abc import Iterator

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.domain.helpers import module_expressions_to_modules

READER = re.compile(r"hostagent\.domains\.(?:\w+\.)+read_\w+")


class PureContract(Contract):
    """No module of `source_modules`, but for the readers among them, imports a reader or one of `forbidden_modules`, through others neither."""

    type_name = "pure"

    source_modules = fields.ListField(subfield=fields.ModuleExpressionField())
    forbidden_modules = fields.ListField(subfield=fields.ModuleExpressionField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        readers = {name for name in graph.modules if READER.fullmatch(name)}
        forbidden = readers | _names(graph, self.forbidden_modules)
        sources = _names(graph, self.source_modules) - readers
        chains = [chain for source in sorted(sources) for chain in _reached(graph, source, forbidden, sources)]
        return ContractCheck(kept=not chains, metadata={"chains": chains})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for chain in check.metadata["chains"]:
            output.print_error(" -> ".join(chain))


def _names(graph: ImportGraph, expressions: object) -> set[str]:
    return {module.name for module in module_expressions_to_modules(graph=graph, expressions=expressions, as_packages=True)}


def _reached(graph: ImportGraph, source: str, forbidden: set[str], sources: set[str]) -> Iterator[tuple[str, ...]]:
    """The shortest way from `source` to each forbidden module; ways through another source are that one's."""
    ways = {source: (source,)}
    waiting = [source]
    for name in waiting:
        for imported in sorted(graph.find_modules_directly_imported_by(name)):
            if imported in ways or imported in sources:
                continue
            ways[imported] = (*ways[name], imported)
            if imported in forbidden:
                yield ways[imported]
            else:
                waiting.append(imported)
