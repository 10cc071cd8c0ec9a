package learning

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
)

// How a round of the designer asks.
const (
	critiques = 2 // of the analysis, after the first
	attempts  = 3 // at a proposal that may be applied
)

// designing is what a round of the designer works on.
type designing struct {
	ref    run.Ref
	step   string
	model  Model
	lang   string
	recipe memoryskill.Recipe
	bank   memoryskill.Bank
	mined  []Mined
	failed []string // edits that made nothing better
	stats  map[string]memoryskill.Stats
	beat   func()
}

// mine chooses the cases of a round and tells of each which step lost its answer.
// items are what the memory of a conversation holds.
func (s *Service) mine(ctx context.Context, cases []Case, traces map[int64]Trace, items func(Case) []string, retrieved func(Case) []string, recipe memoryskill.Recipe) ([]Mined, error) {
	var hard []designer.Case
	var texts []string
	by := map[string]Case{}
	for _, c := range cases {
		t := traces[c.Conversation]
		hard, texts, by[c.Key] = append(hard, c.Hard(fmt.Sprint(c.Conversation), t.evidence(c), retrieved(c))), append(texts, c.Question), c
	}
	found, err := s.embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	vectors := map[string][]float64{}
	for i, c := range hard {
		vectors[c.Key()] = policy.Fold(found[i], s.Embedder.Dims())
	}
	mining := designer.DefaultMining()
	mining.Difficulty = recipe.Difficulty
	chosen, err := designer.Mine(hard, vectors, mining)
	if err != nil {
		return nil, err
	}
	var out []Mined
	for _, r := range chosen {
		c := by[r.Key()]
		view := designer.View{Bank: items(c)}
		for _, span := range traces[c.Conversation].Spans {
			view.Trace = append(view.Trace, span.Text())
		}
		out = append(out, Mined{Handle: fmt.Sprintf("c%d", len(out)), Case: c.ID, Cluster: r.Cluster, Difficulty: r.Difficulty, Mechanism: designer.Label(r.Case, view), Question: r.Question, Gold: r.Gold,
			Prediction: r.Prediction, Retrieved: r.Retrieved, Evidence: r.Evidence})
	}
	return out, nil
}

// material is what both questions of a round show. What users said is cleaned of
// secrets: it goes to a model as data.
func (d designing) material() (prompt.Material, error) {
	redact := guard.NewRedactor(guard.Options{})
	clean := func(texts []string) (out []string) {
		for _, t := range texts {
			t, _ = redact.Redact(t)
			out = append(out, t)
		}
		return out
	}
	shown := append([]Mined(nil), d.mined...)
	for i := range shown {
		m := &shown[i]
		m.Gold, m.Retrieved, m.Evidence = clean(m.Gold), clean(m.Retrieved), clean(m.Evidence)
		m.Question, m.Prediction = clean([]string{m.Question})[0], clean([]string{m.Prediction})[0]
	}
	raw, err := json.Marshal(shown)
	var skills []memoryskill.Skill
	for _, v := range d.bank.Versions() {
		skills = append(skills, v.Skill)
	}
	return prompt.Material{Bank: shownSkills(skills), Cases: raw, Failed: d.failed, Limits: map[string]int{"max_changes": d.recipe.Edits}, Language: d.lang}, err
}

// diagnose has the cases analysed, and the analysis criticised.
func (s *Service) diagnose(ctx context.Context, d designing) (out *Analysis, err error) {
	m, err := d.material()
	if err != nil {
		return nil, err
	}
	for n := range 1 + critiques {
		d.beat()
		_, problem, err := s.ask(ctx, d.ref, d.model, question{step: fmt.Sprintf("%s/diagnose/%d", d.step, n), stage: prompt.Diagnose, lang: d.lang, material: m, decode: func(text string) error {
			raw, err := llm.ExtractJSON(text)
			if err != nil {
				return err
			}
			var a Analysis
			if err := json.Unmarshal(raw, &a); err != nil {
				return err
			}
			out, m.Analysis = &a, raw
			return nil
		}})
		if err != nil {
			return nil, err
		}
		if problem != nil && out == nil {
			return nil, fmt.Errorf("the analysis cannot be read: %w", problem)
		}
	}
	return out, nil
}

// propose asks for edits until some can be applied. What was wrong with the last
// ones is sent back, and the temperature rises, or the same would come again.
func (s *Service) propose(ctx context.Context, d designing, a *Analysis) (*designer.Proposal, *Candidate, error) {
	m, err := d.material()
	if err != nil {
		return nil, nil, err
	}
	if m.Analysis, err = json.Marshal(a); err != nil {
		return nil, nil, err
	}
	for n := range attempts {
		d.beat()
		var p designer.Proposal
		_, problem, err := s.ask(ctx, d.ref, d.model, question{step: fmt.Sprintf("%s/propose/%d", d.step, n), stage: prompt.Propose, lang: d.lang, material: m, heat: 0.3 * float64(n), decode: func(text string) (err error) {
			p, err = proposal(text)
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
		rules, err := s.rules(ctx, d, p)
		if err != nil {
			return nil, nil, err
		}
		round, problems := designer.Apply(d.bank, p, rules)
		if len(problems) == 0 {
			return &p, &Candidate{Members: round.Bank.Versions(), Capacity: round.Bank.Capacity(), Fresh: memoryskill.Fresh(round.Changes, d.recipe.AddedOnly), Changes: round.Changes, Evicted: round.Evicted, Warnings: round.Warnings}, nil
		}
		m.Problems = nil
		for _, one := range problems {
			m.Problems = append(m.Problems, fmt.Sprintf("change %d: %s: %s; %s", one.Change, one.Code, one.Message, one.Hint))
		}
	}
	return nil, nil, nil
}

// proposal reads a reply strictly. Whether there is anything to apply is seen, not
// asked.
func proposal(text string) (p designer.Proposal, err error) {
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
	for i := range p.Changes { // null and "" are the same to a schema that wants every member
		p.Changes[i].Name = strings.TrimSpace(p.Changes[i].Name)
	}
	return p, err
}

// rules let near-duplicates be seen, and a full bank give up its least useful skill.
func (s *Service) rules(ctx context.Context, d designing, p designer.Proposal) (designer.Rules, error) {
	out := designer.Rules{Edits: d.recipe.Edits, Origin: fmt.Sprintf("run/%d", d.ref.Run), Stats: d.stats, Added: map[string][]float64{}, Vectors: map[string][]float64{}}
	var texts, names, ids []string
	for _, c := range p.Changes {
		if c.Skill != nil {
			texts, names = append(texts, c.Skill.Description), append(names, c.Skill.Normalised().Name)
		}
	}
	for _, v := range d.bank.Versions() {
		texts, ids = append(texts, v.Skill.Description), append(ids, v.ID)
	}
	vectors, err := s.embed(ctx, texts)
	if err != nil {
		return out, err
	}
	for i, v := range vectors {
		if i < len(names) {
			out.Added[names[i]] = policy.Fold(v, s.Embedder.Dims())
		} else {
			out.Vectors[ids[i-len(names)]] = policy.Fold(v, s.Embedder.Dims())
		}
	}
	return out, nil
}

// edits is a candidate in words, for those who are not to try it again.
func edits(c *Candidate) string { return designer.Describe(c.Changes) }
