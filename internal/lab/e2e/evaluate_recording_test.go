package e2e_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	replies "cairn/internal/adapter/recording"
	"cairn/internal/app/config"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	evals "cairn/internal/service/evaluation"
	"cairn/internal/testkit"
)

// shipped is the recording of the repository, made with the scripted server. To make it again, after a
// change of prompts or of the sample data, set CAIRN_UPDATE_RECORDING.
const shipped = "../../app/samples/replies.jsonl"

// recorded runs the evaluation that the shipped recording is about.
func recorded(t *testing.T, change func(*config.Config), model bool) evals.Result {
	t.Helper()
	b := apptest.Open(t, change)
	if model {
		b.Model.On(openaitest.Rule{ReplyFunc: skilled})
	}
	r := evaluation(b, sampleTalks(t), evals.DefaultSplit, evals.None, evals.Static)
	r.Limit, r.Judge = 1, "scripted"
	made, err := b.Evaluations.Accept(t.Context(), r)
	testkit.Must(t, err)
	return evaluated(b, made.Ref, time.Minute)
}

// A recording gives the same table without the model.
func TestARecordedEvaluationIsPlayedBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "replies.jsonl")
	live := recorded(t, func(c *config.Config) { c.Record = path }, true)
	played := recorded(t, func(c *config.Config) { c.Replay, c.BaseURL = path, "http://127.0.0.1:1/v1" }, false)
	for i, row := range live.Rows {
		again := played.Rows[i]
		if row.F1 != again.F1 || row.Memories != again.Memories || !reflect.DeepEqual(row.Judge, again.Judge) ||
			row.Usage.Calls != again.Usage.Calls || row.Build.Input != again.Build.Input {
			t.Errorf("recorded %+v, played %+v", row, again)
		}
	}
	if live.Outcome != run.Completed || played.Outcome != run.Completed || played.Incomplete() != "" {
		t.Errorf("recorded: %s, played: %s %s", live.Outcome, played.Outcome, played.Note)
	}
	if os.Getenv("CAIRN_UPDATE_RECORDING") != "" {
		raw, err := os.ReadFile(path)
		testkit.Must(t, err)
		testkit.Must(t, os.WriteFile(shipped, raw, 0o644))
	}
}

func TestTheShippedRecordingIsPlayed(t *testing.T) {
	t.Parallel()
	read, err := replies.Read(shipped)
	testkit.Must(t, err)
	played := recorded(t, func(c *config.Config) { c.Replay, c.BaseURL = shipped, "http://127.0.0.1:1/v1" }, false)
	if read.Len() == 0 || played.Outcome != run.Completed || played.Incomplete() != "" {
		t.Errorf("%d replies: %s %s, incomplete: %q; after a change of prompts, make the recording again: "+
			"CAIRN_UPDATE_RECORDING=1 go test ./internal/lab/e2e -run ARecordedEvaluation", read.Len(), played.Outcome,
			played.Note, played.Incomplete())
	}
}

// A request that the recording lacks ends the evaluation with its reason.
func TestARecordingOfOtherDataIsRefused(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.Replay, c.BaseURL = shipped, "http://127.0.0.1:1/v1" })
	r := evaluation(b, sampleTalks(t), evals.DefaultSplit, evals.None)
	r.Limit = 2
	made, err := b.Evaluations.Accept(t.Context(), r)
	testkit.Must(t, err)
	if got := evaluated(b, made.Ref, time.Minute); got.Outcome != run.Failed || got.Note == "" {
		t.Errorf("%s: %q", got.Outcome, got.Note)
	}
}
