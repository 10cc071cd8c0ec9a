package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Limits of a probing run.
const (
	maxProbes        = 3     // per build
	maxTokens        = 2_000 // of the spans for the questions; the first span may be longer
	maxQuestionRunes = 300   // of a question
	maxAnswerRunes   = 200   // of its answer
	maxEvidence      = 4     // evidence messages per answer
	minGrounded      = 0.5   // minimum share of the answer's words in its evidence
	stepProbes       = "probes"
	problemText      = "the questions cannot be read: answer with one JSON object that has probes, " +
		"each with a question, its answer and its evidence"
)

// pair is a question with its answer, as returned by a model.
type pair struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Evidence []int  `json:"evidence"`
}

// Make generates questions from the spans of a build with a model, and returns their number. The
// model is called once, and the first stored questions are kept.
func (s *Probes) Make(ctx context.Context, ref run.Ref) (n int, err error) {
	var (
		spec      ProbeSpec
		stored    []learning.Probe
		left      int
		session   bank.Session
		decisions []learning.Decision
	)
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if spec, err = bank.DecodeReply[ProbeSpec](r); err != nil {
			return err
		}
		if stored, err = tx.Probes().ProbesOf(ctx, ref.Run); err != nil || len(stored) > 0 {
			return err
		}
		if left, err = s.room(ctx, tx); err != nil || left == 0 {
			return err
		}
		if decisions, err = tx.Decisions().Decisions(ctx, spec.Build); err != nil {
			return err
		}
		session, err = bank.ReadSession(ctx, tx, spec.Build)
		return err
	})
	if err != nil || len(stored) > 0 || left == 0 {
		return len(stored), err
	}
	spans := spansToAsk(session.Spans, decisions)
	if len(spans) == 0 {
		return 0, nil
	}
	material := prompt.Material{Language: spec.Lang, Limits: map[string]int{"max_probes": maxProbes}}
	for _, span := range spans {
		material.Messages = append(material.Messages, bank.Messages(span)...)
	}
	pairs, err := s.askForPairs(ctx, ref, spec, material)
	if err != nil {
		return 0, err
	}
	probes := checkPairs(pairs, material.Messages, session.Spans, decisions)
	for i := range probes {
		probes[i].Run, probes[i].Number, probes[i].Bank = ref.Run, i, spec.BankID
		probes[i].Conversation = session.Run.Conversation
	}
	return s.store(ctx, ref, probes)
}

// askForPairs asks a model for questions with answers.
func (s *Probes) askForPairs(ctx context.Context, ref run.Ref, spec ProbeSpec, m prompt.Material) (pairs []pair,
	err error) {
	_, _, err = bank.Ask(ctx, s.ports.Asker, spec.Model, ref, bank.Question{Step: stepProbes, Stage: prompt.Probe,
		Lang: spec.Lang, Material: m, Decode: func(text string) error {
			raw, err := llm.ExtractJSON(text)
			var reply struct {
				Probes []pair `json:"probes"`
			}
			if err != nil || json.Unmarshal(raw, &reply) != nil {
				return errors.New(problemText)
			}
			pairs = reply.Probes
			return nil
		}})
	return pairs, err
}

// store stores as many probes as the daily limit allows, unless another attempt has stored some. It
// returns their number.
func (s *Probes) store(ctx context.Context, ref run.Ref, probes []learning.Probe) (n int, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		n = 0
		if err := tx.Probes().LockProbes(ctx); err != nil {
			return err
		}
		// Another attempt was first.
		if stored, err := tx.Probes().ProbesOf(ctx, ref.Run); err != nil || len(stored) > 0 {
			n = len(stored)
			return err
		}
		left, err := s.room(ctx, tx)
		if err != nil {
			return err
		}
		n = min(len(probes), left)
		for _, p := range probes[:n] {
			if err := tx.Probes().PutProbe(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// room returns how many probes a run without probes may store today: the one that was reserved for
// it, and what is left of the limit.
func (s *Probes) room(ctx context.Context, tx store.Tx) (int, error) {
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil || perDay(chosen) == 0 {
		return 0, err
	}
	spent, err := tx.Probes().ProbesSpent(ctx)
	return max(0, perDay(chosen)-spent+1), err
}

// spansToAsk selects the spans for questions. Spans with a sampled choice come first, because only
// these can be learned from. Spans that no model processed are skipped. The selection is limited by
// maxTokens.
func spansToAsk(spans []executor.Span, made []learning.Decision) (out []executor.Span) {
	order := slices.DeleteFunc(slices.Clone(made), func(d learning.Decision) bool {
		return !d.Answered() ||
			d.Span >= len(spans)
	})
	slices.SortStableFunc(order, func(a, b learning.Decision) int {
		if a.Choice.Greedy != b.Choice.Greedy {
			return map[bool]int{false: -1, true: 1}[a.Choice.Greedy]
		}
		return cmp.Compare(a.Span, b.Span)
	})
	left := maxTokens
	for _, d := range order {
		if left -= llm.EstimateTokens(spans[d.Span].Text()); left < 0 && len(out) > 0 {
			break
		}
		out = append(out, spans[d.Span])
	}
	slices.SortFunc(out, func(a, b executor.Span) int { return cmp.Compare(a.Number, b.Number) })
	return out
}
