"""Automatic upgrades may replace the driver or the toolkit at night, under running jobs.

The libraries are then newer than the loaded kernel module, and every new GPU container fails until a reboot. What protects a
package is a hold, a pin, or the blacklist of the upgrader; an upgrader that takes nothing from a package's repository is no risk to it.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, skip
from hostagent.domains.packages.commands import hold, moves
from hostagent.domains.packages.tables.names import TOOLKIT_PACKAGES, driver_part
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages


@check(
    title="Automatic upgrades do not touch the driver and the toolkit",
    severity="warning",
    since="0.1",
    headline="Automatic upgrades can replace the driver or the toolkit",
    remedy=(Step("configure", "Hold the packages of the driver and the toolkit."),),
    references=("unattended-upgrades, README", "dnf-automatic(8)"),
    confirm=(
        "systemctl list-timers 'apt-*' 'dnf-*' 'packagekit*'",
        "apt-config dump Unattended-Upgrade  # Debian, Ubuntu",
        "grep -n apply_updates /etc/dnf/automatic.conf  # RHEL",
    ),
)
def unattended_upgrades(packages: Packages, os: Os | Unread) -> Findings:
    ours = [one for one in need(packages.installed) if driver_part(one.name) or one.name in TOOLKIT_PACKAGES]
    if not ours:
        skip("no package of the driver or the toolkit is installed")
    if not need(packages.unattended_upgrades):
        return
    need(packages.unattended_blacklist)
    need(packages.unattended_origins)
    at_risk = [one.name for one in ours if moves(packages, one)]
    if at_risk:
        found = first_of(at_risk)
        steps = (Step("configure", "Hold the packages of the driver and the toolkit.", hold(packages, os, at_risk)),)
        text = f"automatic upgrades are on, and can replace {found}"
        yield fail(text, code="at-risk", found=found, wanted="held or blacklisted", remedy=steps)
