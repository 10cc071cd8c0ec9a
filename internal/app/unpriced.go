package app

import (
	"slices"

	"cairn/internal/app/config"
	"cairn/internal/domain/llm"
)

// Unpriced returns the configured models whose price is unknown. Limits of cost do not count their
// calls.
func Unpriced(c config.Config) ([]string, error) {
	known, err := prices(c)
	if err != nil || c.Offline() {
		return nil, err
	}
	models := []string{c.Model, c.ModelNudge, c.ModelReflection, c.SkillsLLM, c.SkillsLLMSegment,
		c.SkillsLLMExtract, c.SkillsLLMFiles, c.SkillsLLMJudge, c.TranscribeModel}
	slices.Sort(models)
	return slices.DeleteFunc(slices.Compact(models), func(name string) bool {
		_, priced := known.Cost(name, llm.Usage{})
		return name == "" || priced
	}), nil
}
