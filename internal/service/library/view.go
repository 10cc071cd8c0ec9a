package library

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/metrics"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// ViewArgs are the arguments of View.
type ViewArgs struct {
	Name    string `json:"name" jsonschema:"name of the skill"`
	Version int    `json:"version,omitempty" jsonschema:"older version; omit for the current one"`
	Section string `json:"section,omitempty" jsonschema:"return only this section"`
}

// Sections are the valid values of ViewArgs.Section.
var Sections = []string{"when_to_use", "procedure", "pitfalls", "verification"}

// SkillView is the text of a skill with its properties.
type SkillView struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Category    *string   `json:"category"`
	Version     int       `json:"version"`
	Canary      bool      `json:"canary,omitempty" jsonschema:"the text is an update on trial; read a version by its number before you change the skill"`
	Content     string    `json:"content"`
	State       string    `json:"state"`
	Pinned      bool      `json:"pinned"`
	Managed     bool      `json:"managed"`
	Tainted     bool      `json:"tainted"`
	Origin      string    `json:"origin" jsonschema:"origin of the version"`
	TimesUsed   int64     `json:"times_used"`
	UpdatedAt   time.Time `json:"updated_at"`
	Files       []string  `json:"files,omitempty" jsonschema:"scripts, references and other files of the package"`
}

// View reads a skill. A run that has read a whole version may change it. Reading the current
// version at work counts as a use.
func (l *Library) View(ctx context.Context, a agent.Actor, in ViewArgs) (out SkillView, err error) {
	r, err := l.read(ctx, a, in.Name, in.Version, in.Section == "")
	if err != nil {
		return out, err
	}
	head, v := r.head, r.version
	out = SkillView{Name: head.Name, Description: v.Description, Category: category(v.Category), Version: v.Number,
		Canary: r.change != 0, Content: v.Body, State: string(head.Status), Pinned: head.Pinned,
		Managed: head.Managed, Tainted: head.Tainted, Origin: head.Origin, TimesUsed: head.Uses,
		UpdatedAt: head.UpdatedAt, Files: paths(v)}
	if err := out.narrow(in.Section, v); err != nil {
		return out, err
	}
	if a.Origin != agent.OriginUser { // users may read dangerous text
		l.defuse(ctx, a.Workspace, head, v, &out)
	}
	l.countRead(ctx, a, r)
	return out, nil
}

// reading is a version of a skill that an actor reads.
type reading struct {
	head    skill.Head
	version skill.Version
	change  int64 // the canary that is read, 0 for a version of the skill
}

// read finds a version of a skill; 0 means the current one, or a canary in the conversations that see
// it. Only a view of a whole version is recorded for the run, because a run that has read a part must
// not replace the whole.
func (l *Library) read(ctx context.Context, a agent.Actor, name string, number int, whole bool) (r reading,
	err error) {
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		head, err := Head(ctx, tx, 0, name)
		if fault.CodeOf(err) == fault.NotFound {
			return l.unknown(ctx, tx, name)
		}
		if err != nil {
			return err
		}
		r.head = head
		if number == 0 {
			number = head.Version
			if r.version, r.change, err = canaryFor(ctx, tx, a, head.ID); err != nil || r.change != 0 {
				return err
			}
		}
		if r.version, err = tx.Skills().Version(ctx, head.ID, number); err != nil {
			return err
		}
		if a.Run == "" || !whole {
			return nil
		}
		return tx.SkillUses().PutView(ctx, a.Run, head.ID, number)
	})
	return r, err
}

// countRead counts a use if the actor is at work with the current version or a canary.
func (l *Library) countRead(ctx context.Context, a agent.Actor, r reading) {
	if !a.Origin.Autonomous() && (r.version.Number == r.head.Version || r.change != 0) {
		l.countUse(ctx, a, r)
	}
}

// paths returns the files of a version except SKILL.md.
func paths(v skill.Version) (out []string) {
	for _, f := range v.Files {
		out = append(out, f.Path)
	}
	for _, f := range v.Extra {
		out = append(out, f.Path)
	}
	return out
}

// narrow keeps one section of the text.
func (o *SkillView) narrow(section string, v skill.Version) error {
	if section == "" {
		return nil
	}
	d := v.Document()
	var there []string
	for i, text := range []string{d.WhenToUse, d.Procedure, d.Pitfalls, d.Verification} {
		if Sections[i] == section && text != "" {
			o.Content = text
			return nil
		}
		if text != "" {
			there = append(there, Sections[i])
		}
	}
	return fault.New(fault.NotFound, fmt.Sprintf("skill %q has no section %q", v.Name, clip(section)),
		"use one of: "+strings.Join(there, ", ")+"; or omit section to read the whole skill")
}

// defuse replaces dangerous texts by a notice and quarantines the skill.
func (l *Library) defuse(ctx context.Context, ws int64, head skill.Head, v skill.Version, out *SkillView) {
	description, bad := sanitised(head.ID, out.Description, v.Risk)
	content, worse := sanitised(head.ID, out.Content, v.Risk)
	out.Description, out.Content = description, content
	if (bad || worse) && v.Number == head.Version {
		// The notice is shown even if the quarantine fails.
		if h, err := l.quarantine(ctx, ws, head.ID); err == nil {
			out.State = string(h.Status)
		}
	}
}

// quarantine quarantines a skill with dangerous text.
func (l *Library) quarantine(ctx context.Context, ws, id int64) (skill.Head, error) {
	metrics.Blocked("skills")
	return l.setStatus(ctx, ws, id, "", skill.Quarantined, skill.Active, skill.Stale, skill.Candidate,
		skill.DraftStatus)
}

// countUse counts one use per run and skill, and reactivates a stale skill. It ignores errors, so
// that a read never fails because of the count.
func (l *Library) countUse(ctx context.Context, a agent.Actor, r reading) {
	id := ""
	switch {
	case a.Run != "":
		id = fmt.Sprintf("run/%s", a.Run)
	case a.Op != "":
		id = "op/" + a.Op
	default:
		return
	}
	_ = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		use := skill.Use{Skill: r.head.ID, ID: id, Version: r.version.Number, Change: r.change}
		if err := tx.Skills().Use(ctx, use); err != nil || r.head.Status != skill.Stale {
			return err
		}
		return tx.Skills().SetStatus(ctx, r.head.ID, skill.Stale, skill.Active)
	})
}

// category returns nil for an empty category.
func category(c string) *string {
	if c == "" {
		return nil
	}
	return &c
}
