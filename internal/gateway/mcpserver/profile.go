package mcpserver

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// Profiles of tools. A profile names what it would offer; what the registry does
// not have is left out.
const (
	Default   = "default"
	Retrieval = "retrieval" // what looks things up, and nothing else
	Memory    = "memory"    // what looks long-term memory up, and what changes it
	Skills    = "skills"    // skills step by step: what there is, how it is done, its files
	All       = "all"       // everything that an agent may call
)

// Profiles lists them.
var Profiles = []string{Default, Retrieval, Memory, Skills, All}

var lookUp = []string{"read_meta_memory", "vector_retrieve_memory", "read_history_memory"}

// profile are the names of a profile's tools, none for every tool.
func profile(name string) ([]string, error) {
	switch name {
	case "", Default:
		return append([]string{"skill_save", "skill_list", "skill_view", "skill_patch", "skill_delete", "soul_update",
			"memory_save", "memory_search"}, lookUp...), nil
	case Retrieval:
		return lookUp, nil
	case Memory:
		return append(slices.Clone(lookUp), "add_memory", "update_memory", "delete_memory", "summary_memory"), nil
	case Skills:
		return []string{"load_meta_skills", "load_skills", "load_reference_skills"}, nil
	case All:
		return nil, nil
	}
	return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("there is no profile %q", name),
		"use one of "+strings.Join(slices.Sorted(slices.Values(Profiles)), ", "))
}
