"""HTTP pages: health probes, metrics, report and summary."""

import hmac
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from hostagent.core.secret.in_use import token_in
from hostagent.core.smallfile import read_small, reason
from hostagent.daemon.metrics import metrics
from hostagent.daemon.processes import usage
from hostagent.daemon.settings import Settings
from hostagent.daemon.shared_state import SharedState
from hostagent.engine.report.node_status import compact
from hostagent.http.answer import JSON, METRICS, Answer, Encoded
from hostagent.kube.config import trusted_owners

_TOKEN_BYTES = 4096
#: Seconds for which the file of the token is waited for.
_READ_S = 1.0
#: Seconds beyond a pass' own deadline after which /livez fails where the loop sends nothing, and beyond `Settings.stale_after_s`, so that
#: unknown is published before the daemon is restarted.
_SLACK_S = 30.0


class Page:
    """Answers by path, from the shared state. `publishes_to_kubernetes`: whether a write is expected."""

    def __init__(self, settings: Settings, shared: SharedState, *, publishes_to_kubernetes: bool, is_loopback: bool) -> None:
        self._settings, self._shared = settings, shared
        self._publishes_to_kubernetes, self._is_loopback = publishes_to_kubernetes, is_loopback
        self._reads: threading.Thread | None = None
        self._texts: dict[str, tuple[Any, Any, str]] = {}  # by page: message and other inputs of the last text, and the text
        self.encoded = Encoded()

    def answer(self, path: str, query: str, authorization: str) -> Answer:
        """To GET. `authorization`: the header, "" for none."""
        pages: dict[str, Callable[[], Answer]] = {
            "/livez": self._livez,
            "/readyz": lambda: self._readyz(is_verbose="verbose" in parse_qs(query, keep_blank_values=True)),
            "/metrics": self._metrics,
            "/v1/report": lambda: self._guarded(authorization, lambda: self._document("report")),
            "/v1/summary": lambda: self._summary(authorization),
        }
        if path not in pages:
            return Answer(HTTPStatus.NOT_FOUND, f"found no such page, wanted one of {', '.join(pages)}\n")
        return pages[path]()

    def _once(self, page: str, message: Any, beside: Any, make: Callable[[], str]) -> str:
        """The text of a page, cached while its inputs are the same."""
        before = self._texts.get(page)
        if before is None or before[0] is not message or before[1] != beside:
            before = self._texts[page] = (message, beside, make())
        return before[2]

    def _metrics(self) -> Answer:
        message, deliveries = self._shared.look()[0], self._shared.deliveries()
        beside = deliveries, int(time.monotonic())  # use of the processes is measured once a second
        return Answer(HTTPStatus.OK, self._once("metrics", message, beside, lambda: metrics(message, deliveries, usage())), METRICS)

    def _livez(self) -> Answer:
        seen, now, settings = self._shared.look(), time.monotonic(), self._settings
        if now - seen.alive_by > settings.evidence.deadline_s + _SLACK_S:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"the loop was last heard {now - seen.alive_by:.0f} s ago\n")
        if seen.judged_by and not seen.waiting and now - seen.judged_by > settings.stale_after_s + _SLACK_S:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"the last pass was judged {now - seen.judged_by:.0f} s ago\n")
        return Answer(HTTPStatus.OK, "ok\n")

    def _readyz(self, *, is_verbose: bool) -> Answer:
        rows = list(self._readiness())
        is_ready = all(is_good for _, is_good, _ in rows)
        lines = "".join(f"[{'+' if is_good else '-'}]{name} {why or 'ok'}\n" for name, is_good, why in rows)
        status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
        if is_ready and not is_verbose:
            return Answer(status, "ok\n")
        return Answer(status, f"{lines}{'ok' if is_ready else 'not ready'}\n")

    def _readiness(self) -> Any:
        message, judged_by, _, waiting = self._shared.look()
        settings = self._settings
        has_pass, age_s = bool(message and message.has_pass), time.monotonic() - judged_by
        is_fresh = has_pass and age_s <= settings.stale_after_s
        yield "turn", not waiting, waiting
        yield "pass", is_fresh, "" if is_fresh else f"the last pass ended {age_s:.0f} s ago" if has_pass else "no pass has ended yet"
        if message and message.profile_problem:
            yield "profile", True, message.profile_problem
        if self._publishes_to_kubernetes:
            one = self._shared.deliveries().get("kubernetes")
            silent_s = time.monotonic() - one.succeeded_by if one and one.succeeded_at else 0.0
            is_written = bool(one and one.succeeded_at) and silent_s <= 3 * settings.heartbeat_s
            late = "" if is_written else f"the last write was {silent_s:.0f} s ago" if silent_s else "nothing was written yet"
            why = (one.problem if one else "") or late
            yield "kubernetes", not why, why

    def _summary(self, authorization: str) -> Answer:
        if self._is_loopback:
            return self._document("summary")
        return self._guarded(authorization, lambda: self._document("summary"))

    def _document(self, name: str) -> Answer:
        message = self._shared.look()[0]
        if message is None or not message.summary:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "no pass has ended yet\n")
        summary = message.summary
        text = message.report if name == "report" else self._once(name, message, "", lambda: compact(summary) + "\n")
        return Answer(HTTPStatus.OK, text, JSON)

    def token(self) -> tuple[bytes, str]:
        """The token that a guarded page requires, read from its file now, and why it cannot be used ("" where it can)."""
        path = self._settings.auth_token_file
        try:
            return token_in(read_small(path, _TOKEN_BYTES, trusted_owners())).encode(), ""
        except OSError as error:
            return b"", f"the token of {path} (--auth-token-file) cannot be used: {reason(error)}"
        except ValueError as error:
            return b"", f"the token of {path} (--auth-token-file) cannot be used: {error}"

    def _token_in_time(self) -> tuple[bytes, str]:
        """As `token`, by a thread, one at a time: a disk that hangs delays no request for other pages."""
        found: list[tuple[bytes, str]] = []
        if not (self._reads and self._reads.is_alive()):
            self._reads = threading.Thread(target=lambda: found.append(self.token()), daemon=True)
            self._reads.start()
            self._reads.join(_READ_S)
        return found[0] if found else (b"", "the file of --auth-token-file is still being read")

    def _guarded(self, authorization: str, document: Callable[[], Answer]) -> Answer:
        if not self._settings.auth_token_file:
            return Answer(HTTPStatus.FORBIDDEN, "found no --auth-token-file, wanted one: the report quotes logs\n")
        token, problem = self._token_in_time()
        if problem:
            return Answer(HTTPStatus.FORBIDDEN, f"{problem}\n")
        given = authorization.encode("utf-8", "replace")
        if not hmac.compare_digest(given, b"Bearer " + token):
            return Answer(HTTPStatus.UNAUTHORIZED, "found no such token, wanted 'Authorization: Bearer TOKEN'\n")
        return document()
