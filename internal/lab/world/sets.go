package world

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/evaluation"
)

// Set contains traces of one public data set.
type Set struct {
	Kind    string
	LeftOut int // skipped questions whose evidence does not contain the answer
	traces  []*trace
}

// learnFrom is the number of training traces for rows that learn, in addition to the test traces.
const learnFrom = 7

// enough returns the first samples, as many as a measurement with the options uses.
func enough[T any](all []T, o Options) []T {
	n := o.Folds
	if needs(o.rows(), RefineOnly) || needs(o.rows(), evolvedRows...) {
		n += learnFrom
	}
	return all[:min(n, len(all))]
}

// LongMemEval returns a set with one history per question. Unanswerable questions are skipped, like
// in the published scores.
func LongMemEval(all []evaluation.LongMemEvalSample, o Options) (Set, error) {
	s := Set{Kind: "LongMemEval"}
	asked := slices.DeleteFunc(slices.Clone(all), evaluation.LongMemEvalSample.Unanswerable)
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

// HotpotQA returns a set with one list of paragraphs per question. Any correct answer is
// sufficient.
func HotpotQA(all []evaluation.HotpotQASample, o Options) (Set, error) {
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

// add adds a sample with one question. Without evidence, every message may contain the answer.
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
	for _, g := range gold { // the first one in the evidence; all are equally good
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
		return fault.New(fault.InvalidArgument, "no question has an answer in its evidence",
			"use a file with more questions, or raise --conversations")
	}
	return nil
}

// memoryShare is the share of the trajectories of a task type, the first ones, that are stored in
// memory. The others are replayed if they succeeded.
const memoryShare = 2.0 / 3

// ALFWorld returns a set with one memory per task type, built from its first trajectories. Later
// trajectories that succeeded are replayed without an environment: at each step, the action is
// chosen among those of the trajectory, given the last observation. A task succeeds if every choice
// is the recorded one.
func ALFWorld(all []evaluation.Trajectory, o Options) (Set, error) {
	s := Set{Kind: "ALFWorld"}
	var types []string
	byType := map[string][]evaluation.Trajectory{}
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
			"no task type has enough trajectories and a later success",
			"use at least three trajectories of one task type")
	}
	return s, nil
}

// replay asks for each action of a trajectory. The evidence of an action are the stored
// trajectories that contain it, or else all.
func (t *trace) replay(messages []transcript.Message, one evaluation.Trajectory) {
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
		all := evaluation.Bag{}
		for _, m := range with {
			p := passage{seq: m.Seq, text: m.Content, bag: evaluation.Content(m.Content)}
			q.evidence = append(q.evidence, p)
			for w := range p.bag {
				all[w] = true
			}
		}
		q.wanted = evaluation.Content(step.Action).And(all)
		t.questions = append(t.questions, q)
		seen = step.Observation
	}
}

// MeasureSet measures the rows on a set.
func MeasureSet(ctx context.Context, s Set, o Options) (Table, error) {
	if len(s.traces) < 3 && (needs(o.rows(), RefineOnly) || needs(o.rows(), evolvedRows...)) {
		return Table{}, fault.New(fault.InvalidArgument, "learning requires at least three traces",
			"use more traces, or measure only rows that do not learn")
	}
	return measure(ctx, s.Kind, s.traces, o)
}

// scored returns the F1 of an answer to q, 0 to 1. For a choice, it is 1 if the choice is correct,
// else 0.
func (q question) scored(answer string) float64 {
	switch {
	case len(q.choices) > 0:
		if evaluation.Choose(answer, q.choices) == q.gold {
			return 1
		}
		return 0
	case q.parts:
		return evaluation.F1Parts(answer, q.gold)
	case len(q.any) > 0:
		return evaluation.F1Any(evaluation.HotpotQAAnswer(answer), q.any)
	}
	return evaluation.F1(answer, q.gold)
}

// success returns the share of a trace's tasks whose actions were all chosen correctly.
func (p episodeResult) success(t *trace) (rate float64, known bool) {
	failed := map[string]bool{}
	for i, q := range t.questions {
		if q.task != "" {
			failed[q.task] = failed[q.task] || p.questions[i].f1 < 1
		}
	}
	var done []bool
	for _, bad := range failed {
		done = append(done, !bad)
	}
	return evaluation.Success(done)
}
