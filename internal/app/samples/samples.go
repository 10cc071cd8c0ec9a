// Package samples contains the sample conversations of the demo and of evaluations, and locates public
// data sets.
package samples

import (
	_ "embed"
	"os"
	"path/filepath"
)

// Airline is a trajectory of τ-bench (Sierra Research, MIT, see LICENSE in this folder): an airline's
// agent cancels a reservation and upgrades another.
//
//go:embed airline-trajectory.json
var Airline []byte

// Talks are eight short conversations with questions, in the format of LoCoMo. They were written for this
// project.
//
//go:embed talks.json
var Talks []byte

// Public returns the path of a file of the public data sets. It looks in $CAIRN_DATA, or if that is
// not set, in a folder shared/data next to the working folder or one of its parents. It returns ""
// if the file does not exist.
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
