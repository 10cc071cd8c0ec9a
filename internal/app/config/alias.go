package config

import (
	"fmt"
	"strconv"

	"cairn/internal/domain/fault"
)

// aliases are the names that users of MemOS have in their files.
var aliases = map[string]string{
	"skills_local_dir":    "SKILLS_LOCAL_DIR",
	"skills_oss_dir":      "SKILLS_OSS_DIR",
	"skills_llm":          "SKILLS_LLM",
	"EMBEDDING_DIMENSION": "CAIRN_EMBEDDING_DIMENSIONS",
}

// resolveAliases puts the values of old names under the names of today, which
// win where both are set. skills_local_tmp_dir is accepted and means nothing:
// packages are made in memory.
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
			return fault.New(fault.Misconfigured, fmt.Sprintf("complete_skill_memory is %q", complete),
				"use true for full, false for simple extraction, or SKILL_MODE")
		}
		mode := "simple"
		if full {
			mode = "full"
		}
		set("SKILL_MODE", mode)
	}
	return nil
}
