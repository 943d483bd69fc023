#!/bin/sh
# SPDX-License-Identifier: MIT
# Epilog of Slurm: ends the fabric of a job.
export PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}"
dir=/run/rdmaemu/job-$SLURM_JOB_ID
[ -d "$dir" ] || exit 0
setpriv --reuid "$SLURM_JOB_UID" --regid "$(id -g "$SLURM_JOB_UID")" --clear-groups \
	env RDMAEMU_DIR="$dir" rdmaemu fabric stop >/dev/null 2>&1
rm -rf "$dir"
