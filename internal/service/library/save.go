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

// SaveArgs are a whole skill as an agent writes it.
type SaveArgs struct {
	Name            string `json:"name" jsonschema:"lower-case words joined by single hyphens, at most 64 characters, such as deploy-web"`
	Description     string `json:"description" jsonschema:"one line that tells when the skill helps"`
	Content         string `json:"content" jsonschema:"Markdown with the headings ## When to Use, ## Procedure, ## Pitfalls, ## Verification"`
	Category        Choice `json:"category,omitzero" jsonschema:"lower-case words joined by hyphens; null for none; left out keeps what is there"`
	Mode            string `json:"mode,omitempty" jsonschema:"upsert (the default) creates or replaces"`
	ExpectedVersion int    `json:"expected_version,omitempty" jsonschema:"refuse unless this version is in force"`
	AllowSimilar    bool   `json:"allow_similar,omitempty" jsonschema:"create it although a skill much like it is there"`
}

// Choice is a text that may be left out, which keeps what is there, or null,
// which clears it.
type Choice struct {
	Given bool
	Text  string
}

// IsZero tells that the text was left out.
func (c Choice) IsZero() bool { return !c.Given }

// MarshalJSON writes null for an empty text.
func (c Choice) MarshalJSON() ([]byte, error) {
	if c.Text == "" {
		return []byte("null"), nil
	}
	return json.Marshal(c.Text)
}

// UnmarshalJSON takes null for an empty text.
func (c *Choice) UnmarshalJSON(raw []byte) error {
	c.Given, c.Text = true, ""
	return json.Unmarshal(raw, &c.Text)
}

// SaveResult tells what became of a save.
type SaveResult struct {
	Action    string   `json:"action" jsonschema:"created, updated, unchanged or staged"`
	Name      string   `json:"name"`
	Version   int      `json:"version" jsonschema:"the version in force now"`
	Warnings  []string `json:"warnings"`
	PendingID int64    `json:"pending_id,omitempty" jsonschema:"the change that waits for approval"`
}

// Save creates a skill, or replaces the text of one.
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

// text is a save's text, checked for what depends on nothing else.
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
			fmt.Sprintf("category %q is not made of lower-case words joined by hyphens", clip(c)),
			fmt.Sprintf("use %q", skill.Canonical(c))).With("suggestion", skill.Canonical(c))
	}
	switch in.Mode {
	case "", Upsert, CreateOnly, UpdateOnly:
	default:
		return t, fault.New(fault.InvalidArgument,
			fmt.Sprintf("mode %q is none of upsert, create, update", clip(in.Mode)), "")
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

// MaxDescription bounds a description that a tool writes, in runes: it is a
// line of every prompt.
const MaxDescription = 240

func checkDescription(given string) (string, error) {
	d := strings.TrimSpace(norm.NFC.String(given))
	n := utf8.RuneCountInString(d)
	if n < 1 || n > MaxDescription {
		return "", fault.New(fault.InvalidArgument,
			fmt.Sprintf("the description has %d characters, 1–%d are allowed", n, MaxDescription),
			"say in one line when the skill helps").With("size", n).With("limit", MaxDescription)
	}
	if !utf8.ValidString(d) || strings.ContainsFunc(d, unicode.IsControl) {
		return "", fault.New(fault.InvalidArgument, "the description is not one line of plain text",
			"send one line without line breaks and control characters")
	}
	return d, nil
}

// checkLength holds what nobody watches to a smaller size.
func checkLength(a agent.Actor, content string) error {
	n := utf8.RuneCountInString(content)
	if a.Origin.Autonomous() && n > skill.MaxAutonomousContent {
		return fault.New(fault.TooLarge, fmt.Sprintf("the content has %d characters, %d are allowed here", n,
			skill.MaxAutonomousContent), "keep to what the procedure needs").
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

// fits checks a save's mode against what is there.
func (in SaveArgs) fits(f facts) error {
	switch {
	case !f.found && (in.Mode == UpdateOnly || in.ExpectedVersion != 0):
		return fault.New(fault.NotFound, fmt.Sprintf("there is no skill %q", in.Name),
			"leave mode and expected_version out to create it")
	case f.found && f.head.Status == skill.Archived:
		return fault.New(fault.AlreadyExists,
			fmt.Sprintf("an archived skill of the name %q exists: restore it?", in.Name),
			"ask the user to restore it (`cairn skills restore "+in.Name+"`), or choose another name").
			With("state", f.head.Status).With("version", f.head.Version)
	case f.found && in.Mode == CreateOnly:
		return fault.New(fault.AlreadyExists, fmt.Sprintf("skill %q exists in version %d", in.Name, f.head.Version),
			"view it with skill_view, then change it with skill_patch").
			With("state", f.head.Status).With("version", f.head.Version)
	}
	return nil
}

// checkShape holds a content to the four headings. A skill that has another
// form, because it was distilled or imported, keeps a procedure if it had one.
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

// next is the version that a writer wants on top of the one in force.
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

// list is never nil, so that it is answered as [].
func list(in []string) []string {
	if in == nil {
		return []string{}
	}
	return in
}

// clip shortens what a message repeats.
func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}
