package health

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/settings"
)

// Level is how much a reason matters.
type Level string

// The levels.
const (
	Problem Level = "problem" // something does not work
	Note    Level = "note"    // someone has chosen it
)

// Reason is something that is wrong.
type Reason struct {
	Code   readmodel.HealthCode `json:"code" enum:"schema_behind,temporal_unreachable,no_worker,model_errors,budget_exhausted,outbox_stuck,embedding_behind,calls_unknown,reflection_failed,reflection_unheard,shell_unavailable,learning_frozen,offline_model"`
	Level  Level                `json:"level" enum:"problem,note" doc:"problem: something does not work; note: someone has chosen it"`
	Name   string               `json:"name,omitempty" doc:"Of the model, the queue, the run or the day"`
	Detail string               `json:"detail,omitempty" doc:"Error or its class"`
	Count  int64                `json:"count,omitempty" doc:"How many calls, tasks or days"`
	Since  *time.Time           `json:"since,omitempty" doc:"Absent if it is not known"`
	Effect string               `json:"effect" doc:"What it means for users"`
	Remedy string               `json:"remedy" doc:"What to do"`
	Link   string               `json:"link,omitempty" doc:"Page of the web console, below that of the workspace"`
}

// about is what is known of a code.
type about struct {
	code           readmodel.HealthCode
	level          Level
	effect, remedy string
	link           string // %s is the name
}

var table = []about{
	{readmodel.SchemaBehind, Problem, "Requests that need the new tables fail.",
		"Run `cairn migrate` with the release that runs here.", ""},
	{readmodel.TemporalUnreachable, Problem, "Messages and runs are stored. They start when Temporal responds.",
		"Start Temporal, or correct TEMPORAL_ADDRESS.", "runs?status=accepted"},
	{readmodel.NoWorker, Problem, "Accepted runs wait for a worker.", "Start `worker`, or `cairn dev`.",
		"runs?status=accepted"},
	{readmodel.ModelErrors, Problem, "Runs with this model wait or fail.",
		"Check the endpoint, the key and the quota of the model with `cairn doctor`.", "runs?model=%s"},
	{readmodel.BudgetExhausted, Problem, "Model calls are refused until 00:00 UTC.",
		"Raise tokens_per_day or micros_per_day of the workspace, or CAIRN_MICROS_PER_DAY of the workers.", "usage"},
	{readmodel.OutboxStuck, Problem, "The work of these tasks is late.",
		"Correct what the error names, then try the task now.", "outbox"},
	{readmodel.EmbeddingBehind, Problem, "Searches compare only words with texts that have no vector.",
		"Check the embedding endpoint with `cairn doctor`. The texts follow by themselves.", "outbox"},
	{readmodel.CallsUnknown, Problem, "These model calls may have been paid, and no reply is stored.",
		"Open the run. A retry sends the calls again.", "runs/%s"},
	{readmodel.ReflectionFailed, Problem, "The messages of the day are not reflected on.",
		"Read why, correct it, and run `cairn reflect`.", "reflections"},
	{readmodel.ReflectionUnheard, Problem,
		"For a week, reflections found nothing to read, although there were conversations.",
		"Check that the conversations are in this workspace and in its time zone.", "reflections"},
	{readmodel.ShellUnavailable, Problem, "Agents cannot run commands of skills.",
		"Set CAIRN_SHELL=on, and start `worker --queues cairn-sandbox` on a machine with sandboxes.", "settings"},
	{readmodel.LearningFrozen, Note, "Memory skills and their policy do not change.",
		"Set memory.learning.frozen to false, or unfreeze the bank.", "learning"},
	{readmodel.OfflineModel, Note, "Replies come from rules, not from a language model.",
		"Set OPENAI_API_KEY, or OPENAI_BASE_URL of another endpoint, and CAIRN_MODEL.", ""},
}

// Codes returns all codes, the most severe first.
func Codes() (out []readmodel.HealthCode) {
	for _, a := range table {
		out = append(out, a.code)
	}
	return out
}

func order(c readmodel.HealthCode) int {
	return slices.IndexFunc(table, func(a about) bool { return a.code == c })
}

func rank(l Level) int { return slices.Index([]Level{Problem, Note}, l) }

// reasonOf returns the fact with what is known of its code.
func reasonOf(f readmodel.HealthFact) Reason {
	a := table[order(f.Code)]
	out := Reason{Code: f.Code, Level: a.level, Name: f.Name, Detail: f.Detail, Count: f.Count, Effect: a.effect,
		Remedy: a.remedy, Link: a.link}
	if strings.Contains(a.link, "%s") {
		out.Link = fmt.Sprintf(a.link, url.QueryEscape(f.Name))
	}
	if !f.Since.IsZero() {
		out.Since = &f.Since
	}
	return out
}

// detailOf returns what users may see of the error of a probe: it contains addresses.
func detailOf(err error) string {
	f := fault.From(err)
	return fault.Clean(f.Message)
}

// refuses reports whether a refusal names a limit that still holds: a higher limit admits calls again.
func refuses(s settings.Settings, reason string) bool {
	return slices.ContainsFunc([]string{s.TokenLimit(), s.CostLimit(), settings.DeploymentLimit},
		func(limit string) bool { return strings.Contains(reason, limit) })
}
