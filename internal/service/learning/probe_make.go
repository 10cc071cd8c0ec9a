package learning

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
)

// Bounds of a probing.
const (
	mostProbes    = 3     // of one build
	probeTokens   = 2_000 // of the spans that questions are made from, but for a first one that is longer
	probeRunes    = 300   // of a question
	probedRunes   = 200   // of its answer
	mostEvidence  = 4     // messages that an answer rests on
	wellGrounded  = 0.5   // share of an answer's words that its evidence must have
	probesStep    = "probes"
	probesProblem = "the questions cannot be read: answer with one JSON object that has probes, each with a question, its answer and its evidence"
)

// pair is a question with its answer, as a model makes it.
type pair struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Evidence []int  `json:"evidence"`
}

// MakeProbes has a model make questions from the spans of a build, and counts them.
// The call is paid once, and the first questions stay.
func (s *Service) MakeProbes(ctx context.Context, ref run.Ref) (n int, err error) {
	var (
		spec  ProbeSpec
		kept  []Probe
		left  int
		build run.Ref
		made  []Decision
	)
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if spec, err = specOf[ProbeSpec](r); err != nil {
			return err
		}
		if kept, err = tx.Probes().ProbesOf(ctx, ref.Run); err != nil {
			return err
		}
		if left, err = s.room(ctx, tx); err != nil {
			return err
		}
		build = run.Ref{Workspace: ref.Workspace, Run: spec.Build}
		made, err = tx.Decisions().Decisions(ctx, spec.Build)
		return err
	})
	if err != nil || len(kept) > 0 || left == 0 {
		return len(kept), err
	}
	j, err := s.job(ctx, build)
	if err != nil {
		return 0, err
	}
	spans := telling(j.spans, made)
	if len(spans) == 0 {
		return 0, nil
	}
	material := prompt.Material{Language: spec.Lang, Limits: map[string]int{"max_probes": mostProbes}}
	for _, span := range spans {
		material.Messages = append(material.Messages, messages(span)...)
	}
	var pairs []pair
	_, _, err = s.ask(ctx, ref, spec.Model, question{step: probesStep, stage: prompt.Probe, lang: spec.Lang, material: material, decode: func(text string) error {
		raw, err := llm.ExtractJSON(text)
		var reply struct {
			Probes []pair `json:"probes"`
		}
		if err != nil || json.Unmarshal(raw, &reply) != nil {
			return errors.New(probesProblem)
		}
		pairs = reply.Probes
		return nil
	}})
	if err != nil {
		return 0, err
	}
	probes := usable(pairs, material.Messages, j.spans, made)
	return n, s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if err := tx.Probes().LockProbes(ctx); err != nil {
			return err
		}
		if kept, err := tx.Probes().ProbesOf(ctx, ref.Run); err != nil || len(kept) > 0 { // another attempt was first
			n = len(kept)
			return err
		}
		left, err := s.room(ctx, tx)
		if err != nil {
			return err
		}
		n = min(len(probes), left)
		for i, p := range probes[:n] {
			p.Run, p.Number, p.Conversation, p.Bank = ref.Run, i, j.run.Conversation, spec.BankID
			if err := tx.Probes().PutProbe(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// room is how many probes the day leaves to a run that has made none: the one that it
// stands for, and what others leave.
func (s *Service) room(ctx context.Context, tx Tx) (int, error) {
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil || probing(chosen) == 0 {
		return 0, err
	}
	spent, err := tx.Probes().ProbesSpent(ctx)
	return max(0, probing(chosen)-spent+1), err
}

// telling are spans that questions are made from: those whose choice was drawn before
// the others, as they alone can be learnt from, and of a few pages together. A span
// that no model went through is not asked about.
func telling(spans []executor.Span, made []Decision) (out []executor.Span) {
	order := slices.DeleteFunc(slices.Clone(made), func(d Decision) bool { return !answered(d) || d.Span >= len(spans) })
	slices.SortStableFunc(order, func(a, b Decision) int {
		if a.Choice.Greedy != b.Choice.Greedy {
			return map[bool]int{false: -1, true: 1}[a.Choice.Greedy]
		}
		return cmp.Compare(a.Span, b.Span)
	})
	left := probeTokens
	for _, d := range order {
		if left -= llm.EstimateTokens(spans[d.Span].Text()); left < 0 && len(out) > 0 {
			break
		}
		out = append(out, spans[d.Span])
	}
	slices.SortFunc(out, func(a, b executor.Span) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// usable are the questions that can be asked: short, about messages that were shown,
// with an answer that these messages have and the question has not, and without
// anything that would steer a model. What a transcript made a model say is not trusted.
func usable(pairs []pair, shown []prompt.Message, spans []executor.Span, made []Decision) (out []Probe) {
	said := map[int]string{}
	for _, m := range shown {
		said[m.Index] += m.Content + "\n"
	}
	for _, one := range pairs {
		p := Probe{Question: strings.TrimSpace(one.Question), Answer: strings.TrimSpace(one.Answer), State: ProbeOpen}
		var grounds []string
		for _, seq := range one.Evidence {
			if text, there := said[seq]; there && !slices.Contains(p.Evidence, seq) && len(p.Evidence) < mostEvidence {
				p.Evidence, grounds = append(p.Evidence, seq), append(grounds, text)
			}
		}
		slices.Sort(p.Evidence)
		p.Decisions = behindMessages(p.Evidence, spans, made)
		switch {
		case len(out) == mostProbes:
			return out
		case p.Question == "" || len([]rune(p.Question)) > probeRunes || len([]rune(p.Answer)) > probedRunes:
		case len(p.Decisions) == 0 || recall([]string{p.Answer}, strings.Join(grounds, "\n")) < wellGrounded:
		case !tells(p) || len(guard.Scan(p.Question+"\n"+p.Answer, guard.Context)) > 0:
		case slices.ContainsFunc(out, func(o Probe) bool { return KeyOf(o.Question) == KeyOf(p.Question) }):
		default:
			out = append(out, p)
		}
	}
	return out
}

// tells is false of an answer that says nothing which the question does not.
func tells(p Probe) bool {
	asked := lexical.Words(p.Question)
	return slices.ContainsFunc(lexical.Words(p.Answer), func(w string) bool { return !lexical.IsStopword(w) && !slices.Contains(asked, w) })
}

// behindMessages are the decisions of the spans that have some of these messages.
func behindMessages(seqs []int, spans []executor.Span, made []Decision) (out []string) {
	for _, d := range made {
		i := slices.IndexFunc(spans, func(s executor.Span) bool { return s.Number == d.Span })
		if i >= 0 && slices.ContainsFunc(spans[i].Parts, func(p executor.Part) bool { return slices.Contains(seqs, p.Seq) }) {
			out = append(out, d.ID)
		}
	}
	return out
}
