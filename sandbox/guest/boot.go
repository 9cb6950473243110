package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	deviceWait    = 20 * time.Second
	afVsock       = 40
	hostCID       = 2
	rndAddEntropy = 0x40085203
	moduleFolder  = "/modules"
)

// channel is the one connection to the host: a vsock or a virtio port.
type channel int

func (c channel) Read(into []byte) (int, error) {
	for {
		n, err := syscall.Read(int(c), into)
		if err == syscall.EINTR || err == syscall.EAGAIN {
			continue
		}
		if n <= 0 && err == nil {
			return 0, os.ErrClosed
		}
		return n, err
	}
}

func (c channel) Write(from []byte) (int, error) {
	written := 0
	for written < len(from) {
		n, err := syscall.Write(int(c), from[written:])
		if err == syscall.EINTR || err == syscall.EAGAIN {
			continue
		}
		if err != nil {
			return written, err
		}
		written += n
	}
	return written, nil
}

// serve is the guest's whole life. A machine that could not even reach the host says so on its console.
func serve() {
	defer stop()
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "tipstaff-guest:", err)
		return
	}
	host, err := connect()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tipstaff-guest:", err)
		return
	}
	if err := work(host); err != nil {
		_ = send(host, Fault{Kind: "fault", Stage: stageOf(err), Reason: err.Error()})
	}
	// The host ends the machine once it has read the last frame; stopping first could lose it.
	_, _ = host.Read(make([]byte, 1))
}

func prepare() error {
	_ = os.Setenv("PATH", "/")
	for _, m := range []struct{ kind, place string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"cgroup2", "/sys/fs/cgroup"},
	} {
		if err := mount(m.kind, m.place, m.kind, syscall.MS_NOSUID|syscall.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("the guest's kernel does not mount %s: %w", m.kind, err)
		}
	}
	return loadModules(moduleFolder)
}

// loadModules loads what the image brings, in the order of its names, which the host chose by their needs.
func loadModules(folder string) error {
	files, _ := filepath.Glob(filepath.Join(folder, "*.ko"))
	sort.Strings(files)
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		empty := []byte{0}
		_, _, fault := syscall.Syscall(numbers.finitModule, file.Fd(), uintptr(unsafe.Pointer(&empty[0])), 0)
		_ = file.Close()
		if fault != 0 && fault != syscall.EEXIST {
			return fmt.Errorf("the kernel module %s: %w", filepath.Base(name), fault)
		}
	}
	return nil
}

// connect opens the channel that the kernel's command line names: tipstaff.channel=vsock:PORT or port:NAME.
func connect() (channel, error) {
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return 0, err
	}
	for _, word := range strings.Fields(string(line)) {
		if name, ok := strings.CutPrefix(word, "tipstaff.channel=vsock:"); ok {
			return dial(name)
		}
		if name, ok := strings.CutPrefix(word, "tipstaff.channel=port:"); ok {
			return openPort(name)
		}
	}
	return 0, fmt.Errorf("the kernel's command line names no channel")
}

func dial(name string) (channel, error) {
	port, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no vsock port", name)
	}
	address := struct {
		family, reserved uint16
		port, cid, rest  uint32
	}{family: afVsock, port: uint32(port), cid: hostCID}
	var last error
	for end := time.Now().Add(deviceWait); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		fd, err := syscall.Socket(afVsock, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			last = err
			continue
		}
		_, _, fault := syscall.Syscall(syscall.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&address)), 16)
		if fault == 0 {
			return channel(fd), nil
		}
		_ = syscall.Close(fd)
		last = fault
	}
	return 0, fmt.Errorf("the host's vsock port %d does not answer: %w", port, last)
}

func openPort(name string) (channel, error) {
	for end := time.Now().Add(deviceWait); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		files, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, file := range files {
			text, _ := os.ReadFile(file)
			if string(bytes.TrimSpace(text)) != name {
				continue
			}
			device := "/dev/" + filepath.Base(filepath.Dir(file))
			fd, err := syscall.Open(device, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
			if err == nil {
				return channel(fd), nil
			}
		}
	}
	return 0, fmt.Errorf("there is no virtio port %q", name)
}

// freshen gives the kernel the host's time and entropy, so that nothing inside waits for either.
func freshen(job Job) error {
	now := syscall.NsecToTimeval(int64(job.Time * 1e9))
	if err := syscall.Settimeofday(&now); err != nil {
		return fmt.Errorf("the clock cannot be set: %w", err)
	}
	pool := struct {
		bits, size int32
		data       [64]byte
	}{bits: int32(8 * min(len(job.Seed), 64)), size: int32(min(len(job.Seed), 64))}
	copy(pool.data[:], job.Seed)
	random, err := os.OpenFile("/dev/urandom", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer random.Close()
	_, _, fault := syscall.Syscall(syscall.SYS_IOCTL, random.Fd(), rndAddEntropy, uintptr(unsafe.Pointer(&pool)))
	if fault != 0 {
		return fmt.Errorf("the entropy pool takes no seed: %w", fault)
	}
	return nil
}

func mount(source, place, kind string, flags uintptr, options string) error {
	if err := os.MkdirAll(place, 0o755); err != nil {
		return err
	}
	return syscall.Mount(source, place, kind, flags, options)
}

func stop() {
	syscall.Sync()
	_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_RESTART)
	for {
		time.Sleep(time.Hour)
	}
}
