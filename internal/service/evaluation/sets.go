package evaluation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/evaluation/alfworld"
	"cairn/internal/service/evaluation/hotpotqa"
	"cairn/internal/service/evaluation/longmemeval"
	"cairn/internal/service/evaluation/score"
)

// Set is public data of one kind, as the rows are measured on it.
type Set struct {
	Kind    string
	LeftOut int // questions whose answer stands in no evidence: reading cannot show it
	traces  []*trace
}

// learnFrom are the traces beside those that are tested on which rows that learn
// are given.
const learnFrom = 7

// enough are the first samples that a measurement with these options looks at.
func enough[T any](all []T, o Options) []T {
	n := o.Folds
	if needs(o.rows(), RefineOnly) || needs(o.rows(), evolvedRows...) {
		n += learnFrom
	}
	return all[:min(n, len(all))]
}

// LongMemEval is a history for each question. Those that their history does not
// answer are left out, as in the published scores.
func LongMemEval(all []longmemeval.Sample, o Options) (Set, error) {
	s := Set{Kind: "LongMemEval"}
	asked := slices.DeleteFunc(slices.Clone(all), longmemeval.Sample.Unanswerable)
	s.LeftOut = len(all) - len(asked)
	for _, one := range enough(asked, o) {
		question := one.Question
		if !one.Asked.IsZero() {
			question = fmt.Sprintf("(Today is %s.) %s", one.Asked.Format("2006-01-02"), question)
		}
		if err := s.add(o, one.ID, one.Conversation.Messages, question, []string{one.Answer},
			one.Evidence); err != nil {
			return s, err
		}
	}
	return s, s.check()
}

// HotpotQA is a set of paragraphs for each question, any of whose answers will do.
func HotpotQA(all []hotpotqa.Sample, o Options) (Set, error) {
	s := Set{Kind: "HotpotQA"}
	for _, one := range enough(all, o) {
		var messages []transcript.Message
		for i, p := range one.Paragraphs {
			messages = append(messages, transcript.Message{Seq: i, Role: transcript.User, Name: p.Title,
				Content: p.Text})
		}
		if err := s.add(o, one.ID, messages, one.Question, one.Answers, one.Evidence); err != nil {
			return s, err
		}
	}
	return s, s.check()
}

// add reads a sample with its one question. Without evidence every message may
// hold the answer.
func (s *Set) add(o Options, id string, messages []transcript.Message, text string, gold []string,
	evidence []int) error {
	t, err := o.trace(id)
	if err != nil {
		return err
	}
	if err := t.read(messages); err != nil {
		return err
	}
	if len(evidence) == 0 {
		for i := range messages {
			evidence = append(evidence, i)
		}
	}
	for _, g := range gold { // the first that its evidence has: the others are as good
		if t.ask(messages, id, text, g, evidence); len(t.questions) > 0 {
			t.questions[0].any = gold
			s.traces = append(s.traces, t)
			return nil
		}
	}
	s.LeftOut++
	return nil
}

func (s *Set) check() error {
	if len(s.traces) == 0 {
		return fault.New(fault.InvalidArgument, "no question has an answer that stands in its evidence",
			"give a file with more questions, or raise --conversations")
	}
	return nil
}

// memoryShare of a task type's trajectories, the first ones, are remembered; the
// others that succeeded are played again from memory.
const memoryShare = 2.0 / 3

// ALFWorld is a memory for each type of task, made of its first trajectories. The
// later ones that succeeded are replayed without an environment: at each step the
// action is chosen among those of the trajectory, given what was seen last, and a
// task succeeds when every choice is the recorded one.
func ALFWorld(all []alfworld.Trajectory, o Options) (Set, error) {
	s := Set{Kind: "ALFWorld"}
	var types []string
	byType := map[string][]alfworld.Trajectory{}
	for _, t := range all {
		if byType[t.Type] == nil {
			types = append(types, t.Type)
		}
		byType[t.Type] = append(byType[t.Type], t)
	}
	for _, name := range enough(types, o) {
		of := byType[name]
		kept := int(memoryShare*float64(len(of)) + .5)
		t, err := o.trace(name)
		if err != nil {
			return s, err
		}
		var messages []transcript.Message
		for i, one := range of[:kept] {
			messages = append(messages, transcript.Message{Seq: i, Role: transcript.Tool, Name: one.ID,
				Content: one.Text()})
		}
		if err := t.read(messages); err != nil {
			return s, err
		}
		for _, one := range of[kept:] {
			if *one.Success {
				t.replay(messages, one)
			} else {
				s.LeftOut++
			}
		}
		if len(t.questions) > 0 {
			s.traces = append(s.traces, t)
		}
	}
	if len(s.traces) == 0 {
		return s, fault.New(fault.InvalidArgument,
			"no task type has trajectories to remember and a later one that succeeded",
			"give at least three trajectories of a type")
	}
	return s, nil
}

// replay asks for each action of a trajectory. Evidence of an action are the
// remembered trajectories in which it stands, else all of them.
func (t *trace) replay(messages []transcript.Message, one alfworld.Trajectory) {
	var actions []string
	for _, step := range one.Steps {
		if !slices.Contains(actions, step.Action) {
			actions = append(actions, step.Action)
		}
	}
	seen := one.Observation
	for i, step := range one.Steps {
		text := fmt.Sprintf("Task: %s\nObservation: %s\nWhich action comes next: %s?", one.Task, seen,
			strings.Join(actions, "; "))
		q := question{key: fmt.Sprintf("%s/%d", one.Key(), i), text: text, gold: step.Action, choices: actions,
			task: one.Key(), terms: lexical.Terms(one.Task + " " + seen)}
		with := slices.DeleteFunc(slices.Clone(messages), func(m transcript.Message) bool {
			return !strings.Contains(m.Content, "Action: "+step.Action+"\n")
		})
		if len(with) == 0 {
			with = messages
		}
		all := score.Bag{}
		for _, m := range with {
			p := passage{seq: m.Seq, text: m.Content, bag: score.Content(m.Content)}
			q.evidence = append(q.evidence, p)
			for w := range p.bag {
				all[w] = true
			}
		}
		q.wanted = score.Content(step.Action).And(all)
		t.questions = append(t.questions, q)
		seen = step.Observation
	}
}

// MeasureSet measures the rows on a set.
func MeasureSet(ctx context.Context, s Set, o Options) (Table, error) {
	if len(s.traces) < 3 && (needs(o.rows(), RefineOnly) || needs(o.rows(), evolvedRows...)) {
		return Table{}, fault.New(fault.InvalidArgument, "fewer than three traces leave none to learn from",
			"give more, or measure baselines that learn nothing")
	}
	return measure(ctx, s.Kind, s.traces, o)
}

// scored is F1 of an answer to q, 0–1; of a choice, whether it is the right one.
func (q question) scored(answer string) float64 {
	switch {
	case len(q.choices) > 0:
		if alfworld.Choose(answer, q.choices) == q.gold {
			return 1
		}
		return 0
	case q.parts:
		return score.F1Parts(answer, q.gold)
	case len(q.any) > 0:
		return score.F1Any(hotpotqa.Answer(answer), q.any)
	}
	return score.F1(answer, q.gold)
}

// success is the share of a trace's tasks of which every action was chosen right.
func (p played) success(t *trace) (rate float64, known bool) {
	failed := map[string]bool{}
	for i, q := range t.questions {
		if q.task != "" {
			failed[q.task] = failed[q.task] || p.asked[i].f1 < 1
		}
	}
	var done []bool
	for _, bad := range failed {
		done = append(done, !bad)
	}
	return score.Success(done)
}
