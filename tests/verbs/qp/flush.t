#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: profiles
# FLUSH: a device with persistent memory, rxe without, mlx5, which has none.
. "$(dirname "$0")/../../lib/lib.sh"
RUN_FLAGS='--profile generic --fabric generic' app app_qp_flush persistent
RUN_FLAGS='--profile rxe --fabric rxe' app app_qp_flush global
RUN_FLAGS='--profile connectx6 --fabric connectx6' app app_qp_flush none
RUN_FLAGS='--isolated --fabric isolated' app app_qp_flush persistent
done_testing
