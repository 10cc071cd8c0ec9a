package distill

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// provenScore is the score from which a skill of a conversation with an unknown outcome can be active.
const provenScore = 7

// verdict returns how the conversation ended. What a person states counts more than the file.
func (j job) verdict() transcript.Verdict { return cmp.Or(j.spec.Outcome, j.conv.Verdict()) }

// findings checks a version before it is committed on the current one, which is the zero version for a
// new skill. head is nil for a new skill.
func (j job) findings(t distillation.Task, current, next skill.Version, head *skill.Head) []approval.Finding {
	out := review.Changes(current, next)
	out = append(out, review.Tools(current, next, j.said())...)
	out = append(out, j.residue(next)...)
	out = append(out, j.worth(t, head != nil)...)
	if c := t.Comparison; c != nil && head != nil && c.Base == head.Version &&
		c.SHA == fmt.Sprintf("%x", next.ContentSHA) {
		out = append(out, c.Findings()...)
	}
	if head != nil && head.Pinned {
		out = append(out, approval.NewFinding(review.Pinned, approval.Review, "", "",
			"the skill is pinned: only a person changes it"))
	}
	if origin := agent.Origin(current.Origin); origin == agent.OriginUser || origin == agent.OriginImport {
		out = append(out, approval.NewFinding(review.Unmanaged, approval.Review, "", "",
			"a person wrote the current version"))
	}
	for _, note := range t.Notes {
		if strings.HasPrefix(note, rejectedTarget) {
			out = append(out, approval.NewFinding(review.Target, approval.Note, "", "", note))
		}
	}
	return out
}

// Limits of the conversations with which an update is checked.
const (
	maxHeldOut      = 8
	heldOutMessages = 400 // of each
)

// heldOut returns conversations that a skill was learnt from before the run, except failed ones.
func heldOut(ctx context.Context, tx store.Tx, j job, id int64) (out [][]transcript.Message, err error) {
	conversations, err := tx.Skills().LearntFrom(ctx, id, j.run.Conversation, maxHeldOut)
	if err != nil {
		return nil, err
	}
	for _, conversation := range conversations {
		c, err := tx.Transcripts().Conversation(ctx, conversation, 0, heldOutMessages-1)
		if err != nil {
			return nil, err
		}
		if c.Verdict() != transcript.Failure { // the version that it made took effect
			out = append(out, c.Messages)
		}
	}
	return out, nil
}

// worth returns findings about the value of a draft: who wrote it, its score, and how its conversation
// ended.
func (j job) worth(t distillation.Task, update bool) (out []approval.Finding) {
	add := func(check, format string, args ...any) {
		out = append(out, approval.NewFinding(check, approval.Review, "", "", fmt.Sprintf(format, args...)))
	}
	if j.spec.Models["extract"] == llm.OfflineModel {
		add(review.Offline, "fixed rules wrote this draft, without a model")
	}
	switch {
	case t.Quality == nil && j.judged():
		add(review.Judge, "the judge gave no score")
	case t.Quality != nil && t.Quality.Score < j.spec.Limits.MinQuality:
		add(review.Judge, "the judge's score is %.3g, and %.3g are needed", t.Quality.Score, j.spec.Limits.MinQuality)
	}
	switch verdict := j.verdict(); {
	case verdict == transcript.Failure && update:
		add(review.Outcome, "the conversation failed; its lessons were not seen to work")
	case verdict == transcript.Unknown:
		if doubt := j.doubt(t); doubt != "" {
			add(review.Outcome, "the outcome of the conversation is not stated, and %s", doubt)
		}
	}
	return out
}

// doubt returns why the draft of a conversation with an unknown outcome needs a person, or "".
func (j job) doubt(t distillation.Task) string {
	_, seen := transcript.Observed(j.messages(t.Seqs))
	switch {
	case t.Verdict == string(transcript.Failure):
		return "the task seems to have failed"
	case !seen:
		return "it shows no passed test, no check of the result and no confirmation"
	case t.Quality != nil && t.Quality.Score < provenScore:
		return fmt.Sprintf("the judge's score %.3g is below %d", t.Quality.Score, provenScore)
	}
	return ""
}

// residue returns a finding for each part of a version that contains a secret or a value of the case.
func (j job) residue(v skill.Version) (out []approval.Finding) {
	texts, files := review.Texts(v)
	for _, part := range []map[string]string{texts, files} {
		for name, text := range part {
			if j.private.clean(text) != text {
				out = append(out, approval.NewFinding(review.Privacy, approval.Block, name, "",
					"contains a secret or a value of this case"))
			}
		}
	}
	return out
}

// said returns the text of the conversation and of its tool calls.
func (j job) said() string {
	var b strings.Builder
	for _, m := range slices.Concat(j.history, j.conv.Messages) {
		fmt.Fprintln(&b, m.Name, m.Content)
		for _, c := range m.ToolCalls {
			fmt.Fprintln(&b, c.Name, c.Arguments)
		}
	}
	return b.String()
}

// stateOf returns the state of a new skill with these findings.
func stateOf(findings []approval.Finding, asks bool) skill.Status {
	worst := approval.Worst(findings)
	switch {
	case worst == approval.Block:
		return skill.Candidate
	case review.Drafts(findings):
		return skill.DraftStatus
	case worst == approval.Review || asks:
		return skill.Candidate
	}
	return skill.Active
}
