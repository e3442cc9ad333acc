"""Leader election by a Lease, as client-go does it: one controller writes, another one takes over when the lease is no longer renewed.

Source: Kubernetes, "Leases"; client-go ``tools/leaderelection``. Times of other machines are never compared with a clock here.
"""

# 10 s after the beginning of the last granted renewal the lease is no longer held, and others wait 15 s: a stopped process that
# goes on sends at most the request that it was in.

import contextlib
import time
from collections.abc import Callable
from typing import Any

from hostagent.kube.api import CONFLICT, NOT_FOUND, Api, ApiError

NAME = "hostagent-controller"
#: Seconds: others wait so long for a renewal; between two renewals; without one nothing more is written.
LEASE_S, RENEW_S, HOLD_S = 15, 5.0, 10.0
#: Seconds that another holder's duration may say.
_LONGEST_S = 60


def boottime() -> float:
    """Seconds since the boot, a suspended machine's time included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """One candidate. Asked by one thread (`renew`, `release`), read by any (`is_held`)."""

    def __init__(self, api: Api, namespace: str, identity: str, clock: Callable[[], float] = boottime) -> None:
        """`identity`: of this process alone."""
        self._api, self._identity, self._clock = api, identity, clock
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._namespace = namespace
        self._last_lease: tuple[Any, float] = (None, float("-inf"))  # the lease of another candidate, and since when it is so
        self._held_at = float("-inf")  # when the request that was granted last began
        self.problem = ""  # of the last try

    @property
    def is_held(self) -> bool:
        """Whether this candidate may write: no other candidate can hold it yet, even if this process was stopped."""
        return self._clock() - self._held_at < HOLD_S

    def renew(self) -> bool:
        """One try to get or to keep it. Never raises."""
        began = self._clock()
        try:
            is_granted = self._granted()
            self.problem = ""
        except ApiError as error:
            is_granted, self.problem = False, "" if error.code == CONFLICT else error.message
        if is_granted:
            self._held_at = began
        return is_granted

    def release(self) -> None:
        """Frees the Lease at once."""
        if not self.is_held:
            return
        self._held_at = float("-inf")
        with contextlib.suppress(ApiError):  # it ends by itself
            found = self._api.get(f"{self._path}/{NAME}")
            if _spec(found).get("holderIdentity") == self._identity:
                free = {**_spec(found), "holderIdentity": "", "leaseDurationSeconds": 1}
                self._api.replace(f"{self._path}/{NAME}", {**found, "spec": free})

    def _granted(self) -> bool:
        try:
            found = self._api.get(f"{self._path}/{NAME}")
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            if self._clock() - self._last_lease[1] <= LEASE_S:
                return False  # it was deleted: its holder may still write
            metadata = {"name": NAME, "namespace": self._namespace}
            self._api.create(self._path, {"metadata": metadata, "spec": self._record({}, is_new=True)})
            return True
        spec = _spec(found)
        holder = str(spec.get("holderIdentity") or "")
        if holder not in ("", self._identity) and not self._is_over(found):
            self._held_at = float("-inf")
            return False
        fresh = {**found, "spec": {**spec, **self._record(spec, is_new=holder != self._identity)}}
        self._api.replace(f"{self._path}/{NAME}", fresh)
        return True

    def _is_over(self, found: dict[str, Any]) -> bool:
        """Whether the holder has not renewed it for as long as the lease says, in our bounds. Asked when the answer has come: that is after
        the holder's last renewal, the begin of the request may be before it.
        """
        now = self._clock()
        if self._last_lease[0] != found:  # its resourceVersion is another one
            self._last_lease = found, now
        duration = _spec(found).get("leaseDurationSeconds")
        return now - self._last_lease[1] > min(max(LEASE_S, duration if isinstance(duration, int) else 0), _LONGEST_S)

    def _record(self, before: dict[str, Any], *, is_new: bool) -> dict[str, Any]:
        at = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        turns = before.get("leaseTransitions")
        record = {"holderIdentity": self._identity, "leaseDurationSeconds": LEASE_S, "renewTime": at}
        if is_new:
            record |= {"acquireTime": at, "leaseTransitions": (turns if isinstance(turns, int) else -1) + 1}
        return record


def _spec(lease: dict[str, Any]) -> dict[str, Any]:
    found = lease.get("spec")
    return found if isinstance(found, dict) else {}
