package chaos

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/lab/fakes/openaitest"
)

//go:embed stream_audit.sql
var streamAuditSQL string

// StreamOptions sets the size of the experiment. Zero fields have the values of the full experiment, given after the
// semicolon.
type StreamOptions struct {
	Kills     int           // of the worker, with SIGKILL; 200
	KillEvery time.Duration // 3 s
	AtOnce    int           // streams at the same time; 8
	Patience  time.Duration // for the reply of one message, with all attempts; 2 min
	Log       io.Writer     // progress messages; nil discards them
	Worker    string        // path of the worker binary; "" builds it
}

func (o StreamOptions) withDefaults() StreamOptions {
	o.Kills, o.AtOnce = cmp.Or(o.Kills, 200), cmp.Or(o.AtOnce, 8)
	o.KillEvery, o.Patience = cmp.Or(o.KillEvery, 3*time.Second), cmp.Or(o.Patience, 2*time.Minute)
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

// StreamResult holds the counts of the experiment.
type StreamResult struct {
	Kills    int `json:"kills"`
	Open     int `json:"open"`     // streams open at the kills
	Exits    int `json:"exits"`    // worker exits without a kill
	Messages int `json:"messages"` // each is one reply
	Whole    int `json:"whole"`    // streams that ended with the reply
	Broken   int `json:"broken"`   // streams that ended with an error; the request was sent again
	Attempts int `json:"attempts"` // requests that the model answered or began to answer

	Wrong   int      `json:"wrong"`   // streams without an error whose text is not the stored reply
	Lost    int      `json:"lost"`    // messages without a reply
	Doubled int      `json:"doubled"` // messages with another number of turns than 1
	Details []string `json:"details"`
}

// Held reports whether all counts that must be 0 are 0.
func (r StreamResult) Held() bool { return r.Wrong+r.Lost+r.Doubled == 0 }

// Print writes the counts with their goals.
func (r StreamResult) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\tcounted\tgoal")
	fmt.Fprintf(tw, "text that is not the stored reply\t%d\t0\n", r.Wrong)
	fmt.Fprintf(tw, "messages without a reply\t%d\t0\n", r.Lost)
	fmt.Fprintf(tw, "messages with several turns\t%d\t0\n", r.Doubled)
	fmt.Fprintf(tw, "streams with the whole reply\t%d\t\n", r.Whole)
	fmt.Fprintf(tw, "streams that ended with an error, and were sent again\t%d\t\n", r.Broken)
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	fmt.Fprintf(w, "\n%d messages, %d model calls; worker killed %d times with %d streams open (%d unexpected exits)\n",
		r.Messages, r.Attempts, r.Kills, r.Open, r.Exits)
	ground.PrintFindings(w, r.Details)
	return nil
}

// streamExperiment holds the open resources of a run of the experiment.
type streamExperiment struct {
	*ground.Ground
	options StreamOptions
	url     string
	key     string
	open    atomic.Int64 // streams
	mu      sync.Mutex
	result  StreamResult
	got     map[string]string // text of the whole stream by message
}

// RunStreams kills the worker while clients read streams of the OpenAI-compatible API. Each
// client must get the stored reply, or an error after which the same request returns the stored reply.
//
// Half of the requests get the same text at each attempt of the model, and half another one.
func RunStreams(ctx context.Context, o StreamOptions) (r StreamResult, err error) {
	o = o.withDefaults()
	g, err := ground.Open(ctx, ground.Options{Name: "stream-chaos", Does: "counts everything on",
		Queries: streamAuditSQL,
		Worker:  o.Worker, Log: o.Log})
	if err != nil {
		return r, err
	}
	e := &streamExperiment{Ground: g, options: o, got: map[string]string{}}
	err = e.run(ctx)
	return e.result, errors.Join(err, e.Close())
}

// story is long enough for a kill in its middle.
var story = strings.Repeat("and then the bear went over the mountain to see what he could see ", 5)

func (e *streamExperiment) run(ctx context.Context) error {
	const pace = 20 * time.Millisecond
	e.Model.On(openaitest.Rule{Stage: "turn", Match: "the same", Reply: story, Pace: pace})
	e.Model.On(openaitest.Rule{Stage: "turn", Pace: pace, ReplyFunc: func(c openaitest.Call) string {
		return fmt.Sprintf("Story %d: %s", c.Index, story)
	}})
	ws, err := e.App.Store.Workspace(ctx, "stream-chaos", true)
	if err != nil {
		return err
	}
	if e.key, _, err = e.App.Keys.Create(ctx, ws.ID, "stream-chaos", []access.Scope{access.Write}); err != nil {
		return err
	}
	server := httptest.NewServer(e.App.Gateway(httpapi.NoMeter))
	defer server.Close()
	e.url = server.URL
	worker := e.Supervise()
	defer worker.Stop()
	kills := make(chan struct{})
	go func() {
		defer close(kills)
		for n := range e.options.Kills {
			worker.KillEvery(ctx, e.options.KillEvery, 1)
			e.mu.Lock()
			e.result.Open += int(e.open.Load())
			e.mu.Unlock()
			if n%20 == 19 {
				e.Say("%d kills", n+1)
			}
		}
	}()
	var clients sync.WaitGroup
	for c := range e.options.AtOnce {
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				select {
				case <-kills:
					return
				default:
					e.message(ctx, fmt.Sprintf("c%d-m%d", c, n), n%2 == 0)
				}
			}
		})
	}
	clients.Wait()
	<-kills
	e.result.Kills, e.result.Exits = worker.Counts()
	e.result.Attempts = len(e.Model.Requests())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return e.count(ctx)
}

// count compares what clients got with the database.
func (e *streamExperiment) count(ctx context.Context) error {
	rows, err := e.Audit.Query(ctx, e.Audit.Text("replies"))
	if err != nil {
		return fmt.Errorf("read the replies: %w", err)
	}
	defer rows.Close()
	turns, stored := map[string]int{}, map[string]string{}
	for rows.Next() {
		var said, reply string
		if err := rows.Scan(&said, &reply); err != nil {
			return fmt.Errorf("read a reply: %w", err)
		}
		name, _, _ := strings.Cut(said, ":")
		turns[name]++
		stored[name] = reply
	}
	for name, text := range e.got {
		switch {
		case turns[name] != 1:
			e.result.Doubled++
			e.find("%s has %d turns", name, turns[name])
		case strings.TrimSpace(text) != stored[name]:
			e.result.Wrong++
			e.find(
				"%s got %.60q… of %d bytes, stored is %.60q… of %d",
				name,
				text,
				len(text),
				stored[name],
				len(stored[name]),
			)
		}
	}
	return rows.Err()
}

func (e *streamExperiment) find(format string, args ...any) {
	e.result.Details = append(e.result.Details, fmt.Sprintf(format, args...))
}
