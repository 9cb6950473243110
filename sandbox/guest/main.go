// The first process of a microVM that runs one job: it takes the job from the host over one channel, runs it as a
// user without rights under limits and in a root of its own, gives the result back, and stops the machine.
//
// One program in three places: "init" is the guest's process 1; "warden" is process 1 of the job's namespaces; "job"
// gives up every right and becomes the job.
package main

import (
	"fmt"
	"os"
)

func main() {
	stage := "init"
	if len(os.Args) == 2 {
		stage = os.Args[1]
	}
	switch stage {
	case "warden":
		os.Exit(ward())
	case "job":
		os.Exit(become())
	default:
		if os.Getpid() != 1 {
			fmt.Fprintln(os.Stderr, "this is the init of a tipstaff guest; it runs as process 1 only")
			os.Exit(2)
		}
		serve()
	}
}
