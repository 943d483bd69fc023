# SPDX-License-Identifier: MIT
# program: token
# source: emulator/engine/token.c
# A poster that has set its doorbell does not try the token again.
s/^\tif (engine_try(e))$/\tif (load_relaxed(\&e->hca->token) == TOKEN_FREE \&\& engine_try(e))/
