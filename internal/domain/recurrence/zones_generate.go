//go:build ignore

// Command zones_generate writes zones.txt: the names in the zone file of the Go release that runs
// it, which time/tzdata embeds.
package main

import (
	"archive/zip"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	file, err := zip.OpenReader(filepath.Join(os.Getenv("GOROOT"), "lib", "time", "zoneinfo.zip")) // set by `go run`
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	var names []string
	for _, f := range file.File {
		if f.Name != "Factory" && !strings.HasSuffix(f.Name, "/") { // Factory means an unconfigured machine
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	if err := os.WriteFile("zones.txt", []byte(strings.Join(names, "\n")+"\n"), 0o644); err != nil {
		log.Fatal(err)
	}
}
