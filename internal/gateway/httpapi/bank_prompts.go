package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/access"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/learning/bank"
)

type (
	// BankPrompt is a prompt that a bank can replace.
	BankPrompt bank.Prompt
	// PromptDiff is the change of one prompt between two versions of a bank.
	PromptDiff memoryskill.PromptDifference
	// SkillDecision is one live choice of memory skills.
	SkillDecision learning.ConversationView
)

// BankPromptList holds the prompts that a bank can replace.
type BankPromptList struct {
	Prompts []BankPrompt `json:"prompts"`
}

// SkillDecisionList is a page of the live choices of a bank, the latest first.
type SkillDecisionList struct {
	Decisions  []SkillDecision `json:"decisions"`
	NextCursor string          `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// BankPromptPath names a prompt of a bank.
type BankPromptPath struct {
	BankPath
	Stage string `path:"stage" maxLength:"40" doc:"remember (executor), recite (answers), diagnose or propose (designer), grade (judge)"`
}

func (g *Gateway) bankPromptRoutes() {
	handle(g, route{
		method:  http.MethodGet,
		path:    "/v1/banks/{name}/decisions",
		id:      "listSkillDecisions",
		tag:     tagBanks,
		scope:   access.Read,
		summary: "List the live choices of memory skills, the latest first",
		about: "A sampled choice was drawn from the probabilities of the policy; propensity is the probability of " +
			"these skills in any order. Other choices are greedy: their propensity is 1.",
	}, g.listSkillDecisions)
	handle(g, route{method: http.MethodGet, path: "/v1/banks/{name}/prompts", id: "listBankPrompts", tag: tagBanks,
		scope: access.Read, summary: "List the prompts of a bank",
		about: "Shows each prompt that a bank can replace, with its own or the built-in text."}, g.listBankPrompts)
	handle(
		g,
		route{
			method:  http.MethodPut,
			path:    "/v1/banks/{name}/prompts/{stage}",
			id:      "setBankPrompt",
			tag:     tagBanks,
			scope:   access.Admin,
			bytes:   smallBody,
			summary: "Replace a prompt of a bank",
			about: "Creates a version of the bank. The text keeps the placeholders {{material}}, {{language}} and " +
				"{{reply}} of the built-in text, and has at most 8,000 characters. The same text again changes " +
				"nothing. Runs that have started keep their prompts.",
		},
		g.setBankPrompt,
	)
	handle(g, route{method: http.MethodDelete, path: "/v1/banks/{name}/prompts/{stage}", id: "resetBankPrompt",
		tag: tagBanks, scope: access.Admin, summary: "Restore the built-in prompt of a bank",
		about: "Creates a version of the bank, unless it has the built-in prompt already."}, g.resetBankPrompt)
}

func (g *Gateway) listSkillDecisions(ctx context.Context, in *BankPage) (*bodyOf[SkillDecisionList], error) {
	decisions, next, err := g.Learning.Builds.Decisions(ctx, workspace(ctx), in.Name, in.Cursor, in.Limit)
	out := &bodyOf[SkillDecisionList]{SkillDecisionList{Decisions: []SkillDecision{}, NextCursor: next}}
	for _, d := range decisions {
		out.Body.Decisions = append(out.Body.Decisions, SkillDecision(d))
	}
	return out, err
}

func (g *Gateway) listBankPrompts(ctx context.Context, in *BankAt) (*bodyOf[BankPromptList], error) {
	prompts, err := g.Learning.Banks.Prompts(ctx, workspace(ctx), in.Name, in.Version)
	out := &bodyOf[BankPromptList]{BankPromptList{Prompts: []BankPrompt{}}}
	for _, p := range prompts {
		out.Body.Prompts = append(out.Body.Prompts, BankPrompt(p))
	}
	return out, err
}

func (g *Gateway) setBankPrompt(ctx context.Context, in *struct {
	BankPromptPath
	Body struct {
		Language string `json:"language,omitempty" enum:"en,zh" default:"en"`
		Text     string `json:"text" minLength:"1"`
	}
}) (*bodyOf[BankDetail], error) {
	return shownBank(g.Learning.Banks.SetPrompt(ctx, workspace(ctx), in.Name, prompt.Stage(in.Stage), in.Body.Language,
		in.Body.Text))
}

func (g *Gateway) resetBankPrompt(ctx context.Context, in *struct {
	BankPromptPath
	Language string `query:"language" enum:"en,zh" default:"en"`
}) (*bodyOf[BankDetail], error) {
	return shownBank(g.Learning.Banks.SetPrompt(ctx, workspace(ctx), in.Name, prompt.Stage(in.Stage), in.Language, ""))
}
