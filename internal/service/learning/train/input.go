package train

import (
	"encoding/json"
	"strings"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/learning/bank"
)

type (
	// DesignInput is the input of a designer round.
	DesignInput = designer.Input
)

// material returns the prompt material that both questions of a round share. Secrets are removed
// from user text.
func material(d DesignInput) (prompt.Material, error) {
	redact := guard.NewRedactor(guard.Options{})
	clean := func(texts []string) (out []string) {
		for _, t := range texts {
			t, _ = redact.Redact(t)
			out = append(out, t)
		}
		return out
	}
	shown := append([]learning.MinedCase(nil), d.Cases...)
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
	return prompt.Material{Bank: bank.ShownSkills(skills), Cases: raw, Failed: d.Failed,
		Limits: map[string]int{"max_changes": d.Recipe.Edits}, Language: d.Lang}, err
}

// DesignLanguage returns the language of most cases.
func DesignLanguage(cases []learning.MinedCase) string {
	var messages []transcript.Message
	for _, c := range cases {
		messages = append(messages, transcript.Message{Role: transcript.User,
			Content: strings.Join(append([]string{c.Question}, c.Gold...), " ")})
	}
	return bank.LanguageOf(messages)
}
