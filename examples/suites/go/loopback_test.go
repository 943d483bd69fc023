// SPDX-License-Identifier: MIT

package loopback

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// fault adds a fault rule for the duration of a test.
func fault(t *testing.T, rule ...string) {
	command := os.Getenv("RDMAEMU")
	if command == "" {
		command = "rdmaemu"
	}
	if out, err := exec.Command(command, append([]string{"fault", "add"}, rule...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command(command, "fault", "clear").Run() })
}

func TestWrite(t *testing.T) {
	got, status, err := Write("hello")
	if err != nil || status != Success || got != "hello" {
		t.Fatalf("got %q, %v, %v", got, status, err)
	}
}

// One packet is lost, and sent again.
func TestLostPacket(t *testing.T) {
	fault(t, "drop", "opcode=RDMA_WRITE", "nth=1")
	got, status, err := Write("again")
	if err != nil || status != Success || got != "again" {
		t.Fatalf("got %q, %v, %v", got, status, err)
	}
}

// All packets are lost: the retries run out.
func TestDeadLink(t *testing.T) {
	fault(t, "drop", "opcode=RDMA_WRITE")
	if _, status, err := Write("lost"); err != nil || status != RetryExceeded {
		t.Fatalf("%v, %v", status, err)
	}
}

// A call that fails is an error, and nothing is left.
func TestNoMemory(t *testing.T) {
	fault(t, "fail", "call=ibv_reg_mr", "errno=ENOMEM", "nth=1")
	if _, _, err := Write("nothing"); !errors.Is(err, syscall.ENOMEM) {
		t.Fatalf("%v", err)
	}
}
