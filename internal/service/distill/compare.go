package distill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// Results of a comparison.
const (
	NoVerdict = "" // no usable answer, or the answers follow the place and not the text
)

// needsComparison reports whether a package is to be compared before its commit: it would change an active
// skill at once.
func (j job) needsComparison(t distillation.Task, p distillation.Package) bool {
	return j.judged() && p.Active && !p.Staged && !p.Same && !t.Comparison.Covers(p)
}

// Compare asks a model which version is better, the one in force or the packaged one, without saying which is
// which. It asks twice, in both orders, because models prefer one place. The result is stored with the task. If
// the model returns none, the task gets a note, and the update needs a person.
func (s *Service) Compare(ctx context.Context, in contract.TaskRef) error {
	var current skill.Version
	j, t, err := s.loadTask(ctx, in.Ref(), in.Task, func(ctx context.Context, tx store.Tx, _ job,
		t distillation.Task) (err error) {
		if t.Package == nil || t.Stage == distillation.EndedTask {
			return nil
		}
		current, err = tx.Skills().Version(ctx, t.Package.Skill, t.Package.Base)
		return err
	})
	if err != nil || t.Stage == distillation.EndedTask {
		return err
	}
	if t.Package == nil {
		return fmt.Errorf("compare task %s: no package", in.Task)
	}
	if t.Comparison.Covers(*t.Package) {
		return nil
	}
	out, err := s.compare(ctx, j, t, current)
	var notes []string
	if f, over := ledger.IsPermanent(err); over {
		notes = []string{"not compared: " + f.Error()}
		out.Reason = f.Error()
	} else if err != nil {
		return err
	}
	t.Comparison = &out
	return s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Tasks().SaveComparison(ctx, t, notes)
	})
}

// compare asks in both orders.
func (s *Service) compare(ctx context.Context, j job, t distillation.Task,
	current skill.Version) (out distillation.Comparison, err error) {
	out = distillation.Comparison{Base: t.Package.Base, SHA: distillation.ContentOf(*t.Package)}
	shown := []prompt.Candidate{showDocument(current.Document()), showDocument(t.Package.Version.Document())}
	var better, reasons [2]string
	for order := range better {
		first, second := shown[order], shown[1-order]
		first.Handle, second.Handle = "a", "b"
		q := question{step: fmt.Sprintf("%s/compare/%d-%.8s/%d", t.Key, out.Base, out.SHA, order+1),
			stage: prompt.Compare, role: "compare", task: t.Key, lang: t.Lang,
			material: prompt.Material{Task: t.Name, Candidates: []prompt.Candidate{first, second},
				Messages: j.excerpts(t), Language: t.Lang},
			decode: func(text string) (err error) {
				better[order], reasons[order], err = readComparison(text, order)
				return err
			}}
		if err := s.ask(ctx, j, q); err != nil {
			return out, err
		}
	}
	out.Better, out.Reason = better[0], j.private.clean(reasons[0])
	switch {
	case better[0] == better[1]:
	case better[0] == distillation.BetterNone || better[1] == distillation.BetterNone:
		out.Better = distillation.BetterNone
	default:
		out.Better, out.Reason = NoVerdict, "it prefers the same place in both orders"
	}
	return out, nil
}

// maxComparison limits the reason of a comparison, in characters.
const maxComparison = 500

// readComparison reads a reply about the versions in an order: 0 if the current one is a, 1 if it is b.
func readComparison(text string, order int) (better, reason string, err error) {
	raw, err := llm.ExtractJSON(text)
	if err != nil {
		return "", "", err
	}
	var in struct{ Better, Reason string }
	if err := json.Unmarshal(raw, &in); err != nil {
		return "", "", fault.Wrap(err, fault.ModelInvalid, "the reply is not an object with reason and better", "")
	}
	versions := []string{distillation.BetterCurrent, distillation.BetterNew}
	reason = strings.Join(strings.Fields(in.Reason), " ")
	if runes := []rune(reason); len(runes) > maxComparison {
		reason = string(runes[:maxComparison]) + "…"
	}
	switch strings.ToLower(strings.TrimSpace(in.Better)) {
	case "a":
		return versions[order], reason, nil
	case "b":
		return versions[1-order], reason, nil
	case "tie":
		return distillation.BetterNone, reason, nil
	}
	return "", "", errors.New("better must be a, b or tie")
}
