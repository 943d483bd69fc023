# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What tests are called: for tests/run and tests/san.sh, which are in the tree's folder and have BUILD.

# name_of_path PATH - the name of a .t, of a program of $BUILD/tests/unit/, or the name itself
name_of_path() {
	local name=${1#"$BUILD"/}
	name=${name#tests/}
	echo "${name%.t}"
}
