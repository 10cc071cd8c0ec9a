package speed

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/bench/audit"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/service/memoryagent"
)

//go:embed chaos.sql
var chaosSQL string

// ChaosOptions sets the size of the experiment.
type ChaosOptions struct {
	Adds      int           // number of adds
	People    int           // subjects among whom they are divided
	Clients   int           // parallel clients
	Spread    time.Duration // time over which the adds arrive
	Reply     time.Duration // response time of the model
	KillEvery time.Duration // interval between worker kills (SIGKILL)
	Patience  time.Duration // time for adds to end after the last fault
	Log       io.Writer     // progress messages; nil discards them
	Worker    string        // path of the worker binary; "" builds it
}

// FullChaos returns the options of the full experiment.
func FullChaos() ChaosOptions {
	return ChaosOptions{Adds: 500, People: 25, Clients: 8, Spread: 50 * time.Second, Reply: 20 * time.Millisecond,
		KillEvery: 3 * time.Second, Patience: 4 * time.Minute}
}

// ChaosResult counts what must not happen. All counts but Adds, Kills and those of Calls that are no promise
// must be 0.
type ChaosResult struct {
	Adds     int           `json:"adds"`
	Kills    int           `json:"kills"`
	Crashes  []string      `json:"crashes"` // restarts of the servers
	Refused  int           `json:"refused"` // adds that were permanently refused
	Open     int           `json:"open"`    // adds that have not ended
	Failed   int           `json:"failed"`
	Lost     int           `json:"lost"`    // facts that are not remembered
	Doubled  int           `json:"doubled"` // facts that are remembered twice
	Duties   int           `json:"duties"`  // outbox tasks that are left
	Calls    audit.Calls   `json:"calls"`
	Findings []string      `json:"findings"`
	Took     time.Duration `json:"took_ns"`
}

// Held reports whether nothing was lost, doubled or paid twice.
func (r ChaosResult) Held() bool {
	return r.Refused+r.Open+r.Failed+r.Lost+r.Doubled+r.Duties+r.Calls.PaidTwice+r.Calls.Miscounted == 0
}

// Print writes the counts.
func (r ChaosResult) Print(w io.Writer) error {
	ground.PrintFindings(w, r.Findings)
	_, err := fmt.Fprintf(w, "%d adds in %s, %d kills of the worker, crashes: %s\nrefused %d, open %d, failed %d, "+
		"lost %d, doubled %d, outbox tasks left %d, paid twice although stored %d\n%d model calls for %d keys, "+
		"%d in flight at a crash, %d replies beyond one for each key\n", r.Adds, ground.Seconds(r.Took), r.Kills,
		strings.Join(r.Crashes, ", "), r.Refused, r.Open, r.Failed, r.Lost, r.Doubled, r.Duties, r.Calls.PaidTwice,
		r.Calls.Requests, r.Calls.Keys, r.Calls.InFlight, r.Calls.Repaid)
	return err
}

// chaos holds the open resources of the experiment.
type chaos struct {
	*ground.Ground
	options   ChaosOptions
	workspace access.Workspace
	mu        sync.Mutex
	result    ChaosResult
}

// Chaos runs the experiment. It returns an error if the experiment could not run.
func Chaos(ctx context.Context, o ChaosOptions) (ChaosResult, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	began := time.Now()
	g, err := ground.Open(ctx, ground.Options{Name: "adds", Does: "crashes", Lasting: true, Queries: chaosSQL,
		Settings: []string{"CAIRN_MICROS_PER_DAY=unlimited"}, Worker: o.Worker, Log: o.Log})
	if err != nil {
		return ChaosResult{}, err
	}
	c := &chaos{Ground: g, options: o, result: ChaosResult{Adds: o.Adds}}
	err = c.run(ctx)
	c.result.Took = time.Since(began)
	if !c.result.Held() || err != nil {
		c.result.Findings = append(c.result.Findings, g.KeepLog()...)
	}
	return c.result, errors.Join(err, g.Close())
}

func (c *chaos) run(ctx context.Context) (err error) {
	if c.workspace, err = c.App.Store.Workspace(ctx, "chaos", true); err != nil {
		return err
	}
	script(c.Model, c.options.Reply)
	worker := c.Supervise()
	defer worker.Stop()
	troubled, calm := context.WithCancel(ctx)
	defer calm()
	var trouble sync.WaitGroup
	trouble.Go(func() { worker.KillEvery(troubled, c.options.KillEvery, c.options.Adds) })
	trouble.Go(func() { c.crash(ctx) })
	c.send(ctx)
	c.await(ctx, c.options.Adds*9/10)
	calm()
	trouble.Wait()
	c.result.Kills, _ = worker.Counts()
	c.Say("faults ended after %d kills", c.result.Kills)
	c.await(ctx, c.options.Adds)
	audit.AwaitClosed(ctx, c.App.Temporal, c.Stack.TemporalNamespace(), 1)
	return c.count(ctx)
}

// crash crashes Postgres after a third of the adds and kills Temporal after two thirds.
func (c *chaos) crash(ctx context.Context) {
	for _, one := range []struct {
		name  string
		after int
		do    func(context.Context, bool) error
	}{{"Postgres", c.options.Adds / 3, c.Stack.RestartPostgres}, {"Temporal", c.options.Adds * 2 / 3,
		c.Stack.RestartTemporal}} {
		c.await(ctx, one.after)
		began := time.Now()
		if err := one.do(context.WithoutCancel(ctx), true); err != nil {
			one.name += ": " + err.Error()
		}
		c.Say("%s crashed, back after %s", one.name, ground.Seconds(time.Since(began)))
		c.mu.Lock()
		c.result.Crashes = append(c.result.Crashes, one.name)
		c.mu.Unlock()
	}
}

// await waits until n adds have ended or patience is over.
func (c *chaos) await(ctx context.Context, n int) {
	const look = 100 * time.Millisecond
	for until := time.Now().Add(c.options.Patience); time.Now().Before(until) && ctx.Err() == nil; time.Sleep(look) {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		ended, err := c.Audit.Number(limited, "ended")
		cancel()
		if err == nil && ended >= n { // it fails while Postgres is down
			return
		}
	}
}

// person returns the subject of an add, and text its message. Each add has a fact of its own.
func (c *chaos) person(i int) string { return fmt.Sprintf("person-%d", i%c.options.People) }

func text(i int) string { return fmt.Sprintf("I keep the key of cellar number %d.", i) }

// send sends all adds at their pace. Every tenth is sent by two clients at the same time.
func (c *chaos) send(ctx context.Context) {
	todo := make(chan int)
	var clients sync.WaitGroup
	for range c.options.Clients {
		clients.Go(func() {
			for i := range todo {
				if err := c.add(ctx, i); err != nil {
					c.mu.Lock()
					c.result.Refused++
					c.result.Findings = append(c.result.Findings, fmt.Sprintf("add %d was refused: %v", i, err))
					c.mu.Unlock()
				}
			}
		})
	}
	pace := time.NewTicker(max(time.Millisecond, c.options.Spread/time.Duration(c.options.Adds)))
	defer pace.Stop()
	for i := range c.options.Adds {
		if todo <- i; i%10 == 0 {
			todo <- i
		}
		<-pace.C
	}
	close(todo)
	clients.Wait()
}

// add accepts an add, and repeats it while a server is unavailable, as a client of a gateway does.
func (c *chaos) add(ctx context.Context, i int) error {
	const patience, pause = 5 * time.Second, 200 * time.Millisecond
	for {
		limited, cancel := context.WithTimeout(ctx, patience)
		_, err := c.App.Progressive.Summarize(limited, memoryagent.Request{Workspace: c.workspace.ID,
			WorkspaceKey: c.workspace.Key, ID: fmt.Sprintf("add-%d", i), KnownOnly: true,
			Messages: []transcript.Message{{Role: transcript.User, Content: text(i)}},
			Targets:  []memory.Task{{Type: memory.Personal, Target: c.person(i)}}, Spec: app.TurnSpec(c.App.Config)})
		late := limited.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !late && !fault.Table[fault.CodeOf(err)].Retryable {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// count runs the audit.
func (c *chaos) count(ctx context.Context) (err error) {
	for name, n := range map[string]*int{"open": &c.result.Open, "failed": &c.result.Failed,
		"duties": &c.result.Duties} {
		if *n, err = c.Audit.Number(ctx, name); err != nil {
			return err
		}
	}
	for i := range c.options.Adds {
		n, err := c.Audit.Number(ctx, "remembered", "%"+strings.TrimPrefix(text(i), "I keep ")+"%", c.person(i))
		if err != nil {
			return err
		}
		switch {
		case n == 0:
			c.result.Lost++
			c.result.Findings = append(c.result.Findings, fmt.Sprintf("the fact of add %d is lost", i))
		case n > 1:
			c.result.Doubled++
			c.result.Findings = append(
				c.result.Findings,
				fmt.Sprintf("the fact of add %d is remembered %d times", i, n),
			)
		}
	}
	var findings []string
	c.result.Calls, findings, err = c.Audit.Calls(ctx, c.Model)
	c.result.Findings = append(c.result.Findings, findings...)
	return err
}
