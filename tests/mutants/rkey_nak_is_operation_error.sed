# SPDX-License-Identifier: MIT
# source: emulator/transport/responder.c
# A request with a bad rkey is answered with NAK_REM_OP_ERR, not NAK_REM_ACCESS_ERR.
/^static int resp_write(/,/^}/s/\bAETH_NAK_REM_ACCESS\b/AETH_NAK_REM_OP/
