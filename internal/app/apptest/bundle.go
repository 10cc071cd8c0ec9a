// Package apptest opens a whole Cairn for a test: a fresh database, a Temporal
// namespace of its own on the shared server, a scripted model, and workers in
// this process.
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

	"cairn/internal/adapter/devstack/devtest"
	"cairn/internal/adapter/openai/openaitest"
	"cairn/internal/adapter/postgres"
	"cairn/internal/adapter/postgres/pgtest"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/run"
	"cairn/internal/domain/tenancy"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

// patience is how long anything in a test may take before it counts as stuck.
const patience = 60 * time.Second

// A test program is big, and its checksum is for nobody.
func init() { worker.SetBinaryChecksum("test") }

// Bundle is an open Cairn.
type Bundle struct {
	*app.App
	T         testing.TB
	Model     *openaitest.Server
	Workspace tenancy.Workspace
	AdminURL  string // superuser's connection to the database
	Packages  string // folder of the packages
	admin     func() (*pgxpool.Pool, error)
	stop      func()
}

// adminConns are for looking, at one thing after the other.
const adminConns = 2

// Namespace makes a Temporal namespace, so that workers of other tests see
// nothing of this one.
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
	for name := range devtest.SearchAttributes {
		attributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx,
		&operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: attributes})
	testkit.Must(t, err)
	return address, namespace
}

// Config is the configuration of a test: short leases, underscored names as the
// specification's golden files have them, no judge, a scripted model.
func Config(t testing.TB, change ...func(*config.Config)) config.Config {
	t.Helper()
	home := t.TempDir()
	c, err := config.Load([]string{"CAIRN_HOME=" + home, "CAIRN_MODEL=scripted", "OPENAI_API_KEY=none",
		"SKILL_NAME_STYLE=underscore", "SKILL_QUALITY=off",
		"CAIRN_LLM_LEASE=1s", "CAIRN_HEARTBEAT=3s", "CAIRN_DATABASE_STEP=6s", "CAIRN_STOP_TIMEOUT=2s",
		"CAIRN_DATABASE_CONNS=8", "CAIRN_SWEEP_EVERY=0s", "CAIRN_SWEEP_JITTER=0s", "CAIRN_LOG=error",
		"CAIRN_LLM_HOLD=3s", "CAIRN_POLLERS=3"}, nil)
	testkit.Must(t, err)
	c.SkillsDir = filepath.Join(home, "packages")
	for _, f := range change {
		f(&c)
	}
	return c
}

// Open opens a Cairn with its workers running.
func Open(t testing.TB, change ...func(*config.Config)) *Bundle {
	t.Helper()
	b := OpenIdle(t, change...)
	b.Start()
	return b
}

// OpenIdle opens a Cairn whose workers do not run yet.
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

// Anew is the same Cairn with a workspace of its own and a model that knows
// nothing, for a part of a test that needs no more than that: to open a Cairn and
// to close it costs half a second of a processor. One part comes after the other.
func (b *Bundle) Anew(t testing.TB) *Bundle {
	t.Helper()
	b.Model.Forget()
	part := *b
	part.T = t
	var err error
	part.Workspace, err = b.Store.Workspace(t.Context(), t.Name(), true)
	testkit.Must(t, err)
	return &part
}

// openAdmin connects when the first question is asked.
func openAdmin(url string) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	c.MaxConns = adminConns
	return pgxpool.NewWithConfig(context.Background(), c)
}

// Admin is the superuser's sight of the database: a connection for each look,
// again and again, would cost the server more than what is looked at.
func (b *Bundle) Admin() *pgxpool.Pool {
	b.T.Helper()
	admin, err := b.admin()
	testkit.Must(b.T, err)
	return admin
}

// Start runs the workers.
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

// Stop ends the workers.
func (b *Bundle) Stop() {
	if b.stop != nil {
		b.stop()
	}
}

// Accept makes a request durable without starting its workflow.
func (b *Bundle) Accept(c transcript.Conversation, change ...func(*distill.Request)) run.Run {
	b.T.Helper()
	r := distill.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Conversation: c, Channel: "import",
		Spec: app.DistillSpec(b.Config, transcript.ExtractAuto)}
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
		var status run.Status // a whole report, again and again, would cost more than the run
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
			b.T.Fatalf("run %d is stuck: %+v", ref.Run, r)
		}
		return r
	}
}

// Within reads the test's workspace.
func (b *Bundle) Within(fn func(context.Context, postgres.Tx) error) {
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
