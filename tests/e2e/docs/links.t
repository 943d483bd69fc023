#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads pages
# README.md, docs/ and the manual pages: each link, path and reference leads somewhere, and pages keep their sizes.
. "$(dirname "$0")/../../lib/lib.sh"
need python3
python3 "$TOP/tests/lib/py/docs_pages.py" links "$TOP" || FAILED=1
done_testing
