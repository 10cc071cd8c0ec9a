package evaluation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Result is the result of an evaluation.
type Result struct {
	Outcome  run.Outcome              `json:"outcome"`
	Note     string                   `json:"note,omitempty"`
	Manifest Spec                     `json:"manifest"`
	Rows     []Row                    `json:"rows"`
	Learned  []Learned                `json:"learned,omitempty"`
	FixedSet []string                 `json:"best_fixed_set,omitempty"`
	Usage    learning.EvaluationUsage `json:"usage"` // of all calls, also of trainings and selection
	Seconds  float64                  `json:"seconds"`
}

// Row is one row of the table.
type Row struct {
	Name          string                   `json:"row"`
	Scores                                 // means over conversations of the means over questions
	Categories    []Scores                 `json:"categories"` // means over questions
	Versus        *Versus                  `json:"versus_static,omitempty"`
	Conversations []Scores                 `json:"conversations"`
	Build         learning.EvaluationUsage `json:"build_usage"`
	BuildSeconds  float64                  `json:"build_seconds"`
	Skills        int                      `json:"skills"`
	Memories      int                      `json:"memories"`
	Spans         int                      `json:"spans"`
	FailedSpans   int                      `json:"failed_spans,omitempty"`
	Interval      *Interval                `json:"f1_interval,omitempty"` // of the mean F1
}

// Scores are the mean scores of questions, and the usage of their answers and verdicts.
type Scores struct {
	Name      string                   `json:"name"`
	Questions int                      `json:"questions"`
	F1        float64                  `json:"f1"`
	Exact     float64                  `json:"exact_match"`
	Judge     *float64                 `json:"judge,omitempty"`           // L-J, 0 to 100
	Evidence  *float64                 `json:"evidence_recall,omitempty"` // 0 to 1
	Invalid   int                      `json:"invalid,omitempty"`
	Lost      int                      `json:"lost,omitempty"` // questions that are not scored
	Usage     learning.EvaluationUsage `json:"usage"`
	Seconds   float64                  `json:"seconds"` // of the calls, with the waits after status 429
}

// Close computes the table and ends an evaluation. Code is set if the workflow failed. The table then
// has the results so far.
func (s *Service) Close(ctx context.Context, in contract.CloseInput) (contract.EvaluateResult, error) {
	out, err := s.close(ctx, in)
	return out.encode(), err
}

// encode returns the part of a result that workflows know.
func (r Result) encode() contract.EvaluateResult {
	return contract.EvaluateResult{Outcome: string(r.Outcome), Rows: len(r.Rows)}
}

func (s *Service) close(ctx context.Context, in contract.CloseInput) (out Result, err error) {
	e, err := s.read(ctx, in.Ref())
	if err != nil {
		return out, err
	}
	if e.run.Status == run.Ended {
		return out, json.Unmarshal(e.run.Result, &out)
	}
	usage, err := s.spent(ctx, e)
	if err != nil {
		return out, err
	}
	err = s.ports.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		if out, err = s.result(ctx, tx, e); err != nil {
			return err
		}
		out.Usage, out.Note = usage, in.Reason
		switch in.Code {
		case "":
			out.Outcome = run.Completed
		case string(fault.QuotaExceeded):
			out.Outcome = run.OverBudget
		case string(fault.Cancelled):
			out.Outcome = run.CancelledOutcome
		default:
			out.Outcome = run.Failed
		}
		if e.run.StartedAt != nil {
			out.Seconds = time.Since(*e.run.StartedAt).Seconds()
		}
		return tx.Runs().EndRun(ctx, in.Run, out.Outcome, in.Reason, out)
	})
	return out, err
}

// result computes the table from the stored steps.
func (s *Service) result(ctx context.Context, tx store.Tx, e evaluation) (out Result, err error) {
	out.Manifest = e.spec
	out.Manifest.Model.Instructions = nil // Prompts has their hashes
	calls, err := tx.Evaluations().Calls(ctx, e.run.Ref.Run)
	if err != nil {
		return out, err
	}
	of := map[string]learning.EvaluationCall{}
	for _, c := range calls {
		one := of[c.Step]
		one.EvaluationUsage, one.Seconds = one.Plus(c.EvaluationUsage), one.Seconds+c.Seconds
		of[c.Step] = one
	}
	rows := map[string]*rowResult{}
	for _, name := range e.spec.Rows {
		rows[name] = &rowResult{row: Row{Name: name}}
	}
	for n, u := range e.units {
		switch u.Kind {
		case trainUnit:
			learned, found, err := bank.ReadStep[Learned](ctx, tx, e.run.Ref.Run, doneStep(n))
			if err != nil {
				return out, err
			}
			if found {
				out.Learned = append(out.Learned, learned)
			}
		case testUnit:
			if err := rows[u.Row].read(ctx, tx, e, n, of); err != nil {
				return out, err
			}
		}
	}
	if e.spec.has(BestFixed) {
		set, err := selectedSet(ctx, tx, e)
		if err != nil {
			return out, err
		}
		if set >= 0 {
			out.FixedSet = e.spec.sets()[set]
		}
	}
	for _, name := range e.spec.Rows {
		out.Rows = append(out.Rows, rows[name].close())
	}
	if base := rows[Static]; base != nil {
		for i := range out.Rows {
			if out.Rows[i].Name != Static {
				out.Rows[i].Versus = versus(out.Rows[i].Conversations, base.row.Conversations)
			}
		}
	}
	return out, nil
}

// rowResult collects a row.
type rowResult struct {
	row  Row
	by   []string // categories in the order of their first question
	cats map[string]*tally
}

// read adds the results of a unit to its row, if it has all its answers.
func (r *rowResult) read(ctx context.Context, tx store.Tx, e evaluation, n int,
	calls map[string]learning.EvaluationCall) error {
	u := e.units[n]
	sample, err := readSample(ctx, tx, e, u.Sample)
	if err != nil {
		return err
	}
	answers, err := readAnswers(ctx, tx, e.run.Ref.Run, n)
	if err != nil || len(answers) < len(sample.Questions) {
		return err
	}
	built, found, err := bank.ReadStep[doneUnit](ctx, tx, e.run.Ref.Run, doneStep(n))
	if err != nil {
		return err
	}
	if found {
		r.row.Build = r.row.Build.Plus(built.Usage)
		r.row.BuildSeconds += built.Seconds
		r.row.Skills, r.row.Memories = built.Skills, r.row.Memories+built.Memories
		r.row.Spans, r.row.FailedSpans = r.row.Spans+built.Spans, r.row.FailedSpans+built.Failed
	}
	if r.cats == nil {
		r.cats = map[string]*tally{}
	}
	whole := tally{scores: Scores{Name: u.Sample}}
	for _, a := range answers {
		category := sample.Questions[a.Place].Category
		if r.cats[category] == nil {
			r.by = append(r.by, category)
			r.cats[category] = &tally{scores: Scores{Name: category}}
		}
		asked, judged := calls[questionStep(n, a.Place)], calls[judgeStep(n, a.Place)]
		both := learning.EvaluationCall{EvaluationUsage: asked.Plus(judged.EvaluationUsage), Seconds: asked.Seconds +
			judged.Seconds}
		whole.add(a, both)
		r.cats[category].add(a, both)
	}
	r.row.Conversations = append(r.row.Conversations, whole.mean())
	return nil
}

// close computes the means of a row.
func (r *rowResult) close() Row {
	slices.Sort(r.by)
	for _, name := range r.by {
		r.row.Categories = append(r.row.Categories, r.cats[name].mean())
	}
	all := &r.row.Scores
	all.Name = r.row.Name
	n := float64(max(1, len(r.row.Conversations)))
	for _, c := range r.row.Conversations {
		all.F1, all.Exact = all.F1+c.F1/n, all.Exact+c.Exact/n
		all.Questions, all.Invalid, all.Lost = all.Questions+c.Questions, all.Invalid+c.Invalid, all.Lost+c.Lost
		all.Usage, all.Seconds = all.Usage.Plus(c.Usage), all.Seconds+c.Seconds
	}
	all.Judge = meanOf(r.row.Conversations, func(c Scores) *float64 { return c.Judge })
	all.Evidence = meanOf(r.row.Conversations, func(c Scores) *float64 { return c.Evidence })
	var f1 []float64
	for _, c := range r.row.Conversations {
		f1 = append(f1, c.F1)
	}
	r.row.Interval = interval(f1)
	return r.row
}

// meanOf returns the mean of the values that exist, nil without any.
func meanOf(all []Scores, of func(Scores) *float64) *float64 {
	sum, n := 0.0, 0.0
	for _, one := range all {
		if v := of(one); v != nil {
			sum, n = sum+*v, n+1
		}
	}
	if n == 0 {
		return nil
	}
	sum /= n
	return &sum
}

// tally adds up answers.
type tally struct {
	scores                   Scores
	judged, known, n         float64
	f1, exact, judge, recall float64
}

func (t *tally) add(a Answer, calls learning.EvaluationCall) {
	t.scores.Questions++
	t.scores.Usage, t.scores.Seconds = t.scores.Usage.Plus(calls.EvaluationUsage), t.scores.Seconds+calls.Seconds
	if a.Lost != "" {
		t.scores.Lost++
		return
	}
	if a.Invalid {
		t.scores.Invalid++
	}
	t.n, t.f1, t.exact = t.n+1, t.f1+a.F1, t.exact+a.Exact
	if a.Judge != nil {
		t.judged, t.judge = t.judged+1, t.judge+*a.Judge
	}
	if a.Evidence != nil {
		t.known, t.recall = t.known+1, t.recall+*a.Evidence
	}
}

func (t *tally) mean() Scores {
	out := t.scores
	if t.n > 0 {
		out.F1, out.Exact = t.f1/t.n, t.exact/t.n
	}
	if t.judged > 0 {
		judge := 100 * t.judge / t.judged
		out.Judge = &judge
	}
	if t.known > 0 {
		recall := t.recall / t.known
		out.Evidence = &recall
	}
	return out
}

// Incomplete returns what the table lacks, "" if nothing.
func (r Result) Incomplete() string {
	var lacks []string
	for _, row := range r.Rows {
		if n := len(row.Conversations); n < len(r.Manifest.Split.Test) {
			lacks = append(lacks, fmt.Sprintf("%s has %d of %d conversations", row.Name, n, len(r.Manifest.Split.Test)))
		}
	}
	return strings.Join(lacks, ", ")
}
