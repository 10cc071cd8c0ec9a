package design

import (
	"encoding/json"
	"strings"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/learning/extraction"
	"cairn/internal/service/learning/runspec"
)

// MinedCase is a selected case with the computed cause of its failure.
type MinedCase struct {
	Handle     string             `json:"handle"`
	Case       int64              `json:"case"`
	Cluster    int                `json:"cluster"`
	Difficulty float64            `json:"difficulty"`
	Mechanism  designer.Mechanism `json:"mechanism"`
	Question   string             `json:"question"`
	Gold       []string           `json:"gold,omitempty"`
	Prediction string             `json:"prediction,omitempty"`
	Retrieved  []string           `json:"retrieved,omitempty"` // texts
	Evidence   []string           `json:"evidence,omitempty"`  // texts
}

// Candidate is the bank that results from a proposal.
type Candidate struct {
	Members  []memoryskill.Version    `json:"members"`
	Capacity int                      `json:"capacity"`
	Fresh    []string                 `json:"fresh"`
	Changes  []memoryskill.Difference `json:"changes"`
	Evicted  []string                 `json:"evicted,omitempty"`
	Warnings []memoryskill.Warning    `json:"warnings,omitempty"`
}

// Bank returns the candidate as a bank.
func (c Candidate) Bank() (memoryskill.Bank, error) {
	return memoryskill.NewBank(c.Capacity, c.Members...)
}

// Analysis is a model's analysis of the cases.
type Analysis struct {
	Patterns []struct {
		Name        string   `json:"pattern_name"`
		Cases       []string `json:"affected_cases"`
		Cause       string   `json:"root_cause"`
		Explanation string   `json:"explanation"`
		Fix         string   `json:"potential_fix"`
	} `json:"failure_patterns"`
	Recommendations []struct {
		Action    string  `json:"action"`
		Target    *string `json:"target_operation"`
		Rationale string  `json:"rationale"`
		Priority  string  `json:"priority"`
	} `json:"recommendations"`
	Summary string `json:"summary"`
}

// Input is the input of a designer round.
type Input struct {
	Ref    run.Ref
	Step   string // prefix of its ledger keys
	Model  runspec.Model
	Lang   string
	Recipe memoryskill.Recipe
	Bank   memoryskill.Bank
	Cases  []MinedCase
	Failed []string // edits that brought no improvement
	Stats  map[string]memoryskill.Stats
	// RefineOnly rejects proposals that add skills.
	RefineOnly bool
}

// material returns the prompt material that both questions of a round share. Secrets are removed
// from user text.
func (d Input) material() (prompt.Material, error) {
	redact := guard.NewRedactor(guard.Options{})
	clean := func(texts []string) (out []string) {
		for _, t := range texts {
			t, _ = redact.Redact(t)
			out = append(out, t)
		}
		return out
	}
	shown := append([]MinedCase(nil), d.Cases...)
	for i := range shown {
		m := &shown[i]
		m.Gold, m.Retrieved, m.Evidence = clean(m.Gold), clean(m.Retrieved), clean(m.Evidence)
		m.Question, m.Prediction = clean([]string{m.Question})[0], clean([]string{m.Prediction})[0]
	}
	raw, err := json.Marshal(shown)
	var skills []memoryskill.Skill
	for _, v := range d.Bank.Versions() {
		skills = append(skills, v.Skill)
	}
	return prompt.Material{Bank: extraction.ShownSkills(skills), Cases: raw, Failed: d.Failed,
		Limits: map[string]int{"max_changes": d.Recipe.Edits}, Language: d.Lang}, err
}

// Language returns the language of most cases.
func Language(cases []MinedCase) string {
	var messages []transcript.Message
	for _, c := range cases {
		messages = append(messages, transcript.Message{Role: transcript.User,
			Content: strings.Join(append([]string{c.Question}, c.Gold...), " ")})
	}
	return runspec.Language(messages)
}
