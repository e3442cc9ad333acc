"""The initramfs of a kernel is rebuilt by the tool that the host has."""

from dataclasses import replace

import pytest

from hostagent.core.unread import Unread
from hostagent.plan.driver.steps import _rebuild
from tests.plan_hosts import made_view


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        ("update-initramfs", "update-initramfs -u -k 6.1.0-40-amd64"),
        ("dracut", "dracut --force --kver 6.1.0-40-amd64"),  # Debian and Ubuntu have it, too
        ("", "update-initramfs -u -k 6.1.0-40-amd64"),
        (Unread("denied", "x"), "update-initramfs -u -k 6.1.0-40-amd64"),
    ],
)
def test_the_tool_that_is_there_counts_and_else_the_package_manager(tool, command):
    view = made_view("debian12")
    assert _rebuild(replace(view, installation=replace(view.installation, initramfs_tool=tool)), "6.1.0-40-amd64") == command
