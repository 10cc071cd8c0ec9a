package speed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/internal/domain/contract"
	"cairn/internal/lab/bench/ground"
)

// AddCell is the result of one kind of work under one load.
type AddCell struct {
	Kind      string        `json:"kind"`
	Model     time.Duration `json:"model_ns"`
	Callers   int           `json:"callers"`
	Adds      int           `json:"adds"`    // those that have succeeded
	Failed    int           `json:"failed"`  // other answers than success and 429
	Refused   int           `json:"refused"` // answers 429, after whose Retry-After the add was sent again
	Calls     float64       `json:"model_calls"`
	Median    time.Duration `json:"p50_ns"`
	P99       time.Duration `json:"p99_ns"` // with the waits after refusals
	PerSecond float64       `json:"per_second"`
	CPU       Processor     `json:"processor"`     // per add
	Events    int64         `json:"events"`        // in the history of a workflow
	History   int64         `json:"history_bytes"` // of a workflow

	Left ground.Footprint `json:"left"` // in Postgres per add

	mu   sync.Mutex
	took []time.Duration
}

// AddResult holds all cells.
type AddResult struct {
	Cells []*AddCell    `json:"cells"`
	Took  time.Duration `json:"took_ns"`
}

// RunAdds measures adds to memory with one model call, as a client of the gateway sees them,
// and compares them with a bare workflow of one activity without effects in the same run:
//
//   - latency, adds per second, refused and failed adds, and model calls per add;
//   - processor time per add of the gateway, the worker, Postgres and Temporal. That of a bare workflow is
//     the time of this process, which is its client and worker, and of Temporal;
//   - bytes in Postgres, write-ahead log, and events and bytes of the workflow's history.
//
// A caller adds 20 sessions for each of its users, one after another.
//
// A bare workflow with a local activity shows what the other way to call a model would cost. The gateway and
// the worker are separate processes; Postgres commits to disk; Temporal stores its state in memory.
//
// Chaos adds sessions while the worker is killed every few seconds and Postgres and Temporal crash once, and
// counts what is lost, doubled, or paid twice although it was stored.
func RunAdds(ctx context.Context, o AddOptions) (out AddResult, err error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	l, err := openLab(ctx, o)
	if err != nil {
		return out, err
	}
	err = l.measure(ctx, &out)
	err = errors.Join(err, l.close())
	out.Took = time.Since(began)
	return out, err
}

func (l *lab) measure(ctx context.Context, out *AddResult) error {
	for _, kind := range []string{Fast, Bare, BareLocal} {
		if err := l.run(ctx, &AddCell{Kind: kind, Callers: 1}, warmUp); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
	}
	for _, kind := range []string{Bare, BareLocal} {
		for _, callers := range l.options.Callers {
			if err := l.cell(ctx, out, &AddCell{Kind: kind, Callers: callers}); err != nil {
				return err
			}
		}
	}
	for _, model := range l.options.Models {
		for _, callers := range l.options.Callers {
			if err := l.cell(ctx, out, &AddCell{Kind: Fast, Model: model, Callers: callers}); err != nil {
				return err
			}
		}
	}
	return nil
}

// cell measures one cell.
func (l *lab) cell(ctx context.Context, out *AddResult, c *AddCell) error {
	fmt.Fprintf(l.options.Log, "adds: %s, model %s, %d callers\n", c.Kind, c.Model, c.Callers)
	if err := l.run(ctx, c, max(l.options.Adds, c.Callers)); err != nil {
		return fmt.Errorf("%s, model %s, %d callers: %w", c.Kind, c.Model, c.Callers, err)
	}
	out.Cells = append(out.Cells, c)
	return nil
}

// run does n units of work and fills the cell.
func (l *lab) run(ctx context.Context, c *AddCell, n int) error {
	l.model.delay.Store(int64(c.Model))
	calls := l.model.Count("facts")
	before, err := ground.ReadFootprint(ctx, l.postgres.DatabaseURL())
	if err != nil {
		return err
	}
	spent, err := processorTimes(l.gateway.PID(), l.worker.PID())
	if err != nil {
		return err
	}
	began := time.Now()
	group, working := errgroup.WithContext(ctx)
	var last string
	for caller := range c.Callers {
		group.Go(func() error {
			for i := caller; i < n; i += c.Callers {
				id, err := l.one(working, c, i)
				if err != nil {
					return err
				}
				if caller == 0 {
					last = id
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	elapsed := time.Since(began)
	now, err := processorTimes(l.gateway.PID(), l.worker.PID())
	if err != nil {
		return err
	}
	after, err := ground.ReadFootprint(ctx, l.postgres.DatabaseURL())
	if err != nil {
		return err
	}
	slices.Sort(c.took)
	done := len(c.took)
	if done == 0 {
		return fmt.Errorf("none of %d has succeeded", n)
	}
	c.Adds, c.Median, c.P99 = done, c.took[done/2], c.took[min(done-1, done*99/100)]
	c.PerSecond, c.CPU = float64(done)/elapsed.Seconds(), now.minus(spent).per(done)
	c.Calls = float64(l.model.Count("facts")-calls) / float64(done)
	c.Left = after.Since(before, done)
	return l.describe(ctx, c, last)
}

// describe reads the length of the history of a workflow.
func (l *lab) describe(ctx context.Context, c *AddCell, workflow string) error {
	d, err := l.temporalClient.DescribeWorkflow(ctx, workflow, "")
	if err != nil {
		return fmt.Errorf("read the history of %s: %w", workflow, err)
	}
	c.Events, c.History = d.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength(),
		d.RawResponse.GetWorkflowExecutionInfo().GetHistorySizeBytes()
	return nil
}

// sessionsPerUser is how many sessions a caller adds for one user before it goes on with another.
const sessionsPerUser = 20

// one does the i-th unit of work of a cell and returns the ID of its workflow.
func (l *lab) one(ctx context.Context, c *AddCell, i int) (workflow string, err error) {
	began := time.Now()
	if c.Kind != Fast {
		workflow, err = l.bare(ctx, c.Kind, c.Model)
	} else {
		workflow, err = l.add(ctx, c, fmt.Sprintf("user-%d-%d-%d-%d", c.Model.Milliseconds(), c.Callers, i%c.Callers,
			i/c.Callers/sessionsPerUser))
	}
	if err != nil || workflow == "" {
		return workflow, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took = append(c.took, time.Since(began))
	return workflow, nil
}

// add adds a session of two messages and waits for its result. It follows Retry-After.
func (l *lab) add(ctx context.Context, c *AddCell, user string) (workflow string, err error) {
	n := l.serial.Add(1)
	body, err := json.Marshal(map[string]any{"user_id": user, "messages": []map[string]string{
		{"role": "user", "content": fmt.Sprintf("I keep %d books about lighthouse number %d.", n%40+2, n)},
		{"role": "assistant", "content": "Noted."}}})
	if err != nil {
		return "", err
	}
	for {
		status, header, text, err := l.post(ctx, body)
		switch {
		case err != nil:
			return "", err
		case status == http.StatusTooManyRequests:
			seconds, err := strconv.Atoi(header.Get("Retry-After"))
			if err != nil {
				return "", fmt.Errorf("status 429 without Retry-After: %s", text)
			}
			c.count(&c.Refused)
			time.Sleep(time.Duration(seconds) * time.Second)
			continue
		case status != http.StatusOK || !bytes.Contains(text, []byte(`"ADD"`)):
			c.count(&c.Failed)
			fmt.Fprintf(l.options.Log, "adds: status %d: %.300s\n", status, text)
			return "", nil
		}
		return contract.RememberID(l.workspace.Key, contract.SubjectOf("personal/"+user)), nil
	}
}

func (c *AddCell) count(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

func (l *lab) post(ctx context.Context, body []byte) (status int, header http.Header, text []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/mem0/memories", bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+l.key)
	r.Header.Set("Content-Type", "application/json")
	response, err := clients.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, response.Header, text, err
}

// clients keeps a connection for each caller.
var clients = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
