"""The forms of a fleet: what a person reads first, tiles that lead somewhere, and texts that break nothing."""

import json
import re
from html.parser import HTMLParser

import jsonschema
import pytest

from hostagent.cli.schemas import published
from hostagent.gate.fleet import fleet
from hostagent.gate.fleet_text import FORMATS, render_fleet
from tests.fleet_hosts import FOLDER

NOW = 1_795_900_000.0
SUMMARIES = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
SCHEMA = published("fleet")
HOSTILE = '"><script>alert(1)</script>&amp;\x1b[31m\u202e\n</style>\ud800' + "x" * 4000


class Page(HTMLParser):
    """Elements, ids and links of a page; text outside of markup."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.tiles, self.text = [], [], [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [value for key, value in attrs if key in ("href", "src", "action")]
        if tag == "a" and "tile" in found.get("class", "").split():
            self.tiles.append(found)

    def handle_data(self, data):
        self.text += data


def shown(summaries, form="text", **look):
    return render_fleet(fleet(summaries, NOW), form, **look)


def hostile():
    """Every text of the example is one that attacks."""

    def spoiled(value):
        if isinstance(value, dict):
            return {key: spoiled(one) for key, one in value.items()}
        if isinstance(value, list):
            return [spoiled(one) for one in value]
        return HOSTILE + value if isinstance(value, str) else value

    names = [("<b>&'\"" + "x" * 240 + f"{number}")[-253:] for number in range(len(SUMMARIES))]
    made = [spoiled(one) | {"node": name} for one, name in zip(SUMMARIES, names, strict=True)]
    return [one | {"verdict": {"single_node": "ready", "multi_node": "ready"}} for one in made]


def large(count=1000):
    return [SUMMARIES[number % len(SUMMARIES)] | {"node": f"gpu-{number:04}"} for number in range(count)]


def test_the_counts_come_first_then_causes_then_classes_and_what_sets_them_apart():
    text = shown(SUMMARIES)
    assert text.startswith(
        "10 of 12 nodes may take jobs, 9 of them jobs on several nodes\n     9 ready\n     1 degraded\n     1 not ready\n"
    )
    places = [
        text.index(part)
        for part in ("CAUSES", "network.mtu differs: gpu-08", "CLASSES", "driver_branch 570, 7 others 580", "WITHOUT A CLASS")
    ]
    assert places == sorted(places)
    assert "mtu 1500, 9000; 7 others 9000" in text
    assert "toolkit 1.18.2 on gpu-05; 6 others 1.19.1" in text


def test_ten_names_are_printed_and_the_others_counted():
    text = " ".join(shown(large(240)).split())
    assert "gpu.on_bus config-dead: gpu-0008, gpu-0020" in text
    assert "gpu-0116 and 10 more" in text


def test_a_line_of_text_is_as_wide_as_the_terminal():
    assert max(map(len, shown(large(), width=60).splitlines())) <= 60


def test_colour_is_asked_for():
    assert "\x1b" not in shown(SUMMARIES)
    assert "\x1b[1;31m     1 not ready\x1b[0m" in shown(SUMMARIES, colour=True)


def test_each_tile_leads_to_its_cause_or_to_its_class():
    page = Page(shown(large(), "html"))
    assert len(page.tiles) == 1000
    assert len(page.ids) == len(set(page.ids))
    assert {link for link in page.links if link[1:] not in page.ids or not link.startswith("#")} == set()
    by_name = {one["title"].partition(":")[0]: one for one in page.tiles}
    assert by_name["gpu-0008"]["href"] == "#cause-gpu.on_bus-config-dead"
    assert by_name["gpu-0009"]["href"] == "#cause-expired"
    assert by_name["gpu-0000"]["href"] == "#class-1"


def test_the_page_names_each_node_beside_its_tile_and_for_a_screen_reader():
    text = shown(SUMMARIES, "html")
    names = [re.sub("<[^>]*>", "", one).strip() for one in re.findall(r"names?</summary>\s*<p>(.*?)</p>", text)]
    assert sorted(name for one in names for name in one.split(", ")) == [one["node"] for one in SUMMARIES]
    assert "<summary>7 names</summary>" in text
    labels = {one["aria-label"] for one in Page(text).tiles}
    assert {"gpu-01: ready", "gpu-08: ready, not for jobs on several nodes", "gpu-10: stale"} <= labels


def test_the_legend_counts_the_nodes_that_are_for_jobs_of_one_node_only():
    items = re.findall(r"</span>([^<]+)</li>", shown(SUMMARIES, "html"))
    assert items == ["9 ready", "1 degraded", "of these 1 not for jobs on several nodes", "1 not ready", "0 unknown", "1 stale"]


def in_domains(sizes):
    fabric = SUMMARIES[0]["fabric"]
    names = [f"rack-{number}" for number, size in enumerate(sizes) for _ in range(size)]
    return [SUMMARIES[0] | {"node": f"n{number:03}", "fabric": fabric | {"domain": name}} for number, name in enumerate(names)]


def test_twenty_domains_of_a_class_are_printed_and_the_others_counted():
    text = shown(in_domains([1] * 23))
    assert text.count("domain rack-") == 20
    assert "    and 3 more domains; --format json has all\n" in text
    assert "more domain" not in shown(in_domains([1] * 20))


def test_domains_of_one_node_share_a_heading():
    made = [*in_domains([2, 1, 1, 1]), SUMMARIES[0] | {"node": "n9"}]
    headings = re.findall(r"<h4>(.*?)</h4>", shown(made, "html"))
    assert headings == ["Domain <code>rack-0</code>", "3 domains of one node each", "No domain"]
    assert "<h4>Domain <code>rack-1</code></h4>" in shown(in_domains([2, 1]), "html")


def test_a_tile_says_its_state_by_a_sign_as_well_as_by_colour():
    text = shown(SUMMARIES, "html")
    signs = set(re.findall(r'class="tile (\w+)[^"]*"[^>]*>([^<]+)<', text))
    assert signs == {("ready", "✓"), ("degraded", "!"), ("not_ready", "✕"), ("unknown", "?"), ("stale", "~")}
    assert 'class="tile ready one"' in text


def test_the_page_needs_nothing_else_and_a_thousand_nodes_are_small():
    text = shown(large(), "html")
    assert len(text.encode()) < 400_000
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(Page(text).tags)
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "@import" not in text


def test_the_page_is_for_the_dark_and_for_paper_too():
    text = shown(SUMMARIES, "html")
    assert "prefers-color-scheme: dark" in text
    assert re.search(r"@media print \{ \.tile \{[^}]*print-color-adjust: exact", text)
    assert "details::details-content { content-visibility: visible" in text


@pytest.mark.parametrize("form", FORMATS)
def test_texts_that_attack_break_no_form(form):
    text = shown(hostile(), form)
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\ud800" not in text
    if form == "json":
        assert json.loads(text)["counts"]["nodes"] == len(SUMMARIES)
    if form == "html":
        page = Page(text)
        assert set(page.tags) == set(Page(shown(SUMMARIES, "html")).tags)
        assert len(page.ids) == len(set(page.ids))
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+", one) for one in page.ids)


def test_two_causes_that_differ_in_what_no_anchor_holds_have_places_of_their_own():
    reasons = [
        {"id": name, "code": code, "severity": "critical"} for name, code in (("a b", "c"), ("a<b", "c"), ("a-b", "c-2"), ("ä", "c"))
    ]
    made = [SUMMARIES[0] | {"node": f"n{number}", "reasons": [one]} for number, one in enumerate(reasons)]
    page = Page(shown(made, "html"))
    assert len({one["href"] for one in page.tiles}) == len(made)
    assert {one["href"][1:] for one in page.tiles} <= set(page.ids)


def test_the_document_follows_its_schema_and_has_every_node():
    for made in (SUMMARIES, hostile(), [], large(50)):
        document = json.loads(shown(made, "json"))
        jsonschema.Draft202012Validator(SCHEMA).validate(document)
        assert len(document["nodes"]) == document["counts"]["nodes"] == len(made)
