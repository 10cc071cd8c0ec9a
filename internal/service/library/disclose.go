package library

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

// Skills are disclosed in three steps: what there is (Meta), how something is
// done (Load), and what its files hold (ReadFile). Each counts, notes and
// sanitises as View does.

// Limits of a disclosure.
const (
	MaxLoaded     = 10     // skills of one call
	maxLoadedText = 60_000 // runes of their texts, after which no further one is read
	FilePage      = 6_000  // runes of a file that are read at once, unless the call says otherwise
	MaxFilePage   = 100_000
)

// Meta is the skills that there are, one a line.
type Meta struct {
	Skills string `json:"skills" jsonschema:"a line for each: - name: description"`
	Count  int    `json:"count"`
	More   int    `json:"more" jsonschema:"skills that did not fit"`
	Hint   string `json:"hint"`
}

// Meta lists the skills that a prompt's index would, without its categories.
func (l *Library) Meta(ctx context.Context, a agent.Actor) (out Meta, err error) {
	index, err := l.Index(ctx, a.Workspace)
	if err != nil {
		return out, err
	}
	lines := slices.DeleteFunc(index.Lines, func(line string) bool { return !strings.HasPrefix(line, "- ") })
	out = Meta{Skills: strings.Join(lines, "\n"), Count: index.Shown, More: index.More,
		Hint: "read those that fit with load_skills before you follow them"}
	switch {
	case out.Count == 0:
		out.Hint = "there are no skills yet"
	case out.More > 0:
		out.Hint += "; skill_list with a query finds the others"
	}
	return out, nil
}

// LoadedSkill is one skill of a call, or why it has none.
type LoadedSkill struct {
	Name    string     `json:"name"`
	Version int        `json:"version,omitempty"`
	Content string     `json:"content,omitempty"`
	Tainted bool       `json:"tainted,omitempty"`
	Files   []string   `json:"files,omitempty" jsonschema:"what load_reference_skills reads"`
	Code    fault.Code `json:"code,omitempty" jsonschema:"why it could not be read"`
	Message string     `json:"message,omitempty"`
	Hint    string     `json:"hint,omitempty"`
}

// Load reads skills whole, each for itself: one that cannot be read leaves the
// others as they are. It fails when none can.
func (l *Library) Load(ctx context.Context, a agent.Actor, names []string) (out []LoadedSkill, err error) {
	if len(names) == 0 || len(names) > MaxLoaded {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("%d skills are named", len(names)),
			fmt.Sprintf("name 1 to %d", MaxLoaded))
	}
	failed, runes := error(nil), 0
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		one, err := l.load(ctx, a, name, runes)
		if f := fault.From(err); f != nil {
			if fault.Table[f.Code].Retryable || f.Code == fault.Internal {
				return nil, err
			}
			failed, one.Code, one.Message, one.Hint = err, f.Code, f.Message, f.Hint
		}
		runes += utf8.RuneCountInString(one.Content)
		out = append(out, one)
	}
	if !slices.ContainsFunc(out, func(o LoadedSkill) bool { return o.Code == "" }) {
		return nil, failed
	}
	return out, nil
}

// load reads one skill after others of the same call, which had so many runes.
func (l *Library) load(ctx context.Context, a agent.Actor, name string, runes int) (LoadedSkill, error) {
	if runes >= maxLoadedText {
		return LoadedSkill{Name: clip(name)}, fault.New(fault.TooLarge,
			fmt.Sprintf("the skills before it have %d characters", runes), "load it in a call of its own")
	}
	v, err := l.View(ctx, a, ViewArgs{Name: name})
	if err != nil {
		return LoadedSkill{Name: clip(name)}, err
	}
	return LoadedSkill{Name: v.Name, Version: v.Version, Content: v.Content, Tainted: v.Tainted, Files: v.Files}, nil
}

// FileArgs say which part of which file is wanted.
type FileArgs struct {
	Skill  string `json:"skill_name" jsonschema:"the skill's name"`
	File   string `json:"file_name" jsonschema:"a path inside the skill, such as reference/limits.md"`
	Offset int    `json:"offset,omitempty" jsonschema:"characters to pass over: next_offset of the answer before"`
	Limit  int    `json:"limit,omitempty" jsonschema:"characters to read at most"`
}

// FileExcerpt is a part of a file.
type FileExcerpt struct {
	Skill   string `json:"skill_name"`
	Version int    `json:"version"`
	File    string `json:"file_name" jsonschema:"its path inside the skill"`
	Content string `json:"content"`
	Total   int    `json:"total" jsonschema:"characters of the file"`
	Next    int    `json:"next_offset,omitempty" jsonschema:"where the rest begins"`
	Tainted bool   `json:"tainted,omitempty"`
}

// ReadFile reads a file beside a skill's text. A path that would leave the skill
// is OutOfScope. It counts as a use, and not as having read the skill.
func (l *Library) ReadFile(ctx context.Context, a agent.Actor, in FileArgs) (out FileExcerpt, err error) {
	name, err := inside(in.File)
	if err != nil {
		return out, err
	}
	head, v, err := l.read(ctx, a, in.Skill, 0, false)
	if err != nil {
		return out, err
	}
	f, err := l.file(ctx, v, name)
	if err != nil {
		return out, err
	}
	text := f.Content
	if a.Origin != agent.OriginUser { // as defuse
		var bad bool
		if text, bad = sanitised(head.ID, text, v.Risk); bad {
			_, _ = l.quarantine(ctx, a.Workspace, head.ID) // the notice stands whether or not this could be written
		}
	}
	runes := []rune(text)
	if in.Offset < 0 || in.Offset > len(runes) {
		return out, fault.New(fault.InvalidArgument,
			fmt.Sprintf("offset is %d, the file has %d characters", in.Offset, len(runes)), "begin with 0")
	}
	end := min(len(runes), in.Offset+min(cmp.Or(in.Limit, FilePage), MaxFilePage))
	out = FileExcerpt{Skill: head.Name, Version: v.Number, File: f.Path, Content: string(runes[in.Offset:end]),
		Total: len(runes), Tainted: head.Tainted}
	if end < len(runes) {
		out.Next = end
	}
	l.countRead(ctx, a, head, v)
	return out, nil
}

// inside passes a path that stays inside a skill.
func inside(name string) (string, error) {
	clean := strings.TrimPrefix(name, "./")
	switch {
	case clean == "":
		return "", fault.New(fault.InvalidArgument, "no file is named",
			"name one of the skill's files; load_skills lists them")
	case !filepath.IsLocal(clean), path.Clean(clean) != clean, strings.ContainsAny(clean, "\\\x00"),
		!utf8.ValidString(clean):
		return "", fault.New(fault.OutOfScope, fmt.Sprintf("%q leads out of the skill", clip(name)),
			"use a path as load_skills lists it, such as reference/limits.md")
	}
	return clean, nil
}

// file finds a file by its path, or by its name alone when only one has it.
func (l *Library) file(ctx context.Context, v skill.Version, name string) (skill.File, error) {
	files, err := l.Files(ctx, v)
	if err != nil {
		return skill.File{}, err
	}
	var there []string
	var named []skill.File
	for _, f := range files {
		if f.Path == name {
			return f, nil
		}
		if path.Base(f.Path) == name {
			named = append(named, f)
		}
		there = append(there, f.Path)
	}
	if len(named) == 1 {
		return named[0], nil
	}
	hint := "it has no files beside its text"
	if len(there) > 0 {
		hint = "it has " + clip(strings.Join(there, ", "))
	}
	return skill.File{}, fault.New(fault.NotFound, fmt.Sprintf("skill %q has no file %q", v.Name, clip(name)), hint)
}

// Files are all files of a version beside SKILL.md: what its rows hold, and what
// only its package does.
func (l *Library) Files(ctx context.Context, v skill.Version) ([]skill.File, error) {
	if len(v.Extra) == 0 {
		return v.Files, nil
	}
	archive, err := l.Blobs.Get(ctx, v.PackageKey)
	if err != nil {
		return nil, fmt.Errorf("fetch the package of skill %q: %w", v.Name, err)
	}
	extra, err := skill.ReadExtras(archive)
	return slices.Concat(v.Files, extra), err
}

// SkillFiles is a skill's files, SKILL.md among them, for somebody to work on.
type SkillFiles struct {
	Name    string
	Version int
	Files   []skill.File
}

// Copy reads the whole package of a skill in force. One that waits for approval,
// or is out of use, is Protected. It counts as a use.
func (l *Library) Copy(ctx context.Context, a agent.Actor, name string) (out SkillFiles, err error) {
	head, v, err := l.read(ctx, a, name, 0, false)
	if err != nil {
		return out, err
	}
	if head.Status != skill.Active && head.Status != skill.Stale {
		return out, fault.New(fault.Protected, fmt.Sprintf("skill %q is %s", head.Name, head.Status),
			"only a skill in force is run; a person decides about it")
	}
	files, err := l.Files(ctx, v)
	if err != nil {
		return out, err
	}
	markdown := skill.Compose(v.Name, v.Description, []byte(v.Body), skill.RenderOptions{NameStyle: l.NameStyle})
	l.countRead(ctx, a, head, v)
	return SkillFiles{Name: head.Name, Version: v.Number,
		Files: slices.Concat([]skill.File{{Path: "SKILL.md", Content: string(markdown)}}, files)}, nil
}
