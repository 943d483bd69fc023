#!/bin/sh
# SPDX-License-Identifier: MIT
# TaskProlog of Slurm: lets `rdmaemu run` of a job's programs find the fabric that prolog.sh has started.
dir=/run/rdmaemu/job-$SLURM_JOB_ID
echo "export RDMAEMU_DIR=$dir"
[ -e "$dir/ready" ] || sed 's/^/print rdmaemu: /' "$dir/prolog.log"
