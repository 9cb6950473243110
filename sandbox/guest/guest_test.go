package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func frameOf(body string) *bytes.Buffer {
	return bytes.NewBuffer(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
}

func TestAJobThatWasSentIsTheJobReceived(t *testing.T) {
	sent := Job{
		Argv: []string{"/bin/true"}, Folder: "/work", Layers: []Layer{{Head: []byte{0, 1}, Places: []Place{{"/", "/work"}}}},
		Limits: Limits{Wall: 3}, Filter: []byte{9},
	}
	var wire bytes.Buffer
	if err := send(&wire, sent); err != nil {
		t.Fatal(err)
	}
	got, err := receive(&wire)
	if err != nil {
		t.Fatal(err)
	}
	if got.Argv[0] != "/bin/true" || got.Limits.Wall != 3 || !bytes.Equal(got.Layers[0].Head, []byte{0, 1}) {
		t.Fatalf("got %+v", got)
	}
}

func TestAJobThatIsNoneIsRefused(t *testing.T) {
	huge := bytes.NewBuffer(binary.BigEndian.AppendUint32(nil, maxJobBytes+1))
	for name, wire := range map[string]*bytes.Buffer{
		"empty": frameOf("{}"), "not JSON": frameOf("]"), "cut": bytes.NewBuffer([]byte{0, 0, 0, 9, '{'}), "huge": huge,
	} {
		if _, err := receive(wire); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestOutputOverItsLimitIsCutAndSaid(t *testing.T) {
	s := newSink(4)
	for _, chunk := range []string{"abc", "def", "ghi"} {
		if n, err := s.Write([]byte(chunk)); n != 3 || err != nil {
			t.Fatal("a writer must never be held up")
		}
	}
	if string(s.data) != "abcd" || !s.truncated {
		t.Fatalf("kept %q, truncated %v", s.data, s.truncated)
	}
	if text, _ := json.Marshal(newSink(1).data); string(text) != `""` {
		t.Fatalf("nothing written is %s", text)
	}
}

func TestOnlyPlainFilesReachedWithoutALinkAreTaken(t *testing.T) {
	folder := t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	must(os.MkdirAll(at("inner/deep"), 0o700))
	for name, size := range map[string]int{"plain": 4, "large": 101, "inner/a": 1, "inner/deep/b": 2, "twice": 3} {
		must(os.WriteFile(at(name), make([]byte, size), 0o000))
	}
	must(os.Link(at("twice"), at("again")))
	must(os.Symlink("plain", at("link")))
	must(os.Symlink("/etc", at("away")))
	must(os.Symlink("/etc/hostname", at("inner/deep/host")))
	must(syscall.Mkfifo(at("pipe"), 0o600))
	must(os.WriteFile(at("inner/\xff"), nil, 0o600))
	job := Job{Caps: Caps{File: 100, Total: 1000, Files: 100, Refused: 100}}
	for _, name := range []string{
		"/plain", "/absent", "/large", "/link", "/inner", "/away/hostname", "/plain/x", "/pipe", "/twice", "/../x", "x", "/inner/",
	} {
		job.Outputs = append(job.Outputs, scratch+name)
	}
	taken, refused := handed(t, folder, job)
	if got := strings.Join(taken, " "); got != "/scratch/plain /scratch/inner/a /scratch/inner/deep/b" {
		t.Errorf("taken: %v", got)
	}
	want := map[string]string{
		"/absent": "is not there", "/large": "is larger", "/link": "is a link", "/inner/deep/host": "is a link",
		"/inner/\ufffd": "does not print", "/away/hostname": "through a link", "/plain/x": "no folder",
		"/pipe": "is a named pipe", "/twice": "a hard link", "/../x": "is no path", "x": "is no path", "/inner/": "is no path",
	}
	for name, reason := range want {
		if !strings.Contains(refused[scratch+name], reason) {
			t.Errorf("%s: %q does not say %q", name, refused[scratch+name], reason)
		}
	}
	if len(refused) != len(want) {
		t.Errorf("refused: %v", refused)
	}
}

func TestWhatIsHandedOutIsCapped(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if err := os.WriteFile(filepath.Join(folder, name), make([]byte, 10), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []struct {
		caps           Caps
		files, refused int
	}{
		{Caps{File: 10, Total: 25, Files: 9, Refused: 9}, 2, 3},
		{Caps{File: 10, Total: 99, Files: 3, Refused: 9}, 3, 2},
		{Caps{File: 9, Total: 99, Files: 9, Refused: 2}, 0, 2},
	} {
		taken, refused := handed(t, folder, Job{Outputs: []string{scratch}, Caps: one.caps})
		if len(taken) != one.files || len(refused) != one.refused {
			t.Errorf("%+v gave %v and %v", one.caps, taken, refused)
		}
	}
}

func handed(t *testing.T, folder string, job Job) ([]string, map[string]string) {
	t.Helper()
	var wire bytes.Buffer
	if err := hand(&wire, folder, job); err != nil {
		t.Fatal(err)
	}
	taken, refused := []string{}, map[string]string{}
	for wire.Len() > 0 {
		size := binary.BigEndian.Uint32(wire.Next(4))
		var frame struct{ Kind, Path, Reason string }
		if err := json.Unmarshal(wire.Next(int(size)), &frame); err != nil {
			t.Fatal(err)
		}
		if frame.Kind == "file" {
			taken = append(taken, frame.Path)
		} else {
			refused[frame.Path] = frame.Reason
		}
	}
	return taken, refused
}

func TestACounterIsReadFromItsOwnLine(t *testing.T) {
	text := "low 1\noom 2\noom_kill 3\noom_group_kill 4\n"
	if counter(text, "oom_kill") != 3 || counter(text, "absent") != 0 || counter("oom_kill x", "oom_kill") != 0 {
		t.Fail()
	}
}

func TestAProgramIsFoundOnThePathOfTheJob(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tool"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := find("tool", "/nowhere:"+folder); err != nil || got != filepath.Join(folder, "tool") {
		t.Errorf("got %q, %v", got, err)
	}
	if got, _ := find("/a/b", folder); got != "/a/b" {
		t.Errorf("got %q", got)
	}
	if _, err := find("absent", folder); err == nil {
		t.Error("found what is not there")
	}
}

func TestAnExitCodeTellsASignal(t *testing.T) {
	for status, want := range map[syscall.WaitStatus]int{0: 0, 7 << 8: 7, 9: 137, 24: 152} {
		if got := exitCode(status); got != want {
			t.Errorf("status %d gave %d, not %d", status, got, want)
		}
	}
}

func TestAFaultOfTheCommandIsToldFromTheGuests(t *testing.T) {
	if stageOf(commandFault("no such file")) != "command" || stageOf(os.ErrClosed) != "guest" {
		t.Fail()
	}
}
