package cli

import (
	"bytes"
	"strings"
	"testing"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/train"
)

func TestTheRewardCurveHasAPointForEachIteration(t *testing.T) {
	t.Parallel()
	for _, rewards := range [][]float64{nil, {0.5}, {0, 0.25, 1}} {
		svg := string(rewardCurve(rewards))
		_, points, _ := strings.Cut(svg, `points="`)
		points, _, _ = strings.Cut(points, `"`)
		if n := len(strings.Fields(points)); n != len(rewards) || !strings.HasPrefix(svg, "<svg ") {
			t.Errorf("%v: %d points", rewards, n)
		}
	}
	if up := string(rewardCurve([]float64{0, 1})); !strings.Contains(up, `points="40.0,360.0 680.0,40.0"`) {
		t.Error(up)
	}
}

func TestTheBarIsFullAtTheEnd(t *testing.T) {
	t.Parallel()
	if bar(0, 10) != "["+strings.Repeat(".", barWidth)+"]" || bar(10, 10) != "["+strings.Repeat("#", barWidth)+"]" ||
		bar(0, 0) == "" {
		t.Errorf("%s %s", bar(0, 10), bar(10, 10))
	}
}

// The output of a training has the result of the gate and the number of masked outcomes.
func TestTrainingPrintsGateAndMaskedOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		out        learning.TrainingResult
		has, hasNo string
	}{
		{learning.TrainingResult{Outcome: run.Completed, Bank: "b", Version: 3,
			Verdict: learning.Promoted,
			Gate: &learning.Comparison{Comparison: designer.Comparison{Mean: .125, Lower: .05, Traces: 9,
				Promote: true},
				All: designer.Comparison{Mean: .25, Lower: .2, Traces: 9}}},
			"version 3,|gate: promoted|live builds now: +0.1250 on 9 held-out traces (lower bound +0.0500)|" +
				"all skills: +0.2500|best fixed set", "masked"},
		{learning.TrainingResult{Outcome: run.Completed, Bank: "b",
			Verdict: train.NotEnough, Gate: &learning.Comparison{Comparison: designer.Comparison{Mean: -.1, Traces: 7}},
			Outcomes: learning.EpisodeOutcomes{Of: 9, Masked: 2},
			Note:     "not better"}, "no new version|gate: not_enough_evidence|now: -0.1000 on 7|" +
			"2 of 9 outcomes masked|not better", "version 0"},
		{learning.TrainingResult{Outcome: run.Failed, Bank: "b", Note: "away"}, "failed|away", "gate"},
	} {
		var said bytes.Buffer
		(&cli{out: &said}).printTrained(c.out)
		for want := range strings.SplitSeq(c.has, "|") {
			if !strings.Contains(said.String(), want) {
				t.Errorf("no %q in %q", want, said.String())
			}
		}
		if strings.Contains(said.String(), c.hasNo) {
			t.Errorf("%q in %q", c.hasNo, said.String())
		}
	}
	line := trainingLine(train.Progress{Done: 2, Of: 4, Rewards: []float64{.1, .5},
		Choice: policy.Diagnostics{Mass: .75}, Tried: 1, Trials: 3, Outcomes: learning.EpisodeOutcomes{Of: 10,
			Masked: 3}})
	for _, want := range []string{"2 of 4 iterations", "reward 0.500", "chosen mass 0.75",
		"tried on 1 of 3 conversations", "3 of 10 outcomes masked"} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in %q", want, line)
		}
	}
	if calm := trainingLine(train.Progress{Of: 4, Trials: 3,
		Outcomes: learning.EpisodeOutcomes{Of: 10, Masked: 2}}); strings.Contains(calm, "masked") ||
		strings.Contains(calm, "tried") {
		t.Error(calm)
	}
}
