# SPDX-License-Identifier: MIT
# program: token
# source: emulator/engine/token.c
# The token is given back by a release store.
s/^\t\texchange(&hca->token, next);/\t\tstore_release(\&hca->token, next);/
