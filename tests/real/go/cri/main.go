// A client of the Container Runtime Interface that runs one container and says what it sees.
//
//	cri image DIR PROGRAM          writes an image that has PROGRAM alone, as a registry serves it, below DIR
//	cri serve DIR PORT             serves such images to 127.0.0.1
//	cri run SOCKET IMAGE HANDLER   a sandbox and a container of that handler; prints {"error": …} or {"exit": …, "log": …}
//	cri look                       inside: exit 0 when /dev/nvidia0 is a character device 195:0 and MADE_BY_CDI is set, else 3
//	cri pause                      inside a sandbox: waits
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func main() {
	switch os.Args[1] {
	case "image":
		check(writeImage(os.Args[2], os.Args[3]))
	case "serve":
		check(serve(os.Args[2], os.Args[3]))
	case "run":
		answer := map[string]any{}
		exit, log, err := run(os.Args[2], os.Args[3], os.Args[4])
		if err != nil {
			answer["error"] = err.Error()
		} else {
			answer["exit"], answer["log"] = exit, log
		}
		check(json.NewEncoder(os.Stdout).Encode(answer))
	case "look":
		look()
	default: // pause
		wait := make(chan os.Signal, 1)
		signal.Notify(wait, syscall.SIGTERM, syscall.SIGINT)
		<-wait
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func look() {
	info, err := os.Stat("/dev/nvidia0")
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	number := info.Sys().(*syscall.Stat_t).Rdev
	fmt.Println(info.Mode(), number>>8, number&0xff, os.Getenv("MADE_BY_CDI"))
	if info.Mode()&os.ModeCharDevice == 0 || number>>8 != 195 || os.Getenv("MADE_BY_CDI") == "" {
		os.Exit(3)
	}
}

func run(socket, image, handler string) (int32, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	link, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, "", err
	}
	runtime, images := cri.NewRuntimeServiceClient(link), cri.NewImageServiceClient(link)
	if _, err = images.PullImage(ctx, &cri.PullImageRequest{Image: &cri.ImageSpec{Image: image}}); err != nil {
		return 0, "", fmt.Errorf("pull: %w", err)
	}
	logs, err := os.MkdirTemp("", "cri")
	if err != nil {
		return 0, "", err
	}
	defer os.RemoveAll(logs)
	host := &cri.NamespaceOption{Network: cri.NamespaceMode_NODE}
	pod := &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: "pod", Uid: fmt.Sprint(time.Now().UnixNano()), Namespace: "default"},
		LogDirectory: logs,
		Linux:        &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: host}},
	}
	sandbox, err := runtime.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: pod, RuntimeHandler: handler})
	if err != nil {
		return 0, "", fmt.Errorf("sandbox: %w", err)
	}
	defer runtime.RemovePodSandbox(context.Background(), &cri.RemovePodSandboxRequest{PodSandboxId: sandbox.PodSandboxId})
	defer runtime.StopPodSandbox(context.Background(), &cri.StopPodSandboxRequest{PodSandboxId: sandbox.PodSandboxId})
	made, err := runtime.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId: sandbox.PodSandboxId,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "look"},
			Image:    &cri.ImageSpec{Image: image},
			Command:  []string{"/program", "look"},
			Envs:     []*cri.KeyValue{{Key: "NVIDIA_VISIBLE_DEVICES", Value: "all"}},
			LogPath:  "log",
			Linux:    &cri.LinuxContainerConfig{SecurityContext: &cri.LinuxContainerSecurityContext{NamespaceOptions: host}},
		},
		SandboxConfig: pod,
	})
	if err != nil {
		return 0, "", fmt.Errorf("create: %w", err)
	}
	if _, err = runtime.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: made.ContainerId}); err != nil {
		return 0, "", fmt.Errorf("start: %w", err)
	}
	for {
		status, err := runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: made.ContainerId})
		if err != nil {
			return 0, "", fmt.Errorf("status: %w", err)
		}
		if status.Status.State == cri.ContainerState_CONTAINER_EXITED {
			log, _ := os.ReadFile(filepath.Join(logs, "log"))
			return status.Status.ExitCode, string(log), nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}
