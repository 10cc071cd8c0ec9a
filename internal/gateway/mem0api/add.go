package mem0api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/transcript/intake"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
)

// patience is how long an add waits for its results. After that, clients read the result
// from an event.
const patience = 100 * time.Second

// mem0Event is a change of one memory.
type mem0Event struct {
	ID     string   `json:"id"`
	Memory string   `json:"memory"`
	Event  string   `json:"event"` // ADD UPDATE DELETE NONE
	Role   string   `json:"role,omitempty"`
	Data   mem0Text `json:"data"` // the text again, for clients of mem0's platform
}

type mem0Text struct {
	Memory string `json:"memory"`
}

type mem0Add struct {
	entity
	Messages json.RawMessage `json:"messages"`
	Metadata memory.Metadata `json:"metadata"`
	Expires  string          `json:"expiration_date"`
	Infer    *bool           `json:"infer"`
	Type     string          `json:"memory_type"`
	At       int64           `json:"timestamp"`           // time of the messages, Unix seconds
	Async    *bool           `json:"async_mode"`          // used by the platform; false waits for the result
	Prompt   string          `json:"prompt"`              // instructions on what to remember
	Custom   string          `json:"custom_instructions"` // the platform's name for prompt

	AgentCustom string          `json:"agent_custom_instructions"` // replaces Custom for an agent's memories
	Includes    string          `json:"includes"`
	Excludes    string          `json:"excludes"`
	Categories  json.RawMessage `json:"custom_categories"`
	Filters     any             `json:"filters"` // may name the entities

	categories []agent.Category
	project    settings.Mem0
	Add        string `json:"add"` // auto, fast or agents; empty is the setting of the workspace
}

func (c *call) added() (in mem0Add, messages []transcript.Message, err error) {
	if err = c.examine(addOptions); err != nil {
		return in, nil, err
	}
	if err = c.read(&in); err != nil {
		return in, nil, err
	}
	if in.Filters != nil {
		if err := in.entity.from(in.Filters, 0); err != nil {
			return in, nil, err
		}
	}
	if err := in.check(); err != nil {
		return in, nil, err
	}
	if err := c.prepare(&in); err != nil {
		return in, nil, err
	}
	if err := checkDate(in.Expires); err != nil {
		return in, nil, err
	}
	if in.At > latestSecond {
		return in, nil, fault.New(fault.InvalidArgument, fmt.Sprintf("timestamp %d is after the year 9999", in.At),
			"send seconds since 1970, such as 1764060000")
	}
	if in.Type != "" && in.Type != "procedural_memory" {
		return in, nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid memory_type %q", in.Type),
			"omit memory_type, or use procedural_memory")
	}
	var text string
	if json.Unmarshal(in.Messages, &text) == nil && text != "" {
		return in, []transcript.Message{{Role: transcript.User, Content: text}}, nil
	}
	raw := bytes.TrimSpace(in.Messages)
	if bytes.HasPrefix(raw, []byte("{")) { // a single message
		raw = slicesOf(raw)
	}
	all, err := intake.Messages("messages", raw)
	if err != nil {
		return in, nil, err
	}
	messages = memory.Dialogue(all)
	if len(messages) == 0 {
		return in, nil, fault.New(fault.InvalidArgument, "messages is empty", "send at least one message with content")
	}
	return in, messages, nil
}

// from sets the entities that the filters of an add name.
func (e *entity) from(filters any, depth int) error {
	members, ok := filters.(map[string]any)
	if !ok || depth > filterDepth {
		return badFilter("filters must be a JSON object that names user_id, agent_id, app_id or run_id")
	}
	for name, v := range members {
		kind, _ := strings.CutSuffix(name, "_id")
		named, isText := v.(string)
		list, isList := v.([]any)
		switch {
		case isEntity(name) && isText:
			if field := e.named(kind); *field == "" {
				*field = named
			}
		case name == "AND" && isList:
			for _, one := range list {
				if err := e.from(one, depth+1); err != nil {
					return err
				}
			}
		default:
			return badFilter("invalid filter %.40q of an add: name user_id, agent_id, app_id or run_id as texts", name)
		}
	}
	return nil
}

// prepare reads the project, whose settings apply unless the request has its own.
func (c *call) prepare(in *mem0Add) error {
	s, err := c.Workspaces.Settings(c.r.Context(), c.from.Workspace.ID)
	if err != nil {
		return err
	}
	in.project = s.Mem0
	in.categories = s.Mem0.CustomCategories
	if len(in.Categories) > 0 {
		in.categories, err = categoriesFrom(in.Categories)
	}
	return err
}

// latestSecond is the last second of the year 9999.
const latestSecond = 253402300799

// when returns the time of the messages, or nil if the caller sent none.
func (in mem0Add) when() *time.Time {
	if in.At <= 0 {
		return nil
	}
	t := time.Unix(in.At, 0).UTC()
	return &t
}

func slicesOf(one []byte) []byte { return append(append([]byte("["), one...), ']') }

// add remembers messages and waits for the result.
func (c *call) add() (any, error) { return c.remember(patience) }

// addLater is add of mem0's platform: clients read the result from an event.
func (c *call) addLater() (any, error) { return c.remember(0) }

// addOne is add of former clients of the platform, which wait unless they set async_mode.
func (c *call) addOne() (any, error) {
	var in struct {
		Async bool `json:"async_mode"`
	}
	if err := c.read(&in); err != nil || !in.Async {
		return c.remember(patience)
	}
	return c.remember(0)
}

func (c *call) remember(wait time.Duration) (any, error) {
	in, messages, err := c.added()
	if err != nil {
		return nil, err
	}
	if in.Infer != nil && !*in.Infer {
		return c.addAsIs(in, messages)
	}
	if in.Async != nil && !*in.Async {
		wait = patience
	}
	if t := in.when(); t != nil {
		for i := range messages {
			if messages[i].Time.IsZero() {
				messages[i].Time = *t
			}
		}
	}
	r, err := c.summarize(in, messages)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		if _, err := c.Await(c.r.Context(), r.Ref, wait, func() (run.Status, error) {
			now, err := c.Progressive.RequestOf(c.r.Context(), r.Workspace, r.Key)
			return now.Status, err
		}); err != nil {
			return nil, err
		}
	}
	out, err := c.addResult(r)
	if err != nil {
		return nil, err
	}
	if wait > 0 && out.Status == mem0Status(run.Ended, true) {
		return nil, out.failure
	}
	if wait > 0 && out.Status == mem0Status(run.Ended, false) {
		return out.mem0Added, nil
	}
	queued := mem0Queued{out.Status, r.Key, "Memory processing has been queued for background execution", []any{}}
	if strings.HasSuffix(c.r.URL.Path, "/v1/memories/") { // its clients read an event from the results
		queued.Results = append(queued.Results, map[string]string{"message": queued.Message, "status": queued.Status,
			"event_id": queued.Event})
	}
	return queued, nil
}

// mem0Added is the response to an add that has ended.
type mem0Added struct {
	Results []mem0Event    `json:"results"`
	Add     string         `json:"add,omitempty"`     // how the session was added: fast or agents
	Dropped map[string]int `json:"dropped,omitempty"` // number of facts that were not stored, by reason
}

// mem0Queued is the response to an add that continues in the background.
type mem0Queued struct {
	Status  string `json:"status"`
	Event   string `json:"event_id"`
	Message string `json:"message"`
	Results []any  `json:"results"`
}

// summarize starts a run that extracts memories from messages. A repeated request returns
// the same run if the run is active or the Idempotency-Key is equal. Otherwise it
// starts a new run, as mem0 does.
func (c *call) summarize(in mem0Add, messages []transcript.Message) (run.Run, error) {
	where := in.target()
	choices := memoryagent.RequestOptions{Types: mem0Types,
		Metadata: facts{entity: in.entity, Expires: in.Expires}.stamp(in.Metadata),
		Guidance: withCategories(in.guidance(in.project), in.categories), Categories: in.categories}
	if in.Type != "" {
		where.Type, choices.Types = memory.Procedural, []memory.Type{memory.Procedural}
	}
	choices.Only = []memory.Task{where} // messages of one user create no memories of other users
	wanted := memoryagent.Request{Workspace: c.from.Workspace.ID, WorkspaceKey: c.from.Workspace.Key,
		ID: c.r.Header.Get("Idempotency-Key"), Messages: messages,
		Targets: []memory.Task{where}, KnownOnly: true, Choices: choices, Add: in.Add, Spec: c.options.TurnSpec()}
	r, err := c.Progressive.Summarize(c.r.Context(), wanted)
	if err == nil && r.Status == run.Ended && wanted.ID == "" {
		wanted.Fresh = true
		return c.Progressive.Summarize(c.r.Context(), wanted)
	}
	return r, err
}

// mem0AddResult is the result of a request to remember.
type mem0AddResult struct {
	mem0EventRow
	mem0Added
	Detail  string `json:"detail,omitempty"`
	failure error
}

func (c *call) addResult(r run.Run) (out mem0AddResult, err error) {
	report, err := c.Progressive.Report(c.r.Context(), r.Ref)
	if err != nil {
		return out, err
	}
	out.Results, out.Add, out.Dropped = []mem0Event{}, report.Add, report.Dropped
	out.mem0EventRow = mem0EventRow{ID: r.Key, Type: "ADD",
		Status: mem0Status(report.State, report.Status == memoryagent.Failed), Created: r.CreatedAt,
		Updated: r.CreatedAt}
	if report.State != run.Ended {
		return out, nil
	}
	if report.Status == memoryagent.Failed {
		out.failure = failureOf(report)
		out.Detail = out.failure.Error()
		return out, nil
	}
	kinds := map[string]string{}
	var ids []string
	for _, t := range report.Tasks {
		for kind, some := range map[string][]string{"ADD": t.Added, "UPDATE": t.Updated, "DELETE": t.Deleted} {
			for _, id := range some {
				if kinds[id] == "" {
					ids = append(ids, id)
				}
				kinds[id] = kind
			}
		}
	}
	entries, err := c.LongTerm.Get(c.r.Context(), c.person(), ids...)
	for _, e := range entries {
		out.Results = append(out.Results, mem0Event{ID: e.ID, Memory: e.Content, Event: kinds[e.ID],
			Data: mem0Text{e.Content}})
	}
	return out, err
}

// failureOf returns the error of a failed request.
func failureOf(r memoryagent.Report) error {
	switch code := fault.Code(r.Detail); {
	case r.Reason == agent.OverBudget:
		return fault.New(fault.QuotaExceeded, "model budget exhausted", "")
	case r.Reason == agent.Interrupted:
		return fault.New(fault.Cancelled, "request canceled", "")
	case upstreams[code] != "" && code != fault.Unavailable:
		return fault.New(code, "model endpoint rejected the request: "+r.Detail, "")
	}
	return fault.New(fault.ModelInvalid, "model unavailable: "+string(r.Reason)+" "+r.Detail,
		"inspect the run with `cairn runs show RUN`, then send the request again")
}

// addAsIs stores each message as a memory without a model.
func (c *call) addAsIs(in mem0Add, messages []transcript.Message) (any, error) {
	where := in.target()
	who := c.person()
	who.Subject = agent.MemoryScope{Type: string(where.Type), Target: where.Target, Categories: in.categories}
	var wanted []memories.NewMemory
	for i, m := range messages {
		f := facts{entity: in.entity, Expires: in.Expires, Role: string(m.Role)}
		wanted = append(wanted, memories.NewMemory{Index: i, Content: m.Content, Metadata: f.stamp(in.Metadata),
			EventTime: in.when()})
	}
	items, err := c.LongTerm.AddMemories(c.r.Context(), who, wanted)
	results := []mem0Event{}
	for _, i := range items {
		event := "ADD"
		switch i.Status {
		case memories.Failed:
			continue
		case memories.AlreadyExists:
			event = "NONE"
		}
		results = append(results, mem0Event{ID: i.ID, Memory: wanted[i.Index].Content, Event: event,
			Role: string(messages[i.Index].Role), Data: mem0Text{wanted[i.Index].Content}})
	}
	return map[string]any{"results": results}, err
}

// event returns the result of one add.
func (c *call) event() (any, error) {
	r, err := c.Progressive.RequestOf(c.r.Context(), c.from.Workspace.ID, c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return c.addResult(r)
}
