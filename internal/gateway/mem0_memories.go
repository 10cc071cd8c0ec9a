package gateway

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/agent"
	"cairn/internal/fault"
	"cairn/internal/host"
	"cairn/internal/memory"
	"cairn/internal/progressive"
	"cairn/internal/remember"
	"cairn/internal/run"
	"cairn/internal/transcript"
)

// mem0Patience is how long an add waits for what is inferred; an event tells of
// what takes longer.
const mem0Patience = 100 * time.Second

// mem0Memory is a memory as mem0's clients read it.
type mem0Memory struct {
	ID       string         `json:"id"`
	Memory   string         `json:"memory"`
	Hash     string         `json:"hash"`
	Metadata map[string]any `json:"metadata"`
	Score    *float64       `json:"score,omitempty"`
	Created  time.Time      `json:"created_at"`
	Updated  time.Time      `json:"updated_at"`
	facts
}

func mem0Of(e memory.Entry) mem0Memory {
	metadata := memory.Metadata{}.With(e.Metadata)
	delete(metadata, mem0Facts)
	return mem0Memory{ID: e.ID, Memory: e.Content, Hash: fmt.Sprintf("%x", md5.Sum([]byte(e.Content))), Metadata: metadata, Created: e.CreatedAt, Updated: e.UpdatedAt, facts: factsOf(e)}
}

// mem0Event is what was done to one memory.
type mem0Event struct {
	ID     string `json:"id"`
	Memory string `json:"memory"`
	Event  string `json:"event"` // ADD UPDATE DELETE NONE
	Role   string `json:"role,omitempty"`
}

type mem0Add struct {
	entity
	Messages json.RawMessage `json:"messages"`
	Metadata memory.Metadata `json:"metadata"`
	Expires  string          `json:"expiration_date"`
	Infer    *bool           `json:"infer"`
	Type     string          `json:"memory_type"`
}

func (c *mem0Call) added() (in mem0Add, messages []transcript.Message, err error) {
	if err = c.read(&in); err != nil {
		return in, nil, err
	}
	if in.none() {
		return in, nil, noEntity
	}
	if in.Expires != "" {
		if _, err := time.Parse(time.DateOnly, in.Expires); err != nil {
			return in, nil, fault.New(fault.InvalidArgument, "expiration_date is no YYYY-MM-DD", "")
		}
	}
	if in.Type != "" && in.Type != "procedural_memory" {
		return in, nil, fault.New(fault.InvalidArgument, fmt.Sprintf("memory_type is %q", in.Type), "leave it out, or use procedural_memory")
	}
	var text string
	if json.Unmarshal(in.Messages, &text) == nil && text != "" {
		return in, []transcript.Message{{Role: transcript.User, Content: text}}, nil
	}
	raw := bytes.TrimSpace(in.Messages)
	if bytes.HasPrefix(raw, []byte("{")) { // one message alone
		raw = slicesOf(raw)
	}
	all, err := transcript.Parse("messages", bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return in, nil, err
	}
	if len(all) != 1 || len(memory.Said(all[0].Messages)) == 0 {
		return in, nil, fault.New(fault.InvalidArgument, "messages is empty", "send what was said")
	}
	return in, memory.Said(all[0].Messages), nil
}

func slicesOf(one []byte) []byte { return append(append([]byte("["), one...), ']') }

// add remembers what was said and waits for what comes of it.
func (c *mem0Call) add() (any, error) { return c.remember(mem0Patience) }

// addLater is add as the platform has it: an event tells what came of it.
func (c *mem0Call) addLater() (any, error) { return c.remember(0) }

func (c *mem0Call) remember(wait time.Duration) (any, error) {
	in, messages, err := c.added()
	if err != nil {
		return nil, err
	}
	if in.Infer != nil && !*in.Infer {
		return c.addAsIs(in, messages)
	}
	where := in.target()
	choices := progressive.Choices{Types: mem0Types}
	if in.Type != "" {
		where.Type, choices.Types = memory.Procedural, []memory.Type{memory.Procedural}
	}
	r, err := c.Progressive.Summarize(c.r.Context(), progressive.Request{Workspace: c.from.Workspace.ID, WorkspaceKey: c.from.Workspace.Key, ID: c.r.Header.Get("Idempotency-Key"), Messages: messages,
		Targets: []memory.Task{where}, KnownOnly: true, Choices: choices, Spec: host.TurnSpec(c.Config)})
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		if _, err := c.await(c.r.Context(), r.Status, wait, func() (run.Status, error) {
			now, err := c.Progressive.RequestOf(c.r.Context(), r.Workspace, r.Key)
			return now.Status, err
		}); err != nil {
			return nil, err
		}
	}
	out, err := c.came(r.Ref, facts{entity: in.entity, Expires: in.Expires}.stamp(in.Metadata))
	if err != nil || wait > 0 && out["status"] == "SUCCEEDED" {
		return map[string]any{"results": out["results"]}, err
	}
	out["event_id"], out["message"] = r.Key, "Memory processing has been queued for background execution"
	return out, nil
}

// came tells what a request has come to, and marks what it made as the entity's.
func (c *mem0Call) came(ref run.Ref, stamp memory.Metadata) (map[string]any, error) {
	ctx := c.r.Context()
	report, err := c.Progressive.Report(ctx, ref)
	if err != nil {
		return nil, err
	}
	results := []mem0Event{}
	if report.State != run.Ended {
		return map[string]any{"status": "PENDING", "results": results}, nil
	}
	if report.Status == progressive.Failed {
		return map[string]any{"status": "FAILED", "results": results, "detail": report.Detail}, nil
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
	entries, err := c.LongTerm.Get(ctx, c.person(), ids...)
	if err != nil {
		return nil, err
	}
	var marked []remember.ChangedMemory
	for _, e := range entries {
		results = append(results, mem0Event{ID: e.ID, Memory: e.Content, Event: kinds[e.ID]})
		if e.Status == memory.Active && e.Metadata[mem0Facts] == nil && stamp != nil {
			marked = append(marked, remember.ChangedMemory{Index: len(marked), ID: e.ID, Content: e.Content, Metadata: stamp})
		}
	}
	if len(marked) > 0 {
		if _, err := c.LongTerm.UpdateMemories(ctx, c.marker(ref), marked); err != nil {
			return nil, err
		}
	}
	return map[string]any{"status": "SUCCEEDED", "results": results}, nil
}

// marker marks what a run made.
func (c *mem0Call) marker(ref run.Ref) agent.Actor {
	a := c.person()
	a.Op = operation("mem0", "") + fmt.Sprintf("/%d", ref.Run)
	return a
}

// addAsIs remembers each message as it stands.
func (c *mem0Call) addAsIs(in mem0Add, messages []transcript.Message) (any, error) {
	where := in.target()
	who := c.person()
	who.Subject = agent.Subject{Type: string(where.Type), Target: where.Target}
	var wanted []remember.NewMemory
	for i, m := range messages {
		f := facts{entity: in.entity, Expires: in.Expires, Role: string(m.Role)}
		wanted = append(wanted, remember.NewMemory{Index: i, Content: m.Content, Metadata: f.stamp(in.Metadata)})
	}
	items, err := c.LongTerm.AddMemories(c.r.Context(), who, wanted)
	results := []mem0Event{}
	for _, i := range items {
		event := "ADD"
		switch i.Status {
		case remember.Failed:
			continue
		case remember.AlreadyExists:
			event = "NONE"
		}
		results = append(results, mem0Event{ID: i.ID, Memory: wanted[i.Index].Content, Event: event, Role: string(messages[i.Index].Role)})
	}
	return map[string]any{"results": results}, err
}

func (c *mem0Call) event() (any, error) {
	r, err := c.Progressive.RequestOf(c.r.Context(), c.from.Workspace.ID, c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	out, err := c.came(r.Ref, nil)
	if err == nil {
		out["id"], out["event_type"], out["created_at"] = r.Key, "ADD", r.CreatedAt
	}
	return out, err
}

// entry is the memory that the path names, if it is one that mem0 sees.
func (c *mem0Call) entry() (memory.Entry, error) {
	found, err := c.LongTerm.Get(c.r.Context(), c.person(), c.r.PathValue("id"))
	if err != nil {
		return memory.Entry{}, err
	}
	if len(found) == 0 || found[0].Status != memory.Active || !contains(mem0Types, found[0].Type) {
		return memory.Entry{}, fault.New(fault.NotFound, "Memory not found", "")
	}
	return found[0], nil
}

func contains[T comparable](all []T, one T) bool {
	for _, a := range all {
		if a == one {
			return true
		}
	}
	return false
}

func (c *mem0Call) get() (any, error) {
	e, err := c.entry()
	return mem0Of(e), err
}

func (c *mem0Call) update() (any, error) {
	var in struct {
		Text     string          `json:"text"`
		Data     string          `json:"data"`
		Memory   string          `json:"memory"`
		Metadata memory.Metadata `json:"metadata"`
		Expires  *string         `json:"expiration_date"`
	}
	e, err := c.entry()
	if err == nil {
		err = c.read(&in)
	}
	if err != nil {
		return nil, err
	}
	if delete(in.Metadata, mem0Facts); in.Expires != nil { // whom a memory is for does not change
		f := factsOf(e)
		f.Expires = *in.Expires
		in.Metadata = f.stamp(in.Metadata)
	}
	text := cmp.Or(in.Text, in.Data, in.Memory, e.Content)
	if _, err := c.LongTerm.UpdateMemories(c.r.Context(), c.person(), []remember.ChangedMemory{{ID: e.ID, Content: text, Metadata: in.Metadata}}); err != nil {
		return nil, err
	}
	if e, err = c.entry(); fault.CodeOf(err) == fault.NotFound { // another says it already, and has become this one's place
		return map[string]any{"message": "Memory updated successfully!"}, nil
	}
	return struct {
		mem0Memory
		Message string `json:"message"`
	}{mem0Of(e), "Memory updated successfully!"}, err
}

func (c *mem0Call) remove() (any, error) {
	e, err := c.entry()
	if err == nil {
		_, err = c.LongTerm.DeleteMemories(c.r.Context(), c.person(), []remember.GoneMemory{{ID: e.ID}})
	}
	return map[string]any{"message": "Memory deleted successfully!"}, err
}

func (c *mem0Call) history() (any, error) {
	id := c.r.PathValue("id")
	const most = 1000
	found, err := c.LongTerm.Get(c.r.Context(), c.person(), id)
	if err == nil && (len(found) == 0 || !contains(mem0Types, found[0].Type)) {
		err = fault.New(fault.NotFound, "Memory not found", "")
	}
	if err != nil {
		return nil, err
	}
	revisions, err := c.Memory.History(c.r.Context(), c.person(), id, most)
	if err != nil {
		return nil, err
	}
	out, before := []map[string]any{}, any(nil)
	for i := len(revisions) - 1; i >= 0; i-- { // mem0 tells the first first
		r := revisions[i]
		event, after := "UPDATE", any(r.Content)
		switch r.Action {
		case memory.Add:
			event = "ADD"
		case memory.Remove, memory.Merge:
			event, after = "DELETE", nil
		}
		out = append(out, map[string]any{"id": fmt.Sprintf("%s-%d", id, r.Version), "memory_id": id, "old_memory": before, "new_memory": after, "event": event, "created_at": r.CreatedAt, "updated_at": r.CreatedAt,
			"is_deleted": after == nil, "actor_id": nil, "role": nil})
		before = after
	}
	return out, nil
}

func (c *mem0Call) reset() (any, error) {
	_, err := c.LongTerm.DeleteWhere(c.r.Context(), c.person(), memory.Filter{Types: memory.LongTermTypes})
	return map[string]any{"message": "All memories reset"}, err
}
