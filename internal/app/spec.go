package app

import (
	"cmp"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/distill"
	"cairn/internal/service/learning/runspec"
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
		Redact:    c.Redact,
		Quality:   c.Quality,
		Approval:  c.RequireApproval,
		Limits: distill.Limits{MaxTasks: c.MaxTasks, ToolOutputChars: c.ToolOutputChars, InputTokens: c.InputTokens,
			RecallTopK:   c.RecallTopK,
			RecallMinSim: c.RecallMinSim, MergeSim: c.MergeSim, MinConfidence: c.MinConfidence,
			HistoryMessages: c.HistoryMessages, HistoryChars: c.HistoryChars, StrictEvidence: c.StrictEvidence,
			Repairs: c.Repairs, Parallel: c.Concurrency,
			MinQuality: c.MinQuality, KeepVersions: c.KeepVersions},
		Timing: distill.Timing{Model: rounds*c.Timeout + time.Minute, Heartbeat: c.Heartbeat, Database: c.DatabaseStep,
			GiveUp: giveUp},
	}
}

// distillModels returns the models of this process by stage. The first step of a run pins them.
func distillModels(c config.Config) map[string]string {
	all := cmp.Or(c.SkillsLLM, c.Model, offlineModel)
	return map[string]string{
		"chunk": cmp.Or(c.SkillsLLMChunk, all), "rewrite": cmp.Or(c.SkillsLLMRewrite, all),
		"extract": cmp.Or(c.SkillsLLMExtract, all), "merge": cmp.Or(c.SkillsLLMExtract, all),
		"scripts": cmp.Or(c.SkillsLLMScripts, all), "doc": cmp.Or(c.SkillsLLMDocs, all),
		"judge": cmp.Or(c.SkillsLLMJudge, all)}
}

// EvolveSpec returns the configuration that a new learning run stores.
func EvolveSpec(c config.Config) runspec.Spec {
	return runspec.Spec{Model: runspec.Model{Name: cmp.Or(c.Model, offlineModel), Repairs: min(c.Repairs, 1)},
		Timing: runspec.Timing{Model: 2*c.Timeout + time.Minute, Heartbeat: c.Heartbeat, Database: c.DatabaseStep,
			GiveUp: giveUp}}
}

// offlineModel is the name of the offline model.
const offlineModel = "offline-rules"
