package promptmemory

import (
	"context"
	"fmt"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/memorywrite"
)

// SoulArgs change how the user wants to be answered.
type SoulArgs struct {
	Content  string `json:"content" jsonschema:"tone, style, language, form of address; empty with replace forgets all of it"`
	Mode     string `json:"mode,omitempty" jsonschema:"replace all of it, or append to it"`
	Expected *int   `json:"expected_version,omitempty" jsonschema:"version that the change was made on; left out, the one in force"`
}

// SoulResult answers a change of the soul.
type SoulResult struct {
	Action    string   `json:"action" jsonschema:"updated or unchanged"`
	Version   int      `json:"version"`
	Effective string   `json:"effective" jsonschema:"when prompts have it"`
	Warnings  []string `json:"warnings,omitempty"`
}

const nextSession = "next_session"

// SoulGet reads the soul in force; version 0 is none yet.
func (k *Service) SoulGet(ctx context.Context, a agent.Actor) (out memory.Soul, err error) {
	err = k.Store.WithMemory(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		out, err = tx.Souls().Soul(ctx)
		return err
	})
	if a.Origin != agent.OriginUser {
		out.Content = memorywrite.Sanitize("soul", fmt.Sprint(out.Version), out.Content)
	}
	return out, err
}

// SoulHistory lists the versions of the soul, the latest first.
func (k *Service) SoulHistory(ctx context.Context, a agent.Actor, max int) (out []memory.Soul, err error) {
	if err := memorywrite.RequirePerson(a, "the soul's history"); err != nil {
		return nil, err
	}
	err = k.Store.WithMemory(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		out, err = tx.Souls().SoulHistory(ctx, max)
		return err
	})
	return out, err
}

// SoulUpdate replaces the soul or appends to it. Only a person, or the agent that
// answers one, may; and the agent not while untrusted text is in view.
func (k *Service) SoulUpdate(ctx context.Context, a agent.Actor, in SoulArgs) (SoulResult, error) {
	if err := maySoul(a); err != nil {
		return SoulResult{}, err
	}
	action := memory.SoulAction(in.Mode)
	switch action {
	case "":
		action = memory.SoulReplace
	case memory.SoulReplace, memory.SoulAppend:
	default:
		return SoulResult{}, fault.New(fault.InvalidArgument, fmt.Sprintf("there is no mode %q", in.Mode),
			"use replace or append")
	}
	return doOnce(ctx, k, a, "soul_update", in, func(ctx context.Context, tx Tx) (SoulResult, error) {
		content, stripped := memory.CleanSoul(in.Content)
		if content == "" && (stripped > 0 || action == memory.SoulAppend) {
			return SoulResult{}, fault.New(fault.InvalidArgument,
				"nothing is left of the content without its role headers", "describe the style in plain sentences")
		}
		current, err := expect(ctx, tx, in.Expected)
		if err != nil {
			return SoulResult{}, err
		}
		if content, err = memory.NextSoul(current.Content, content, action); err != nil {
			return SoulResult{}, err
		}
		out, err := k.setSoul(ctx, tx, a, current, content, action)
		if stripped > 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf(
				"%d lines that look like the header of a role were left out", stripped))
		}
		return out, err
	})
}

// SoulRollback makes a new version that says what an old one said; version 0
// said nothing.
func (k *Service) SoulRollback(ctx context.Context, a agent.Actor, in memorywrite.RollbackArgs) (SoulResult, error) {
	if err := memorywrite.RequirePerson(a, "rolling the soul back"); err != nil {
		return SoulResult{}, err
	}
	return doOnce(ctx, k, a, "soul_rollback", in, func(ctx context.Context, tx Tx) (SoulResult, error) {
		current, err := expect(ctx, tx, in.Expected)
		if err != nil {
			return SoulResult{}, err
		}
		var old memory.Soul
		if in.Version != 0 {
			if old, err = tx.Souls().SoulAt(ctx, in.Version); err != nil {
				return SoulResult{}, err
			}
		}
		return k.setSoul(ctx, tx, a, current, old.Content, memory.SoulRollback)
	})
}

func (k *Service) setSoul(ctx context.Context, tx Tx, a agent.Actor, current memory.Soul, content string,
	action memory.SoulAction) (SoulResult, error) {
	risk, err := memorywrite.Inspect("the soul", content)
	if err != nil {
		return SoulResult{}, err
	}
	out := SoulResult{Action: "updated", Version: current.Version, Effective: nextSession, Warnings: risk}
	if content == current.Content {
		out.Action = memorywrite.Unchanged
		return out, nil
	}
	out.Version, err = tx.Souls().AdvanceSoul(ctx, current.Version, content, action, k.writer(a))
	// a person took something out
	if err == nil && a.Origin == agent.OriginUser && !strings.Contains(content, current.Content) {
		_, err = tx.Workspace().RevokeSessions(ctx)
	}
	return out, err
}

// expect reads the soul in force and refuses one that the caller has not seen.
func expect(ctx context.Context, tx Tx, version *int) (memory.Soul, error) {
	current, err := tx.Souls().Soul(ctx)
	if err == nil && version != nil && *version != current.Version {
		return current, fault.New(fault.VersionConflict,
			fmt.Sprintf("the soul is at version %d, not %d", current.Version, *version),
			"read the version in force, then decide again")
	}
	return current, err
}

func maySoul(a agent.Actor) error {
	switch {
	case a.Origin == agent.OriginUser:
		return nil
	case a.Origin != agent.OriginAgent:
		return fault.New(fault.OutOfScope, fmt.Sprintf("%s may not change the soul", a.Origin), "leave it to the user")
	case a.Tainted:
		return fault.New(fault.BlockedContent, "untrusted text is in view, and the soul may have been asked for by it",
			"ask the user to say in a new message how they want to be answered")
	}
	return nil
}
