package httpapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
	"cairn/internal/service/offload"
)

// OffloadRequest is the request to shorten a thread.
type OffloadRequest struct {
	Messages    []SessionMessage `json:"messages" minItems:"1" maxItems:"5000" doc:"The whole thread"`
	Mode        string           `json:"mode,omitempty" enum:"compact,compress,auto" doc:"compact offloads large tool results. compress lets a model summarize older messages. auto (default) compacts, then compresses if that is not enough"`
	Session     string           `json:"session,omitempty" maxLength:"200" doc:"Session name, which groups offloaded content for search"`
	TotalTokens int              `json:"max_total_tokens,omitempty" minimum:"1" maximum:"1000000" doc:"Token limit of the older messages; up to this limit nothing is done; default 20000"`
	ToolTokens  int              `json:"max_tool_message_tokens,omitempty" minimum:"1" maximum:"1000000" doc:"A tool result with more tokens is offloaded; default 2000"`
	KeepRecent  *int             `json:"keep_recent,omitempty" minimum:"0" maximum:"1000" doc:"Number of messages at the end that stay unchanged, default 10; the last user turn always stays unchanged"`
	Preview     *int             `json:"preview_chars,omitempty" minimum:"0" maximum:"4000" doc:"Characters of offloaded content that stay as a preview; default 200"`
	GroupTokens int              `json:"group_tokens,omitempty" minimum:"200" maximum:"1000000" doc:"Maximum tokens of the messages in one summary; default 12000"`
	Ratio       float64          `json:"compact_ratio,omitempty" minimum:"0" maximum:"1" doc:"In mode auto: if compaction leaves more than this fraction of the tokens, a model compresses; default 0.75"`
	TTL         int              `json:"ttl_seconds,omitempty" minimum:"1" maximum:"31622400" doc:"Seconds for which offloaded content is stored; default: the gateway's setting, one week"`
	RequestID   string           `json:"request_id,omitempty" maxLength:"200" doc:"ID of the request. Requests with the same ID return the same result. Same as the header Idempotency-Key"`
	Wait        *int             `json:"wait,omitempty" minimum:"0" maximum:"120" doc:"Seconds to wait for a model, default 60. After that, the response has the original thread; repeat the request to get the shortened one"`
}

// OffloadedItem is one piece of offloaded content.
type OffloadedItem offload.OffloadedItem

// OffloadAnswer is the shortened thread.
type OffloadAnswer struct {
	Messages     []SessionMessage `json:"messages"`
	Mode         string           `json:"mode,omitempty" enum:"compact,compress" doc:"The mode that was applied; absent if nothing changed"`
	TokensBefore int              `json:"tokens_before" doc:"Estimated number of tokens before"`
	TokensAfter  int              `json:"tokens_after" doc:"Estimated number of tokens after"`
	Offloaded    []OffloadedItem  `json:"offloaded"`
	Degraded     bool             `json:"degraded" doc:"True if the messages are the original ones; reason has the cause"`
	Reason       string           `json:"reason,omitempty"`
	Run          string           `json:"run,omitempty" doc:"ID of the run that compresses"`
}

// ReloadRequest is the request for offloaded content: that of a handle, or a thread whose
// tool results are put back in place.
type ReloadRequest struct {
	Handle   string           `json:"handle,omitempty" maxLength:"100"`
	Messages []SessionMessage `json:"messages,omitempty" maxItems:"5000"`
}

// ReloadAnswer is offloaded content.
type ReloadAnswer struct {
	Handle   string           `json:"handle,omitempty"`
	Kind     string           `json:"kind,omitempty" enum:"text,messages"`
	Label    string           `json:"label,omitempty"`
	Content  string           `json:"content,omitempty" doc:"The content, for kind text"`
	Messages []SessionMessage `json:"messages,omitempty"`
}

// GrepRequest is a search in offloaded content.
type GrepRequest struct {
	Handle  string `json:"handle,omitempty" maxLength:"100" doc:"Handle of the content to search"`
	Session string `json:"session,omitempty" maxLength:"200" doc:"Search all content of the session; together with handle, the handle must belong to the session"`
	Pattern string `json:"pattern" minLength:"1" maxLength:"500" doc:"Text to find within a line, ignoring case"`
	Regex   bool   `json:"regex,omitempty" doc:"The pattern is a regular expression in RE2 syntax"`
	Before  *int   `json:"before,omitempty" minimum:"0" maximum:"50" doc:"Lines of context before a hit; default 5"`
	After   *int   `json:"after,omitempty" minimum:"0" maximum:"50" doc:"Lines of context after a hit; default 5"`
	Offset  int    `json:"offset,omitempty" minimum:"0" maximum:"2147483647" doc:"Number of hits to skip"`
	Limit   *int   `json:"limit,omitempty" minimum:"1" maximum:"50" doc:"Maximum number of hits; default 10"`
}

// GrepAnswer holds the hits of a search.
type GrepAnswer workingmemory.Hits

// ReadRequest is the request for lines of offloaded content.
type ReadRequest struct {
	Handle string `json:"handle" minLength:"1" maxLength:"100"`
	Offset int    `json:"offset,omitempty" minimum:"0" maximum:"2147483647" doc:"Number of lines to skip"`
	Limit  *int   `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"Maximum number of lines; default 100"`
}

// ReadAnswer is a page of lines.
type ReadAnswer workingmemory.Page

const tagWorking = "working memory"

func (g *Gateway) workingRoutes() {
	handle(g, route{method: http.MethodPost, path: "/v1/working/offload", id: "offloadMessages", tag: tagWorking,
		scope: access.Write, summary: "Shorten a thread without losing content",
		about: "A tool call stays together with its results, and the last user turn stays unchanged. The " +
			"model's output is validated; if it is invalid, the response has the original messages and " +
			"degraded. " +
			"The same request returns the same response and is paid once."}, g.offload)
	handle(g, route{method: http.MethodPost, path: "/v1/working/reload", id: "reloadMessages", tag: tagWorking,
		scope: access.Read, summary: "Get offloaded content"}, g.reload)
	handle(g, route{method: http.MethodPost, path: "/v1/working/grep", id: "grepContent", tag: tagWorking,
		scope: access.Read, bytes: smallBody, summary: "Search offloaded content"}, g.grep)
	handle(g, route{method: http.MethodPost, path: "/v1/working/read", id: "readContent", tag: tagWorking,
		scope: access.Read, bytes: smallBody, summary: "Read lines of offloaded content"}, g.readLines)
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

// threadOf parses messages and keeps their positions.
func threadOf(in []SessionMessage) ([]transcript.Message, error) {
	ms, err := sessionOf("messages", in)
	if err == nil && len(ms) != len(in) {
		err = fault.Newf(fault.InvalidArgument, "only %d of %d messages form a valid thread", len(ms), len(in))
	}
	return ms, err
}

// shown returns the shortened messages. Unchanged messages keep the sender's form.
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
		return nil, fault.New(fault.InvalidArgument, "handle and messages are mutually exclusive, and one is required",
			"copy a handle from the response of POST /v1/working/offload")
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

// orUsual returns *p, or the default usual if p is nil.
func orUsual(p *int, usual int) int {
	if p == nil {
		return usual
	}
	return *p
}
