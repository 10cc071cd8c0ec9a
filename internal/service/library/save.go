package library

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/skill"
)

// Modes of a save.
const (
	Upsert     = "upsert"
	CreateOnly = "create"
	UpdateOnly = "update"
)

// SaveArgs is a whole skill as an agent writes it.
type SaveArgs struct {
	Name            string `json:"name" jsonschema:"lower-case words joined by single hyphens, at most 64 characters, for example deploy-web"`
	Description     string `json:"description" jsonschema:"one line that states when to use the skill"`
	Content         string `json:"content" jsonschema:"Markdown with the sections ## When to Use, ## Procedure, ## Pitfalls, ## Verification"`
	Category        Choice `json:"category,omitzero" jsonschema:"lower-case words joined by hyphens; null removes it; omit to keep the current one"`
	Mode            string `json:"mode,omitempty" jsonschema:"upsert (the default) creates or replaces"`
	ExpectedVersion int    `json:"expected_version,omitempty" jsonschema:"fail unless this is the current version"`
	AllowSimilar    bool   `json:"allow_similar,omitempty" jsonschema:"create it even if a similar skill exists"`
}

// Choice is an optional text. If it is omitted, the current value is kept; null removes it.
type Choice struct {
	Given bool
	Text  string
}

// IsZero reports whether the text was omitted.
func (c Choice) IsZero() bool { return !c.Given }

// MarshalJSON encodes an empty text as null.
func (c Choice) MarshalJSON() ([]byte, error) {
	if c.Text == "" {
		return []byte("null"), nil
	}
	return json.Marshal(c.Text)
}

// UnmarshalJSON decodes null as an empty text.
func (c *Choice) UnmarshalJSON(raw []byte) error {
	c.Given, c.Text = true, ""
	return json.Unmarshal(raw, &c.Text)
}

// SaveResult is the result of a save.
type SaveResult struct {
	Action    string   `json:"action" jsonschema:"created, updated, unchanged or staged"`
	Name      string   `json:"name"`
	Version   int      `json:"version" jsonschema:"current version"`
	Warnings  []string `json:"warnings"`
	PendingID int64    `json:"pending_id,omitempty" jsonschema:"ID of the pending change"`
}

// Save creates a skill or replaces its text.
func (l *Library) Save(ctx context.Context, a agent.Actor, in SaveArgs) (SaveResult, error) {
	text, err := in.checked(a)
	if err != nil {
		return SaveResult{}, err
	}
	w, err := l.write(ctx, a, intent{name: in.Name, args: in, plan: func(f facts) (plan, error) {
		return l.planSave(a, in, text, f)
	}})
	if err != nil {
		return SaveResult{}, err
	}
	return SaveResult{
		Action:    w.Action,
		Name:      w.Name,
		Version:   w.Version,
		Warnings:  list(w.Notes),
		PendingID: w.Pending,
	}, nil
}

// text is the text of a save, with fields that were checked on their own.
type text struct {
	description, content string
	notes                []string
}

func (in SaveArgs) checked(a agent.Actor) (t text, err error) {
	if err := skill.CheckName(in.Name); err != nil {
		return t, err
	}
	if c := in.Category.Text; c != "" && skill.Canonical(c) != c {
		return t, fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid category %q: use lower-case words joined by hyphens", clip(c)),
			fmt.Sprintf("use %q", skill.Canonical(c))).With("suggestion", skill.Canonical(c))
	}
	switch in.Mode {
	case "", Upsert, CreateOnly, UpdateOnly:
	default:
		return t, fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid mode %q: use upsert, create or update", clip(in.Mode)), "")
	}
	if t.description, err = checkDescription(in.Description); err != nil {
		return t, err
	}
	t.content, t.notes, err = skill.NormalizeContent(in.Content)
	if err != nil {
		return t, err
	}
	return t, checkLength(a, t.content)
}

// MaxDescription is the maximum length in runes of a description that a tool writes. Descriptions
// are part of every prompt.
const MaxDescription = 240

func checkDescription(given string) (string, error) {
	d := strings.TrimSpace(norm.NFC.String(given))
	n := utf8.RuneCountInString(d)
	if n < 1 || n > MaxDescription {
		return "", fault.New(fault.InvalidArgument,
			fmt.Sprintf("description has %d characters, 1–%d are allowed", n, MaxDescription),
			"state in one line when to use the skill").With("size", n).With("limit", MaxDescription)
	}
	if !utf8.ValidString(d) || strings.ContainsFunc(d, unicode.IsControl) {
		return "", fault.New(fault.InvalidArgument, "description is not a single line of plain text",
			"remove line breaks and control characters")
	}
	return d, nil
}

// checkLength applies a smaller limit to autonomous writers.
func checkLength(a agent.Actor, content string) error {
	n := utf8.RuneCountInString(content)
	if a.Origin.Autonomous() && n > skill.MaxAutonomousContent {
		return fault.New(fault.TooLarge, fmt.Sprintf("content has %d characters, the limit is %d", n,
			skill.MaxAutonomousContent), "keep only what the procedure needs").
			With("size", n).With("limit", skill.MaxAutonomousContent)
	}
	return nil
}

func (l *Library) planSave(a agent.Actor, in SaveArgs, t text, f facts) (plan, error) {
	p := plan{action: Updated, notes: t.notes, expected: in.ExpectedVersion,
		similar: in.AllowSimilar && !a.Origin.Autonomous()}
	if err := in.fits(f); err != nil {
		return p, err
	}
	notes, err := checkShape(f, t.content)
	if err != nil {
		return p, err
	}
	p.notes = append(p.notes, notes...)
	category := f.current.Category
	if in.Category.Given {
		category = in.Category.Text
	}
	p.version = next(a, f, in.Name, t.description, category, t.content)
	switch {
	case !f.found:
		p.action, p.version.Op = Created, skill.OpCreate
	case p.version.Body != f.current.Body:
		p.version.Op = skill.OpUpdate
	case p.version.Description != f.current.Description || p.version.Category != f.current.Category:
		p.version.Op = skill.OpRename
	default:
		p.action = Unchanged
		return p, nil
	}
	err = inspect(a, f, &p)
	return p, err
}

// fits checks the mode of a save against the existing skill.
func (in SaveArgs) fits(f facts) error {
	switch {
	case !f.found && (in.Mode == UpdateOnly || in.ExpectedVersion != 0):
		return fault.New(fault.NotFound, fmt.Sprintf("skill %q not found", in.Name),
			"omit mode and expected_version to create it")
	case f.found && f.head.Status == skill.Archived:
		return fault.New(fault.AlreadyExists,
			fmt.Sprintf("an archived skill %q exists", in.Name),
			"ask the user to restore it (`cairn skills restore "+in.Name+"`), or choose another name").
			With("state", f.head.Status).With("version", f.head.Version)
	case f.found && in.Mode == CreateOnly:
		return fault.New(fault.AlreadyExists,
			fmt.Sprintf("skill %q already exists in version %d", in.Name, f.head.Version),
			"read it, then change that skill").
			With("state", f.head.Status).
			With("version", f.head.Version)
	}
	return nil
}

// checkShape checks that a content has the four sections. A distilled or imported skill with
// another form must only keep its procedure.
func checkShape(f facts, content string) ([]string, error) {
	notes, err := skill.CheckShape(content)
	if err == nil || !f.found {
		return notes, err
	}
	if _, was := skill.CheckShape(f.current.Body); was == nil {
		return nil, err
	}
	if strings.TrimSpace(content) == "" || skill.ParseBody(f.current.Body).Procedure != "" &&
		skill.ParseBody(content).Procedure == "" {
		return nil, err
	}
	return nil, nil
}

// next returns the version that a writer creates on top of the current one.
func next(a agent.Actor, f facts, name, description, category, body string) skill.Version {
	v := skill.Version{SkillID: f.head.ID, Name: name, DisplayName: name, Description: description, Category: category,
		Body: body, Lang: lang.Detect(body),
		Origin: string(a.Origin), Run: a.Run, Tainted: a.Tainted && a.Origin != agent.OriginUser,
		Number: f.head.Version + 1, Base: f.head.Version}
	if f.found {
		v.Name, v.DisplayName, v.Files, v.Extra, v.Degraded = f.head.Name, f.current.DisplayName, f.current.Files,
			f.current.Extra, f.current.Degraded
	}
	if a.Conversation != 0 {
		v.Sources = []skill.Source{{Conversation: a.Conversation, From: a.FromSeq, To: a.ToSeq}}
	}
	v.ContentSHA = skill.ContentHash(v.Document(), v.Files)
	return v
}

// list replaces nil by an empty list, which encodes as [].
func list(in []string) []string {
	if in == nil {
		return []string{}
	}
	return in
}

// clip shortens a value that a message repeats.
func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}
