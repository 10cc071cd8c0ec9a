package library

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

// Fields that a patch can change.
const (
	FieldContent     = "content"
	FieldDescription = "description"
)

// PatchArgs are the arguments of Patch.
type PatchArgs struct {
	Name            string `json:"name" jsonschema:"name of the skill"`
	OldString       string `json:"old_string" jsonschema:"exact text to replace, with enough context to occur only once"`
	NewString       string `json:"new_string" jsonschema:"replacement; empty deletes the text"`
	ReplaceAll      bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	Field           string `json:"field,omitempty" jsonschema:"content (the default) or description"`
	ExpectedVersion int    `json:"expected_version,omitempty" jsonschema:"fail unless this is the current version"`
}

// PatchOutcome is the result of a patch.
type PatchOutcome struct {
	Action       string   `json:"action" jsonschema:"patched, noop or staged"`
	Name         string   `json:"name"`
	Version      int      `json:"version" jsonschema:"current version"`
	Replacements int      `json:"replacements"`
	Strategy     string   `json:"strategy" jsonschema:"how the old text was matched: exact, or a looser method"`
	Lines        []int    `json:"lines" jsonschema:"changed lines"`
	Warnings     []string `json:"warnings"`
	PendingID    int64    `json:"pending_id,omitempty" jsonschema:"ID of the pending change"`
}

// Patch replaces a quoted text in a skill.
func (l *Library) Patch(ctx context.Context, a agent.Actor, in PatchArgs) (PatchOutcome, error) {
	if in.Field != "" && in.Field != FieldContent && in.Field != FieldDescription {
		return PatchOutcome{}, fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid field %q: use content or description", clip(in.Field)), "")
	}
	w, err := l.write(ctx, a, intent{name: in.Name, args: in, plan: func(f facts) (plan, error) {
		return l.planPatch(ctx, a, in, f)
	}})
	if err != nil {
		return PatchOutcome{}, err
	}
	lines := w.Edit.Lines
	if lines == nil {
		lines = []int{}
	}
	return PatchOutcome{Action: w.Action, Name: w.Name, Version: w.Version, Replacements: w.Edit.Replacements,
		Strategy: w.Edit.Strategy, Lines: lines, Warnings: list(w.Notes), PendingID: w.Pending}, nil
}

func (l *Library) planPatch(ctx context.Context, a agent.Actor, in PatchArgs, f facts) (plan, error) {
	p := plan{action: Patched, expected: in.ExpectedVersion}
	if !f.found {
		return p, l.unknownNow(ctx, a.Workspace, in.Name)
	}
	if f.head.Status == skill.Archived {
		return p, fault.New(fault.NotFound, fmt.Sprintf("skill %q is archived", f.head.Name),
			"ask the user to restore it (`cairn skills restore "+f.head.Name+"`)")
	}
	// error messages must not quote text that the run may not read
	if err := permitted(a, f, in.ExpectedVersion); err != nil {
		return p, err
	}
	description, content := f.current.Description, f.current.Body
	patched, err := skill.Patch(in.target(f.current), in.OldString, in.NewString, in.ReplaceAll)
	if err != nil {
		return p, err
	}
	p.edit = Edit{Replacements: patched.Replacements, Strategy: string(patched.Strategy), Lines: patched.Lines}
	if patched.Noop {
		p.action = Noop
		return p, nil
	}
	if in.Field == FieldDescription {
		description, err = checkDescription(patched.Content)
	} else {
		content, p.notes, err = checkPatched(a, f, patched.Content)
	}
	if err != nil {
		return p, err
	}
	if description == f.current.Description && content == f.current.Body {
		p.action = Noop
		return p, nil
	}
	if patched.Strategy != skill.Exact {
		p.notes = append(p.notes, fmt.Sprintf(
			"the old text was matched by %q, not exactly: check the change", patched.Strategy))
	}
	p.version = next(a, f, f.head.Name, description, f.current.Category, content)
	p.version.Op = skill.OpPatch
	err = inspect(a, f, &p)
	return p, err
}

func (in PatchArgs) target(v skill.Version) string {
	if in.Field == FieldDescription {
		return v.Description
	}
	return v.Body
}

// checkPatched applies the rules of a save to the whole result.
func checkPatched(a agent.Actor, f facts, content string) (string, []string, error) {
	content, notes, err := skill.NormalizeContent(content)
	if err != nil {
		return "", nil, err
	}
	if err := checkLength(a, content); err != nil {
		return "", nil, err
	}
	more, err := checkShape(f, content)
	return content, append(notes, more...), err
}
