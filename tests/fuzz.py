"""``make fuzz``, for FUZZ_SECONDS (120) or until something fails: every parser and the loader of snapshots on what atheris finds,
where that is installed, then all property tests, which try them too, again and again with other examples.
"""

import importlib.util
import os
import random
import subprocess
import sys
import time

#: A round that has less time is not worth its start.
ROUND_S = 20
FOUND = """
A property does not hold: see 'Failing test case' (or 'Falsifying example') above.
1. Write the example down: @example(...) with these arguments above the test's @given, so that every run tries it; a host, a file or a
   command line becomes a case of the test that is about it. docs/dev/testing.md, 'Fuzz', has an example.
2. See the test fail without 'make fuzz', mend the cause, see it pass.
The example is also kept in .hypothesis: the next 'make fuzz' on this machine tries it first.
"""

FOUND_BY_ATHERIS = """
A parser fails on what was written to the file that 'Test unit written to' names above. 'python -m tests.fuzz_parsers FILE' tries it again.
Write it down as a case of the test that is about this parser, see it fail there, mend the cause, see it pass.
"""


def main(seconds: float) -> int:
    """Half of the time for parsers; then rounds of pytest, each with a seed of its own; no test begins after the time is over."""
    until = time.time() + seconds
    code = parsers(seconds / 2)
    return code or properties(until)


def parsers(seconds: float) -> int:
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed ('pip install atheris'): the property tests alone try the parsers", flush=True)
        return 0
    print(f"parsers and the loader of snapshots, {seconds:.0f} s", flush=True)
    argv = [sys.executable, "-m", "tests.fuzz_parsers", f"{seconds:.0f}"]
    done = subprocess.run(argv, check=False, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        print(done.stdout[-6000:], FOUND_BY_ATHERIS, file=sys.stderr)
        return 1
    print("\n".join(line for line in done.stdout.splitlines() if line.startswith("stat::number") or "peak_rss" in line), flush=True)
    return 0


def properties(until: float) -> int:
    rounds = 0
    while not rounds or time.time() < until - ROUND_S:
        seed = str(random.SystemRandom().randrange(2**32))
        rounds += 1
        print(f"round {rounds}, seed {seed}", flush=True)
        argv = [sys.executable, "-m", "pytest", "-m", "hypothesis", "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}"]
        argv += ["-p", "no:cacheprovider", "--tb=short", "-n", "2", "tests"]
        code = subprocess.run(argv, env={**os.environ, "FUZZ_UNTIL": str(until), "FUZZ_SEED": seed}, check=False).returncode
        if code:
            print(FOUND if code == 1 else f"pytest ended with {code}", file=sys.stderr)
            return code
    print(f"no property failed in {rounds} round{'s' if rounds > 1 else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(os.environ.get("FUZZ_SECONDS") or 120)))
