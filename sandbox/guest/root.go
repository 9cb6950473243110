package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	newRoot = "/root"
	nobody  = 65534
	scratch = "/scratch"
)

// buildRoot makes the root that a job sees: its layers read-only, the folders that it may write, a few devices.
func buildRoot(root string, job Job) error {
	if err := mount("root", root, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size=4m,nr_inodes=4096"); err != nil {
		return err
	}
	for number, layer := range job.Layers {
		if err := place(root, number, layer); err != nil {
			return fmt.Errorf("drive %d: %w", number, err)
		}
	}
	if err := devices(root); err != nil {
		return err
	}
	for _, folder := range []string{"/dev/shm", "/tmp", scratch} {
		options := fmt.Sprintf("size=%d,nr_inodes=%d,mode=0700,uid=%d,gid=%d",
			job.Limits.Scratch, job.Limits.Inodes, nobody, nobody)
		if err := mount("tmpfs", root+folder, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(root+"/proc", 0o755); err != nil {
		return err
	}
	for _, folder := range []string{root, root + "/dev"} {
		if err := readOnly(folder); err != nil {
			return err
		}
	}
	return nil
}

func place(root string, number int, layer Layer) error {
	device, err := drive(layer.Head)
	if err != nil {
		return err
	}
	image := fmt.Sprintf("/layers/%d", number)
	flags := uintptr(syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV)
	if err := mount(device, image, "squashfs", flags, ""); err != nil {
		return err
	}
	for _, place := range layer.Places {
		if err := show(filepath.Join(image, place.From), filepath.Join(root, place.To)); err != nil {
			return fmt.Errorf("%s: %w", place.To, err)
		}
	}
	return nil
}

// drive finds the block device that begins with these bytes: machines number their drives in ways of their own.
func drive(head []byte) (string, error) {
	if len(head) == 0 {
		return "", fmt.Errorf("it has no first bytes to know it by")
	}
	for end := time.Now().Add(deviceWait); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		names, _ := filepath.Glob("/sys/block/vd*")
		for _, name := range names {
			device := "/dev/" + filepath.Base(name)
			if first, err := begin(device, len(head)); err == nil && bytes.Equal(first, head) {
				return device, nil
			}
		}
	}
	return "", fmt.Errorf("no block device begins as it does")
}

func begin(path string, size int) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	first := make([]byte, size)
	_, err = io.ReadFull(file, first)
	return first, err
}

// show makes one path of an image seen: a link as the same link, all else by a bind mount.
func show(source, target string) error {
	status, err := os.Lstat(source)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	switch {
	case status.Mode()&os.ModeSymlink != 0:
		link, err := os.Readlink(source)
		if err != nil {
			return err
		}
		return os.Symlink(link, target)
	case status.IsDir():
		err = os.MkdirAll(target, 0o755)
	default:
		err = os.WriteFile(target, nil, 0o644)
	}
	if err != nil {
		return err
	}
	if err := syscall.Mount(source, target, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	return readOnly(target)
}

func readOnly(folder string) error {
	flags := uintptr(syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV)
	if folder == newRoot+"/dev" {
		flags &^= syscall.MS_NODEV
	}
	return syscall.Mount("", folder, "", flags, "")
}

func devices(root string) error {
	dev := root + "/dev"
	if err := mount("dev", dev, "tmpfs", syscall.MS_NOSUID|syscall.MS_NOEXEC, "mode=0755,size=64k,nr_inodes=64"); err != nil {
		return err
	}
	for name, minor := range map[string]int{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		path := filepath.Join(dev, name)
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|minor); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o666); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	return nil
}
