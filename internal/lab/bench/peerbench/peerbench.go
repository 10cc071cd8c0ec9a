// Package peerbench compares Cairn with Python packages for memories: mem0 with its local vector store, and LangMem
// with Postgres. All use the same scripted model and embeddings, served by this process.
//
//	result, err := peerbench.Run(ctx, peerbench.Options{Program: "bin/cairn", Adds: 20, Rows: 10000, Log: os.Stderr})
package peerbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// Options configures a run.
type Options struct {
	Program string        // path of the cairn binary
	Adds    int           // adds with inference, of which a third precedes a SIGKILL
	Rows    int           // memories of the user whose memories are searched
	Queries int           // searches
	Latency time.Duration // of the model
	Log     io.Writer     // progress messages
}

// Row is the result of one system.
type Row struct {
	System   string        `json:"system"`
	Adds     int           `json:"adds"`
	Failed   int           `json:"failed_adds"`
	Calls    float64       `json:"calls_per_add"`
	Tokens   float64       `json:"prompt_tokens_per_add"` // a quarter of the bytes of requests
	Add      time.Duration `json:"add_p50_ns"`
	AddCPU   time.Duration `json:"add_cpu_ns"` // of all processes of the system, for one add
	Load     float64       `json:"loaded_per_second"`
	Rows     int           `json:"rows"`
	Found    int           `json:"found"` // searches whose first result is the right one
	Search   time.Duration `json:"search_p50_ns"`
	FindCPU  time.Duration `json:"search_cpu_ns"` // of all processes of the system, for one search
	Accepted int           `json:"accepted_before_kill"`
	Lost     int           `json:"lost_after_kill"`
	Error    string        `json:"error,omitempty"`
}

// Result has a row for each system.
type Result struct {
	Latency time.Duration `json:"model_latency_ns"`
	Queries int           `json:"queries"`
	Rows    []Row         `json:"rows"`
}

// Held reports whether Cairn lost nothing and all systems ran.
func (r Result) Held() bool {
	for _, row := range r.Rows {
		if row.Error != "" || row.System == cairnName && (row.Lost > 0 || row.Failed > 0) {
			return false
		}
	}
	return len(r.Rows) == len(systems)
}

// system is a memory system that a run drives. Its processes are descendants of this one.
type system interface {
	start(ctx context.Context) error
	add(ctx context.Context, user, text string) error
	load(ctx context.Context, user string, texts []string) error
	search(ctx context.Context, user, query string) ([]string, error)
	list(ctx context.Context, user string) ([]string, error)
	kill() error // without notice
	stop()
}

// Names of the systems.
const (
	cairnName   = "Cairn"
	mem0Name    = "mem0ai 2.2.1"
	langmemName = "langmem 0.0.30, Postgres"
)

var systems = []string{cairnName, mem0Name, langmemName}

// Run measures all systems, one after the other. A system that fails has a row with its error.
func Run(ctx context.Context, o Options) (out Result, err error) {
	out.Latency, out.Queries = o.Latency, o.Queries
	model, err := startModel(o.Latency)
	if err != nil {
		return out, err
	}
	defer model.close()
	for _, name := range systems {
		fmt.Fprintln(o.Log, "measuring", name)
		home, err := os.MkdirTemp("", "cairn-peers")
		if err == nil {
			err = os.Chmod(home, 0o755) // Postgres may run as another user
		}
		if err != nil {
			return out, err
		}
		s, row := open(name, o, model, home), Row{System: name}
		if err := measure(ctx, o, s, model, &row); err != nil {
			row.Error = err.Error()
		}
		s.stop()
		out.Rows = append(out.Rows, row)
		if err := errors.Join(ctx.Err(), os.RemoveAll(home)); err != nil {
			return out, err
		}
	}
	return out, nil
}

func measure(ctx context.Context, o Options, s system, m *model, row *Row) error {
	if err := s.start(ctx); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	for _, step := range []func(context.Context, Options, system, *model, *Row) error{adds, searches, losses} {
		if err := step(ctx, o, s, m, row); err != nil {
			return err
		}
	}
	return nil
}

// adds measures adds with inference, one after the other.
func adds(ctx context.Context, o Options, s system, m *model, row *Row) error {
	if err := s.add(ctx, "user-0", statement(0, 0)); err != nil { // what starts with the first one is not counted
		return fmt.Errorf("add: %w", err)
	}
	m.reset()
	before, err := descendants()
	if err != nil {
		return err
	}
	var took []time.Duration
	for i := range o.Adds {
		began := time.Now()
		if err := s.add(ctx, user(i), statement(i, 1+i)); err != nil {
			row.Failed++
			continue
		}
		took = append(took, time.Since(began))
	}
	after, err := descendants()
	if err != nil {
		return err
	}
	calls, bytes := m.counted()
	row.Adds, row.Add, row.AddCPU = o.Adds, median(took), (after-before)/time.Duration(o.Adds)
	row.Calls, row.Tokens = float64(calls)/float64(o.Adds), float64(bytes)/4/float64(o.Adds)
	return nil
}

// searches measures searches among the memories of one user.
func searches(ctx context.Context, o Options, s system, _ *model, row *Row) error {
	const batch = 500
	began := time.Now()
	for at := 0; at < o.Rows; at += batch {
		var texts []string
		for i := at; i < min(at+batch, o.Rows); i++ {
			texts = append(texts, record(i))
		}
		if err := s.load(ctx, searched, texts); err != nil {
			return fmt.Errorf("load: %w", err)
		}
	}
	row.Rows, row.Load = o.Rows, float64(o.Rows)/time.Since(began).Seconds()
	before, err := descendants()
	if err != nil {
		return err
	}
	var took []time.Duration
	for i := range o.Queries {
		at := (i * 7919) % o.Rows
		began := time.Now()
		found, err := s.search(ctx, searched, question(at))
		if err != nil {
			return fmt.Errorf("search: %w", err)
		}
		took = append(took, time.Since(began))
		if len(found) > 0 && holds(found[0], at) {
			row.Found++
		}
	}
	after, err := descendants()
	row.Search, row.FindCPU = median(took), (after-before)/time.Duration(max(1, o.Queries))
	return err
}

// losses kills the system while it adds, starts it again, and counts the acknowledged adds that are missing.
func losses(ctx context.Context, o Options, s system, _ *model, row *Row) error {
	const who = "user-killed"
	killed := make(chan error, 1)
	for i := range o.Adds {
		if i == o.Adds/2 {
			go func() { time.Sleep(o.Latency / 2); killed <- s.kill() }() // in the middle of the next add
		}
		if err := s.add(ctx, who, fmt.Sprintf("%s I keep fact-%d in the shed.", who, marked+i)); err != nil {
			break
		}
		row.Accepted++
	}
	if err := errors.Join(<-killed, s.start(ctx)); err != nil {
		return fmt.Errorf("start after SIGKILL: %w", err)
	}
	until := time.Now().Add(time.Minute)
	for {
		texts, err := s.list(ctx, who)
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		row.Lost = 0
		for i := range row.Accepted {
			if !slices.ContainsFunc(texts, func(text string) bool { return holdsFact(text, marked+i) }) {
				row.Lost++
			}
		}
		if row.Lost == 0 || time.Now().After(until) { // a system may complete what it has accepted
			return nil
		}
		time.Sleep(time.Second)
	}
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// Print writes one table.
func (r Result) Print(w io.Writer) error {
	fmt.Fprintf(w, "model latency %v; %d searches; embeddings of 256 dimensions from one endpoint\n\n", r.Latency,
		r.Queries)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(
		tw,
		"system\tadds\tfailed\tcalls/add\ttokens/add\tadd p50\tCPU/add\tloaded/s\trows\tfound\tsearch p50\t"+
			"CPU/search\taccepted\tlost\t",
	)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	for _, row := range r.Rows {
		fmt.Fprintf(
			tw,
			"%s\t%d\t%d\t%.1f\t%.0f\t%s\t%s\t%.0f\t%d\t%d\t%s\t%s\t%d\t%d\t\n",
			row.System,
			row.Adds,
			row.Failed,
			row.Calls,
			row.Tokens,
			ms(row.Add),
			ms(row.AddCPU),
			row.Load,
			row.Rows,
			row.Found,
			ms(row.Search),
			ms(row.FindCPU),
			row.Accepted,
			row.Lost,
		)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		if row.Error != "" {
			fmt.Fprintf(w, "%s failed: %s\n", row.System, row.Error)
		}
	}
	return nil
}
