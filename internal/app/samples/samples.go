// Package samples holds conversations that ship with the project, and finds the
// public data sets that do not.
package samples

import (
	_ "embed"
	"os"
	"path/filepath"
)

// Airline is a trajectory of τ-bench (Sierra Research, MIT: LICENSE beside this
// file): an airline's agent cancels a reservation and upgrades another.
//
//go:embed airline-trajectory.json
var Airline []byte

// Public finds a file of the public data sets: below $CAIRN_DATA, or in a folder
// shared/data beside the project or beside one of the folders above. It returns
// "" when there is none.
func Public(name string) string {
	if dir := os.Getenv("CAIRN_DATA"); dir != "" {
		return existing(filepath.Join(dir, name))
	}
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if path := existing(filepath.Join(dir, "shared", "data", name)); path != "" {
			return path
		}
	}
	return ""
}

func existing(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
