"""What each field of the answer of ``hostagent nccl env`` says, for its schema: by the path of its names."""

from collections.abc import Mapping

DESCRIPTIONS: Mapping[str, str] = {
    "schema_version": "The version of this schema.",
    "emitted": "Whether there is an environment; false where something is refused.",
    "nodes": "The hosts that it is for.",
    "nccl_version": "The version of NCCL that it is for; unknown: what is emitted is known to every version from 2.18 on.",
    "variables": "What every node gets.",
    "variables.name": "The variable.",
    "variables.value": "Its value, without quotes.",
    "variables.why": "Why, in one sentence.",
    "by_node": "What only one node gets, for its conf file.",
    "by_node.node": "The host.",
    "by_node.variables": "Its own variables.",
    "by_node.variables.name": "The variable.",
    "by_node.variables.value": "Its value, without quotes.",
    "by_node.variables.why": "Why, in one sentence.",
    "provider": "The provider's network that the nodes have, which chooses its own settings; null for none.",
    "provider.name": "Its name.",
    "provider.plugin": "Its plug-in for NCCL.",
    "provider.script": "The script that a job sources; empty where the plug-in needs none.",
    "provider.text": "What a job needs, in one sentence.",
    "refusals": "Why nothing is emitted; empty where something is.",
    "refusals.code": "What it is: stable, for programs.",
    "refusals.message": "The same for people, with the hosts that differ from the others.",
    "refusals.nodes": "Those hosts.",
    "notes": "What is worth a look and refuses nothing.",
}
