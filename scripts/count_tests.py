#!/usr/bin/env python3
"""Sums up what ran: "N passed, M failed" on the last line; exits 1 if anything failed.

    scripts/count_tests.py TESTLOG [PASSED FAILED]

TESTLOG is Meson's meson-logs/testlog.json. A program of doctest counts as its test cases, any other
test as one; PASSED and FAILED are added.
"""

import json
import pathlib
import re
import sys

DOCTEST = re.compile(r"\[doctest\] test cases: +\d+ +\| +(\d+) passed +\| +(\d+) failed")


def count(record):
    """(passed, failed) of one line of the log."""
    if record["result"] == "SKIP":
        return 0, 0
    good = record["result"] in ("OK", "EXPECTEDFAIL")
    cases = DOCTEST.findall(re.sub(r"\x1b\[[0-9;]*m", "", record.get("stdout") or ""))
    if not cases:
        return (1, 0) if good else (0, 1)
    passed = sum(int(p) for p, _ in cases)
    failed = sum(int(f) for _, f in cases)
    # A program that crashed or hung after its cases, or failed outside of one.
    return (passed, failed) if good or failed else (passed, 1)


def main():
    passed, failed = (int(word) for word in sys.argv[2:4] or (0, 0))
    log = pathlib.Path(sys.argv[1])
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    for line in filter(None, lines):
        record = json.loads(line)
        good, bad = count(record)
        passed, failed = passed + good, failed + bad
        if bad:
            print(f"failed: {record['name']} ({record['result'].lower()})")
    if not lines:
        print(f"failed: no test ran ({log})")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
