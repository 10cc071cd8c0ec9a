package config

import (
	"fmt"
	"strconv"

	"cairn/internal/domain/fault"
)

// aliases maps variable names of MemOS to Cairn's names.
var aliases = map[string]string{
	"skills_local_dir":    "SKILLS_LOCAL_DIR",
	"skills_oss_dir":      "SKILLS_OSS_DIR",
	"skills_llm":          "SKILLS_LLM",
	"EMBEDDING_DIMENSION": "CAIRN_EMBEDDING_DIMENSIONS",
}

// resolveAliases copies the values of MemOS names to Cairn's names. If both are set, Cairn's name
// wins. skills_local_tmp_dir is accepted but has no effect, because packages are built in memory.
func resolveAliases(values map[string]string) error {
	set := func(name, value string) {
		if _, given := values[name]; !given && value != "" {
			values[name] = value
		}
	}
	for old, name := range aliases {
		set(name, values[old])
	}
	if complete, given := values["complete_skill_memory"]; given {
		full, err := strconv.ParseBool(complete)
		if err != nil {
			return fault.New(fault.Misconfigured, fmt.Sprintf("invalid complete_skill_memory %q", complete),
				"use true or false, or set SKILL_MODE to full or simple instead")
		}
		mode := "simple"
		if full {
			mode = "full"
		}
		set("SKILL_MODE", mode)
	}
	return nil
}
