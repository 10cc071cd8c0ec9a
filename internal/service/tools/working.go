package tools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/workingmemory"
)

// Tools of working memory.
const (
	GrepContent = "grep_content"
	ReadContent = "read_content"
)

// Working names the tools that a conversation has once it has put something away.
var Working = []string{GrepContent, ReadContent}

// PutAway is what conversations have put away.
type PutAway interface {
	Grep(ctx context.Context, ws int64, at workingmemory.Where, p workingmemory.Pattern) (workingmemory.Hits, error)
	Read(ctx context.Context, ws int64, at workingmemory.Where, offset, limit int) (workingmemory.Page, error)
}

// WorkingMemory are the tools that look into what a conversation has put away.
func WorkingMemory(s PutAway) ([]Tool, error) {
	origins := []agent.Origin{agent.OriginAgent}
	where := func(a agent.Actor, handle string) workingmemory.Where {
		return workingmemory.Where{Handle: handle, Session: workingmemory.Session{Conversation: a.Conversation}}
	}
	return collect(
		made(New(agent.ToolSpec{Name: GrepContent, Class: agent.Fast, Origins: origins, ReadOnly: true,
			Idempotent: true,
			Description: "Search, word for word, the part of this conversation that is only summed up by now, with " +
				"the tool results in it. Use it before you say that you do not know what was said or found earlier. " +
				"Results are lines with their numbers and the lines around them; total tells how many there are, " +
				"next_offset how to get the next ones."},
			func(ctx context.Context, a agent.Actor, in grepArgs) (workingmemory.Hits, error) {
				return s.Grep(ctx, a.Workspace, where(a, in.Handle), in.pattern())
			})),
		made(New(agent.ToolSpec{Name: ReadContent, Class: agent.Fast, Origins: origins, ReadOnly: true,
			Idempotent: true,
			Description: "Read lines of what was put away under a handle, such as those around a line that " +
				"grep_content has found."},
			func(ctx context.Context, a agent.Actor, in readArgs) (workingmemory.Page, error) {
				return s.Read(ctx, a.Workspace, where(a, in.Handle), in.Offset, or(in.Limit, workingmemory.UsualLines))
			})))
}

// grepArgs are the arguments of grep_content; the spec's order.
type grepArgs struct {
	Pattern string `json:"pattern" jsonschema:"what to look for within a line, whatever the case"`
	Handle  string `json:"handle,omitempty" jsonschema:"offload://… of one part; everything that was put away when left out"`
	Regex   bool   `json:"regex,omitempty" jsonschema:"take the pattern for a regular expression in RE2 syntax"`
	Before  *int   `json:"before,omitempty" jsonschema:"lines of context before a hit, 5 when left out"`
	After   *int   `json:"after,omitempty" jsonschema:"lines of context after a hit, 5 when left out"`
	Offset  int    `json:"offset,omitempty" jsonschema:"hits to pass over"`
	Limit   *int   `json:"limit,omitempty" jsonschema:"hits at most, 10 when left out"`
}

func (in grepArgs) pattern() workingmemory.Pattern {
	return workingmemory.Pattern{Pattern: in.Pattern, Regex: in.Regex,
		Before: or(in.Before, workingmemory.UsualContext), After: or(in.After, workingmemory.UsualContext),
		Offset: in.Offset, Limit: or(in.Limit, workingmemory.UsualHits)}
}

func (grepArgs) Bound(p map[string]*jsonschema.Schema) {
	boundText(p["pattern"], 1, workingmemory.MostPattern)
	bound(p["before"], 0, workingmemory.MostContext)
	bound(p["after"], 0, workingmemory.MostContext)
	p["offset"].Minimum = jsonschema.Ptr(0.0)
	bound(p["limit"], 1, workingmemory.MostHits)
}

type readArgs struct {
	Handle string `json:"handle" jsonschema:"offload://… as a record or a result of grep_content shows it"`
	Offset int    `json:"offset,omitempty" jsonschema:"lines to pass over"`
	Limit  *int   `json:"limit,omitempty" jsonschema:"lines at most, 100 when left out"`
}

func (readArgs) Bound(p map[string]*jsonschema.Schema) {
	p["offset"].Minimum = jsonschema.Ptr(0.0)
	bound(p["limit"], 1, workingmemory.MostLines)
}

func bound(s *jsonschema.Schema, least, most float64) {
	s.Minimum, s.Maximum = jsonschema.Ptr(least), jsonschema.Ptr(most)
}

// or is what p points to, or a default.
func or(p *int, usual int) int {
	if p == nil {
		return usual
	}
	return *p
}
