// SPDX-License-Identifier: MIT

// Package loopback writes into the process's own memory by RDMA. It calls libibverbs through cgo: verbs are
// macros and inline functions in part, which Go cannot call, so C code stands in between.
package loopback

/*
#cgo LDFLAGS: -libverbs
#include <stdlib.h>

#include "../c/loopback.c"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Status is the status of a completion: enum ibv_wc_status.
type Status uint32

// Success is IBV_WC_SUCCESS.
const Success = Status(C.IBV_WC_SUCCESS)

// RetryExceeded is IBV_WC_RETRY_EXC_ERR.
const RetryExceeded = Status(C.IBV_WC_RETRY_EXC_ERR)

// String is the name that libibverbs has for it.
func (s Status) String() string {
	return C.GoString(C.ibv_wc_status_str(C.enum_ibv_wc_status(s)))
}

// Write sends text to the peer's memory and returns what is there afterwards.
func Write(text string) (string, Status, error) {
	// Memory of C: the device keeps pointers into it.
	l := (*C.struct_loopback)(C.calloc(1, C.sizeof_struct_loopback))
	defer C.free(unsafe.Pointer(l))
	defer C.loopback_end(l)
	if ret, err := C.loopback_begin(l); ret != 0 {
		return "", 0, fmt.Errorf("loopback: %w", err)
	}
	for i := 0; i < len(text) && i < len(l.memory[0])-1; i++ {
		l.memory[0][i] = C.char(text[i])
	}
	status := Status(C.loopback_write(l))
	return C.GoString(&l.memory[1][0]), status, nil
}
