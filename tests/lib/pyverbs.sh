# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# rdma-core's own test suite, as Debian's python3-pyverbs ships it or that of PYVERBS_SUITE; sourced after
# tests/lib/lib.sh.

# pyverbs_unpack DIR - make the package `tests` in DIR, without the modules that are about one vendor's devices
pyverbs_unpack() {
	local src=${PYVERBS_SUITE:-/usr/share/doc/rdma-core/tests} f name
	[ -e "$src/run_tests.py" ] || skip_all "rdma-core's test suite is not in $src"
	# Debian's interpreter: the one that Debian's pyverbs is built for, and that of tests/rdma_core.sh.
	/usr/bin/python3 -c 'import pyverbs.device' 2>/dev/null || skip_all "python3-pyverbs is not installed"
	mkdir -p "$1/tests"
	shopt -s nullglob
	for f in "$src"/*.py "$src"/*.py.gz; do
		name=$(basename "$f" .gz)
		case $name in
		run_tests.py | test_mlx5* | test_efa*) continue ;;
		esac
		case $f in
		*.gz) gzip -dc "$f" >"$1/tests/$name" ;;
		*.py) cp "$f" "$1/tests/$name" ;;
		esac
	done
	shopt -u nullglob
	mv "$1/tests/args_parser.py" "$1/"
}
