package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

// writeImage leaves one layer with the program, its configuration and its manifest below dir, each by its digest; "manifest" names the last.
func writeImage(dir, program string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	if err = archive.WriteHeader(&tar.Header{Name: "program", Mode: 0o755, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	if _, err = archive.Write(data); err != nil {
		return err
	}
	for _, name := range []string{"dev/", "proc/", "sys/", "etc/", "tmp/"} {
		if err = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Typeflag: tar.TypeDir}); err != nil {
			return err
		}
	}
	if err = archive.Close(); err != nil {
		return err
	}
	layers, err := blob(dir, layerType, layer.Bytes())
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/program"}, "Cmd": []string{"pause"}, "Env": []string{"PATH=/"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layers.Digest}},
	})
	if err != nil {
		return err
	}
	configs, err := blob(dir, configType, config)
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": configs, "layers": []descriptor{layers}})
	if err != nil {
		return err
	}
	described, err := blob(dir, manifestType, manifest)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "manifest"), []byte(described.Digest), 0o644)
}

func blob(dir, kind string, data []byte) (descriptor, error) {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	return descriptor{kind, digest, len(data)}, os.WriteFile(filepath.Join(dir, digest), data, 0o644)
}

// serve answers what a pull asks of a registry (OCI distribution specification), whatever the image is called.
func serve(dir, port string) error {
	handle := func(answer http.ResponseWriter, ask *http.Request) {
		parts := strings.Split(ask.URL.Path, "/")
		last := parts[len(parts)-1]
		if last == "" {
			return
		}
		kind := "application/octet-stream"
		if strings.Contains(ask.URL.Path, "/manifests/") {
			kind = manifestType
			if !strings.HasPrefix(last, "sha256:") {
				name, err := os.ReadFile(filepath.Join(dir, "manifest"))
				if err != nil {
					http.Error(answer, err.Error(), http.StatusNotFound)
					return
				}
				last = string(name)
			}
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.Base(last)))
		if err != nil {
			http.NotFound(answer, ask)
			return
		}
		answer.Header().Set("Content-Type", kind)
		answer.Header().Set("Docker-Content-Digest", last)
		answer.Header().Set("Content-Length", fmt.Sprint(len(data)))
		if ask.Method != http.MethodHead {
			_, _ = answer.Write(data)
		}
	}
	return http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(handle))
}
