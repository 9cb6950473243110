package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

const (
	groups = "/sys/fs/cgroup"

	rlimitCPU, rlimitFSize, rlimitData, rlimitCore = 0, 1, 2, 4
	rlimitNProc, rlimitNoFile, rlimitMsgQueue      = 6, 7, 12
	prSetNoNewPrivs, prCapBSetDrop, prSetDumpable  = 38, 24, 4
	seccompSetModeFilter, lastCapability           = 1, 63
)

// numbers are the system calls that package syscall lacks on one of the architectures.
var numbers = map[string]struct{ finitModule, seccomp, prlimit uintptr }{
	"amd64": {313, 317, 302},
	"arm64": {273, 277, 261},
}[runtime.GOARCH]

// group is the control group of a job: it counts and bounds all that the job starts.
type group string

func makeGroup(limits Limits) (group, error) {
	if err := put(groups, "cgroup.subtree_control", "+memory +pids"); err != nil {
		return "", fmt.Errorf("the guest's kernel does not limit memory and processes: %w", err)
	}
	folder := filepath.Join(groups, "job")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", err
	}
	for name, value := range map[string]string{
		"memory.max":       strconv.FormatUint(limits.Memory, 10),
		"memory.oom.group": "1",
		"pids.max":         strconv.FormatUint(limits.Processes, 10),
	} {
		if err := put(folder, name, value); err != nil {
			return "", err
		}
	}
	return group(folder), nil
}

func (g group) entrance() (*os.File, error) {
	return os.OpenFile(filepath.Join(string(g), "cgroup.procs"), os.O_WRONLY, 0)
}

// cpuMicroseconds is what all processes of the group, those that ended too, have used.
func (g group) cpuMicroseconds() uint64 { return g.count("cpu.stat", "usage_usec") }

// wasOOM tells whether the kernel ended a process of the group for want of memory.
func (g group) wasOOM() bool { return g.count("memory.events", "oom_kill") > 0 }

func (g group) count(file, key string) uint64 {
	text, _ := os.ReadFile(filepath.Join(string(g), file))
	return counter(string(text), key)
}

func counter(text, key string) uint64 {
	for _, line := range strings.Split(text, "\n") {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			number, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return number
		}
	}
	return 0
}

func put(folder, name, value string) error {
	return os.WriteFile(filepath.Join(folder, name), []byte(value), 0o644)
}

// restrict sets the limits of the calling process; what it executes keeps them.
func restrict(limits Limits) error {
	for _, limit := range []struct{ which, soft, hard uint64 }{
		{rlimitCPU, limits.CPU, limits.CPU + 1},
		{rlimitFSize, limits.FileSize, limits.FileSize},
		{rlimitCore, 0, 0},
		{rlimitMsgQueue, 0, 0},
		{rlimitNProc, limits.Processes, limits.Processes},
		{rlimitNoFile, limits.OpenFiles, limits.OpenFiles},
		{rlimitData, limits.Memory, limits.Memory},
	} {
		pair := [2]uint64{limit.soft, limit.hard}
		_, _, fault := syscall.RawSyscall6(
			numbers.prlimit, 0, uintptr(limit.which), uintptr(unsafe.Pointer(&pair)), 0, 0, 0)
		if fault != 0 {
			return fmt.Errorf("the limit %d cannot be set: %w", limit.which, fault)
		}
	}
	return nil
}

// dropBounds empties the calling thread's bounding set, so that no file's capabilities are ever gained.
func dropBounds() {
	for capability := uintptr(0); capability <= lastCapability; capability++ {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prCapBSetDrop, capability, 0)
	}
}

// confine puts the calling thread, and what it executes, under a filter in classic BPF.
func confine(filter []byte) error {
	if _, _, fault := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); fault != 0 {
		return fmt.Errorf("no_new_privs is refused: %w", fault)
	}
	if len(filter) == 0 || len(filter)%8 != 0 {
		return fmt.Errorf("a system call filter of %d bytes is none", len(filter))
	}
	program := struct {
		length uint16
		lines  unsafe.Pointer
	}{uint16(len(filter) / 8), unsafe.Pointer(&filter[0])}
	_, _, fault := syscall.RawSyscall(numbers.seccomp, seccompSetModeFilter, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if fault != 0 {
		return fmt.Errorf("the system call filter is refused: %w", fault)
	}
	return nil
}
