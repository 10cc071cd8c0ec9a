package world

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// PairedDifference is the difference of two rows over folds.
type PairedDifference struct {
	Mean     float64 `json:"mean"`
	Interval float64 `json:"interval"` // half width of the 95 % t-interval; −1 with one fold
}

// Beyond reports whether the difference is greater than its interval.
func (p PairedDifference) Beyond() bool { return p.Interval >= 0 && p.Mean > p.Interval }

// Compare compares the answer-word recall of two rows, paired by fold.
func (t Table) Compare(row, other string) PairedDifference {
	var d []float64
	for i, m := range t.Folds[row] {
		d = append(d, m.Words-t.Folds[other][i].Words)
	}
	if len(d) < 2 {
		return PairedDifference{Mean: d[0], Interval: -1}
	}
	mean, deviation := stat.MeanStdDev(d, nil)
	n := float64(len(d))
	return PairedDifference{
		mean,
		distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975) * deviation / math.Sqrt(n),
	}
}

// Line is one claim of the verdict.
type Line struct {
	Kind   string           `json:"kind"`
	Says   string           `json:"says"`
	Paired PairedDifference `json:"paired"`
	OK     bool             `json:"ok"`
	Reason string           `json:"reason,omitempty"` // reason of the failure
}

// Verdict checks the claims of the experiment against the tables.
func Verdict(tables []Table) (out []Line) {
	for _, t := range tables {
		if t.Kind == Mixed {
			p := t.Compare(Learned, ContextFree)
			out = append(out, t.line("learned choice > best context-free set", p, p.Mean > 0))
			continue
		}
		p := t.Compare(Learned, Static)
		out = append(out, t.line("evolved > static primitives by more than the interval", p, p.Beyond()))
		p = t.Compare(Learned, ContextFree)
		out = append(out, t.line("evolved >= best context-free set", p, p.Mean >= 0))
	}
	return out
}

func (t Table) line(says string, p PairedDifference, ok bool) Line {
	l := Line{Kind: t.Kind, Says: says, Paired: p, OK: ok}
	if !ok {
		l.Reason = t.reason()
	}
	return l
}

// reason states which part of learning brought no gain: the edits or the choice.
func (t Table) reason() string {
	promoted, rounds := 0, 0
	for _, w := range t.Runs {
		promoted, rounds = promoted+w.Promoted, rounds+w.Rounds
	}
	text, choice, free := t.Compare(AllSkills, Static), t.Compare(Learned, Random), t.Compare(Learned, ContextFree)
	summary := fmt.Sprintf("%d of %d rounds of the designer were promoted; all evolved skills at once give %+.3f ± "+
		"%.3f over the primitives, learned choice %+.3f ± %.3f over random choice and %+.3f ± %.3f over the best "+
		"fixed set",
		promoted, rounds, text.Mean, text.Interval, choice.Mean, choice.Interval, free.Mean, free.Interval)
	switch {
	case promoted == 0:
		return summary + ": no edit passed the gate"
	case !text.Beyond():
		return summary + ": the text of the skills brings little gain"
	case !choice.Beyond():
		return summary + ": the policy did not learn to choose"
	}
	return summary + ": one fixed set is as good as a choice per span"
}
