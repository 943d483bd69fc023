#!/bin/bash
# SPDX-License-Identifier: MIT
# UC: what arrives, what is dropped, and whose error it is.
. "$(dirname "$0")/lib.sh"
app app_uc local
app app_uc remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_uc remote
done_testing
