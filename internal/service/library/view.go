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
)

// ViewArgs say which text of which skill is wanted.
type ViewArgs struct {
	Name    string `json:"name" jsonschema:"the skill's name"`
	Version int    `json:"version,omitempty" jsonschema:"an older version; the one in force when left out"`
	Section string `json:"section,omitempty" jsonschema:"only this section"`
}

// Sections are what a view can be narrowed to.
var Sections = []string{"when_to_use", "procedure", "pitfalls", "verification"}

// SkillView is a skill's text with what is known of it.
type SkillView struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Category    *string   `json:"category"`
	Version     int       `json:"version"`
	Content     string    `json:"content"`
	State       string    `json:"state"`
	Pinned      bool      `json:"pinned"`
	Managed     bool      `json:"managed"`
	Tainted     bool      `json:"tainted"`
	Origin      string    `json:"origin" jsonschema:"who made it"`
	TimesUsed   int64     `json:"times_used"`
	UpdatedAt   time.Time `json:"updated_at"`
	Files       []string  `json:"files,omitempty" jsonschema:"its scripts and references, and what else its package holds"`
}

// View reads a skill. A run that has read a version may change it; a use is
// counted when somebody is at work with the version in force.
func (l *Library) View(ctx context.Context, a agent.Actor, in ViewArgs) (out SkillView, err error) {
	head, v, err := l.read(ctx, a, in.Name, in.Version, in.Section == "")
	if err != nil {
		return out, err
	}
	out = SkillView{Name: head.Name, Description: v.Description, Category: category(v.Category), Version: v.Number,
		Content: v.Body, State: string(head.Status), Pinned: head.Pinned,
		Managed: head.Managed, Tainted: head.Tainted, Origin: head.Origin, TimesUsed: head.Uses,
		UpdatedAt: head.UpdatedAt, Files: paths(v)}
	if err := out.narrow(in.Section, v); err != nil {
		return out, err
	}
	if a.Origin != agent.OriginUser { // a person may look at what would attack an agent
		l.defuse(ctx, a.Workspace, head, v, &out)
	}
	l.countRead(ctx, a, head, v)
	return out, nil
}

// read finds a version of a skill, 0 for the one in force. Who has read a part
// may not replace the whole: only a whole one is noted as seen by the run.
func (l *Library) read(ctx context.Context, a agent.Actor, name string, number int, whole bool) (head skill.Head,
	v skill.Version, err error) {
	err = l.Store.WithLibrary(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		head, err = Head(ctx, tx, 0, name)
		if fault.CodeOf(err) == fault.NotFound {
			return l.unknown(ctx, tx, name)
		}
		if err != nil {
			return err
		}
		if number == 0 {
			number = head.Version
		}
		if v, err = tx.Versions().Version(ctx, head.ID, number); err != nil {
			return err
		}
		if a.Run == 0 || !whole {
			return nil
		}
		return tx.Uses().PutView(ctx, a.Run, head.ID, number)
	})
	return head, v, err
}

// countRead counts a use when somebody is at work with the version in force.
func (l *Library) countRead(ctx context.Context, a agent.Actor, head skill.Head, v skill.Version) {
	if !a.Origin.Autonomous() && v.Number == head.Version {
		l.countUse(ctx, a, head)
	}
}

// paths are the files of a version beside SKILL.md.
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
		"it has "+strings.Join(there, ", ")+"; leave section out to read all of it")
}

// defuse puts a notice in the place of texts that would attack their reader,
// however they came into the store, and quarantines the skill.
func (l *Library) defuse(ctx context.Context, ws int64, head skill.Head, v skill.Version, out *SkillView) {
	description, bad := sanitised(head.ID, out.Description, v.Risk)
	content, worse := sanitised(head.ID, out.Content, v.Risk)
	out.Description, out.Content = description, content
	if (bad || worse) && v.Number == head.Version {
		// the notice stands whether or not this could be written
		if h, err := l.quarantine(ctx, ws, head.ID); err == nil {
			out.State = string(h.Status)
		}
	}
}

// quarantine takes a skill out of use whose text would attack its reader.
func (l *Library) quarantine(ctx context.Context, ws, id int64) (skill.Head, error) {
	metrics.Blocked("skills")
	return l.setStatus(ctx, ws, id, skill.Quarantined, skill.Active, skill.Stale, skill.Candidate, skill.DraftStatus)
}

// countUse counts one use for a run and skill, and puts a stale skill back into
// use. A count that fails is not worth failing a read.
func (l *Library) countUse(ctx context.Context, a agent.Actor, head skill.Head) {
	id := ""
	switch {
	case a.Run != 0:
		id = fmt.Sprintf("run/%d", a.Run)
	case a.Op != "":
		id = "op/" + a.Op
	default:
		return
	}
	_ = l.Store.WithLibrary(ctx, a.Workspace, func(ctx context.Context, tx Tx) error {
		if err := tx.States().Use(ctx, Use{Skill: head.ID, ID: id, Version: head.Version}); err != nil ||
			head.Status != skill.Stale {
			return err
		}
		return tx.States().SetStatus(ctx, head.ID, skill.Stale, skill.Active)
	})
}

// category is null for none.
func category(c string) *string {
	if c == "" {
		return nil
	}
	return &c
}
