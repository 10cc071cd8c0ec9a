// Package relay delivers outbox tasks and cleans up. It starts workflows that were not started or
// were lost, computes missing vectors, marks abandoned model calls, and removes unused uploads.
//
// Any number of relays may run. The database assigns each task to one relay at a time. Tasks are
// divided into lanes by their urgency. Each lane has its own workers and claims, so that neither many
// tasks nor slow ones delay those of another lane.
package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/channel"
	"cairn/internal/service/intake"
	"cairn/internal/store"
)

// Ports are the dependencies of the relay.
type Ports struct {
	Store    store.Outbox
	Pruner   store.Pruner
	Keep     Retention
	Driver   Driver
	Spaces   Spaces
	Channels *channel.Service
	Imports  *intake.Service
	Traces   Traces
	Lost     func(ctx context.Context, r run.Run) error  // ends a run whose workflow closes again and again
	Remove   func(ctx context.Context, key string) error // deletes an object of the package store
	Close    time.Duration                               // time without messages after which a conversation ends
	Every    time.Duration                               // between polls of an empty outbox
	Stop     time.Duration                               // for which a relay that ends waits for tasks in progress
	Grace    time.Duration                               // before an unused package is collected
	Log      *slog.Logger
}

// Relay delivers outbox tasks in a loop for each lane.
type Relay struct{ Ports }

// New returns a Relay.
func New(p Ports) *Relay {
	return &Relay{Ports: p}
}

// Run works until ctx is done. Then it claims no more tasks, waits up to Stop for those in progress, and
// cancels the others: their claims expire, and another relay does them.
func (r *Relay) Run(ctx context.Context) {
	working, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	var running sync.WaitGroup
	for _, l := range outbox.Lanes {
		running.Go(func() { r.serve(ctx, working, l) })
	}
	running.Go(func() { r.repeat(ctx, "recovery of lost work", r.Recover) })
	running.Go(func() { r.repeat(ctx, "cleanup", r.Clean) })
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	<-ctx.Done()
	select {
	case <-ended:
		return
	case <-time.After(r.Stop):
	}
	abort()
	<-ended
}

// tidyEvery is the interval of Recover and Clean.
const tidyEvery = time.Minute

// repeat runs a periodic duty until ctx is done.
func (r *Relay) repeat(ctx context.Context, what string, duty func(context.Context) error) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := duty(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("periodic duty of the relay failed", "duty", what, "error", err)
		}
	}
}

// serve claims tasks of a lane until ctx is done, and waits for those in progress. It claims as many as
// workers are idle, so that a task never waits for the end of another one that was claimed with it.
func (r *Relay) serve(ctx, working context.Context, l outbox.Lane) {
	var running sync.WaitGroup
	defer running.Wait()
	idle := make(chan struct{}, l.Workers) // one token for each idle worker
	for range l.Workers {
		idle <- struct{}{}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-idle:
		}
		free := 1 + drain(idle)
		claimed, err := r.Store.ClaimOutbox(ctx, l.Kinds, free)
		if err != nil && ctx.Err() == nil {
			r.Log.Warn("outbox tasks not claimed", "lane", l.Name, "error", err)
		}
		for range free - len(claimed) {
			idle <- struct{}{}
		}
		for _, d := range claimed {
			running.Go(func() {
				defer func() { idle <- struct{}{} }()
				if err := r.attempt(working, d); err != nil && working.Err() == nil {
					r.Log.Warn("outcome of an outbox task not stored", "kind", d.Kind, "key", d.Key, "error", err)
				}
			})
		}
		if len(claimed) == free { // more may be due
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(r.Every / time.Duration(l.Polls)):
		}
	}
}

// drain takes all tokens and returns their number.
func drain(tokens <-chan struct{}) (n int) {
	for {
		select {
		case <-tokens:
			n++
		default:
			return n
		}
	}
}

// Pass does a part of the due tasks of each lane, waits for their end and returns their number.
func (r *Relay) Pass(ctx context.Context) (n int, err error) {
	var working sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, l := range outbox.Lanes {
		claimed, err := r.Store.ClaimOutbox(ctx, l.Kinds, l.Workers)
		if err != nil {
			errs = append(errs, fmt.Errorf("claim outbox tasks: %w", err))
		}
		n += len(claimed)
		for _, d := range claimed {
			working.Go(func() {
				err := r.attempt(ctx, d)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			})
		}
	}
	working.Wait()
	return n, errors.Join(errs...)
}

// attempt does a task or stores why it failed. It stops when the claim expires, so that no two
// relays work on the same task.
func (r *Relay) attempt(ctx context.Context, d outbox.Task) error {
	claim, cancel := context.WithTimeout(ctx, d.Claim)
	defer cancel()
	err := r.do(claim, d)
	if err == nil {
		if d.Failures == 0 {
			return nil
		}
		return r.Store.RecoverOutboxTask(ctx, d)
	}
	if ctx.Err() != nil {
		return err // this relay stops; another one repeats the task when the claim has expired
	}
	r.Log.Warn("outbox task failed", "kind", d.Kind, "key", d.Key, "workspace", d.Workspace, "attempts", d.Attempts,
		"error", err)
	if err := r.Store.FailOutboxTask(ctx, d, err.Error()); err != nil {
		return fmt.Errorf("record the failure of an outbox task: %w", err)
	}
	return nil
}

func (r *Relay) do(ctx context.Context, d outbox.Task) error {
	switch d.Kind {
	case outbox.DriveTurn, outbox.DriveRun:
		return r.drive(ctx, d)
	case outbox.ReportRun:
		return r.report(ctx, d)
	case outbox.EmbedDoc, outbox.HandleEvents, outbox.Deliver, outbox.StoreImport:
		id, err := strconv.ParseInt(d.Key, 10, 64)
		if err != nil {
			return fmt.Errorf("parse the key of an outbox task: %w", err)
		}
		switch d.Kind {
		case outbox.EmbedDoc:
			return r.embed(ctx, d, id)
		case outbox.StoreImport:
			return r.importFile(ctx, d, id)
		}
		return r.channel(ctx, d, id)
	case outbox.NotifySettings:
		return r.tell(ctx, d)
	case outbox.ImportTrace:
		return r.Traces.Import(ctx, d.Workspace, d.Key)
	}
	return fmt.Errorf("unknown outbox task %q", d.Kind)
}

// drive starts the workflow of a run if it is not running. The task stays until the run has ended,
// so that a Temporal that has lost the workflow gets it again. A workflow that has closed without
// ending the run, for example because an operator terminated it, is followed by another attempt.
func (r *Relay) drive(ctx context.Context, d outbox.Task) error {
	var (
		todo    run.Run
		ws      access.Workspace
		channel string
	)
	err := r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q store.Tx) (err error) {
		if todo, err = q.Runs().Run(ctx, d.Key); err != nil {
			return err
		}
		if todo.Status == run.Ended {
			return q.Outbox().Settle(ctx, d.Kind, d.Key)
		}
		if ws, err = q.Workspaces().Self(ctx); err != nil {
			return err
		}
		if todo.Conversation == 0 { // questions have no conversation
			return nil
		}
		channel, err = q.Transcripts().Channel(ctx, todo.Conversation)
		return err
	})
	if err != nil || todo.Status == run.Ended {
		return err
	}
	closed, err := r.Driver.Drive(ctx, ws.Key, channel, todo)
	if err != nil || !closed {
		return err
	}
	return r.redrive(ctx, ws, channel, todo)
}

// maxRedrives is the number of further attempts at a run whose workflows close without ending it.
const maxRedrives = 3

// redrive gives a run whose workflow has closed another attempt. After maxRedrives of them, the run
// ends as lost. A workflow ends its run before it closes, so a run that is still open is lost.
func (r *Relay) redrive(ctx context.Context, ws access.Workspace, channel string, seen run.Run) error {
	var now run.Run
	var again bool
	id := seen.Ref.Run
	err := r.Store.InWorkspace(ctx, seen.Workspace, func(ctx context.Context, q store.Tx) (err error) {
		if now, err = q.Runs().Run(ctx, id); err != nil || now.Status == run.Ended || now.Attempt != seen.Attempt {
			return err
		}
		next := contract.NextAttemptID(now.WorkflowID, now.Attempt+1)
		if again, err = q.Runs().Redrive(ctx, id, now.Attempt, next, maxRedrives); err != nil || !again {
			return err
		}
		now, err = q.Runs().Run(ctx, id)
		return err
	})
	switch {
	case err != nil:
		return err
	case again:
		r.Log.Warn("workflow closed without ending its run; starting another attempt", "kind", now.Kind, "run", id,
			"workspace", now.Workspace, "workflow", seen.WorkflowID, "attempt", now.Attempt)
		_, err := r.Driver.Drive(ctx, ws.Key, channel, now)
		return err
	case now.Status == run.Ended || now.Attempt != seen.Attempt:
		return nil // meanwhile; the next pass sees it
	}
	r.Log.Error("run ended as lost: its workflows closed without ending it", "kind", now.Kind, "run", id,
		"workspace", now.Workspace, "workflow", now.WorkflowID, "attempts", now.Attempt)
	return r.Lost(ctx, now)
}

// tellMost limits how many conversations of a workspace are notified about new settings. The others
// read them in their next turn.
const tellMost = 1000

// tell notifies running conversations about changed settings.
func (r *Relay) tell(ctx context.Context, d outbox.Task) error {
	var (
		ws      access.Workspace
		chosen  settings.Settings
		running []int64
	)
	err := r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q store.Tx) (err error) {
		if ws, err = q.Workspaces().Self(ctx); err != nil {
			return err
		}
		if chosen, err = q.Workspaces().Settings(ctx); err != nil {
			return err
		}
		running, err = q.ConversationViews().Running(ctx, r.Close, tellMost)
		return err
	})
	if err != nil {
		return err
	}
	idle := time.Duration(chosen.Memory.IdleMinutes) * time.Minute
	for _, id := range running {
		if err := r.Driver.Tell(ctx, ws.Key, id,
			contract.SettingsInput{Settings: chosen.Nudge, Idle: &idle}); err != nil {
			return err
		}
	}
	return r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q store.Tx) error {
		now, err := q.Workspaces().Settings(ctx)
		if err != nil || !reflect.DeepEqual(now, chosen) { // changed in the meantime: the task also covers that change
			return err
		}
		return q.Outbox().Settle(ctx, d.Kind, d.Key)
	})
}

// workspaceOf returns the workspace of a task.
func (r *Relay) workspaceOf(ctx context.Context, d outbox.Task) (ws access.Workspace, err error) {
	err = r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q store.Tx) (err error) {
		ws, err = q.Workspaces().Self(ctx)
		return err
	})
	return ws, err
}

// report sends the result of a run to a chat. The task stays until the run has ended.
func (r *Relay) report(ctx context.Context, d outbox.Task) error {
	at, id, _ := strings.Cut(d.Key, "/")
	route, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return fmt.Errorf("parse the key of an outbox task: %w", err)
	}
	ws, err := r.workspaceOf(ctx, d)
	if err != nil {
		return err
	}
	_, err = r.Channels.Report(ctx, ws, route, id) // also removes the task
	return err
}

// channel handles a received message, or delivers what is open.
func (r *Relay) channel(ctx context.Context, d outbox.Task, id int64) error {
	ws, err := r.workspaceOf(ctx, d)
	if err != nil {
		return err
	}
	if d.Kind == outbox.HandleEvents {
		return r.Channels.Handle(ctx, ws, id) // also removes the task
	}
	done, err := r.Channels.Deliver(ctx, ws, id)
	if err != nil || !done {
		return err
	}
	return r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q store.Tx) error {
		return q.Outbox().Settle(ctx, d.Kind, d.Key)
	})
}

// importFile stores the conversations of a session file.
func (r *Relay) importFile(ctx context.Context, d outbox.Task, id int64) error {
	ws, err := r.workspaceOf(ctx, d)
	if err != nil {
		return err
	}
	if err := r.Imports.StoreConversations(ctx, ws, id); err != nil {
		return err
	}
	return r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q store.Tx) error {
		return q.Outbox().Settle(ctx, d.Kind, d.Key)
	})
}

// embed computes the missing vectors of a document.
func (r *Relay) embed(ctx context.Context, d outbox.Task, doc int64) error {
	var text string
	var has []int16
	deleted := false
	err := r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q store.Tx) (err error) {
		text, has, err = q.Documents().DocText(ctx, doc)
		deleted = fault.CodeOf(err) == fault.NotFound
		return settleDeleted(ctx, q, d, err)
	})
	if err != nil || deleted {
		return err
	}
	active, needed, err := r.Spaces.Owed(ctx, d.Workspace)
	if err != nil {
		return err
	}
	vectors := map[int16][]float32{}
	for _, s := range needed {
		if slices.Contains(has, s.ID) { // a new text has no vectors
			continue
		}
		vs, err := s.Embedder.Embed(ctx, []string{text})
		if err != nil {
			return fmt.Errorf("embed document %d: %w", doc, err)
		}
		vectors[s.ID] = vs[0]
	}
	return r.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, q store.Tx) error {
		now, _, err := q.Documents().DocText(ctx, doc)
		if err != nil || now != text { // changed in the meantime: the change has its own task
			return settleDeleted(ctx, q, d, err)
		}
		if err := q.Documents().PutVectors(ctx, doc, vectors, active); err != nil {
			return err
		}
		return q.Outbox().Settle(ctx, d.Kind, d.Key)
	})
}

// settleDeleted ends the task of a document that was deleted, whose text cannot be read.
func settleDeleted(ctx context.Context, q store.Tx, d outbox.Task, err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return q.Outbox().Settle(ctx, d.Kind, d.Key)
	}
	return err
}
