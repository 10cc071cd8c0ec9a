package designer_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/keyedrand"
)

func TestStageScoreIsThatOfItsLastQuarter(t *testing.T) {
	t.Parallel()
	rewards := make([]float64, 100)
	for i := range rewards {
		rewards[i] = float64(i * i)
	}
	tail := 0.0
	for _, r := range rewards[75:] {
		tail += r / 25
	}
	if got := designer.DefaultScoring().Of(rewards); math.Abs(got-tail) > 1e-9 {
		t.Errorf("%v, want %v", got, tail)
	}
	for _, c := range []struct {
		scoring designer.Scoring
		rewards []float64
		want    float64
	}{
		{designer.Scoring{Tail: .25}, []float64{1, 2, 3, 4, 5}, 4.5}, // from ⌊3.75⌋
		{designer.Scoring{Tail: .25}, []float64{7}, 7},
		{designer.Scoring{Tail: .25}, nil, 0},
		{designer.Scoring{Tail: 1, Window: 2}, []float64{0, 2, 10}, 3.5}, // of 1 and 6
		{designer.Scoring{Tail: 1, Window: 5}, []float64{0, 2, 10}, 4},
	} {
		if got := c.scoring.Of(c.rewards); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v of %v: %v, want %v", c.scoring, c.rewards, got, c.want)
		}
	}
}

func snapshot(i int) memoryskill.Snapshot { return memoryskill.Snapshot{Hash: fmt.Sprintf("s%d", i)} }

func TestARunGoesBackToItsBestAndEndsOnIt(t *testing.T) {
	t.Parallel()
	limits := designer.Limits{Evolutions: 20, Patience: 2}
	var p designer.Progress
	var v designer.Verdict
	end := func(i int, score float64) {
		p, v = p.Close(designer.Stage{Snapshot: snapshot(i), Score: score}, limits)
	}
	end(0, -0.5) // the first is best, even if its score is bad
	if !v.Improved || v.Stop || v.Restore != snapshot(0) {
		t.Fatalf("%+v", v)
	}
	p = p.Evolved("round0", []string{"q1"})
	end(1, 0.4)
	if !v.Improved || v.Cases != nil || p.Stages[1].Round != "round0" {
		t.Fatalf("%+v", v)
	}
	p = p.Evolved("round1", []string{"q2", "q3"})
	end(2, 0.4) // not strictly better
	if v.Improved || v.Stop || v.Restore != snapshot(1) || !slices.Equal(v.Cases, []string{"q2", "q3"}) ||
		!slices.Equal(p.Failed, []string{"round1"}) {
		t.Fatalf("%+v %+v", v, p)
	}
	p = p.Evolved("round2", []string{"other"})
	end(3, 0.1)
	if !v.Stop || v.Restore != snapshot(1) || !slices.Equal(p.Failed, []string{"round1", "round2"}) || p.Idle != 2 {
		t.Fatalf("%+v %+v", v, p)
	}
	better, v := p.Close(designer.Stage{Snapshot: snapshot(4), Score: 0.5}, limits)
	if !v.Improved || better.Idle != 0 || len(better.Failed) != 0 || v.Restore != snapshot(4) {
		t.Errorf("%+v %+v", v, better)
	}
}

func TestARunEndsAfterItsLastEvolution(t *testing.T) {
	t.Parallel()
	limits := designer.Limits{Evolutions: 1, Patience: 5}
	p, v := designer.Progress{}.Close(designer.Stage{Snapshot: snapshot(0), Score: 1}, limits)
	if v.Stop {
		t.Fatal("stopped before any evolution")
	}
	if _, v = p.Evolved("round0", nil).Close(designer.Stage{Snapshot: snapshot(1), Score: 0.5}, limits); !v.Stop ||
		v.Restore != snapshot(0) {
		t.Errorf("%+v", v)
	}
}

func TestGatePromotesOnlyWhatIsBetter(t *testing.T) {
	t.Parallel()
	gate := designer.PromotionGate()
	stream := keyedrand.Key{Purpose: "gate"}.Stream()
	incumbent, better, noisy, worse := make([]float64, 40), make([]float64, 40), make([]float64, 40),
		make([]float64, 40)
	unsure := make([]float64, 40) // better by the mean, and perhaps not
	for i := range incumbent {
		incumbent[i] = stream.Float64()
		better[i] = incumbent[i] + .1 + .05*stream.Normal()
		noisy[i] = incumbent[i] + .01 + .8*stream.Normal()
		worse[i] = incumbent[i] - .01
		unsure[i] = incumbent[i] + .002 + .02*float64(i%2*2-1)
	}
	for name, c := range map[string]struct {
		scores  []float64
		promote bool
	}{"better": {better, true}, "noisy": {noisy, false}, "unsure": {unsure, false},
		"worse": {worse, false}, "equal": {incumbent, false}} {
		got, err := gate.Compare(c.scores, incumbent)
		if err != nil || got.Promote != c.promote || got.Lower > got.Mean+1e-12 {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		if again, _ := gate.Compare(c.scores, incumbent); again != got {
			t.Errorf("%s: %+v, then %+v", name, got, again)
		}
	}
	if _, err := gate.Compare(better[:3], incumbent); err == nil {
		t.Error("scores of different traces were compared")
	}
}
