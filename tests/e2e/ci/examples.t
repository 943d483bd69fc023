#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: examples, with hosts of their own
# The examples of docs/guide/ci.md, as far as they can be checked where there are no containers.
. "$(dirname "$0")/../../lib/lib.sh"

# The servers of the examples use the programs' default ports.
try_netns "$@"

cd "$TOP/examples" || exit 1
PATH=$(dirname "$RDMAEMU"):$PATH

for f in *.sh; do
	check "$f is a shell script" sh -n "$f"
done
if python3 -c 'import yaml' 2>/dev/null; then
	for f in *.yaml *.yml; do
		check "$f is YAML" python3 -c 'import sys, yaml; assert list(yaml.safe_load_all(open(sys.argv[1])))' "$f"
	done
else
	skip "YAML files" "python3-yaml is not installed"
fi
if docker compose version >/dev/null 2>&1; then
	for file in compose.yaml compose-roce.yaml; do
		check "docker compose reads $file" docker compose -f $file config -q
	done
else
	skip "docker compose reads its file" "docker compose is not installed"
fi

# Manifests by the schema of Kubernetes' API.
judge=$BUILD/npm/kubernetes.mjs
if [ -e "$judge" ] && command -v node >/dev/null; then
	for file in kubernetes.yaml kubernetes-hca.yaml kubernetes-roce.yaml ../packaging/kubernetes/device-plugin.yaml; do
		check "Kubernetes' schema accepts ${file##*/}" limit node "$judge" "$file"
	done
	# refused EDIT COMPLAINT - the schema has COMPLAINT against a manifest that sed's EDIT has spoiled
	refused() {
		sed "$1" kubernetes.yaml >"$TEST_DIR/edited.yaml"
		limit node "$judge" "$TEST_DIR/edited.yaml" >"$TEST_DIR/complaints"
		grep -F "$2" "$TEST_DIR/complaints" || { cat "$TEST_DIR/complaints"; return 1; }
	}
	check "it refuses an unknown field" refused 's/hostname:/hostnam:/' 'Pod.spec.hostnam: no such field'
	check "a missing one" refused 's/, mountPath: .token,/,/' 'must have required property mountPath'
	check "a value of another type" refused 's/port: 7471/port: join/' 'must be integer'
	check "an unknown kind" refused 's/kind: Pod/kind: Pot/' 'no such kind: v1 Pot'
else
	skip "Kubernetes' schema accepts the manifests" "it is not installed: make npm"
fi

# Each variable and verb that they use is one that rdmaemu has.
known() {
	local w
	"$RDMAEMU" fabric start --help >"$TEST_DIR/help"
	for w in $(grep -ohs 'RDMAEMU_[A-Z_]*[A-Z]' ./* ../docs/guide/ci.md | sort -u); do
		grep -q "\[$w\]" "$TEST_DIR/help" || grep -q "define $w(" ../include/rdmaemu-test.h ||
			grep -q "^    $w: " ../packaging/gitlab/*.yml || grep -q "\`$w\`" ../docs/reference/environment.md || {
			echo "no such variable: $w"
			return 1
		}
	done
}
check "variables that they name exist" known
named() {
	local f
	for f in $(grep -o 'examples/[a-z0-9.A-Z-]*[a-z0-9]' ../docs/guide/ci.md | sort -u); do
		[ "$f" = examples/rdmaemu-token ] || [ -e "$TOP/$f" ] || {
			echo "no such file: $f"
			return 1
		}
	done
}
check "files that docs/guide/ci.md names exist" named

# needed_packages DIR... - Debian's packages of the headers that the sources there name
needed_packages() {
	local h dir found=()
	for h in $(grep -rhoE '^#include <[^>]+>' --include='*.[ch]' "$@" | sed 's/.*<\(.*\)>/\1/' | sort -u); do
		for dir in /usr/include "/usr/include/$arch"; do
			[ ! -e "$dir/$h" ] || found+=("$dir/$h")
		done
	done
	packages_of "${found[@]}"
}
# packages_of FILE... - but libc's, which the compiler brings or every image has, and a sanitizer's
packages_of() {
	dpkg -S "$@" 2>/dev/null | sed 's/:.*//' | sort -u | grep -vE '^(libc6.*|linux-libc-dev|libgcc-s1|lib[a-z]*san[0-9]+)$'
}
# names_all FILE PACKAGE... - it installs all of them, libx1.2-dev also by the name of libx-dev, libx1t64 (Debian 13) by
# that of libx1
names_all() {
	local file=$1 p
	shift
	[ $# -gt 0 ] || return
	for p; do
		p=${p%t64}
		grep -qE "(^|[[:space:]])($p|$(sed -E 's/[0-9.]+-dev$/-dev/' <<<"$p"))([[:space:]]|\$)" "$file" || {
			echo "$file does not install $p"
			return 1
		}
	done
}
sources=(emulator fabric libctl libshim libtap traces)
if command -v dpkg >/dev/null; then
	arch=$(gcc -print-multiarch)
	mapfile -t needed < <(needed_packages "${sources[@]/#/../}")
	for f in Dockerfile github-actions.yml; do
		check "$f installs what is built with" names_all $f "${needed[@]}"
	done
	# shellcheck disable=SC2046 # no spaces in them
	mapfile -t linked < <(packages_of $(readelf -d "$RDMAEMU" "$BUILD"/lib/*.so |
		sed -n "s/.*(NEEDED).*\[\(.*\)\]/*\/$arch\/\1/p" | sort -u))
	check "Dockerfile installs what is linked" names_all Dockerfile "${linked[@]}"
else
	skip "packages of the examples" "no dpkg here"
fi

# workflow_steps - the shell text of each step that a test can run: not those that install into the machine
workflow_steps() {
	python3 - "$1" <<-'END'
		import sys, yaml
		steps = yaml.safe_load(open(sys.argv[1]))['jobs']['test']['steps']
		fetched = ['.'] + [s['with']['path'] for s in steps if 'with' in s]
		names = ' '.join(s.get('run', '') for s in steps)
		assert 'rdmaemu' in fetched and 'make -C rdmaemu ' in names, 'rdmaemu is not fetched before it is built'
		assert 'examples/' not in names, 'a path that the repository of a user does not have'
		order = [s['name'] for s in steps]
		assert order.index('explain failures') < order.index('stop the fabric'), 'the log goes with the fabric'
		for s in steps:
		    if 'run' in s and 'sudo' not in s['run']:
		        print('set -e\n' + s['run'], end='\0')
	END
}
# workflow - its steps run in an empty directory, as in the repository of a user, and the log is there at the end
workflow() {
	local step
	workflow_steps "$TOP/examples/github-actions.yml" >"$TEST_DIR/steps" || return
	mkdir -p "$TEST_DIR/repository" && cd "$TEST_DIR/repository" || return
	while IFS= read -r -d '' step; do
		# As in tests/e2e/docs/commands.t: on a slow machine the server needs longer than that.
		step=${step//'& sleep 1'/"& sleep 1; python3 $TOP/tests/lib/py/docs_pages.py ready \$!"}
		limit bash -c "$step" </dev/null || return
	done <"$TEST_DIR/steps"
}
if python3 -c 'import yaml' 2>/dev/null && command -v ib_write_bw >/dev/null; then
	check "github-actions.yml works in a repository without rdmaemu" workflow
else
	skip "github-actions.yml works in a repository without rdmaemu" "needs python3-yaml and perftest"
fi

# A job that fails prints the log.
failing_job() {
	mkdir -p "$TEST_DIR/bin" && printf '#!/bin/sh\nexit 3\n' >"$TEST_DIR/bin/ibv_devinfo" &&
		chmod +x "$TEST_DIR/bin/ibv_devinfo"
	PATH=$TEST_DIR/bin:$PATH limit sh -x job.sh 2>&1 | grep -qE '^\+ rdmaemu log'
}
check "job.sh prints the log if it fails" failing_job

# To a file: what it leaves behind when it fails must not keep check waiting.
job() {
	limit sh job.sh >"$TEST_DIR/job" 2>&1 || {
		tail -n 20 "$TEST_DIR/job"
		return 1
	}
}
command -v ib_write_bw >/dev/null && check "job.sh" job
mpi() {
	local out
	out=$(OMPI_COMM_WORLD_RANK=3 limit sh mpirun.sh sh -c 'echo "$RDMAEMU_NODE"; ibv_devices') &&
		grep -q rank3 <<<"$out" && grep -q rdmaemu0 <<<"$out"
}
check "mpirun.sh" mpi
done_testing
