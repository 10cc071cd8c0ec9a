package library

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// indexed is the search document of a version, and the existing skills that are similar to it.
type indexed struct {
	text   string
	vector search.Vector
	meant  []Similar
}

// settle stores the decision in the transaction of the operation.
func (l *Library) settle(ctx context.Context, tx store.Tx, a agent.Actor, s Settings, f facts, p plan, d decision,
	x indexed) (out EditResult, err error) {
	now, err := readFacts(ctx, tx, a, p.version.Name)
	if err != nil {
		return out, err
	}
	if !f.hold(now) {
		return out, errMoved
	}
	if err := withinRates(ctx, tx, a, s); err != nil {
		return out, err
	}
	out = EditResult{Action: p.action, Name: p.version.Name, Notes: p.notes, Edit: p.edit}
	switch {
	case !f.found:
		err = l.settleNew(ctx, tx, a, s, p, d, x, &out)
	case d.staged:
		err = l.settlePending(ctx, tx, f, p, d, &out)
	default:
		head, err := l.advanceWith(ctx, tx, f.head, p.version, x.text, x.vector)
		if err != nil {
			return out, err
		}
		out.Version = head.Version
		if a.Run != "" { // a run has seen what it has written
			return out, tx.SkillUses().PutView(ctx, a.Run, f.head.ID, out.Version)
		}
	}
	return out, err
}

// settleNew creates a skill, as a candidate if it needs approval.
func (l *Library) settleNew(ctx context.Context, tx store.Tx, a agent.Actor, s Settings, p plan, d decision, x indexed,
	out *EditResult) error {
	n, err := tx.Skills().SkillCount(ctx)
	if err != nil {
		return err
	}
	if n >= s.MaxSkills {
		return fault.New(fault.QuotaExceeded, fmt.Sprintf("workspace has %d skills, the limit is %d", n, s.MaxSkills),
			"patch an existing skill, or archive an unused one")
	}
	if !p.similar {
		near, err := l.near(ctx, tx, p.version, x.meant)
		if err != nil {
			return err
		}
		if len(near) > 0 && a.Origin.Autonomous() {
			return duplicate(p.version.Name, near)
		}
		for _, n := range near {
			out.Notes = append(out.Notes, n.note())
		}
	}
	if err := tx.Packages().PublishPackage(ctx, p.version.PackageSHA); err != nil {
		return err
	}
	status := skill.Active
	if d.staged {
		status = skill.Candidate
		out.Action, out.Notes = Staged, append(out.Notes, "candidate until a user approves it: "+d.reason)
	}
	id, err := tx.Skills().CreateSkill(ctx, p.version, status,
		index.NewDoc(index.KindSkill, 0, string(status), x.text), x.vector.Values, x.vector.Space)
	if err != nil {
		return err
	}
	out.Version = 1
	if a.Run != "" {
		return tx.SkillUses().PutView(ctx, a.Run, id, 1)
	}
	return nil
}

// settlePending stores a pending change. It publishes the package to protect it from collection.
func (l *Library) settlePending(ctx context.Context, tx store.Tx, f facts, p plan, d decision,
	out *EditResult) (err error) {
	if err := tx.Packages().PublishPackage(ctx, p.version.PackageSHA); err != nil {
		return err
	}
	out.Action, out.Version = Staged, f.head.Version
	out.Pending, err = tx.PendingSkills().PutPending(ctx,
		skill.Pending{Skill: f.head.ID, Base: f.head.Version, Version: p.version, Reason: d.reason,
			Origin: p.version.Origin,
			Gist:   l.gist(f.current, p.version)})
	return err
}

// once runs effect under operation ID op, or without one if op is empty.
func once[T any](ctx context.Context, tx store.Tx, op string, args any, out *T, effect func() (T, error)) error {
	if op == "" {
		result, err := effect()
		*out = result
		return err
	}
	raw, err := tx.Operations().Once(ctx, op, args, func() (json.RawMessage, error) {
		result, err := effect()
		if err != nil {
			return nil, err
		}
		return json.Marshal(result)
	})
	if err != nil {
		return err
	}
	return decodeLogged(op, raw, out)
}

func decodeLogged(op string, raw json.RawMessage, out any) error {
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("decode the result of %s: %w", op, err)
	}
	return nil
}
