package memory

import (
	"context"
	"fmt"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// SoulArgs changes the reply preferences.
type SoulArgs struct {
	Content  string `json:"content" jsonschema:"tone, style, language, form of address; empty content with mode replace removes all preferences"`
	Mode     string `json:"mode,omitempty" jsonschema:"replace: replace all preferences; append: add to them"`
	Expected *int   `json:"expected_version,omitempty" jsonschema:"version on which the change is based; default: current version"`
}

// SoulResult is the result of a change of the soul.
type SoulResult struct {
	Action    string   `json:"action" jsonschema:"updated or unchanged"`
	Version   int      `json:"version"`
	Effective string   `json:"effective" jsonschema:"when prompts use the new version"`
	Warnings  []string `json:"warnings,omitempty"`
}

const nextSession = "next_session"

// SoulGet returns the current soul. Version 0 means that the soul was never set.
func (k *PromptService) SoulGet(ctx context.Context, a agent.Actor) (out memory.Soul, err error) {
	err = k.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.Souls().Soul(ctx)
		return err
	})
	if a.Origin != agent.OriginUser {
		out.Content = Sanitize("soul", fmt.Sprint(out.Version), out.Content)
	}
	return out, err
}

// SoulHistory lists the versions of the soul, latest first.
func (k *PromptService) SoulHistory(ctx context.Context, a agent.Actor, max int) (out []memory.Soul, err error) {
	if err := RequirePerson(a, "reading the history of the soul"); err != nil {
		return nil, err
	}
	err = k.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.Souls().SoulHistory(ctx, max)
		return err
	})
	return out, err
}

// SoulUpdate replaces the soul or appends to it. Only a user, or the agent that replies to one, may
// call it. The agent may not if its context contains untrusted text.
func (k *PromptService) SoulUpdate(ctx context.Context, a agent.Actor, in SoulArgs) (SoulResult, error) {
	if err := maySoul(a); err != nil {
		return SoulResult{}, err
	}
	action := memory.SoulAction(in.Mode)
	switch action {
	case "":
		action = memory.SoulReplace
	case memory.SoulReplace, memory.SoulAppend:
	default:
		return SoulResult{}, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid mode %q", in.Mode),
			"use \"replace\" or \"append\"")
	}
	return doOnce(ctx, k, a, "soul_update", in, func(ctx context.Context, tx store.Tx) (SoulResult, error) {
		content, stripped := memory.CleanSoul(in.Content)
		if content == "" && (stripped > 0 || action == memory.SoulAppend) {
			return SoulResult{}, fault.New(fault.InvalidArgument,
				"content is empty without its role headers", "describe the style in plain sentences")
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
				"removed %d lines that look like role headers", stripped))
		}
		return out, err
	})
}

// SoulRollback creates a new version with the content of an old one. Version 0 is empty.
func (k *PromptService) SoulRollback(ctx context.Context, a agent.Actor, in RollbackArgs) (SoulResult, error) {
	if err := RequirePerson(a, "rolling back the soul"); err != nil {
		return SoulResult{}, err
	}
	return doOnce(ctx, k, a, "soul_rollback", in, func(ctx context.Context, tx store.Tx) (SoulResult, error) {
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
		out, err := k.setSoul(ctx, tx, a, current, old.Content, memory.SoulRollback)
		if err != nil || out.Action == Unchanged {
			return out, err
		}
		return out, tx.Operations().Record(ctx, audit.SoulRollback, fmt.Sprintf("soul to version %d", in.Version))
	})
}

func (k *PromptService) setSoul(ctx context.Context, tx store.Tx, a agent.Actor, current memory.Soul, content string,
	action memory.SoulAction) (SoulResult, error) {
	risk, err := memory.Inspect("the soul", content)
	if err != nil {
		return SoulResult{}, err
	}
	if len(risk) > 0 && a.Origin != agent.OriginUser { // every prompt contains the soul
		return SoulResult{}, fault.New(fault.BlockedContent, "the soul looks like an attack: "+strings.Join(risk, "; "),
			"describe tone, style and language only, or ask the user to make the change")
	}
	out := SoulResult{Action: "updated", Version: current.Version, Effective: nextSession, Warnings: risk}
	if content == current.Content {
		out.Action = Unchanged
		return out, nil
	}
	out.Version, err = tx.Souls().AdvanceSoul(ctx, current.Version, content, action, k.writer(a))
	// The user removed text: prompt sessions must not show it any more.
	if err == nil && a.Origin == agent.OriginUser && !strings.Contains(content, current.Content) {
		_, err = tx.Sessions().RevokeSessions(ctx)
	}
	return out, err
}

// expect returns the current soul, or an error if its version is not the expected one.
func expect(ctx context.Context, tx store.Tx, version *int) (memory.Soul, error) {
	current, err := tx.Souls().Soul(ctx)
	if err == nil && version != nil && *version != current.Version {
		return current, fault.New(fault.VersionConflict,
			fmt.Sprintf("soul is at version %d, not %d", current.Version, *version),
			"read the current version, then send the change again")
	}
	return current, err
}

func maySoul(a agent.Actor) error {
	switch {
	case a.Origin == agent.OriginUser:
		return nil
	case a.Origin != agent.OriginAgent:
		return fault.New(
			fault.OutOfScope,
			fmt.Sprintf("origin %q cannot change the soul", a.Origin),
			"ask the user to do it",
		)
	case a.Tainted:
		return fault.New(fault.BlockedContent, "cannot change the soul: the context contains untrusted text",
			"ask the user to state the reply preferences in a new message")
	}
	return nil
}
