package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
	_ "unsafe"

	cadvisor "github.com/google/cadvisor/info/v1"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"hostagent.dev/tests/kubelet/stub"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

//go:linkname newDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManager(logger klog.Logger, socketPath string, topology []cadvisor.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error)

type ready struct{}

func (ready) AddSource(string) {}
func (ready) AllReady() bool   { return true }

type noStatus struct{}

func (noStatus) GetPodStatus(types.UID) (v1.PodStatus, bool) { return v1.PodStatus{}, false }

type noPreemption struct{}

func (noPreemption) HandleAdmissionFailure(_ context.Context, _ *v1.Pod, reasons []lifecycle.PredicateFailureReason) ([]lifecycle.PredicateFailureReason, error) {
	return reasons, nil
}

// plugin is a stub plug-in that is called without gRPC.
type plugin struct {
	resource string
	stub     *stub.Plugin
}

func (p plugin) API() pluginapi.DevicePluginClient { return p }
func (p plugin) Resource() string                  { return p.resource }
func (p plugin) SocketPath() string                { return "" }

func (p plugin) GetDevicePluginOptions(ctx context.Context, in *pluginapi.Empty, _ ...grpc.CallOption) (*pluginapi.DevicePluginOptions, error) {
	return p.stub.GetDevicePluginOptions(ctx, in)
}

func (p plugin) ListAndWatch(context.Context, *pluginapi.Empty, ...grpc.CallOption) (grpc.ServerStreamingClient[pluginapi.ListAndWatchResponse], error) {
	return nil, fmt.Errorf("not served")
}

func (p plugin) GetPreferredAllocation(ctx context.Context, in *pluginapi.PreferredAllocationRequest, _ ...grpc.CallOption) (*pluginapi.PreferredAllocationResponse, error) {
	return p.stub.GetPreferredAllocation(ctx, in)
}

func (p plugin) Allocate(ctx context.Context, in *pluginapi.AllocateRequest, _ ...grpc.CallOption) (*pluginapi.AllocateResponse, error) {
	return p.stub.Allocate(ctx, in)
}

func (p plugin) PreStartContainer(ctx context.Context, in *pluginapi.PreStartContainerRequest, _ ...grpc.CallOption) (*pluginapi.PreStartContainerResponse, error) {
	return p.stub.PreStartContainer(ctx, in)
}

// watched remembers whether a provider had a hint for a container, "" standing for the pod as a whole.
type watched struct {
	topologymanager.HintProvider
	hinted map[string]bool
}

func (w watched) note(name string, hints map[string][]topologymanager.TopologyHint) {
	for _, list := range hints {
		if list != nil {
			w.hinted[name] = true
		}
	}
}

func (w watched) GetTopologyHints(pod *v1.Pod, container *v1.Container) map[string][]topologymanager.TopologyHint {
	hints := w.HintProvider.GetTopologyHints(pod, container)
	w.note(container.Name, hints)
	return hints
}

func (w watched) GetPodTopologyHints(pod *v1.Pod) map[string][]topologymanager.TopologyHint {
	hints := w.HintProvider.GetPodTopologyHints(pod)
	w.note("", hints)
	return hints
}

// kubelet is the managers of one case and the pods that they think are there.
type kubelet struct {
	topology topologymanager.Manager
	devices  *devicemanager.ManagerImpl
	cpus     cpumanager.Manager
	memory   memorymanager.Manager
	admit    lifecycle.PodAdmitHandler
	hinted   map[string]bool
	lock     sync.Mutex
	pods     []*v1.Pod
}

func (k *kubelet) activePods() []*v1.Pod {
	k.lock.Lock()
	defer k.lock.Unlock()
	return append([]*v1.Pod{}, k.pods...)
}

func (k *kubelet) setPods(pods []*v1.Pod) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.pods = pods
}

func judge(directory string, asked Case) (verdict Verdict) {
	defer func() {
		if found := recover(); found != nil {
			verdict.Panic = fmt.Sprint(found)
		}
		os.RemoveAll(directory)
	}()
	verdict.Pods = []Pod{}
	k, err := start(directory, asked)
	if err != nil {
		verdict.Start = err.Error()
		return verdict
	}
	defer k.devices.Stop(klog.TODO())
	var others []*v1.Pod
	for number, pod := range asked.Pods {
		pod.UID = types.UID(fmt.Sprintf("pod-%d", number))
		pod.Name, pod.Namespace = string(pod.UID), "default"
		corev1.SetObjectDefaults_Pod(pod)
		k.setPods(append(append([]*v1.Pod{}, others...), pod))
		answer := k.place(pod, others)
		if answer.Admitted {
			others = append(others, pod)
		}
		k.setPods(append([]*v1.Pod{}, others...))
		verdict.Pods = append(verdict.Pods, answer)
	}
	return verdict
}

func start(directory string, asked Case) (*kubelet, error) {
	ctx, logger, machine := context.Background(), klog.TODO(), asked.machine()
	k := &kubelet{hinted: map[string]bool{}}
	if err := os.MkdirAll(directory+"/d", 0o755); err != nil {
		return nil, err
	}
	var err error
	if k.topology, err = topologymanager.NewManager(machine.Topology, asked.Policy, asked.Scope, asked.Options); err != nil {
		return nil, err
	}
	if k.devices, err = newDeviceManager(logger, directory+"/d/kubelet.sock", machine.Topology, k.topology); err != nil {
		return nil, err
	}
	k.cpus, err = cpumanager.NewManager(logger, asked.CPUPolicy, asked.CPUOptions, time.Hour, machine, asked.reservedCPUs(), asked.reservation(), directory, k.topology)
	if err != nil {
		return nil, err
	}
	k.memory, err = memorymanager.NewManager(logger, asked.MemoryPolicy, machine, asked.reservation(), asked.reservedMemory(), directory, k.topology)
	if err != nil {
		return nil, err
	}
	for _, provider := range []topologymanager.HintProvider{k.devices, k.cpus, k.memory} {
		k.topology.AddHintProvider(logger, watched{provider, k.hinted})
	}
	if err := k.cpus.Start(ctx, k.activePods, ready{}, noStatus{}, nil, containermap.NewContainerMap()); err != nil {
		return nil, err
	}
	if err := k.memory.Start(ctx, k.activePods, ready{}, noStatus{}, nil, containermap.NewContainerMap()); err != nil {
		return nil, err
	}
	if err := k.devices.Start(logger, k.activePods, ready{}, containermap.NewContainerMap(), sets.New[string]()); err != nil {
		return nil, err
	}
	for resource, devices := range asked.Devices {
		if err := k.devices.PluginConnected(ctx, resource, plugin{resource, &stub.Plugin{Devices: devices}}); err != nil {
			return nil, err
		}
		k.devices.PluginListAndWatchReceiver(logger, resource, &pluginapi.ListAndWatchResponse{Devices: stub.List(devices)})
	}
	node := asked.node()
	getNode := func(context.Context, bool) (*v1.Node, error) { return node, nil }
	k.admit = lifecycle.NewPredicateAdmitHandler(getNode, noPreemption{}, k.devices.UpdatePluginResources)
	return k, nil
}

func (k *kubelet) place(pod *v1.Pod, others []*v1.Pod) Pod {
	clear(k.hinted)
	attributes := &lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: others}
	result := k.topology.Admit(attributes)
	if result.Admit {
		result = k.admit.Admit(attributes)
	}
	answer := Pod{
		Admitted: result.Admit, Reason: result.Reason, Message: result.Message, Hinted: map[string]bool{},
		Affinity: map[string][]int{}, CPUs: map[string]string{}, Devices: map[string]map[string][]string{},
	}
	for _, container := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		answer.Hinted[container.Name] = k.hinted[container.Name] || k.hinted[""]
		if !result.Admit {
			continue
		}
		if mask := k.topology.GetAffinity(string(pod.UID), container.Name).NUMANodeAffinity; mask != nil {
			answer.Affinity[container.Name] = mask.GetBits()
		}
		answer.CPUs[container.Name] = k.cpus.GetExclusiveCPUs(string(pod.UID), container.Name).String()
		given := map[string][]string{}
		for resource, devices := range k.devices.GetDevices(string(pod.UID), container.Name) {
			for id := range devices {
				given[resource] = append(given[resource], id)
			}
		}
		answer.Devices[container.Name] = given
	}
	return answer
}
