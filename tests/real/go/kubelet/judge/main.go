// The kubelet's own managers as the judge of placement: one case of JSON a line on stdin, one line of verdicts on stdout.
//
// A case is a machine, a configuration, the registered devices and pods that arrive one after the other. Everything that
// decides is the kubelet's; this program puts the managers together in the order in which its container manager does.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

func main() {
	klog.SetLogger(klog.Logger{}) // says nothing
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	if err := utilfeature.DefaultMutableFeatureGate.Set("CPUManagerPolicyAlphaOptions=true"); err != nil {
		panic(err)
	}
	work, err := os.MkdirTemp(scratch(), "j")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(work)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for number := 0; in.Scan(); number++ {
		var asked Case
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, "case", number, err)
			os.Exit(1)
		}
		if err := out.Encode(judge(fmt.Sprintf("%s/%d", work, number), asked)); err != nil {
			os.Exit(1)
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// scratch is in memory where there is such a place: the kubelet's stores wait for the disk at each write.
func scratch() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}
