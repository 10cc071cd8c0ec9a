package memoryskill

import (
	"fmt"
	"maps"

	"cairn/internal/domain/prompt"
)

// Model configures the model calls of a run.
type Model struct {
	Name         string            `json:"name"`
	Instructions map[string]string `json:"instructions"` // rendered system messages, by InstructionKey
	Repairs      int               `json:"repairs"`      // maximum number of retries after an invalid reply
}

var stages = []prompt.Stage{prompt.Remember, prompt.Recite, prompt.Diagnose, prompt.Propose, prompt.Grade,
	prompt.Probe}

// InstructionKey returns the key of the instructions of a stage in a language: "stage.language".
func InstructionKey(stage prompt.Stage, lang string) string { return string(stage) + "." + lang }

// WithInstructions renders the system messages. The prompts of a bank replace the built-in ones.
func (m Model) WithInstructions(own ...Prompts) (Model, error) {
	m.Instructions = map[string]string{}
	for _, stage := range stages {
		for _, lang := range prompt.Languages {
			text, err := prompt.Instructions(stage, lang)
			if err != nil {
				return m, fmt.Errorf("render the instructions of %s in %s: %w", stage, lang, err)
			}
			m.Instructions[InstructionKey(stage, lang)] = text
		}
	}
	for _, prompts := range own {
		m = m.With(prompts)
	}
	return m, nil
}

// With returns the model with the prompts of a bank instead of the built-in ones.
func (m Model) With(own Prompts) Model {
	m.Instructions = maps.Clone(m.Instructions)
	for key, text := range own {
		m.Instructions[key] = prompt.Expand(text, languageOf(key))
	}
	return m
}
