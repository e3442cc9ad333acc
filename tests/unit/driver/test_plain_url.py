"""Addresses of repositories, as they may be shown and kept."""

import pytest

from hostagent.domains.packages.read_repositories import parse_repositories, plain_url


@pytest.mark.parametrize("password", ["pw", "p?w", "p#w", "p/w", "p@w", "p?w#x/y@z"])
def test_no_part_of_a_password_is_left_of_an_address(password):
    url = f"https://bob:{password}@mirror/deb?token=x#y"
    assert plain_url(url) == "https://mirror/deb"
    (one,) = parse_repositories(f"[cuda]\nbaseurl={url}\ngpgkey={url}\n", "f")
    assert (one.url, one.keys) == ("https://mirror/deb", ("https://mirror/deb",))
