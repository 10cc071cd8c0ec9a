package app

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"cairn/internal/adapter/openai"
	"cairn/internal/app/config"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/distill"
	"cairn/internal/service/learning/bank"
)

// giveUp limits a step with all its retries. It is long enough for an endpoint that is down overnight.
const giveUp = 24 * time.Hour

// DistillSpec returns the configuration that a new distillation stores.
func DistillSpec(c config.Config, extract string) distill.Spec {
	rounds := time.Duration(c.Repairs + 1)
	return distill.Spec{
		Options: distill.Options{Mode: c.Mode, Extract: extract},
		Gate: transcript.Gate{Policy: transcript.GatePolicy(c.Gate), MinToolMessages: c.MinToolMessages,
			MinMessages: c.MinMessages},
		NameStyle: c.NameStyle,
		Profile:   c.Profile,
		Redact:    c.Redact,
		Quality:   c.Quality,
		Approval:  c.RequireApproval,
		Limits: distill.Limits{MaxTasks: c.MaxTasks, ToolOutputChars: c.ToolOutputChars,
			RecallTopK:   c.RecallTopK,
			RecallMinSim: c.RecallMinSim, MergeSim: c.MergeSim, MinConfidence: c.MinConfidence,
			HistoryMessages: c.HistoryMessages, HistoryChars: c.HistoryChars, StrictEvidence: c.StrictEvidence,
			Repairs: c.Repairs, Parallel: c.Concurrency,
			MinQuality: c.MinQuality, KeepVersions: c.KeepVersions},
		Timing: distill.Timing{Model: rounds*c.Timeout + time.Minute, Heartbeat: c.Heartbeat, Database: c.DatabaseStep,
			GiveUp: giveUp},
	}
}

// distillModels returns the models of this process by role. The first step of a run pins them.
func distillModels(c config.Config) map[string]string {
	all := cmp.Or(c.SkillsLLM, c.Model, llm.OfflineModel)
	models := map[string]string{
		"segment": cmp.Or(c.SkillsLLMSegment, all), "files": cmp.Or(c.SkillsLLMFiles, all),
		"judge": cmp.Or(c.SkillsLLMJudge, all), "compare": cmp.Or(c.SkillsLLMJudge, all)}
	for _, role := range []string{"extract", "notes", "merge"} {
		models[role] = cmp.Or(c.SkillsLLMExtract, all)
	}
	return models
}

// offlineContext is that of the offline model in tokens: its rules need no context.
const offlineContext = 100_000_000

// contextOf returns the smallest context of the models.
func contextOf(c config.Config, models map[string]string) int {
	if c.Offline() {
		return offlineContext
	}
	contexts, err := c.Contexts()
	if err != nil { // refused with the configuration
		return config.DefaultContext
	}
	return contexts.For(slices.Collect(maps.Values(models))...)
}

// cacheOf returns what is known about the cache of the endpoint for a model.
func cacheOf(c config.Config, model string) string {
	switch {
	case c.LLMCache == openai.CacheOff:
		return distill.CacheOff
	case !c.Offline() && chatEndpoint(c).Marks(model):
		return distill.CacheExpected
	}
	return distill.CacheUnknown
}

// EvolveSpec returns the configuration that a new learning run stores.
func EvolveSpec(c config.Config) bank.RunSpec {
	return bank.RunSpec{Model: bank.Model{Name: cmp.Or(c.Model, llm.OfflineModel), Repairs: min(c.Repairs, 1)},
		Timing: bank.Timing{Model: 2*c.Timeout + time.Minute, Heartbeat: c.Heartbeat, Database: c.DatabaseStep,
			GiveUp: giveUp}}
}
