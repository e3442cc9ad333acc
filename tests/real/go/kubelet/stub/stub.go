// Package stub is a device plug-in of made-up devices that gives the lowest ones first.
package stub

import (
	"context"
	"sort"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Device is one made-up device. Without nodes it reports no topology.
type Device struct {
	ID      string  `json:"id"`
	Nodes   []int64 `json:"nodes"`
	Healthy bool    `json:"healthy"`
}

// List is what a plug-in reports of its devices.
func List(devices []Device) []*pluginapi.Device {
	var list []*pluginapi.Device
	for _, device := range devices {
		reported := &pluginapi.Device{ID: device.ID, Health: pluginapi.Unhealthy}
		if device.Healthy {
			reported.Health = pluginapi.Healthy
		}
		if len(device.Nodes) > 0 {
			reported.Topology = &pluginapi.TopologyInfo{}
			for _, node := range device.Nodes {
				reported.Topology.Nodes = append(reported.Topology.Nodes, &pluginapi.NUMANode{ID: node})
			}
		}
		list = append(list, reported)
	}
	return list
}

// Plugin serves the devices of one resource.
type Plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	Devices []Device
}

func (p *Plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true}, nil
}

func (p *Plugin) ListAndWatch(_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	if err := stream.Send(&pluginapi.ListAndWatchResponse{Devices: List(p.Devices)}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// GetPreferredAllocation gives the devices that must be in, then the lowest ids.
func (p *Plugin) GetPreferredAllocation(_ context.Context, in *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	out := &pluginapi.PreferredAllocationResponse{}
	for _, request := range in.ContainerRequests {
		chosen := append([]string{}, request.MustIncludeDeviceIDs...)
		taken := map[string]bool{}
		for _, id := range chosen {
			taken[id] = true
		}
		available := append([]string{}, request.AvailableDeviceIDs...)
		sort.Strings(available)
		for _, id := range available {
			if len(chosen) < int(request.AllocationSize) && !taken[id] {
				chosen = append(chosen, id)
			}
		}
		out.ContainerResponses = append(out.ContainerResponses, &pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: chosen})
	}
	return out, nil
}

func (p *Plugin) Allocate(_ context.Context, in *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	out := &pluginapi.AllocateResponse{}
	for range in.ContainerRequests {
		out.ContainerResponses = append(out.ContainerResponses, &pluginapi.ContainerAllocateResponse{})
	}
	return out, nil
}

func (p *Plugin) PreStartContainer(context.Context, *pluginapi.PreStartContainerRequest) (*pluginapi.PreStartContainerResponse, error) {
	return &pluginapi.PreStartContainerResponse{}, nil
}
