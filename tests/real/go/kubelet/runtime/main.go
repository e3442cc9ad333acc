// A stub container runtime for the real kubelet, with stub device plug-ins.
//
//	runtime SOCKET [PLUGIN_DIRECTORY DEVICES.json]
//
// It serves CRI on SOCKET until it is ended, and writes the line "ready" when it does. DEVICES.json maps a resource name to
// [{"id": "0", "nodes": [0], "healthy": true}]; each is registered as soon as the kubelet's socket is there.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"hostagent.dev/tests/kubelet/stub"
	"k8s.io/cri-client/pkg/fake"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 && len(args) != 3 {
		return fmt.Errorf("wants: runtime SOCKET [PLUGIN_DIRECTORY DEVICES.json]")
	}
	if err := fake.NewFakeRemoteRuntime().Start("unix://" + args[0]); err != nil {
		return err
	}
	fmt.Println("ready")
	if len(args) == 3 {
		text, err := os.ReadFile(args[2])
		if err != nil {
			return err
		}
		var resources map[string][]stub.Device
		if err := json.Unmarshal(text, &resources); err != nil {
			return err
		}
		number := 0
		for name, devices := range resources {
			if err := serve(args[1], fmt.Sprintf("stub-%d.sock", number), name, devices); err != nil {
				return err
			}
			number++
		}
		fmt.Println("registered")
	}
	select {}
}

// serve registers one resource. The kubelet empties its plug-in directory when it starts, so its socket comes first.
func serve(directory, name, resource string, devices []stub.Device) error {
	kubelet := filepath.Join(directory, "kubelet.sock")
	for attempt := 0; ; attempt++ {
		if _, err := os.Stat(kubelet); err == nil {
			break
		} else if attempt > 600 {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	listener, err := net.Listen("unix", filepath.Join(directory, name))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, &stub.Plugin{Devices: devices})
	go server.Serve(listener)
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	request := &pluginapi.RegisterRequest{
		Version: pluginapi.Version, Endpoint: name, ResourceName: resource,
		Options: &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true},
	}
	_, err = pluginapi.NewRegistrationClient(connection).Register(context.Background(), request)
	return err
}
