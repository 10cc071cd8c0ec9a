package mem0api

import (
	"cmp"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// mem0Memory is a memory in the form of mem0.
type mem0Memory struct {
	ID       string         `json:"id"`
	Memory   string         `json:"memory"`
	Hash     string         `json:"hash"`
	Metadata map[string]any `json:"metadata"`
	Score    *float64       `json:"score,omitempty"`
	Details  map[string]any `json:"score_details,omitempty"`
	Created  time.Time      `json:"created_at"`
	Updated  time.Time      `json:"updated_at"`
	facts
	Categories []string `json:"categories"`
}

func mem0Of(e memory.Entry) mem0Memory {
	metadata := memory.Metadata{}.With(e.Metadata)
	delete(metadata, mem0Facts)
	return mem0Memory{ID: e.ID, Memory: e.Content, Hash: fmt.Sprintf("%x", md5.Sum([]byte(e.Content))),
		Metadata: metadata, Created: e.CreatedAt, Updated: e.UpdatedAt, facts: factsOf(e),
		Categories: append([]string{}, factsOf(e).Categories...)}
}

func checkDate(text string) error {
	if _, err := time.Parse(time.DateOnly, text); text != "" && err != nil {
		return fault.New(
			fault.InvalidArgument,
			fmt.Sprintf("invalid expiration_date %q", text),
			"use the form 2026-12-31",
		)
	}
	return nil
}

// entry returns the memory named in the path if mem0 clients may see it.
func (c *call) entry() (memory.Entry, error) { return c.entryOf(c.r.PathValue("id")) }

func (c *call) get() (any, error) {
	e, err := c.entry()
	return mem0Of(e), err
}

func (c *call) update() (any, error) {
	var in struct {
		Text     string          `json:"text"`
		Data     string          `json:"data"`
		Memory   string          `json:"memory"`
		Metadata memory.Metadata `json:"metadata"`
		Expires  json.RawMessage `json:"expiration_date"` // null removes the date
		At       any             `json:"timestamp"`       // Unix seconds or a text
	}
	e, err := c.entry()
	if err == nil {
		err = c.examine(updateOptions)
	}
	if err == nil {
		err = c.read(&in)
	}
	if err != nil {
		return nil, err
	}
	if delete(in.Metadata, mem0Facts); len(in.Expires) > 0 || in.At != nil { // the owner of a memory cannot change
		f := factsOf(e)
		if err := f.change(in.Expires, in.At); err != nil {
			return nil, err
		}
		in.Metadata = f.stamp(in.Metadata)
	}
	text := cmp.Or(in.Text, in.Data, in.Memory, e.Content)
	if _, err := c.LongTerm.UpdateMemories(c.r.Context(), c.person(),
		[]memories.ChangedMemory{{ID: e.ID, Content: text, Metadata: in.Metadata}}); err != nil {
		return nil, err
	}
	// another memory has the same content, and this one was merged into it
	if e, err = c.entry(); fault.CodeOf(err) == fault.NotFound {
		return message("Memory updated successfully!"), nil
	}
	return struct {
		mem0Memory
		Message string `json:"message"`
	}{mem0Of(e), "Memory updated successfully!"}, err
}

// change sets the date and the time of a memory, if they are given.
func (f *facts) change(expires json.RawMessage, at any) error {
	if len(expires) > 0 {
		f.Expires = ""
		if err := json.Unmarshal(expires, &f.Expires); err != nil {
			return fault.New(fault.InvalidArgument, "expiration_date must be a string or null",
				"use the form 2026-12-31")
		}
		if err := checkDate(f.Expires); err != nil {
			return err
		}
	}
	if at == nil {
		return nil
	}
	if n, isNumber := at.(float64); isNumber {
		at = json.Number(strconv.FormatFloat(n, 'f', -1, 64))
	}
	s, ok := spanOf(at)
	if !ok {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid timestamp %v", at),
			"send seconds since 1970, such as 1764060000, or a form such as 2026-12-31T10:00:00Z")
	}
	seconds := float64(s.start.UnixMicro()) / 1e6
	f.At = &seconds
	return nil
}

func (c *call) remove() (any, error) {
	if err := c.examine(removeOptions); err != nil {
		return nil, err
	}
	e, err := c.entry()
	if err == nil {
		_, err = c.LongTerm.DeleteMemories(c.r.Context(), c.person(), []memories.DeleteRequest{{ID: e.ID}})
	}
	return message("Memory deleted successfully!"), err
}

func (c *call) history() (any, error) {
	id := c.r.PathValue("id")
	const most = 1000
	found, err := c.LongTerm.Get(c.r.Context(), c.person(), id)
	if err == nil && (len(found) == 0 || !slices.Contains(mem0Types, found[0].Type)) {
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
	for i := len(revisions) - 1; i >= 0; i-- { // mem0 lists the oldest first
		r := revisions[i]
		event, after := "UPDATE", any(r.Content)
		switch r.Action {
		case memory.Add:
			event = "ADD"
		case memory.Remove, memory.Merge:
			event, after = "DELETE", nil
		}
		out = append(out, map[string]any{"id": fmt.Sprintf("%s-%d", id, r.Version), "memory_id": id,
			"old_memory": before, "new_memory": after, "event": event, "created_at": r.CreatedAt,
			"updated_at": r.CreatedAt,
			"is_deleted": after == nil, "actor_id": nil, "role": nil})
		before = after
	}
	return out, nil
}

func (c *call) reset() (any, error) {
	_, err := c.LongTerm.DeleteWhere(c.r.Context(), c.person(), memory.Filter{Types: memory.LongTermTypes})
	return message("All memories reset"), err
}
