#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 20
# waits
# settings: one: each test of the suite starts its own fabric, with nodes of its own
# pytest-rdmaemu, installed as a user installs it: the project of examples/ passes; tests that shall
# fail do, and say why.
. "$(dirname "$0")/../../lib/lib.sh"
need rping ibv_devinfo
# Debian's, with Debian's modules: the first python3 in PATH may be another.
python=/usr/bin/python3
$python -c 'import pytest, setuptools, wheel, pip' 2>"$TEST_DIR/why" || skip_all "$(tail -n 1 "$TEST_DIR/why")"

cp -r "$TOP/libctl/pytest" "$TEST_DIR/source"
check "pip installs it" $python -m pip install -q --no-index --no-deps --no-build-isolation --no-compile \
	--root-user-action=ignore --target "$TEST_DIR/installed" "$TEST_DIR/source"

unset RDMAEMU_DIR
export PYTHONPATH=$TEST_DIR/installed RDMAEMU TMPDIR=$TEST_DIR PYTHONDONTWRITEBYTECODE=1
suite() {
	(cd "$project" && limit $python -m pytest -q -p no:cacheprovider "$@")
}
project=$TOP/examples/suites/pytest
check "the example's tests pass" suite
is "no state is left" "$(ls -d "$TEST_DIR"/rdmaemu-* 2>/dev/null)" ""

# --- tests that shall fail ---

project=$TEST_DIR/project
mkdir "$project"
cat >"$project/test_fails.py" <<'END'
import pytest


@pytest.mark.rdmaemu_faults("drop opcode=ATOMIC_ACKNOWLEDGE")
def test_rule_never_fires(fabric):
    fabric.node().run(["ibv_devinfo"])


@pytest.mark.rdmaemu_faults("drop opcode=ATOMIC_ACKNOWLEDGE", must_fire=False)
def test_rule_may_fire(fabric):
    fabric.node().run(["ibv_devinfo"])


def test_misuse(fabric, rdmaemu_capture):
    fabric.node().run(["app_check_events", "notify_lost", "wrong"])


def test_status(fabric):
    fabric.fault("fail call=ibv_open_device errno=EMFILE")
    fabric.node().run(["ibv_devinfo"])


@pytest.mark.rdmaemu(no_such_option=1)
def test_option(fabric):
    pass


def test_left_running(fabric):
    program = fabric.node().start(["sleep", "1000"])
    assert program.running


@pytest.mark.rdmaemu(clock="manual")
def test_clock(fabric):
    before = fabric.call_json("clock")
    fabric.advance(2.5)
    assert fabric.call_json("clock") != before


def test_waits_in_vain(fabric):
    program = fabric.node().start("sh -c 'echo said; exit 3'")
    program.wait_for("said")
    program.wait_for("more")
END
PATH=$T:$PATH suite --rdmaemu-check --rdmaemu-artifacts "$TEST_DIR/kept" >"$TEST_DIR/report" 2>&1
is "the status is that of failed tests" $? 1
report() {
	if grep -qE "$2" "$TEST_DIR/report"; then
		ok "$1"
	else
		not_ok "$1" "$(cat "$TEST_DIR/report")"
	fi
}
report "those that shall pass do, the others fail" '^4 failed, 3 passed, 1 error in'
report "a rule that never fired is named" '^E .*AssertionError: fault rules that never fired: drop opcode=ATOMIC_ACKNOWLEDGE'
report "a misuse is named" '^E .*CQ:NOTIFY:LOST: app_check_events: cq1 was armed .* at tests/verbs/check/events.c:'
report "a program's status is named, and what it printed" "^E .*\['ibv_devinfo'\] ended with 1, not 0:"
report "the journal is attached" '^-+ rdmaemu log -+$'
report "the journal has what failed" 'ibv_open_device.*EMFILE'
report "the rules are attached" '^-+ rdmaemu fault list -+$'
report "an unknown option is refused by the command" "^E .*FabricError: rdmaemu: .*no-such-option"
report "who waits in vain is told" "^E .*TimeoutError: sh ended with 3 and has not printed 'more':"
is "journal, status and capture of a failed test are kept" \
	"$(ls "$TEST_DIR/kept/test_fails.py-test_misuse")" "$(printf '%s\n' capture.pcapng log.json log.txt status.json)"
is "nothing is kept of a test that passed" "$(ls -d "$TEST_DIR"/kept/*clock* 2>/dev/null)" ""
is "no program is left" "$(pgrep -f '^sleep 1000$' -g 0,$$)" ""

# --- on the fabric of a run ---

cat >"$project/test_run.py" <<'END'
import pytest


def test_one(fabric):
    fabric.fault("drop psn=1")
    assert len(fabric.call_json("fault", "list")["faults"]) == 1


def test_two(fabric):
    assert fabric.call_json("fault", "list")["faults"] == []


@pytest.mark.rdmaemu(seed=3)
def test_options(fabric):
    pass
END
export RDMAEMU_DIR=$TEST_DIR/state
(cd "$project" && limit "$RDMAEMU" run --fresh -- $python -m pytest -q -p no:cacheprovider test_run.py) \
	>"$TEST_DIR/report" 2>&1
report "the fabric of a run is used, and its rules end with each test" '^2 passed, 1 error in'
report "options for it are refused" "UsageError: rdmaemu\(\): this fabric was started by 'rdmaemu run'"
done_testing
