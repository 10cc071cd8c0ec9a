// Package apptest opens a complete Cairn for a test: a new database, a new Temporal namespace on the
// shared server, a scripted model, and workers in this process.
//
//	b := apptest.Open(t)
//	b.ScriptR1()
//	report := b.Distill(apptest.C1())
package apptest

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/types/known/durationpb"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/devtest"
	"cairn/internal/lab/devtest/testrun"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// patience is the time after which a test considers an operation stuck.
const patience = 60 * time.Second

// The SDK would compute a checksum of the large test program, which no test uses.
func init() { worker.SetBinaryChecksum("test") }

// Bundle is an open Cairn with its test workspace. Use it from one test at a time.
type Bundle struct {
	*app.App
	T         testing.TB
	Model     *openaitest.Server
	Workspace access.Workspace
	AdminURL  string // superuser's connection to the database
	Packages  string // folder of the packages
	admin     func() (*pgxpool.Pool, error)
	stop      func()
}

// adminConns is enough because tests query one after the other.
const adminConns = 2

// Namespace creates a Temporal namespace, which isolates this test from workers of other tests.
func Namespace(t testing.TB) (address, namespace string) {
	t.Helper()
	address = devtest.Temporal(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	quiet := temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Logger: quiet})
	testkit.Must(t, err)
	defer c.Close()
	namespace = fmt.Sprintf("test-%x", time.Now().UnixNano())
	_, err = c.WorkflowService().RegisterNamespace(ctx,
		&workflowservice.RegisterNamespaceRequest{Namespace: namespace,
			WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)})
	testkit.Must(t, err)
	attributes := map[string]enums.IndexedValueType{}
	for name := range testrun.SearchAttributes {
		attributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx,
		&operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: attributes})
	testkit.Must(t, err)
	return address, namespace
}

// Config returns the configuration of a test: short leases, names with underscores as in the golden
// files, no scoring of drafts, a scripted model.
func Config(t testing.TB, change ...func(*config.Config)) config.Config {
	t.Helper()
	home := t.TempDir()
	c, err := config.Load([]string{"CAIRN_HOME=" + home, "CAIRN_MODEL=scripted", "OPENAI_API_KEY=none",
		"SKILL_NAME_STYLE=underscore", "SKILL_PROFILE=seed", "SKILL_QUALITY=off",
		"CAIRN_LLM_LEASE=1s", "CAIRN_HEARTBEAT=3s", "CAIRN_DATABASE_STEP=6s", "CAIRN_STOP_TIMEOUT=2s",
		"CAIRN_DATABASE_CONNS=8", "CAIRN_SWEEP_EVERY=0s", "CAIRN_SWEEP_JITTER=0s", "CAIRN_LOG=error",
		"CAIRN_LLM_HOLD=3s", "CAIRN_POLLERS=3", "CAIRN_DRAIN_DELAY=0s"}, nil)
	testkit.Must(t, err)
	c.SkillsDir = filepath.Join(home, "packages")
	for _, f := range change {
		f(&c)
	}
	return c
}

// Open opens a Cairn and starts its workers.
func Open(t testing.TB, change ...func(*config.Config)) *Bundle {
	t.Helper()
	b := OpenIdle(t, change...)
	b.Start()
	return b
}

// OpenIdle opens a Cairn without starting its workers.
func OpenIdle(t testing.TB, change ...func(*config.Config)) *Bundle {
	t.Helper()
	b := &Bundle{T: t, Model: openaitest.New(t), AdminURL: pgtest.Database(t)}
	c := Config(t)
	c.BaseURL, c.DatabaseURL = b.Model.URL, b.AdminURL
	c.TemporalAddress, c.TemporalNamespace = Namespace(t)
	for _, f := range change {
		f(&c)
	}
	var err error
	b.App, err = app.Open(t.Context(), c, slog.New(
		slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: app.Level(c.LogLevel)})))
	testkit.Must(t, err)
	b.Packages = c.SkillsDir
	b.admin = sync.OnceValues(func() (*pgxpool.Pool, error) { return openAdmin(b.AdminURL) })
	t.Cleanup(func() {
		b.Stop()
		b.App.Close()
		if admin, err := b.admin(); err == nil {
			admin.Close()
		}
	})
	b.Workspace, err = b.Store.Workspace(t.Context(), "test", true)
	testkit.Must(t, err)
	return b
}

// Part returns the same Cairn with a new workspace and an empty model script, for a subtest. It saves
// opening another Cairn, which takes half a second of processor time. Subtests run one after the
// other.
func (b *Bundle) Part(t testing.TB) *Bundle {
	t.Helper()
	b.Model.Forget()
	part := *b
	part.T = t
	var err error
	part.Workspace, err = b.Store.Workspace(t.Context(), t.Name(), true)
	testkit.Must(t, err)
	return &part
}

// openAdmin returns a pool that connects at the first query.
func openAdmin(url string) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	c.MaxConns = adminConns
	return pgxpool.NewWithConfig(context.Background(), c)
}

// Admin returns a connection pool of the superuser. Pooling matters because tests query often.
func (b *Bundle) Admin() *pgxpool.Pool {
	b.T.Helper()
	admin, err := b.admin()
	testkit.Must(b.T, err)
	return admin
}

// Start starts the workers.
func (b *Bundle) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		if err := b.Work(ctx, app.Queues()); err != nil {
			b.T.Errorf("worker: %v", err)
		}
	})
	b.stop = sync.OnceFunc(func() { cancel(); working.Wait() })
}

// Stop stops the workers.
func (b *Bundle) Stop() {
	if b.stop != nil {
		b.stop()
	}
}

// Accept stores a request without starting its workflow. A conversation without a reward counts as a
// success.
func (b *Bundle) Accept(c transcript.Conversation, change ...func(*distill.Request)) run.Run {
	b.T.Helper()
	r := distill.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Conversation: c, Channel: "import",
		Spec: app.DistillSpec(b.Config, transcript.ExtractAuto)}
	if c.Reward == nil { // else most conversations of tests would only create drafts
		r.Spec.Outcome = transcript.Success
	}
	for _, f := range change {
		f(&r)
	}
	out, _, err := b.App.Distill.Accept(b.T.Context(), r)
	testkit.Must(b.T, err)
	return out
}

// Distill accepts a request, starts it and waits for its end.
func (b *Bundle) Distill(c transcript.Conversation, change ...func(*distill.Request)) distill.Report {
	b.T.Helper()
	r := b.Accept(c, change...)
	testkit.Must(b.T, b.Driver.Start(b.T.Context(), b.Workspace.Key, "import", r))
	return b.Wait(r.Ref)
}

// Wait returns a run's report when it has ended.
func (b *Bundle) Wait(ref run.Ref) distill.Report {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.T.Context(), patience)
	defer cancel()
	for {
		var status run.Status // polling a complete report would cost more than the run
		err := b.Admin().QueryRow(ctx, "select status from cairn.runs where workspace_id = $1 and id = $2",
			ref.Workspace, ref.Run).Scan(&status)
		if err == nil && status != run.Ended {
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
				continue
			}
		}
		if ctx.Err() == nil {
			testkit.Must(b.T, err)
		}
		r, err := b.App.Distill.Report(b.T.Context(), ref)
		testkit.Must(b.T, err)
		if r.Status != run.Ended {
			b.T.Fatalf("run %s is stuck: %+v", ref.Run, r)
		}
		return r
	}
}

// Within runs fn in a transaction in the test's workspace.
func (b *Bundle) Within(fn func(context.Context, store.Tx) error) {
	b.T.Helper()
	testkit.Must(b.T, b.Store.InWorkspace(b.T.Context(), b.Workspace.ID, fn))
}

// StartDistill starts the distillation of the sample conversation C1 and does not wait for it.
func (b *Bundle) StartDistill() run.Ref {
	b.T.Helper()
	r := b.Accept(C1())
	testkit.Must(b.T, b.Driver.Start(b.T.Context(), b.Workspace.Key, "import", r))
	return r.Ref
}
