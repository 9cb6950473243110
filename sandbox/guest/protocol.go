package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A frame is a length of four bytes, big-endian, and that many bytes of JSON.
const maxJobBytes = 16 << 20

// Job is what the host sends, once. Sizes are in bytes, times in seconds; Seed, Filter and files are base64 in JSON.
type Job struct {
	Argv        []string          `json:"argv"`
	Environment map[string]string `json:"environment"`
	Folder      string            `json:"folder"`
	Layers      []Layer           `json:"layers"`
	Outputs     []string          `json:"outputs"`
	Caps        Caps              `json:"caps"`
	Limits      Limits            `json:"limits"`
	Filter      []byte            `json:"filter"`
	Seed        []byte            `json:"seed"`
	Time        float64           `json:"time"`
}

// Layer is a read-only drive, known by its first bytes, and what of it is seen where.
type Layer struct {
	Head   []byte  `json:"head"`
	Places []Place `json:"places"`
}

// Place is a path in a drive, and where the job sees it.
type Place struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Caps bound what is handed out: bytes of one file and of all, number of files, number of refusals told.
type Caps struct {
	File    int64 `json:"file_bytes"`
	Total   int64 `json:"total_bytes"`
	Files   int   `json:"files"`
	Refused int   `json:"refused"`
}

// Limits bound a job and all that it starts.
type Limits struct {
	CPU       uint64 `json:"cpu_s"`
	Memory    uint64 `json:"memory_bytes"`
	Wall      uint64 `json:"wall_s"`
	Processes uint64 `json:"processes"`
	OpenFiles uint64 `json:"open_files"`
	FileSize  uint64 `json:"file_size_bytes"`
	Scratch   uint64 `json:"scratch_bytes"`
	Inodes    uint64 `json:"inodes"`
	Output    int    `json:"output_bytes"`
}

// Begun says that the job's program runs; nothing before it is the job's doing.
type Begun struct {
	Kind   string `json:"kind"`
	Kernel string `json:"kernel"`
}

// Fault says that the job's program never ran, and what was missing.
type Fault struct {
	Kind   string `json:"kind"`
	Stage  string `json:"stage"`
	Reason string `json:"reason"`
}

// File is a file at or below a path that was asked for.
type File struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
	Data []byte `json:"data"`
}

// Refused is a path that was asked for, or lies below one, and is not handed out; the reason continues its name.
type Refused struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Ended is the last frame. Killed means by a limit that the guest enforces.
type Ended struct {
	Kind      string `json:"kind"`
	ExitCode  int    `json:"exit_code"`
	TimedOut  bool   `json:"timed_out"`
	Killed    bool   `json:"killed"`
	OOM       bool   `json:"oom"`
	Truncated bool   `json:"truncated"`
	Stdout    []byte `json:"stdout"`
	Stderr    []byte `json:"stderr"`
}

func receive(from io.Reader) (Job, error) {
	var job Job
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return job, fmt.Errorf("no job came: %w", err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxJobBytes {
		return job, fmt.Errorf("a job of %d bytes is too large", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(from, body); err != nil {
		return job, fmt.Errorf("the job ends early: %w", err)
	}
	if err := json.Unmarshal(body, &job); err != nil {
		return job, fmt.Errorf("the job is not one: %w", err)
	}
	if len(job.Argv) == 0 || job.Folder == "" || len(job.Layers) == 0 {
		return job, errors.New("the job names no command, folder or layer")
	}
	return job, nil
}

func send(to io.Writer, frame any) error {
	body, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	_, err = to.Write(append(head, body...))
	return err
}
