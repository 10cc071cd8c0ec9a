package console

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/readmodel"
	"cairn/internal/service/dump"
	"cairn/internal/service/inspect"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
)

func (c *Console) memoryRoutes() {
	c.handle("GET memories", access.Read, c.listMemories)
	c.handle("POST memories", access.Write, c.addMemory)
	c.handle("GET memories/{memory}", access.Read, c.showMemory)
	c.handle("POST memories/{memory}/edit", access.Write, c.editMemory)
	c.handle("POST memories/{memory}/delete", access.Write, c.deleteMemory)
	c.handle("POST memories/{memory}/restore", access.Write, c.restoreMemory)
	c.handle("POST memories/{memory}/undo", access.Write, c.undoMemory)
	c.handle("GET memories/dump", access.Admin, c.dumpMemories)
	c.handle("POST memories/load", access.Admin, c.loadMemories)
}

var (
	memoryTypes    = []string{"core", "profile", "personal", "procedural", "tool", "summary", "note"}
	memoryStatuses = []string{"active", "superseded", "removed", "quarantined"}
	memoryOrigins  = []string{"user", "agent", "nudge", "reflection", "distill", "designer", "import"}
)

type memoriesPage struct {
	Memories                 []readmodel.Memory
	Found                    []index.Result // of a search
	Searched                 bool
	Vector                   string
	Next                     string
	AsOf                     time.Time
	Types, Statuses, Origins []string
}

// listMemories lists memories, those of an earlier time, or the results of a search.
func (c *Console) listMemories(rq *request) error {
	out := memoriesPage{Types: memoryTypes, Statuses: memoryStatuses, Origins: memoryOrigins}
	f, err := rq.memoryFilter()
	if err != nil {
		return err
	}
	out.AsOf = f.AsOf
	if q := rq.text("q"); q != "" && f.AsOf.IsZero() {
		r := search.Request{Query: clipText(q, 1000), Kinds: []string{index.KindMemory}, Limit: 50}
		if f.Type != "" {
			r.Types = []memory.Type{memory.Type(f.Type)}
		}
		if f.Target != "" {
			r.Targets = []string{f.Target}
		}
		found, err := c.Finder.Search(rq.ctx, rq.ws(), r)
		if err != nil {
			return err
		}
		out.Searched, out.Found, out.Vector = true, found.Results, found.Vector
		return rq.render("memories", "memories.title", out)
	}
	limit, err := rq.limit()
	if err != nil {
		return err
	}
	out.Memories, out.Next, err = c.Explore.Memories(rq.ctx, rq.ws(), f, rq.text("cursor"), limit)
	if err != nil {
		return err
	}
	return rq.render("memories", "memories.title", out)
}

func (rq *request) memoryFilter() (f readmodel.MemoryFilter, err error) {
	if f.Type, err = rq.choice("type", memoryTypes...); err != nil {
		return f, err
	}
	if f.Status, err = rq.choice("status", append([]string{"all"}, memoryStatuses...)...); err != nil {
		return f, err
	}
	switch f.Status {
	case "":
		f.Status = string(memory.Active)
	case "all":
		f.Status = ""
	}
	if f.Origin, err = rq.choice("origin", memoryOrigins...); err != nil {
		return f, err
	}
	f.Target, f.AnyCase = clipText(rq.text("target"), 200), true // a person has typed it
	f.AsOf, err = rq.instant("as_of")
	return f, err
}

// instant returns a time in the zone of the workspace. A date means its end.
func (rq *request) instant(name string) (time.Time, error) {
	text := rq.text(name)
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, rq.zone); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Microsecond), nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, rq.zone); err == nil {
			return at, nil
		}
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	return time.Time{}, badParameter(name, text, "use a date such as 2027-01-31")
}

func (c *Console) addMemory(rq *request) error {
	w, err := c.Memory.Save(rq.ctx, rq.actor(), memories.SaveArgs{Content: rq.r.PostFormValue("content"),
		Store: rq.r.PostFormValue("store")})
	if err != nil {
		return rq.again(err, c.listMemories)
	}
	if len(w.IDs) == 1 {
		return rq.redirect("saved", "memories", w.IDs[0])
	}
	return rq.redirect("saved", "memories")
}

// revision is a version of a memory with its changes.
type revision struct {
	memory.Revision
	Diff string // against the version before
}

type memoryPage struct {
	Memory    memory.Entry
	CanRevert bool // to a former version
	Evidence  []inspect.Excerpt
	Views     []readmodel.MemoryView
	Revisions []revision
	CanUndo   bool // the last change can be taken back
}

const (
	revisionsShown = 50
	viewsShown     = 20
)

// entry reads a memory of any type and status.
func (c *Console) entry(rq *request) (memory.Entry, error) {
	id := rq.named("memory")
	found, err := c.LongTerm.Get(rq.ctx, rq.actor(), id)
	if err != nil {
		return memory.Entry{}, err
	}
	if len(found) != 1 {
		return memory.Entry{}, fault.New(fault.NotFound, fmt.Sprintf("memory %.60q not found", id),
			"the memory may be erased: search for it on the page Memories")
	}
	return found[0], nil
}

func (c *Console) showMemory(rq *request) error {
	e, err := c.entry(rq)
	if err != nil {
		return err
	}
	out := memoryPage{Memory: e, CanRevert: slices.Contains(memory.LongTermTypes, e.Type) ||
		slices.Contains(memory.PromptTypes, e.Type)}
	if out.Evidence, err = c.Explore.EvidenceOf(rq.ctx, rq.ws(), e.Evidence); err != nil {
		return err
	}
	if out.Views, _, err = c.Explore.Views(rq.ctx, rq.ws(), e.ID, "", viewsShown); err != nil {
		return err
	}
	history, err := c.Memory.History(rq.ctx, rq.actor(), e.ID, revisionsShown+1)
	if err != nil {
		return err
	}
	for i, r := range history[:min(len(history), revisionsShown)] {
		one := revision{Revision: r}
		if i+1 < len(history) {
			one.Diff = udiff.Unified(fmt.Sprintf("v%d", history[i+1].Version), fmt.Sprintf("v%d", r.Version),
				history[i+1].Content+"\n", r.Content+"\n")
		}
		out.Revisions = append(out.Revisions, one)
	}
	out.CanUndo = len(history) > 1 && (e.Status == memory.Active || e.Status == memory.Removed)
	return rq.render("memory", "memory.title", out)
}

func (c *Console) editMemory(rq *request) error {
	e, err := c.entry(rq)
	if err != nil {
		return err
	}
	content := rq.r.PostFormValue("content")
	if slices.Contains(memory.LongTermTypes, e.Type) {
		change := memories.ChangedMemory{ID: e.ID, Content: content}
		if base, err := strconv.Atoi(rq.r.PostFormValue("base")); err == nil {
			change.Expected = &base
		}
		_, err = c.LongTerm.UpdateMemories(rq.ctx, rq.actor(), []memories.ChangedMemory{change})
	} else {
		_, err = c.Memory.Replace(rq.ctx, rq.actor(), memories.ReplaceArgs{Store: string(e.Type), Match: e.ID,
			Content: content})
	}
	if err != nil {
		return rq.again(err, c.showMemory)
	}
	return rq.redirect("saved", "memories", e.ID)
}

func (c *Console) deleteMemory(rq *request) error {
	e, err := c.entry(rq)
	if err != nil {
		return err
	}
	if slices.Contains(memory.LongTermTypes, e.Type) {
		_, err = c.LongTerm.DeleteMemories(rq.ctx, rq.actor(), []memories.DeleteRequest{{ID: e.ID}})
	} else {
		_, err = c.Memory.Remove(rq.ctx, rq.actor(), memories.RemoveArgs{Store: string(e.Type), Match: e.ID})
	}
	if err != nil {
		return rq.again(err, c.showMemory)
	}
	return rq.redirect("deleted", "memories", e.ID)
}

func (c *Console) restoreMemory(rq *request) error {
	e, err := c.entry(rq)
	if err != nil {
		return err
	}
	version, err := strconv.Atoi(rq.r.PostFormValue("version"))
	if err != nil || version < 1 {
		return fault.New(fault.InvalidArgument, "invalid version", "choose a version in the history of the memory")
	}
	if err := c.restore(rq, e, version); err != nil {
		return rq.again(err, c.showMemory)
	}
	return rq.redirect("restored", "memories", e.ID)
}

// undoMemory takes back the last change of a memory: it says again what it said before.
func (c *Console) undoMemory(rq *request) error {
	e, err := c.entry(rq)
	if err != nil {
		return err
	}
	history, err := c.Memory.History(rq.ctx, rq.actor(), e.ID, 2)
	if err != nil {
		return err
	}
	if len(history) < 2 {
		return rq.again(fault.New(fault.InvalidArgument, "the memory has no earlier version",
			"delete it, if it is wrong"), c.showMemory)
	}
	if err := c.restore(rq, e, history[1].Version); err != nil {
		return rq.again(err, c.showMemory)
	}
	return rq.redirect("undone", "memories", e.ID)
}

// restore makes a version of a memory current again.
func (c *Console) restore(rq *request, e memory.Entry, version int) (err error) {
	if slices.Contains(memory.LongTermTypes, e.Type) {
		_, err = c.LongTerm.Restore(rq.ctx, rq.actor(), memories.RestoreArgs{ID: e.ID, Version: version})
	} else {
		_, err = c.Memory.Restore(rq.ctx, rq.actor(), memories.PromptRestoreArgs{ID: e.ID, Version: version})
	}
	return err
}

// dumpMemories sends all memories as JSON lines.
func (c *Console) dumpMemories(rq *request) error {
	rq.w.Header().Set("Content-Type", "application/x-ndjson")
	rq.w.Header().Set("Content-Disposition", `attachment; filename="memories.ndjson"`)
	if err := c.Dumps.Dump(rq.ctx, rq.ws(), rq.w, dump.Options{}); err != nil {
		c.Log.Error("dump failed", "error", err)
		panic(http.ErrAbortHandler) // the response has begun: the browser must notice that it is incomplete
	}
	return nil
}

// loadMemories imports the memories of a file.
func (c *Console) loadMemories(rq *request) error {
	content, err := rq.file("file")
	if err != nil {
		return rq.again(err, c.listMemories)
	}
	if _, err := c.Dumps.Load(rq.ctx, rq.actor(), bytes.NewReader(content)); err != nil {
		return rq.again(err, c.listMemories)
	}
	return rq.redirect("loaded", "memories")
}
