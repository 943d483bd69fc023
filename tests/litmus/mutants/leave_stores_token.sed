# SPDX-License-Identifier: MIT
# program: token
# source: emulator/engine/token.c
# The token is given back by a release store.
s/^\(\t*\)exchange(&hca->token, \(next\|TOKEN_FREE\));/\1store_release(\&hca->token, \2);/
