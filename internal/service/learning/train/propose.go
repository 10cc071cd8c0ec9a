package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/learning/bank"
)

// Propose asks for edits until one proposal can be applied. Each further request contains the
// problems of the previous reply and has a higher temperature, so that the model does not repeat
// it.
func (s Designer) Propose(ctx context.Context, d DesignInput, a *learning.Analysis) (*designer.Proposal,
	*learning.BankCandidate, error) {
	m, err := material(d)
	if err != nil {
		return nil, nil, err
	}
	if m.Analysis, err = json.Marshal(a); err != nil {
		return nil, nil, err
	}
	if d.RefineOnly {
		m.Problems = []string{onlyRefine}
	}
	for n := range attempts {
		var p designer.Proposal
		_, problem, err := bank.Ask(ctx, s.Asker, d.Model, d.Ref,
			bank.Question{Step: fmt.Sprintf("%s/propose/%d", d.Step, n),
				Stage: prompt.Propose, Lang: d.Lang, Material: m, Temperature: 0.3 * float64(n),
				Decode: func(text string) (err error) {
					p, err = decodeProposal(text)
					return err
				}})
		if err != nil {
			return nil, nil, err
		}
		if problem == nil && p.Action == designer.NoChange {
			return &p, nil, nil
		}
		if problem != nil {
			m.Problems = []string{problem.Error()}
			continue
		}
		if d.RefineOnly && !refines(p) {
			m.Problems = []string{onlyRefine}
			continue
		}
		rules, err := s.rules(ctx, d, p)
		if err != nil {
			return nil, nil, err
		}
		round, problems := designer.Apply(d.Bank, p, rules)
		if len(problems) == 0 {
			return &p, &learning.BankCandidate{Members: round.Bank.Versions(), Capacity: round.Bank.Capacity(),
				Fresh: memoryskill.Fresh(round.Changes, d.Recipe.AddedOnly), Changes: round.Changes,
				Evicted: round.Evicted, Warnings: round.Warnings}, nil
		}
		m.Problems = nil
		for _, one := range problems {
			m.Problems = append(m.Problems, fmt.Sprintf("change %d: %s: %s; %s", one.Change, one.Code, one.Message,
				one.Hint))
		}
	}
	return nil, nil, nil
}

const onlyRefine = "only changes with the action " + designer.RefineExisting + " are allowed"

// refines reports whether all changes of a proposal refine a skill.
func refines(p designer.Proposal) bool {
	return !slices.ContainsFunc(p.Changes, func(c designer.Change) bool { return c.Action != designer.RefineExisting })
}

// decodeProposal parses a reply strictly. An empty list of changes means that there is nothing to
// apply.
func decodeProposal(text string) (p designer.Proposal, err error) {
	raw, err := llm.ExtractJSON(text)
	if err != nil {
		return p, err
	}
	var reply struct {
		Summary string            `json:"summary"`
		Changes []json.RawMessage `json:"changes"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&reply); err != nil {
		return p, errors.New("the proposal cannot be read: " + err.Error())
	}
	action := designer.ApplyChanges
	if len(reply.Changes) == 0 {
		action = designer.NoChange
	}
	whole, err := json.Marshal(map[string]any{"action": action, "summary": reply.Summary, "changes": reply.Changes})
	if err != nil {
		return p, err
	}
	p, err = designer.Decode(whole)
	for i := range p.Changes { // the schema requires every member, so null and "" are equal
		p.Changes[i].Name = strings.TrimSpace(p.Changes[i].Name)
	}
	return p, err
}

// rules returns the rules of a proposal, which detect near-duplicates and let a full bank evict its
// least useful skill.
func (s Designer) rules(ctx context.Context, d DesignInput, p designer.Proposal) (designer.Rules, error) {
	out := designer.Rules{Edits: d.Recipe.Edits, Origin: fmt.Sprintf("run/%s", d.Ref.Run), Stats: d.Stats,
		Added: map[string][]float64{}, Vectors: map[string][]float64{}}
	var texts, names, ids []string
	for _, c := range p.Changes {
		if c.Skill != nil {
			texts, names = append(texts, c.Skill.Description), append(names, c.Skill.Normalized().Name)
		}
	}
	for _, v := range d.Bank.Versions() {
		texts, ids = append(texts, v.Skill.Description), append(ids, v.ID)
	}
	vectors, err := s.Encoder.Embed(ctx, texts)
	if err != nil {
		return out, err
	}
	for i, v := range vectors {
		if i < len(names) {
			out.Added[names[i]] = policy.Fold(v, s.Encoder.Embedder.Dims())
		} else {
			out.Vectors[ids[i-len(names)]] = policy.Fold(v, s.Encoder.Embedder.Dims())
		}
	}
	return out, nil
}
