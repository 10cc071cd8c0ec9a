package mem0api

import (
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// mem0Batch is a change of many memories.
type mem0Batch struct {
	Memories []struct {
		ID       string          `json:"memory_id"`
		Text     *string         `json:"text"` // null leaves the text
		Metadata memory.Metadata `json:"metadata"`
	} `json:"memories"`
	entries []memory.Entry
}

// batch reads the memories named in a request. If one does not exist, the request fails
// before any change.
func (c *call) batch() (in mem0Batch, err error) {
	if err = c.examine(batchOptions); err != nil {
		return in, err
	}
	if err = c.read(&in); err != nil {
		return in, err
	}
	if n := len(in.Memories); n == 0 || n > mem0Most {
		return in, fault.Newf(fault.InvalidArgument, "invalid number of memories %d: must be 1 to %d", n, mem0Most)
	}
	for _, m := range in.Memories {
		e, err := c.entryOf(m.ID)
		if err != nil {
			return in, err
		}
		in.entries = append(in.entries, e)
	}
	return in, nil
}

func (c *call) updateMany() (any, error) {
	in, err := c.batch()
	if err != nil {
		return nil, err
	}
	var changes []memories.ChangedMemory
	for i, m := range in.Memories {
		change := memories.ChangedMemory{Index: i, ID: m.ID, Content: in.entries[i].Content, Metadata: m.Metadata}
		if delete(change.Metadata, mem0Facts); m.Text != nil {
			change.Content = *m.Text
		}
		changes = append(changes, change)
	}
	items, err := c.LongTerm.UpdateMemories(c.r.Context(), c.person(), changes)
	return mem0Done("updated", items, err)
}

func (c *call) removeMany() (any, error) {
	in, err := c.batch()
	if err != nil {
		return nil, err
	}
	var deletions []memories.DeleteRequest
	for i, m := range in.Memories {
		deletions = append(deletions, memories.DeleteRequest{Index: i, ID: m.ID})
	}
	items, err := c.LongTerm.DeleteMemories(c.r.Context(), c.person(), deletions)
	return mem0Done("deleted", items, err)
}

// mem0Done returns the number of successful changes in a batch and the errors of the others.
func mem0Done(what string, items []memories.ItemResult, err error) (any, error) {
	done, failed := 0, []memories.ItemResult{}
	for _, i := range items {
		if i.Status == memories.Failed {
			failed = append(failed, i)
		} else {
			done++
		}
	}
	out := map[string]any{"message": fmt.Sprintf("Successfully %s %d memories", what, done)}
	if len(failed) > 0 {
		out["failed"] = failed
	}
	return out, err
}
