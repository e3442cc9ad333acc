"""How tests read and judge a host: in this process, over any backend."""

import contextlib

from hostagent.core.deadline import within
from hostagent.engine.collection import InProcess
from hostagent.engine.pipeline import examine, prepare
from hostagent.engine.questions import DOMAINS, live_backend
from hostagent.sandbox.worker import Worker


def judged(backend, loaded, only=(), **options):
    """The report on what `backend` answers; `options` are those of `InProcess`."""
    prepared = prepare(loaded, only)
    return examine(InProcess(backend, prepared.kinds, **options), prepared)


@contextlib.contextmanager
def live(root="/", kind="host-root", kernel="", deadline_s=30):
    """The backend of a live host or an image, with its workers running."""
    deadline = within(deadline_s)
    workers = () if kind == "image" else tuple(Worker(lane, str(root), deadline.ends) for lane in DOMAINS.lanes.values())
    try:
        for one in workers:
            one.start()
        yield live_backend(str(root), kind, workers=workers, deadline=deadline, kernel=kernel)
    finally:
        for one in workers:
            one.close()
