"""Answers of a host that are damaged, or are not what was asked for."""

import copy

JUNK = [
    {"text": ""}, {"text": "\0\0"}, {"base64": "//79AAH//w=="}, {"json": None}, {"json": True}, {"json": -1}, {"json": []}, {"json": {}}, {"json": [1]},
    {"json": [{}]}, {"json": {"lines": 3}}, {"json": "NaN"}, {"json": 1e308}, {"text": "[" * 5000}, {"text": "{" * 5000}, {"text": "a: " * 3000},
    {"text": "=" * 20000}, {"nonsense": 1}, 7, None, {"unread": "error", "detail": "x"}, {"unread": "timeout", "detail": "x"}, {"unread": "made-up", "detail": ""},
]  # fmt: skip


def mutated(encoded, rng):
    """The answer truncated, doubled, with a byte turned, or of another kind altogether."""
    kind = rng.randrange(5)
    if isinstance(encoded, dict) and isinstance(encoded.get("text"), str) and encoded["text"] and kind < 4:
        text = encoded["text"]
        at = rng.randrange(len(text))
        return {"text": [text[:at], text + text, text[:at] + rng.choice("\0\n=\"'[{]}:,~") + text[at + 1 :], text[at:]][kind]}
    if isinstance(encoded, dict) and isinstance(encoded.get("json"), dict) and encoded["json"] and kind < 3:
        changed = dict(encoded["json"])
        key = rng.choice(sorted(changed))
        if kind == 0:
            del changed[key]
        else:
            changed[key] = rng.choice([None, -1, "x", [], {}, 1e300, "9" * 300])
        return {"json": changed}
    if isinstance(encoded, dict) and isinstance(encoded.get("json"), list | dict) and kind < 4:
        return {"json": with_another_value(encoded["json"], rng)}
    return rng.choice(JUNK)


#: What stands in answers that this program's own workers make, and what does not.
ODD = (
    None, True, -1, 0, 10**12, 1e308, "", "x", "9" * 300, "0x", "\0", "fe80::1", ":".join(["0000"] * 8), [], [[]], [None], {}, {"unread": ["denied", "x"]}, {"unread": ["made-up", "x"]},
    {"unread": "denied"}, {"unread": []}, {"unread": [3, {}]}, [["a", "b"]], [[0, "0xffff"]], [[0, "x", None, []]],
)  # fmt: skip


def with_another_value(value, rng):
    """One value, however deep it stands, is another one, or is gone."""
    if not isinstance(value, list | dict) or not value or rng.random() < 0.1:
        return rng.choice(ODD)
    keys = sorted(value) if isinstance(value, dict) else range(len(value))
    chosen = rng.choice(keys)
    changed = copy.copy(value)
    if rng.random() < 0.1:
        del changed[chosen]
    else:
        changed[chosen] = with_another_value(value[chosen], rng)
    return changed
