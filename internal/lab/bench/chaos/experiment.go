package chaos

import (
	"context"
	_ "embed"
	"errors"
	"math/rand/v2"

	"cairn/internal/domain/access"
	"cairn/internal/lab/bench/ground"
)

//go:embed audit.sql
var auditSQL string

// experiment holds the open resources of a run of the experiment.
type experiment struct {
	*ground.Ground
	options   Options
	draw      *rand.Rand
	workspace access.Workspace // workspace of all conversations
	worker    *ground.Supervisor
	result    Result
}

// open starts the servers with persistent data, so that they survive crashes.
func open(ctx context.Context, o Options) (*experiment, error) {
	g, err := ground.Open(ctx, ground.Options{Name: "chaos", Does: "crashes", Lasting: true, Queries: auditSQL,
		Settings: []string{"SKILL_QUALITY=off", "SKILL_KEEP_VERSIONS=0"},
		Worker:   o.Worker, Log: o.Log})
	if err != nil {
		return nil, err
	}
	script(g.Model, o.Reply)
	e := &experiment{Ground: g, options: o, draw: rand.New(rand.NewPCG(o.Seed, 0)),
		result: Result{Seed: o.Seed, Distillations: o.Distillations}}
	if e.workspace, err = g.App.Store.Workspace(ctx, "chaos", true); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}
