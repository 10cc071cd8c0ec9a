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

// Skills are disclosed in three steps: the list of skills (Meta), the text of a skill (Load) and
// the content of its files (ReadFile). Each step counts uses, records reads and sanitizes text as
// View does.

// Limits of a disclosure.
const (
	MaxLoaded     = 10     // skills per call
	maxLoadedText = 60_000 // runes of all texts in a call
	FilePage      = 6_000  // default number of runes per read of a file
	MaxFilePage   = 100_000
)

// Meta is the list of skills, one per line.
type Meta struct {
	Skills string `json:"skills" jsonschema:"one line per skill: - name: description"`
	Count  int    `json:"count"`
	More   int    `json:"more" jsonschema:"number of skills that did not fit"`
	Hint   string `json:"hint"`
}

// Meta lists the skills of the prompt index, without categories.
func (l *Library) Meta(ctx context.Context, a agent.Actor) (out Meta, err error) {
	index, err := l.Index(ctx, a.Workspace)
	if err != nil {
		return out, err
	}
	lines := slices.DeleteFunc(index.Lines, func(line string) bool { return !strings.HasPrefix(line, "- ") })
	out = Meta{Skills: strings.Join(lines, "\n"), Count: index.Shown, More: index.More,
		Hint: "read matching skills with load_skills before you follow them"}
	switch {
	case out.Count == 0:
		out.Hint = "no skills exist yet"
	case out.More > 0:
		out.Hint += "; find the others with skill_list and a query"
	}
	return out, nil
}

// LoadedSkill is one skill of a call, or the reason why it is missing.
type LoadedSkill struct {
	Name    string     `json:"name"`
	Version int        `json:"version,omitempty"`
	Content string     `json:"content,omitempty"`
	Tainted bool       `json:"tainted,omitempty"`
	Files   []string   `json:"files,omitempty" jsonschema:"files to read with load_reference_skills"`
	Code    fault.Code `json:"code,omitempty" jsonschema:"error code if it could not be read"`
	Message string     `json:"message,omitempty"`
	Hint    string     `json:"hint,omitempty"`
}

// Load reads whole skills. A skill that cannot be read does not affect the others. Load fails if
// none can be read.
func (l *Library) Load(ctx context.Context, a agent.Actor, names []string) (out []LoadedSkill, err error) {
	if len(names) == 0 || len(names) > MaxLoaded {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid number of skills: %d", len(names)),
			fmt.Sprintf("name 1 to %d skills", MaxLoaded))
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

// load reads one skill of a call. Runes is the size of the skills read before it.
func (l *Library) load(ctx context.Context, a agent.Actor, name string, runes int) (LoadedSkill, error) {
	if runes >= maxLoadedText {
		return LoadedSkill{Name: clip(name)}, fault.New(fault.TooLarge,
			fmt.Sprintf("the previous skills already have %d characters", runes), "load it in a separate call")
	}
	v, err := l.View(ctx, a, ViewArgs{Name: name})
	if err != nil {
		return LoadedSkill{Name: clip(name)}, err
	}
	return LoadedSkill{Name: v.Name, Version: v.Version, Content: v.Content, Tainted: v.Tainted, Files: v.Files}, nil
}

// FileArgs are the arguments of ReadFile.
type FileArgs struct {
	Skill  string `json:"skill_name" jsonschema:"name of the skill"`
	File   string `json:"file_name" jsonschema:"path inside the skill, for example reference/limits.md"`
	Offset int    `json:"offset,omitempty" jsonschema:"characters to skip: next_offset of the previous result"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number of characters"`
}

// FileExcerpt is a part of a file.
type FileExcerpt struct {
	Skill   string `json:"skill_name"`
	Version int    `json:"version"`
	File    string `json:"file_name" jsonschema:"path inside the skill"`
	Content string `json:"content"`
	Total   int    `json:"total" jsonschema:"number of characters in the file"`
	Next    int    `json:"next_offset,omitempty" jsonschema:"offset of the remaining text"`
	Tainted bool   `json:"tainted,omitempty"`
}

// ReadFile reads a file of a skill. A path outside the skill returns OutOfScope. The read counts as
// a use but not as having viewed the skill.
func (l *Library) ReadFile(ctx context.Context, a agent.Actor, in FileArgs) (out FileExcerpt, err error) {
	name, err := inside(in.File)
	if err != nil {
		return out, err
	}
	r, err := l.read(ctx, a, in.Skill, 0, false)
	if err != nil {
		return out, err
	}
	head, v := r.head, r.version
	f, err := l.file(ctx, v, name)
	if err != nil {
		return out, err
	}
	text := f.Content
	if a.Origin != agent.OriginUser { // as in defuse
		var bad bool
		if text, bad = sanitised(head.ID, text, v.Risk); bad {
			_, _ = l.quarantine(ctx, a.Workspace, head.ID) // the notice is shown even if the quarantine fails
		}
	}
	runes := []rune(text)
	if in.Offset < 0 || in.Offset > len(runes) {
		return out, fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid offset %d: the file has %d characters", in.Offset, len(runes)), "start with 0")
	}
	end := min(len(runes), in.Offset+min(cmp.Or(in.Limit, FilePage), MaxFilePage))
	out = FileExcerpt{Skill: head.Name, Version: v.Number, File: f.Path, Content: string(runes[in.Offset:end]),
		Total: len(runes), Tainted: head.Tainted}
	if end < len(runes) {
		out.Next = end
	}
	l.countRead(ctx, a, r)
	return out, nil
}

// inside checks that a path is inside a skill.
func inside(name string) (string, error) {
	clean := strings.TrimPrefix(name, "./")
	switch {
	case clean == "":
		return "", fault.New(fault.InvalidArgument, "missing file_name",
			"name a file of the skill; load_skills lists them")
	case !filepath.IsLocal(clean), path.Clean(clean) != clean, strings.ContainsAny(clean, "\\\x00"),
		!utf8.ValidString(clean):
		return "", fault.New(fault.OutOfScope, fmt.Sprintf("path %q is outside the skill", clip(name)),
			"use a path from the result of load_skills, for example reference/limits.md")
	}
	return clean, nil
}

// file finds a file by its path, or by its base name if only one file has it.
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
	hint := "the skill has no files"
	if len(there) > 0 {
		hint = "use one of: " + clip(strings.Join(there, ", "))
	}
	return skill.File{}, fault.New(fault.NotFound, fmt.Sprintf("skill %q has no file %q", v.Name, clip(name)), hint)
}

// Files returns all files of a version except SKILL.md: those stored in rows and those that only
// its package has.
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

// SkillFiles is a skill with all files, including SKILL.md, to work on.
type SkillFiles struct {
	Name    string
	Version int
	Files   []skill.File
}

// Copy reads the whole package of an active skill. Other states return Protected. It counts as a use.
func (l *Library) Copy(ctx context.Context, a agent.Actor, name string) (out SkillFiles, err error) {
	r, err := l.read(ctx, a, name, 0, false)
	if err != nil {
		return out, err
	}
	head, v := r.head, r.version
	if head.Status != skill.Active && head.Status != skill.Stale {
		return out, fault.New(fault.Protected, fmt.Sprintf("skill %q is %s", head.Name, head.Status),
			"use an active skill, or ask the user to approve or restore this one")
	}
	files, err := l.Files(ctx, v)
	if err != nil {
		return out, err
	}
	markdown := skill.Compose(v.Name, v.Description, []byte(v.Body), skill.RenderOptions{NameStyle: l.NameStyle})
	l.countRead(ctx, a, r)
	return SkillFiles{Name: head.Name, Version: v.Number,
		Files: slices.Concat([]skill.File{{Path: "SKILL.md", Content: string(markdown)}}, files)}, nil
}
