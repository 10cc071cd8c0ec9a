package memoryskill

import (
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/prompt"
)

// Prompts are the prompts that a bank has instead of the built-in ones, by InstructionKey. They
// belong to a version of the bank.
type Prompts map[string]string

// With returns a copy with a prompt. An empty text restores the built-in prompt.
func (p Prompts) With(stage prompt.Stage, lang, text string) (Prompts, error) {
	out := maps.Clone(p)
	if out == nil {
		out = Prompts{}
	}
	if text == "" {
		if _, err := prompt.Template(stage, lang); err != nil {
			return p, err
		}
		delete(out, InstructionKey(stage, lang))
		return out, nil
	}
	text, err := prompt.CheckTemplate(stage, lang, text)
	if err != nil {
		return p, err
	}
	out[InstructionKey(stage, lang)] = text
	return out, nil
}

// Check returns the error of the first invalid prompt.
func (p Prompts) Check() error {
	for _, key := range slices.Sorted(maps.Keys(p)) {
		stage, lang, _ := strings.Cut(key, ".")
		text, err := prompt.CheckTemplate(prompt.Stage(stage), lang, p[key])
		if err != nil {
			return err
		}
		if text != p[key] {
			return fault.Newf(fault.InvalidArgument, "the prompt %s is not normalized", key)
		}
	}
	return nil
}

func languageOf(key string) string {
	_, lang, _ := strings.Cut(key, ".")
	return lang
}

// PromptDifference is the change of one prompt between two versions of a bank. An empty text means
// the built-in prompt.
type PromptDifference struct {
	Name   string `json:"name"` // stage.language
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// PromptDifferences returns the changes between two versions, by name.
func PromptDifferences(from, to Prompts) []PromptDifference {
	all := maps.Clone(from)
	if all == nil {
		all = Prompts{}
	}
	maps.Copy(all, to)
	var out []PromptDifference
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if from[name] != to[name] {
			out = append(out, PromptDifference{Name: name, Before: from[name], After: to[name]})
		}
	}
	return out
}
