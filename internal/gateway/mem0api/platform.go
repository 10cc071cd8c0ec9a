package mem0api

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	memories "cairn/internal/service/memory"
)

// Routes that mem0's platform has in addition to those of its self-hosted server.

// mem0Page is a page of a list.
type mem0Page struct {
	Count    int     `json:"count"` // of all pages
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  any     `json:"results"`
}

// mem0PageSize is the default page size.
const mem0PageSize = 50

// pageOf returns one page of a list with links to its neighbors.
func pageOf[T any](c *call, all []T, size, page int) mem0Page {
	from := min((page-1)*size, len(all))
	to := min(from+size, len(all))
	return c.linked(append([]T{}, all[from:to]...), len(all), size, page)
}

// linked returns a page of count results with links to its neighbors.
func (c *call) linked(results any, count, size, page int) mem0Page {
	out := mem0Page{Count: count, Results: results}
	if page*size < count {
		out.Next = c.pageLink(page + 1)
	}
	if (page-1)*size > 0 && count > 0 {
		out.Previous = c.pageLink(page - 1)
	}
	return out
}

func (c *call) pageLink(page int) *string {
	q := c.r.URL.Query()
	q.Set("page", strconv.Itoa(page))
	link := c.options.BaseURL + (&url.URL{Path: c.r.URL.Path, RawQuery: q.Encode()}).String()
	return &link
}

func (c *call) addressed() (size, page int, err error) {
	if size, err = c.number("page_size", mem0PageSize, mem0Most); err == nil {
		page, err = c.number("page", 1, mem0MostPage)
	}
	return size, page, err
}

// page lists memories with their total number.
func (c *call) page() (any, error) {
	q, err := c.query(listOptions, false)
	if err != nil {
		return nil, err
	}
	f := q.filter()
	f.Offset, f.Limit = (q.Page-1)*q.TopK, q.TopK
	entries, count, err := c.LongTerm.Page(c.r.Context(), c.person(), f)
	return c.linked(q.shown(entries), count, q.TopK, q.Page), err
}

// mem0Entity is an owner of memories.
type mem0Entity struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	Total   int64     `json:"total_memories"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

// entitiesSeen is the maximum length of a list of entities, as mem0's server does.
const entitiesSeen = 10_000

func (c *call) known() (out []mem0Entity, err error) {
	out = []mem0Entity{}
	all, err := c.Workspaces.Entities(c.r.Context(), c.from.Workspace.ID, entitiesSeen)
	for _, e := range all {
		out = append(out, mem0Entity{e.Name, e.Name, e.Kind, e.Memories, e.FirstAt, e.LastAt})
	}
	return out, err
}

func (c *call) entities() (any, error) { return c.known() }

func (c *call) entityPage() (any, error) {
	size, page, err := c.addressed()
	if err != nil {
		return nil, err
	}
	all, err := c.known()
	return pageOf(c, all, size, page), err
}

// removeEntity deletes all memories of an entity.
func (c *call) removeEntity() (any, error) {
	kind, name := c.r.PathValue("type"), c.r.PathValue("id")
	if !slices.Contains(entityKinds, kind) {
		return nil, fault.Newf(fault.InvalidArgument, "Invalid entity type %q", kind)
	}
	parser := filterParser{}
	where, err := parser.parse(map[string]any{kind + "_id": map[string]any{"in": []any{name}}})
	if err != nil {
		return nil, err
	}
	_, err = c.forget(mem0Query{where: where})
	return message("Entity deleted successfully!"), err
}

// rate stores feedback about a memory in its metadata.
func (c *call) rate() (any, error) {
	var in struct {
		ID       string  `json:"memory_id"`
		Feedback *string `json:"feedback"` // null removes the feedback
		Reason   *string `json:"feedback_reason"`
	}
	if err := c.examine(feedbackOptions); err != nil {
		return nil, err
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	e, err := c.entryOf(in.ID)
	if err != nil {
		return nil, err
	}
	f := factsOf(e)
	f.Feedback, f.Reason = "", ""
	if in.Feedback != nil {
		f.Feedback = *in.Feedback
	}
	if in.Reason != nil {
		f.Reason = *in.Reason
	}
	if !slices.Contains([]string{"", "POSITIVE", "NEGATIVE", "VERY_NEGATIVE"}, f.Feedback) {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid feedback %q", f.Feedback),
			"use POSITIVE, NEGATIVE, VERY_NEGATIVE or null")
	}
	_, err = c.LongTerm.UpdateMemories(c.r.Context(), c.person(),
		[]memories.ChangedMemory{{ID: e.ID, Content: e.Content, Metadata: f.stamp(nil)}})
	return map[string]any{"message": "Feedback saved", "memory_id": e.ID, "feedback": in.Feedback,
		"feedback_reason": in.Reason}, err
}

// mem0EventRow is the result of one add.
type mem0EventRow struct {
	ID      string     `json:"id"`
	Type    string     `json:"event_type"`
	Status  string     `json:"status"` // PENDING RUNNING SUCCEEDED FAILED
	Created time.Time  `json:"created_at"`
	Updated time.Time  `json:"updated_at"`
	Ended   *time.Time `json:"completed_at"`
	Latency *float64   `json:"latency"` // ms
}

func eventOf(r run.Summary) mem0EventRow {
	out := mem0EventRow{ID: r.Key, Type: "ADD", Status: mem0Status(r.Status, r.Outcome == run.Failed),
		Created: r.CreatedAt, Updated: r.CreatedAt, Ended: r.EndedAt}
	if r.EndedAt != nil {
		took := float64(r.EndedAt.Sub(r.CreatedAt).Microseconds()) / 1000
		out.Updated, out.Latency = *r.EndedAt, &took
	}
	return out
}

// mem0Status converts the status of a run into mem0's.
func mem0Status(s run.Status, failed bool) string {
	switch {
	case s == run.Running:
		return "RUNNING"
	case s != run.Ended:
		return "PENDING"
	case failed:
		return "FAILED"
	}
	return "SUCCEEDED"
}

// events lists the latest adds, the newest first.
func (c *call) events() (any, error) {
	size, page, err := c.addressed()
	if err != nil {
		return nil, err
	}
	runs, err := c.latestRuns()
	all := []mem0EventRow{}
	for _, r := range runs {
		if r.Kind == run.Summarize {
			all = append(all, eventOf(r))
		}
	}
	return pageOf(c, all, size, page), err
}

// entryOf returns a memory by its ID if mem0 clients may see it.
func (c *call) entryOf(id string) (memory.Entry, error) {
	found, err := c.LongTerm.Get(c.r.Context(), c.person(), id)
	if err != nil {
		return memory.Entry{}, err
	}
	if len(found) == 0 || found[0].Status != memory.Active || !slices.Contains(mem0Types, found[0].Type) {
		return memory.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("Memory not found: %.40q", id),
			"list memories with GET /memories")
	}
	return found[0], nil
}
