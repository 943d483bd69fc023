# SPDX-License-Identifier: MIT
# shellcheck shell=bash

# debian_mirror - the mirror of Debian that apt uses here, http://deb.debian.org/debian without one
debian_mirror() {
	local sites
	# shellcheck disable=SC2016 # apt's words
	sites=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep '/debian/*$') || :
	sites=${sites%%$'\n'*}
	echo "${sites:-http://deb.debian.org/debian}"
}
