package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	tick        = 20 * time.Millisecond
	timeoutCode = 124
	killedCode  = 128 + int(syscall.SIGKILL)
)

// commandFault is a command that could not be executed; every other error is the guest's own.
type commandFault string

func (c commandFault) Error() string { return string(c) }

func stageOf(err error) string {
	var fault commandFault
	if errors.As(err, &fault) {
		return "command"
	}
	return "guest"
}

// work takes one job and tells the host how it went.
func work(host channel) error {
	job, err := receive(host)
	if err != nil {
		return err
	}
	if err := freshen(job); err != nil {
		return err
	}
	if err := buildRoot(newRoot, job); err != nil {
		return fmt.Errorf("the job's root cannot be built: %w", err)
	}
	jobs, err := makeGroup(job.Limits)
	if err != nil {
		return err
	}
	running, err := launch(job, jobs)
	if err != nil {
		return err
	}
	if err := running.begin(host); err != nil {
		return err
	}
	ended := running.watch(host, job.Limits)
	if err := hand(host, newRoot+scratch, job); err != nil {
		return err
	}
	return send(host, ended)
}

// run is a job that is under way.
type run struct {
	warden   *exec.Cmd
	status   *os.File
	jobs     group
	out, err *sink
	readers  sync.WaitGroup
}

func launch(job Job, jobs group) (*run, error) {
	entrance, err := jobs.entrance()
	if err != nil {
		return nil, err
	}
	defer entrance.Close()
	status, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	r := &run{warden: exec.Command("/init", "warden"), status: status, jobs: jobs}
	r.out, r.err = newSink(job.Limits.Output), newSink(job.Limits.Output)
	r.warden.Env = []string{}
	r.warden.ExtraFiles = []*os.File{theirs, entrance}
	r.warden.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true}
	input, err := r.warden.StdinPipe()
	if err != nil {
		return nil, err
	}
	streams := []struct {
		open func() (io.ReadCloser, error)
		into *sink
	}{{r.warden.StdoutPipe, r.out}, {r.warden.StderrPipe, r.err}}
	pipes := make([]io.ReadCloser, 0, len(streams))
	for _, stream := range streams {
		pipe, err := stream.open()
		if err != nil {
			return nil, err
		}
		pipes = append(pipes, pipe)
	}
	if err := r.warden.Start(); err != nil {
		return nil, fmt.Errorf("the job's namespaces: %w", err)
	}
	for number, pipe := range pipes {
		r.readers.Add(1)
		go func() {
			defer r.readers.Done()
			_, _ = io.Copy(streams[number].into, pipe)
		}()
	}
	if err := send(input, job); err != nil {
		return nil, err
	}
	return r, input.Close()
}

// begin waits until the job's program is executed, and says so to the host.
func (r *run) begin(host io.Writer) error {
	var head [4]byte
	if _, err := io.ReadFull(r.status, head[:]); err != nil {
		return fmt.Errorf("the warden ended without a word: %w", err)
	}
	body := make([]byte, min(binary.BigEndian.Uint32(head[:]), 1<<16))
	if _, err := io.ReadFull(r.status, body); err != nil {
		return err
	}
	var fault Fault
	if err := json.Unmarshal(body, &fault); err != nil {
		return err
	}
	switch {
	case fault.Kind == "begun":
		return send(host, json.RawMessage(body))
	case fault.Stage == "command":
		return commandFault(fault.Reason)
	default:
		return errors.New(fault.Reason)
	}
}

// watch lets the job run to its end or to a limit. All that it started is gone when this returns.
func (r *run) watch(host channel, limits Limits) Ended {
	ended := Ended{Kind: "ended"}
	over := make(chan error, 1)
	go func() {
		r.readers.Wait()
		over <- r.warden.Wait()
	}()
	gone := make(chan struct{})
	go func() {
		_, _ = host.Read(make([]byte, 1)) // the host says no more; it only ever goes away
		close(gone)
	}()
	wall := time.NewTimer(time.Duration(limits.Wall) * time.Second)
	ticks := time.NewTicker(tick)
	defer wall.Stop()
	defer ticks.Stop()
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-wall.C:
			ended.TimedOut, ended.Killed = true, true
			r.kill()
		case <-gone:
			stop()
		case <-ticks.C:
			if !ended.Killed && r.jobs.cpuMicroseconds() > limits.CPU*1e6 {
				ended.Killed = true
				r.kill()
			}
		}
	}
	ended.OOM = r.jobs.wasOOM()
	ended.ExitCode = r.code(ended)
	ended.Stdout, ended.Stderr = r.out.data, r.err.data
	ended.Truncated = r.out.truncated || r.err.truncated
	return ended
}

func (r *run) kill() { _ = r.warden.Process.Kill() }

func (r *run) code(ended Ended) int {
	switch {
	case ended.TimedOut:
		return timeoutCode
	case ended.Killed:
		return killedCode
	default:
		return exitCode(r.warden.ProcessState.Sys().(syscall.WaitStatus))
	}
}

// sink keeps the first bytes of a stream; the rest is read and thrown away.
type sink struct {
	limit     int
	data      []byte
	truncated bool
}

func newSink(limit int) *sink { return &sink{limit: limit, data: []byte{}} }

func (s *sink) Write(chunk []byte) (int, error) {
	room := min(s.limit-len(s.data), len(chunk))
	s.data = append(s.data, chunk[:room]...)
	s.truncated = s.truncated || room < len(chunk)
	return len(chunk), nil
}
