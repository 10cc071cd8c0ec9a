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

// Working names the tools of a conversation with offloaded content.
var Working = []string{GrepContent, ReadContent}

// OffloadedContent accesses the offloaded content of conversations.
type OffloadedContent interface {
	Grep(ctx context.Context, ws int64, at workingmemory.Where, p workingmemory.Pattern) (workingmemory.Hits, error)
	Read(ctx context.Context, ws int64, at workingmemory.Where, offset, limit int) (workingmemory.Page, error)
}

// WorkingMemory returns the tools that search offloaded content.
func WorkingMemory(s OffloadedContent) ([]Tool, error) {
	origins := []agent.Origin{agent.OriginAgent}
	where := func(a agent.Actor, handle string) workingmemory.Where {
		return workingmemory.Where{Handle: handle, Session: workingmemory.Session{Conversation: a.Conversation}}
	}
	return collect(
		made(New(agent.ToolSpec{Name: GrepContent, Class: agent.Fast, Origins: origins, ReadOnly: true,
			Idempotent: true,
			Description: "Search the original text of the summarized part of this conversation, including tool " +
				"results. Call it before you state that you do not know an earlier message or result. " +
				"Returns matching lines with line numbers and context; total is the number of matches, " +
				"next_offset the offset of the next page."},
			func(ctx context.Context, a agent.Actor, in grepArgs) (workingmemory.Hits, error) {
				return s.Grep(ctx, a.Workspace, where(a, in.Handle), in.pattern())
			})),
		made(New(agent.ToolSpec{Name: ReadContent, Class: agent.Fast, Origins: origins, ReadOnly: true,
			Idempotent: true,
			Description: "Read lines of the content of a handle, for example around a line that " +
				"grep_content has found."},
			func(ctx context.Context, a agent.Actor, in readArgs) (workingmemory.Page, error) {
				return s.Read(ctx, a.Workspace, where(a, in.Handle), in.Offset, or(in.Limit, workingmemory.UsualLines))
			})))
}

// grepArgs are the arguments of grep_content, in the order of the specification.
type grepArgs struct {
	Pattern string `json:"pattern" jsonschema:"text to find within a line, case-insensitive"`
	Handle  string `json:"handle,omitempty" jsonschema:"offload://… handle to search; omit to search all offloaded content"`
	Regex   bool   `json:"regex,omitempty" jsonschema:"treat the pattern as a regular expression in RE2 syntax"`
	Before  *int   `json:"before,omitempty" jsonschema:"lines of context before a match, default 5"`
	After   *int   `json:"after,omitempty" jsonschema:"lines of context after a match, default 5"`
	Offset  int    `json:"offset,omitempty" jsonschema:"number of matches to skip"`
	Limit   *int   `json:"limit,omitempty" jsonschema:"maximum number of matches, default 10"`
}

func (in grepArgs) pattern() workingmemory.Pattern {
	return workingmemory.Pattern{Pattern: in.Pattern, Regex: in.Regex,
		Before: or(in.Before, workingmemory.UsualContext), After: or(in.After, workingmemory.UsualContext),
		Offset: in.Offset, Limit: or(in.Limit, workingmemory.UsualHits)}
}

func (grepArgs) Bound(p map[string]*jsonschema.Schema) {
	boundText(p["pattern"], 1, workingmemory.MaxPattern)
	bound(p["before"], 0, workingmemory.MaxContext)
	bound(p["after"], 0, workingmemory.MaxContext)
	p["offset"].Minimum = jsonschema.Ptr(0.0)
	bound(p["limit"], 1, workingmemory.MaxHits)
}

type readArgs struct {
	Handle string `json:"handle" jsonschema:"offload://… handle from a record or from grep_content"`
	Offset int    `json:"offset,omitempty" jsonschema:"number of lines to skip"`
	Limit  *int   `json:"limit,omitempty" jsonschema:"maximum number of lines, default 100"`
}

func (readArgs) Bound(p map[string]*jsonschema.Schema) {
	p["offset"].Minimum = jsonschema.Ptr(0.0)
	bound(p["limit"], 1, workingmemory.MaxLines)
}

func bound(s *jsonschema.Schema, least, most float64) {
	s.Minimum, s.Maximum = jsonschema.Ptr(least), jsonschema.Ptr(most)
}

// or returns the value of p, or usual if p is nil.
func or(p *int, usual int) int {
	if p == nil {
		return usual
	}
	return *p
}
