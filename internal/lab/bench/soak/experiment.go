package soak

import (
	"context"
	_ "embed"
	"errors"

	"cairn/internal/domain/access"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/store"
)

//go:embed audit.sql
var auditSQL string

// experiment holds the open resources of a run of the experiment.
type experiment struct {
	*ground.Ground
	options    Options
	talks      []talk
	workspaces []access.Workspace // one per conversation
	worker     *ground.Supervisor
	result     Result
	now        int    // incarnation of the database
	programs   string // folder of the server's programs
	mark       openaitest.Mark
}

// open starts the servers and creates a workspace for each conversation. Only the worker is
// killed, so the servers need no persistent data.
func open(ctx context.Context, o Options, talks []talk) (*experiment, error) {
	g, err := ground.Open(ctx, ground.Options{Name: "soak", Does: "counts everything on", Queries: auditSQL,
		Settings: []string{"CAIRN_DATABASE_STEP=5s"}, Worker: o.Worker, Log: o.Log})
	if err != nil {
		return nil, err
	}
	script(g.Model, o.Reply)
	e := &experiment{Ground: g, options: o, talks: talks, now: 1,
		result: Result{Seed: o.Seed, Options: Did{Conversations: o.Conversations, Turns: o.Turns}}}
	if err := e.openWorkspaces(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *experiment) openWorkspaces(ctx context.Context) (err error) {
	e.workspaces = make([]access.Workspace, len(e.talks))
	for i, t := range e.talks {
		if e.workspaces[i], err = e.App.Store.Workspace(ctx, t.name, true); err != nil {
			return err
		}
		if err = e.App.Store.InWorkspace(ctx, e.workspaces[i].ID, func(ctx context.Context, q store.Tx) error {
			return neverIdle(ctx, q)
		}); err != nil {
			return err
		}
	}
	return nil
}

// neverIdle keeps ended conversations from being read for long-term memory, because the
// experiment counts only turns and reviews.
func neverIdle(ctx context.Context, q store.Tx) error {
	s, err := q.Workspaces().Settings(ctx)
	if err != nil {
		return err
	}
	s.Memory.IdleMinutes = 0
	return q.Workspaces().SetSettings(ctx, s)
}
