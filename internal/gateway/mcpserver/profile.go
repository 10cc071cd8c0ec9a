package mcpserver

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// Profiles of tools. A profile lists tool names; names that the registry lacks are skipped.
const (
	Default   = "default"
	Retrieval = "retrieval" // only searches in memory
	Memory    = "memory"    // searches in and changes of long-term memory, and imports of sessions
	Skills    = "skills"    // skills in three steps: list, instructions, files
	All       = "all"       // all tools that an agent may call
)

// Profiles lists all profiles.
var Profiles = []string{Default, Retrieval, Memory, Skills, All}

var lookUp = []string{"read_meta_memory", "vector_retrieve_memory", "read_history_memory"}

// profile returns the tool names of a profile, or nil for all tools.
func profile(name string) ([]string, error) {
	switch name {
	case "", Default:
		return append([]string{"skill_save", "skill_list", "skill_view", "skill_patch", "skill_delete", "soul_update",
			"memory_save", "memory_search"}, lookUp...), nil
	case Retrieval:
		return lookUp, nil
	case Memory:
		return append(slices.Clone(lookUp), "add_memory", "update_memory", "delete_memory", "summary_memory",
			"import_session"), nil
	case Skills:
		return []string{"load_meta_skills", "load_skills", "load_reference_skills"}, nil
	case All:
		return nil, nil
	}
	return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown profile %q", name),
		"use one of "+strings.Join(slices.Sorted(slices.Values(Profiles)), ", "))
}
