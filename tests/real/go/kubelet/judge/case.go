package main

import (
	cadvisor "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"hostagent.dev/tests/kubelet/stub"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
)

// Case is one question.
type Case struct {
	Policy         string                   `json:"policy"`
	Scope          string                   `json:"scope"`
	Options        map[string]string        `json:"options"`
	CPUPolicy      string                   `json:"cpu_policy"`
	CPUOptions     map[string]string        `json:"cpu_options"`
	ReservedCPUs   string                   `json:"reserved_cpus"`
	Reserved       map[string]string        `json:"reserved"` // cpu and memory, kube + system + eviction
	MemoryPolicy   string                   `json:"memory_policy"`
	ReservedMemory []ReservedMemory         `json:"reserved_memory"`
	Sockets        int                      `json:"sockets"`
	Nodes          []NumaNode               `json:"nodes"`
	Devices        map[string][]stub.Device `json:"devices"`
	MaxPods        int64                    `json:"max_pods"`
	Pods           []*v1.Pod                `json:"pods"`
}

// ReservedMemory is one row of reservedMemory.
type ReservedMemory struct {
	Node   int32             `json:"node"`
	Limits map[string]string `json:"limits"`
}

// NumaNode is one NUMA node; hugepages are pages by their size in KiB.
type NumaNode struct {
	ID        int               `json:"id"`
	Memory    uint64            `json:"memory"`
	Hugepages map[uint64]uint64 `json:"hugepages"`
	Distances []uint64          `json:"distances"`
	Cores     []Core            `json:"cores"`
}

// Core is one core with the numbers of its logical CPUs.
type Core struct {
	Socket int   `json:"socket"`
	CPUs   []int `json:"cpus"`
}

// Verdict is the answer to one case: why the kubelet does not start, or one answer a pod until it panics.
type Verdict struct {
	Start string `json:"start"`
	Panic string `json:"panic"`
	Pods  []Pod  `json:"pods"`
}

// Pod is what became of one pod.
type Pod struct {
	Admitted bool                           `json:"admitted"`
	Reason   string                         `json:"reason"`
	Message  string                         `json:"message"`
	Hinted   map[string]bool                `json:"hinted"`   // by container: some resource had a hint
	Affinity map[string][]int               `json:"affinity"` // by container; absent where there is none
	CPUs     map[string]string              `json:"cpus"`     // exclusive ones, by container
	Devices  map[string]map[string][]string `json:"devices"`  // by container and resource
}

func (c Case) machine() *cadvisor.MachineInfo {
	info := &cadvisor.MachineInfo{NumSockets: c.Sockets}
	for _, node := range c.Nodes {
		shown := cadvisor.Node{Id: node.ID, Memory: node.Memory, Distances: node.Distances}
		info.MemoryCapacity += node.Memory
		for size, pages := range node.Hugepages {
			shown.HugePages = append(shown.HugePages, cadvisor.HugePagesInfo{PageSize: size, NumPages: pages})
		}
		for number, core := range node.Cores {
			shown.Cores = append(shown.Cores, cadvisor.Core{Id: number, Threads: core.CPUs, SocketID: core.Socket})
			info.NumCores += len(core.CPUs)
			info.NumPhysicalCores++
		}
		info.Topology = append(info.Topology, shown)
	}
	return info
}

func (c Case) reservation() v1.ResourceList {
	list := v1.ResourceList{}
	for name, quantity := range c.Reserved {
		list[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return list
}

func (c Case) reservedMemory() []kubeletconfig.MemoryReservation {
	var rows []kubeletconfig.MemoryReservation
	for _, row := range c.ReservedMemory {
		limits := v1.ResourceList{}
		for name, quantity := range row.Limits {
			limits[v1.ResourceName(name)] = resource.MustParse(quantity)
		}
		rows = append(rows, kubeletconfig.MemoryReservation{NumaNode: row.Node, Limits: limits})
	}
	return rows
}

func (c Case) reservedCPUs() cpuset.CPUSet {
	set, err := cpuset.Parse(c.ReservedCPUs)
	if err != nil {
		panic(err)
	}
	return set
}

// node is the Node object as the kubelet would report it.
func (c Case) node() *v1.Node {
	machine := c.machine()
	list := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(int64(machine.NumCores)*1000, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(int64(machine.MemoryCapacity), resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(c.MaxPods, resource.DecimalSI),
	}
	pages := map[uint64]uint64{}
	for _, node := range c.Nodes {
		for size, number := range node.Hugepages {
			pages[size] += number * size * 1024
		}
	}
	memory := list[v1.ResourceMemory]
	for size, total := range pages {
		quantity := resource.NewQuantity(int64(size)*1024, resource.BinarySI)
		list[v1.ResourceName(v1.ResourceHugePagesPrefix+quantity.String())] = *resource.NewQuantity(int64(total), resource.BinarySI)
		memory.Sub(*resource.NewQuantity(int64(total), resource.BinarySI))
	}
	list[v1.ResourceMemory] = memory
	for name, quantity := range c.reservation() {
		left := list[name]
		left.Sub(quantity)
		if left.Sign() < 0 {
			left.Set(0)
		}
		list[name] = left
	}
	for name, devices := range c.Devices {
		healthy := int64(0)
		for _, device := range devices {
			if device.Healthy {
				healthy++
			}
		}
		list[v1.ResourceName(name)] = *resource.NewQuantity(healthy, resource.DecimalSI)
	}
	return &v1.Node{Status: v1.NodeStatus{Capacity: list, Allocatable: list}}
}
