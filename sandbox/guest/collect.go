package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sort"
	"strings"
	"syscall"
	"unicode/utf8"
)

const (
	pathOnly = 0x200000 | syscall.O_NOFOLLOW | syscall.O_CLOEXEC
	maxDepth = 32
)

var kinds = map[uint32]string{
	syscall.S_IFLNK: "a link", syscall.S_IFIFO: "a named pipe", syscall.S_IFSOCK: "a socket",
	syscall.S_IFBLK: "a device", syscall.S_IFCHR: "a device",
}

// refusal is why a path is not handed out; every other error is the channel's.
type refusal string

func (r refusal) Error() string { return string(r) }

// basket hands files to the host as it finds them, within its caps.
type basket struct {
	host    io.Writer
	caps    Caps
	files   int
	total   int64
	refused int
}

// hand sends each named file, and each file below a named folder: regular ones, reached without following a link.
func hand(host io.Writer, folder string, job Job) error {
	b := &basket{host: host, caps: job.Caps}
	top, err := syscall.Open(folder, pathOnly|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(top)
	for _, name := range job.Outputs {
		if err := b.judge(name, b.find(top, name)); err != nil {
			return err
		}
	}
	return nil
}

// judge tells the host of a refusal; an error of the channel ends it all.
func (b *basket) judge(name string, err error) error {
	var reason refusal
	if !errors.As(err, &reason) {
		return err
	}
	if b.refused++; b.refused > b.caps.Refused {
		return nil
	}
	return send(b.host, Refused{Kind: "refused", Path: name, Reason: string(reason)})
}

func (b *basket) find(top int, name string) error {
	rest, below := strings.CutPrefix(name, scratch)
	if !below || path.Clean(name) != name || (rest != "" && rest[0] != '/') {
		return refusal("is no path below " + scratch)
	}
	parts := strings.Split(strings.TrimPrefix(rest, "/"), "/")
	if rest == "" {
		parts = []string{"."}
	}
	current, err := syscall.Openat(top, ".", pathOnly, 0)
	if err != nil {
		return opening(err)
	}
	for number, part := range parts {
		next, err := syscall.Openat(current, part, pathOnly, 0)
		_ = syscall.Close(current)
		if err != nil {
			return opening(err)
		}
		current = next
		if number < len(parts)-1 && kindOf(current) == syscall.S_IFLNK {
			_ = syscall.Close(current)
			return refusal("leads through a link")
		}
	}
	defer syscall.Close(current)
	return b.take(current, name)
}

func (b *basket) take(entry int, name string) error {
	switch kind := kindOf(entry); kind {
	case syscall.S_IFDIR:
		return b.takeAll(entry, name)
	case syscall.S_IFREG:
		return b.give(entry, name)
	default:
		word, known := kinds[kind]
		if !known {
			word = "no regular file"
		}
		return refusal("is " + word)
	}
}

func (b *basket) takeAll(folder int, name string) error {
	if strings.Count(name, "/") >= maxDepth {
		return refusal(fmt.Sprintf("is deeper than %d folders", maxDepth))
	}
	listed, err := reopen(folder, syscall.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer listed.Close()
	entries, err := listed.Readdirnames(-1)
	if err != nil {
		return refusal("cannot be read: " + err.Error())
	}
	sort.Strings(entries)
	for _, entry := range entries {
		if err := b.judge(name+"/"+entry, b.takeOne(folder, entry, name+"/"+entry)); err != nil {
			return err
		}
	}
	return nil
}

func (b *basket) takeOne(folder int, entry, name string) error {
	if !utf8.ValidString(entry) {
		return refusal("has a name that does not print")
	}
	found, err := syscall.Openat(folder, entry, pathOnly, 0)
	if err != nil {
		return opening(err)
	}
	defer syscall.Close(found)
	return b.take(found, name)
}

func (b *basket) give(entry int, name string) error {
	var status syscall.Stat_t
	if err := syscall.Fstat(entry, &status); err != nil {
		return opening(err)
	}
	room := min(b.caps.File, b.caps.Total-b.total)
	switch {
	case status.Nlink > 1:
		return refusal("has a second name, a hard link")
	case b.files >= b.caps.Files:
		return refusal(fmt.Sprintf("is one more than %d files", b.caps.Files))
	case status.Size > room:
		return refusal(fmt.Sprintf("is larger than the %d bytes that are left for it", room))
	}
	file, err := reopen(entry, syscall.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, room))
	if err != nil {
		return refusal("cannot be read: " + err.Error())
	}
	b.files++
	b.total += int64(len(data))
	return send(b.host, File{Kind: "file", Path: name, Data: data})
}

// reopen gives the same entry for reading; its path is not looked up again.
func reopen(entry, flags int) (*os.File, error) {
	name := fmt.Sprintf("/proc/self/fd/%d", entry)
	found, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_NOCTTY|syscall.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, refusal("cannot be read: " + err.Error())
	}
	return os.NewFile(uintptr(found), name), nil
}

func kindOf(entry int) uint32 {
	var status syscall.Stat_t
	if err := syscall.Fstat(entry, &status); err != nil {
		return 0
	}
	return status.Mode & syscall.S_IFMT
}

func opening(err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		return refusal("is not there")
	case errors.Is(err, syscall.ENOTDIR):
		return refusal("leads through something that is no folder")
	default:
		return refusal("cannot be opened: " + err.Error())
	}
}
