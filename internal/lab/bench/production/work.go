package production

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/internal/lab/bench/audit"
)

const (
	atOnce   = 8 // workspaces in parallel in step 1
	memories = 3 // saved in each workspace, and dumped
	loads    = 2 // of each dump; the second one changes nothing
)

// work is step 1. All work is done through PgBouncer.
func (e *experiment) work(ctx context.Context, to sheet) error {
	f, err := e.startFleet(ctx, e.pooled())
	if err != nil {
		return err
	}
	tenants, err := e.tenants(ctx, 1, e.options.Workspaces)
	if err != nil {
		return err
	}
	copies, err := e.copies(ctx, tenants)
	if err != nil {
		return err
	}
	a, err := e.audit(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	most, stopWatching := watchConnections(ctx, a)
	defer stopWatching()
	proxy, err := openBalancer(ctx, f.urls()...)
	if err != nil {
		return err
	}
	defer proxy.close()
	c := newClient(proxy.url)
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	each := e.options.Turns / e.options.Workspaces
	for i, t := range tenants {
		group.Go(func() error {
			if err := e.workOf(within, c, t, copies[i], each); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	stopWatching()
	return e.countWork(ctx, to, a, c, tenants, each, int(most.Load()))
}

// copies creates a second workspace for each one, into which its dump is loaded.
func (e *experiment) copies(ctx context.Context, tenants []tenant) ([]tenant, error) {
	var names []string
	for _, t := range tenants {
		names = append(names, t.name+"-copy")
	}
	return e.createWorkspaces(ctx, names)
}

// workOf does the work of one workspace.
func (e *experiment) workOf(ctx context.Context, c *client, t, copied tenant, turns int) error {
	for n := range turns {
		conversation := "c" + strconv.Itoa(n%2)
		if err := c.insist(ctx, t, message(conversation, t.mark(n), 60), e.options.Patience); err != nil {
			return err
		}
	}
	if err := distill(ctx, c, t); err != nil {
		return err
	}
	if err := search(ctx, c, t); err != nil {
		return err
	}
	if err := reflectToday(ctx, c, t); err != nil {
		return err
	}
	return dumpAndLoad(ctx, c, t, copied)
}

// distill makes a skill from a conversation with tool results.
func distill(ctx context.Context, c *client, t tenant) error {
	messages := []object{{"role": "user", "content": "Export the report " + t.mark(0) + ", please."}}
	for i := range 6 {
		messages = append(messages, object{"role": "assistant", "content": fmt.Sprintf("Step %d of the export.", i)},
			object{"role": "tool", "content": fmt.Sprintf("row %d is exported", i)})
	}
	messages = append(messages, object{"role": "assistant", "content": "The report is exported."})
	var out struct{ Status string }
	if err := c.expect(ctx, t, http.MethodPost, "/v1/distill?wait=60&outcome=success", object{"messages": messages,
		"request_id": "export"}, http.StatusOK, &out); err != nil {
		return err
	}
	if out.Status != "ended" {
		return fmt.Errorf("the distillation is %s after a minute", out.Status)
	}
	return nil
}

// search finds the skill of the workspace.
func search(ctx context.Context, c *client, t tenant) error {
	a, err := c.do(ctx, t, http.MethodGet, "/v1/search?q="+url.QueryEscape("export a report as a table"), nil)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK || !strings.Contains(string(a.body), t.mark(0)) {
		return fmt.Errorf("the search does not find the skill: %d %.300s", a.status, a.body)
	}
	return nil
}

// reflectToday reviews the messages of today.
func reflectToday(ctx context.Context, c *client, t tenant) error {
	var out struct {
		Reflections []struct{ State, Status string }
	}
	err := c.expect(ctx, t, http.MethodPost, "/v1/reflections?wait=60", object{}, http.StatusOK, &out)
	if err == nil && (len(out.Reflections) != 1 || out.Reflections[0].State != "ended") {
		return fmt.Errorf("the reflection did not end: %+v", out)
	}
	return err
}

// dumpAndLoad loads a dump of a workspace into another one, twice.
func dumpAndLoad(ctx context.Context, c *client, t, copied tenant) error {
	for i := range memories {
		if err := c.expect(ctx, t, http.MethodPost, "/v1/memories", object{"memory_type": "personal",
			"memory_target": "Ann", "content": fmt.Sprintf("Ann likes the blue of %s.", t.mark(i))},
			http.StatusCreated, nil); err != nil {
			return err
		}
	}
	dump, err := c.do(ctx, t, http.MethodGet, "/v1/memories/dump", nil)
	if err != nil {
		return err
	}
	for range loads {
		if err := c.expect(ctx, copied, http.MethodPost, "/v1/memories/load", string(dump.body), http.StatusOK,
			nil); err != nil {
			return err
		}
	}
	var want, got struct {
		Memories int `json:"active_memories"`
	}
	if err := c.expect(ctx, t, http.MethodGet, "/v1/workspace", nil, http.StatusOK, &want); err != nil {
		return err
	}
	if err := c.expect(ctx, copied, http.MethodGet, "/v1/workspace", nil, http.StatusOK, &got); err != nil {
		return err
	}
	if got != want || want.Memories != memories {
		return fmt.Errorf("%d memories were dumped, and %d loaded", want.Memories, got.Memories)
	}
	return nil
}

// watchConnections counts the connections of Cairn at intervals, until stop is called.
func watchConnections(ctx context.Context, a *audit.Audit) (most *atomic.Int64, stop func()) {
	const often = 50 * time.Millisecond
	most = new(atomic.Int64)
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			if n, err := a.Number(ctx, "connections"); err == nil {
				most.Store(max(most.Load(), int64(n)))
			}
			pause(ctx, often)
		}
	}()
	return most, func() { cancel(); <-stopped }
}

func (e *experiment) countWork(ctx context.Context, to sheet, a *audit.Audit, c *client, tenants []tenant, each,
	most int) error {
	var sent []string
	for _, t := range tenants {
		for n := range each {
			sent = append(sent, t.mark(n))
		}
	}
	if err := e.answers(ctx, to, "p1", sent); err != nil {
		return err
	}
	asked := e.askedOnce(sent)
	to.none(asked, "the model is asked once for each message", "%d of %d", len(sent)-len(asked), len(sent))
	skills, err := a.Number(ctx, "skills", "p1")
	if err != nil {
		return err
	}
	reflections, err := a.Number(ctx, "reflections", "p1")
	if err != nil {
		return err
	}
	n := len(tenants)
	to.row(skills == n && reflections == n, "each workspace has its skill, its reflection and its loaded dump",
		"%d skills, %d reflections, %d dumps in %d workspaces", skills, reflections, n, n)
	tables, foreign, err := e.foreignRows(ctx, a)
	if err != nil {
		return err
	}
	foreign = append(foreign, c.foreign...)
	to.none(foreign, "0 foreign rows", "%d in %d tables, %d responses and %d requests to the model", len(foreign),
		tables, c.responses, len(e.model.Requests()))
	failures := append(c.wrong, c.broken...)
	to.none(failures, "no response is an error of the gateway", "%s", c.shown())
	return e.countConnections(ctx, to, most)
}

// countConnections compares the connections of Cairn with the budget that doctor prints.
func (e *experiment) countConnections(ctx context.Context, to sheet, most int) error {
	out, err := e.command(ctx, e.pooled(), "doctor", "--connections", "--workers", strconv.Itoa(workers), "--gateways",
		strconv.Itoa(gateways), "--others", strconv.Itoa(poolSize))
	if err != nil {
		return err
	}
	budget := 0
	for line := range strings.Lines(out) {
		if rest, found := strings.CutPrefix(line, "needed"); found {
			if budget, err = strconv.Atoi(strings.TrimSpace(rest)); err != nil {
				return errors.Join(fmt.Errorf("doctor prints %q", line), err)
			}
		}
	}
	to.row(most > 0 && most <= budget, "connections ≤ the budget of `cairn doctor --connections`",
		"at most %d, budget %d", most, budget)
	return nil
}
