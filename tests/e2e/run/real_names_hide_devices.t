#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: devices of one host
# RDMAEMU_REAL=NAME,... with librdmaemu-tap.so preloaded: the program sees these devices only, and so does librdmacm.
# The emulator stands for the machine's devices.
. "$(dirname "$0")/../../lib/lib.sh"
need ibv_devices ibv_devinfo python3

echo "devices 3" >"$TEST_DIR/profile"

# on NAMES COMMAND... - with the names in RDMAEMU_REAL, in front of a host with rdmaemu0, rdmaemu1 and rdmaemu2
on() {
	limit "$RDMAEMU" run --fresh --profile "$TEST_DIR/profile" -- \
		env RDMAEMU_REAL="$1" TAP="$BUILD/lib/librdmaemu-tap.so" sh -c 'LD_PRELOAD=$TAP:$LD_PRELOAD exec "$@"' sh "${@:2}"
}

# devices NAMES - what ibv_devices lists, in one line
devices() {
	on "$1" ibv_devices | awk 'NR > 2 { printf "%s%s", n++ ? " " : "", $1 }'
}

is "all devices without names" "rdmaemu0 rdmaemu1 rdmaemu2" "$(devices "")"
for setting in yes auto no 1; do
	is "all devices with the setting $setting" "rdmaemu0 rdmaemu1 rdmaemu2" "$(devices $setting)"
done
is "one name: this device" "rdmaemu1" "$(devices rdmaemu1)"
is "two names: in the order of the list" "rdmaemu0 rdmaemu2" "$(devices rdmaemu2,rdmaemu0)"
is "a name that is only the beginning of one" "" "$(devices rdmaemu)"
is "an empty name hides nothing more" "rdmaemu1" "$(devices ,rdmaemu1,)"
check "a device that is shown can be opened" on rdmaemu1 ibv_devinfo -d rdmaemu1
hidden() {
	! on rdmaemu1 ibv_devinfo -d rdmaemu0
}
check "a device that is hidden cannot" hidden

cat >"$TEST_DIR/lists.py" <<'END'
import ctypes

cm = ctypes.CDLL('librdmacm.so.1')
verbs = ctypes.CDLL('libibverbs.so.1')


def names(get, free, name):
    get.restype = ctypes.POINTER(ctypes.c_void_p)
    n = ctypes.c_int()
    devices = get(ctypes.byref(n))
    assert not devices[n.value]
    text = [name(devices[i]) for i in range(n.value)]
    free(devices)
    return text


verbs.ibv_get_device_name.restype = ctypes.c_char_p
verbs.ibv_get_device_name.argtypes = [ctypes.c_void_p]
for _ in range(100):
    shown = names(verbs.ibv_get_device_list, verbs.ibv_free_device_list, verbs.ibv_get_device_name)
# The first member of a context is its device.
by_cm = names(cm.rdma_get_devices, cm.rdma_free_devices,
              lambda ctx: verbs.ibv_get_device_name(ctypes.cast(ctx, ctypes.POINTER(ctypes.c_void_p))[0]))
null = verbs.ibv_get_device_list(None)
assert null[len(shown) - 1] and not null[len(shown)]
verbs.ibv_free_device_list(null)
print(*[name.decode() for name in shown], '/', *[name.decode() for name in by_cm])
END
is "libraries that the program loads itself, and rdma_get_devices()" "rdmaemu1 rdmaemu2 / rdmaemu1 rdmaemu2" \
	"$(on rdmaemu2,rdmaemu1 python3 "$TEST_DIR/lists.py")"
done_testing
