package httpapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/service/apikey"
	"cairn/internal/service/offload"
)

// OffloadRequest asks for a thread to be shortened.
type OffloadRequest struct {
	Messages    []SessionMessage `json:"messages" minItems:"1" maxItems:"5000" doc:"The whole thread"`
	Mode        string           `json:"mode,omitempty" enum:"compact,compress,auto" doc:"compact puts big tool results away; compress has a model record what is older; auto, when left out, compacts, and compresses when that was not enough"`
	Session     string           `json:"session,omitempty" maxLength:"200" doc:"Under which all that is put away can be searched together"`
	TotalTokens int              `json:"max_total_tokens,omitempty" minimum:"1" maximum:"1000000" doc:"Of the older messages: up to here nothing is done; 20000 when left out"`
	ToolTokens  int              `json:"max_tool_message_tokens,omitempty" minimum:"1" maximum:"1000000" doc:"A tool result above it is put away; 2000 when left out"`
	KeepRecent  *int             `json:"keep_recent,omitempty" minimum:"0" maximum:"1000" doc:"Messages at the end that are left alone, 10 when left out; the last user's turn always is"`
	Preview     *int             `json:"preview_chars,omitempty" minimum:"0" maximum:"4000" doc:"Of what is put away that stay, 200 when left out"`
	GroupTokens int              `json:"group_tokens,omitempty" minimum:"200" maximum:"1000000" doc:"Of the messages that one record stands for; 12000 when left out"`
	Ratio       float64          `json:"compact_ratio,omitempty" minimum:"0" maximum:"1" doc:"With auto: when compaction leaves more than this part of the tokens, a model compresses; 0.75 when left out"`
	TTL         int              `json:"ttl_seconds,omitempty" minimum:"1" maximum:"31622400" doc:"For how long what is put away can be had back; a week when left out"`
	RequestID   string           `json:"request_id,omitempty" maxLength:"200" doc:"The same id is the same request; as the header Idempotency-Key"`
	Wait        *int             `json:"wait,omitempty" minimum:"0" maximum:"120" doc:"Seconds to wait for a model, 60 when left out; after them the thread comes back as it was, and the same request has the records later"`
}

// OffloadedItem is something that was put away.
type OffloadedItem offload.OffloadedItem

// OffloadAnswer is the thread after it was shortened.
type OffloadAnswer struct {
	Messages     []SessionMessage `json:"messages"`
	Mode         string           `json:"mode,omitempty" enum:"compact,compress" doc:"What was done; left out when nothing had to be"`
	TokensBefore int              `json:"tokens_before" doc:"Estimated"`
	TokensAfter  int              `json:"tokens_after" doc:"Estimated"`
	Offloaded    []OffloadedItem  `json:"offloaded"`
	Degraded     bool             `json:"degraded" doc:"The messages are the original ones, because of what reason says"`
	Reason       string           `json:"reason,omitempty"`
	Run          int64            `json:"run,omitempty" doc:"Of the model's work"`
}

// ReloadRequest asks for what was put away: all that stands behind a handle, or a
// thread with its tool results back in place.
type ReloadRequest struct {
	Handle   string           `json:"handle,omitempty" maxLength:"100"`
	Messages []SessionMessage `json:"messages,omitempty" maxItems:"5000"`
}

// ReloadAnswer is what was put away.
type ReloadAnswer struct {
	Handle   string           `json:"handle,omitempty"`
	Kind     string           `json:"kind,omitempty" enum:"text,messages"`
	Label    string           `json:"label,omitempty"`
	Content  string           `json:"content,omitempty" doc:"Of kind text"`
	Messages []SessionMessage `json:"messages,omitempty"`
}

// GrepRequest looks for something in what was put away.
type GrepRequest struct {
	Handle  string `json:"handle,omitempty" maxLength:"100" doc:"What to look into"`
	Session string `json:"session,omitempty" maxLength:"200" doc:"Look into all that the session has put away, or with a handle: it has to be the session's"`
	Pattern string `json:"pattern" minLength:"1" maxLength:"500" doc:"To look for within a line, whatever the case"`
	Regex   bool   `json:"regex,omitempty" doc:"The pattern is a regular expression in RE2 syntax"`
	Before  *int   `json:"before,omitempty" minimum:"0" maximum:"50" doc:"Lines of context, 5 when left out"`
	After   *int   `json:"after,omitempty" minimum:"0" maximum:"50" doc:"Lines of context, 5 when left out"`
	Offset  int    `json:"offset,omitempty" minimum:"0" doc:"Hits to pass over"`
	Limit   *int   `json:"limit,omitempty" minimum:"1" maximum:"50" doc:"Hits at most, 10 when left out"`
}

// GrepAnswer is what was found.
type GrepAnswer workingmemory.Hits

// ReadRequest asks for lines of what was put away.
type ReadRequest struct {
	Handle string `json:"handle" minLength:"1" maxLength:"100"`
	Offset int    `json:"offset,omitempty" minimum:"0" doc:"Lines to pass over"`
	Limit  *int   `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"Lines at most, 100 when left out"`
}

// ReadAnswer is some lines.
type ReadAnswer workingmemory.Page

const tagWorking = "working memory"

func (g *Gateway) workingRoutes() {
	handle(g, route{method: http.MethodPost, path: "/v1/working/offload", id: "offloadMessages", tag: tagWorking,
		scope: apikey.Write, summary: "Make a thread shorter without losing a word of it",
		about: "A tool call is never parted from its results, and the last user's turn is never touched. What a " +
			"model makes is checked; where it is no record of the messages they come back as they were, with " +
			"degraded. " +
			"The same request gives the same answer and is paid once."}, g.offload)
	handle(g, route{method: http.MethodPost, path: "/v1/working/reload", id: "reloadMessages", tag: tagWorking,
		scope: apikey.Read, summary: "Have back what was put away"}, g.reload)
	handle(g, route{method: http.MethodPost, path: "/v1/working/grep", id: "grepContent", tag: tagWorking,
		scope: apikey.Read, bytes: smallBody, summary: "Look for something in what was put away"}, g.grep)
	handle(g, route{method: http.MethodPost, path: "/v1/working/read", id: "readContent", tag: tagWorking,
		scope: apikey.Read, bytes: smallBody, summary: "Read lines of what was put away"}, g.readLines)
}

func (g *Gateway) offload(ctx context.Context, in *struct {
	IdempotencyKey
	Body OffloadRequest
}) (*bodyOf[OffloadAnswer], error) {
	from, b := asking(ctx), in.Body
	r := offload.Request{Workspace: from.Workspace.ID, WorkspaceKey: from.Workspace.Key, Session: b.Session,
		TTL: g.Options.OffloadTTL, Wait: usualWait, Spec: g.Options.OffloadSpec(),
		Options: workingmemory.Options{Mode: workingmemory.Mode(b.Mode), TotalTokens: b.TotalTokens,
			ToolTokens: b.ToolTokens, KeepRecent: orUsual(b.KeepRecent, -1), Preview: orUsual(b.Preview, -1),
			GroupTokens: b.GroupTokens, Ratio: b.Ratio}}
	if b.TTL > 0 {
		r.TTL = time.Duration(b.TTL) * time.Second
	}
	var err error
	if r.ID, err = oneID(in.IdempotencyKey.Key, b.RequestID); err != nil {
		return nil, err
	}
	if r.Messages, err = threadOf(b.Messages); err != nil {
		return nil, err
	}
	if b.Wait != nil {
		r.Wait = time.Duration(*b.Wait) * time.Second
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.closing, cancel)()
	short, err := g.Offload.Offload(waiting, r)
	if err != nil {
		return nil, err
	}
	out := OffloadAnswer{Messages: shown(b.Messages, r.Messages, short.Messages), Mode: string(short.Mode),
		TokensBefore: short.TokensBefore, TokensAfter: short.TokensAfter, Offloaded: []OffloadedItem{},
		Degraded: short.Degraded, Reason: short.Reason, Run: short.Run}
	for _, a := range short.Away {
		out.Offloaded = append(out.Offloaded, OffloadedItem(a))
	}
	return &bodyOf[OffloadAnswer]{out}, nil
}

// threadOf reads messages whose places are kept.
func threadOf(in []SessionMessage) ([]transcript.Message, error) {
	ms, err := sessionOf("messages", in)
	if err == nil && len(ms) != len(in) {
		err = fault.Newf(fault.InvalidArgument, "%d of %d messages can be read as those of one thread", len(ms),
			len(in))
	}
	return ms, err
}

// shown are messages as their sender wrote them, but for what was changed.
func shown(in []SessionMessage, read, now []transcript.Message) []SessionMessage {
	out := make([]SessionMessage, len(now))
	for i, m := range now {
		if m.Seq == workingmemory.New {
			out[i] = sessionMessage(m)
			continue
		}
		if out[i] = in[m.Seq]; m.Content != read[m.Seq].Content {
			out[i].Content = m.Content
		}
	}
	return out
}

func sessionMessage(m transcript.Message) SessionMessage {
	out := SessionMessage{DistillMessage: DistillMessage{Role: string(m.Role), Content: m.Content, Name: m.Name,
		ToolCallID: m.ToolCallID}}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls,
			map[string]any{"id": c.ID, "type": "function",
				"function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
	}
	if !m.Time.IsZero() {
		out.Timestamp = m.Time.Format(time.RFC3339Nano)
	}
	return out
}

func (g *Gateway) reload(ctx context.Context, in *struct{ Body ReloadRequest }) (*bodyOf[ReloadAnswer], error) {
	out := &bodyOf[ReloadAnswer]{}
	switch b := in.Body; {
	case b.Handle != "" && len(b.Messages) > 0, b.Handle == "" && len(b.Messages) == 0:
		return nil, fault.New(fault.InvalidArgument, "give a handle or messages, one of them",
			"a handle stands in the messages that POST /v1/working/offload answered with")
	case b.Handle != "":
		whole, err := g.Offload.Fetch(ctx, workspace(ctx), workingmemory.Where{Handle: b.Handle})
		if err != nil {
			return nil, err
		}
		out.Body = ReloadAnswer{Handle: whole.Handle, Kind: string(whole.Kind), Label: whole.Label, Content: whole.Text}
		for _, m := range whole.Messages {
			out.Body.Messages = append(out.Body.Messages, sessionMessage(m))
		}
	default:
		ms, err := threadOf(b.Messages)
		if err != nil {
			return nil, err
		}
		now, err := g.Offload.Reload(ctx, workspace(ctx), ms)
		if err != nil {
			return nil, err
		}
		out.Body.Messages = shown(b.Messages, ms, now)
	}
	return out, nil
}

func (g *Gateway) grep(ctx context.Context, in *struct{ Body GrepRequest }) (*bodyOf[GrepAnswer], error) {
	b := in.Body
	found, err := g.Offload.Grep(ctx, workspace(ctx),
		workingmemory.Where{Handle: b.Handle, Session: workingmemory.Session{Name: b.Session}},
		workingmemory.Pattern{Pattern: b.Pattern, Regex: b.Regex, Before: orUsual(b.Before, workingmemory.UsualContext),
			After: orUsual(b.After, workingmemory.UsualContext), Offset: b.Offset,
			Limit: orUsual(b.Limit, workingmemory.UsualHits)})
	return &bodyOf[GrepAnswer]{GrepAnswer(found)}, err
}

func (g *Gateway) readLines(ctx context.Context, in *struct{ Body ReadRequest }) (*bodyOf[ReadAnswer], error) {
	page, err := g.Offload.Read(ctx, workspace(ctx), workingmemory.Where{Handle: in.Body.Handle}, in.Body.Offset,
		orUsual(in.Body.Limit, workingmemory.UsualLines))
	return &bodyOf[ReadAnswer]{ReadAnswer(page)}, err
}

// orUsual is what p points to, or a default.
func orUsual(p *int, usual int) int {
	if p == nil {
		return usual
	}
	return *p
}
