package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

const (
	statusFD   = 3 // the warden's word to init, and the job's word to the warden
	entranceFD = 4 // the job's control group
	faultCode  = 70
	maxWords   = 1 << 14
	namespaces = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET
)

// ward is process 1 of the job's namespaces: it starts the job, tells init how that went, and collects what ends.
//
// The job is started before anything else, so that it gets one of the first numbers: threads of ours take some too.
func ward() int {
	words, theirs, err := os.Pipe()
	if err != nil {
		return faultCode
	}
	child, err := syscall.ForkExec("/init", []string{"/init", "job"}, &syscall.ProcAttr{
		Env:   []string{},
		Files: []uintptr{0, 1, 2, theirs.Fd(), entranceFD},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return faultCode
	}
	_ = theirs.Close()
	status := os.NewFile(statusFD, "status")
	complaint, _ := io.ReadAll(io.LimitReader(words, maxWords))
	if len(complaint) > 0 {
		_, _ = status.Write(complaint)
		return faultCode
	}
	if err := send(status, Begun{Kind: "begun", Kernel: release()}); err != nil {
		return faultCode
	}
	return reap(child)
}

func enter(root string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	flags := uintptr(syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC)
	if err := syscall.Mount("proc", root+"/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	if err := syscall.Sethostname([]byte("sandbox")); err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := syscall.Mount(".", "/", "", syscall.MS_MOVE, ""); err != nil {
		return err
	}
	if err := syscall.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

// reap collects whatever ends here until the job itself does, and returns the job's exit code.
func reap(child int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return faultCode
		}
		if pid == child {
			return exitCode(status)
		}
	}
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// become turns this process into the job. It returns only if it cannot, having said why.
func become() int {
	runtime.LockOSThread() // rights, filter and limits are the thread's that executes the program
	syscall.CloseOnExec(statusFD)
	syscall.CloseOnExec(entranceFD)
	err := execute()
	_ = send(os.NewFile(statusFD, "status"), Fault{Kind: "fault", Stage: stageOf(err), Reason: err.Error()})
	return faultCode
}

func execute() error {
	job, err := receive(os.Stdin)
	if err != nil {
		return err
	}
	if err := enter(newRoot); err != nil {
		return fmt.Errorf("the job's root cannot be entered: %w", err)
	}
	environment := make([]string, 0, len(job.Environment))
	for name, value := range job.Environment {
		environment = append(environment, name+"="+value)
	}
	null, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
	if err != nil {
		return err
	}
	if err := syscall.Dup3(null, 0, 0); err != nil {
		return err
	}
	_ = syscall.Close(null)
	dropBounds()
	if err := forsake(); err != nil {
		return err
	}
	if err := os.Chdir(job.Folder); err != nil {
		return err
	}
	program, err := find(job.Argv[0], job.Environment["PATH"])
	if err != nil {
		return commandFault(err.Error())
	}
	syscall.Umask(0o022)
	if err := confine(job.Filter); err != nil {
		return err
	}
	// Entered last: until here the runtime's own threads would have counted as the job's.
	if _, err := syscall.Write(entranceFD, []byte("0")); err != nil {
		return fmt.Errorf("the job's control group is closed: %w", err)
	}
	if err := restrict(job.Limits); err != nil {
		return err
	}
	err = syscall.Exec(program, job.Argv, environment)
	return commandFault(program + ": " + err.Error())
}

func forsake() error {
	if err := syscall.Setgroups([]int{}); err != nil {
		return err
	}
	if err := syscall.Setresgid(nobody, nobody, nobody); err != nil {
		return err
	}
	return syscall.Setresuid(nobody, nobody, nobody)
}

func find(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, folder := range filepath.SplitList(path) {
		candidate := filepath.Join(folder, name)
		if status, err := os.Stat(candidate); err == nil && status.Mode().IsRegular() && status.Mode()&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, syscall.ENOENT)
}

func release() string {
	var name syscall.Utsname
	if err := syscall.Uname(&name); err != nil {
		return ""
	}
	text := make([]byte, 0, len(name.Release))
	for _, character := range name.Release {
		if character == 0 {
			break
		}
		text = append(text, byte(character))
	}
	return string(text)
}
