package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
)

// findingsShare is the part of the context that the findings of a task may take, in percent.
const findingsShare = 40

// findings asks for notes of each part of a task that is longer than a window.
func (s *Service) findings(ctx context.Context, j job, t distillation.Task, views []view) ([]prompt.Finding, error) {
	var all []prompt.Finding
	for i, v := range views {
		var found []prompt.Finding
		err := s.ask(ctx, j, question{step: windowStep(t.Key+"/notes", i), stage: prompt.Notes, role: "notes",
			task: t.Key, lang: t.Lang, view: v,
			material: prompt.Material{Task: t.Name, Question: t.Query, Language: t.Lang},
			decode: func(text string) (err error) {
				found, err = decodeFindings(text, t.Seqs)
				return err
			}})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	limit := j.spec.Limits.context() * findingsShare / 100
	for chars := 1000; findingTokens(all) > limit && chars > 0; chars /= 2 {
		for i := range all {
			all[i].Text = transcript.Clip(all[i].Text, chars)
		}
	}
	return all, nil
}

func findingTokens(all []prompt.Finding) (n int) {
	for _, f := range all {
		n += messageTokens + lang.MaxTokens(f.Text) + 2*len(f.Evidence)
	}
	return n
}

// decodeFindings reads notes. Citations of messages outside the task are left out. The error is written for
// the model.
func decodeFindings(text string, seqs []int) ([]prompt.Finding, error) {
	raw, err := llm.ExtractJSON(text)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Findings []struct {
			Text     string `json:"text"`
			Evidence []int  `json:"evidence"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return nil, fmt.Errorf("the reply must be an object with findings of text and evidence: %w", err)
	}
	var out []prompt.Finding
	for _, f := range reply.Findings {
		if strings.TrimSpace(f.Text) == "" {
			continue
		}
		cited := slices.DeleteFunc(f.Evidence, func(seq int) bool { return !slices.Contains(seqs, seq) })
		out = append(out, prompt.Finding{Text: f.Text, Evidence: append([]int{}, cited...)})
	}
	return out, nil
}
