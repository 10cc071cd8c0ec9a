package erase_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"cairn/internal/adapter/objectstore"
	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/service/erase"
	"cairn/internal/testkit"
)

// db is the database of a test; the name keeps the embedded field apart from Service.Store.
type db = pgtest.Store

// erasing is the service over a fresh database. Workspace A has a conversation "talk" with a memory
// derived from it, a conversation "other", and packages with their objects.
type erasing struct {
	*erase.Service
	*db
	t         *testing.T
	blobs     *blobs
	workflows *workflows
	emptied   []int64
}

// packs is how many packages a workspace has: more than are deleted at once.
const packs = 12

func setup(t *testing.T) *erasing {
	t.Helper()
	e := &erasing{t: t, db: pgtest.Open(t), workflows: &workflows{}}
	local, err := objectstore.Local(t.TempDir())
	testkit.Must(t, err)
	e.blobs = &blobs{LocalStore: local}
	e.Service = &erase.Service{Ports: erase.Ports{Store: e.Erasures(), Blobs: e.blobs, Workflows: e.workflows,
		ObjectsOf: distill.PackageObjects, Empty: func(ctx context.Context, ws int64) error {
			e.emptied = append(e.emptied, ws)
			return local.Empty(ctx, skill.PackageFolder(ws))
		}}}
	for _, ws := range []access.Workspace{e.A, e.B} {
		e.fill(ws)
	}
	return e
}

func (e *erasing) fill(ws access.Workspace) {
	e.t.Helper()
	for _, name := range []string{"talk", "other"} {
		e.Exec("insert into conversations (workspace_id, external_id) values ($1, $2)", ws.ID, name)
		e.Exec(`insert into messages (workspace_id, conversation_id, seq, external_id, role, content)
			values ($1, $2, 0, '0', 'user', $3)`, ws.ID, e.conversation(ws, name), "said in "+name)
	}
	e.Exec(`insert into memories (workspace_id, external_id, type, content, content_sha256, origin, op_id,
			conversation_id, from_seq, to_seq)
		values ($1, '00112233445566ff', 'core', 'came of it', sha256('x'), 'nudge', 'op', $2, 0, 0)`,
		ws.ID, e.conversation(ws, "talk"))
	for n := range packs {
		key := fmt.Sprintf("%s/v%d/skill.zip", skill.PackageFolder(ws.ID), n)
		e.Exec(`insert into packages (workspace_id, sha256, key, bytes, state)
			values ($1, sha256($2::text::bytea), $2, 1, 'live')`, ws.ID, key)
		for _, object := range distill.PackageObjects(key) {
			testkit.Must(e.t, e.blobs.Put(e.t.Context(), object, []byte("x")))
		}
	}
}

func (e *erasing) conversation(ws access.Workspace, name string) int64 {
	e.t.Helper()
	return int64(e.Number("select id from conversations where workspace_id = $1 and external_id = $2", ws.ID, name))
}

// objects counts the objects of a workspace.
func (e *erasing) objects(ws access.Workspace) (n int) {
	e.t.Helper()
	for p := range packs {
		for _, object := range distill.PackageObjects(fmt.Sprintf("%s/v%d/skill.zip", skill.PackageFolder(ws.ID), p)) {
			there, err := e.blobs.Exists(e.t.Context(), object)
			testkit.Must(e.t, err)
			if there {
				n++
			}
		}
	}
	return n
}

// holds counts what a workspace has.
func (e *erasing) holds(ws access.Workspace) (out string) {
	e.t.Helper()
	for _, table := range []string{"conversations", "messages", "memories", "packages"} {
		out += fmt.Sprintf("%s %d, ", table, e.Number("select count(*) from "+table+" where workspace_id = $1", ws.ID))
	}
	return out + fmt.Sprintf("objects %d", e.objects(ws))
}

var (
	full  = fmt.Sprintf("conversations 2, messages 2, memories 1, packages %d, objects %d", packs, 2*packs)
	empty = "conversations 0, messages 0, memories 0, packages 0, objects 0"
)

func (e *erasing) accept(t erasure.Target) erasure.Erasure {
	e.t.Helper()
	out, err := e.Accept(e.t.Context(), t)
	testkit.Must(e.t, err)
	return out
}

// whole is all of workspace A.
func (e *erasing) whole() erasure.Target { return erasure.Target{Workspace: e.A.ID} }

// steps runs all steps of a workflow and reports whether the erasure has ended.
func (e *erasing) steps(id int64) bool {
	e.t.Helper()
	for _, step := range []func(context.Context, contract.EraseRef) error{e.Fence, e.Stop, e.CountObjects,
		e.Service.Rows, e.Objects} {
		testkit.Must(e.t, step(e.t.Context(), contract.EraseRef{Erasure: id}))
	}
	out, err := e.End(e.t.Context(), contract.EraseRef{Erasure: id})
	testkit.Must(e.t, err)
	if r := e.report(id); out.Rows != r.Rows() || out.Objects != r.Objects || out.Workflows != r.Workflows {
		e.t.Errorf("ended with %+v, reported %+v", out, r)
	}
	return out.Ended
}

func (e *erasing) report(id int64) erasure.Erasure {
	e.t.Helper()
	out, err := e.Report(e.t.Context(), 0, id)
	testkit.Must(e.t, err)
	return out
}

// wants checks the code of an error and that it has a hint.
func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if f := fault.From(err); err == nil || f.Code != code || f.Message == "" || f.Hint == "" {
		t.Errorf("%s: %+v, want %s", what, err, code)
	}
}

var errAway = errors.New("it does not answer")

// blobs is a package store that can fail.
type blobs struct {
	*objectstore.LocalStore
	away bool // deletes fail
	lags bool // lists deleted objects
}

func (b *blobs) Delete(ctx context.Context, key string) error {
	if b.away && path.Base(key) == "SKILL.md" {
		return errAway
	}
	return b.LocalStore.Delete(ctx, key)
}

func (b *blobs) Exists(ctx context.Context, key string) (bool, error) {
	if b.lags {
		return true, nil
	}
	return b.LocalStore.Exists(ctx, key)
}

// workflows is a Temporal with some open executions.
type workflows struct {
	open    []erase.Execution
	asked   []string // queried workspaces
	stopped []string
	away    int // number of failing terminations
}

func (w *workflows) Open(_ context.Context, key string, conversations []int64) ([]erase.Execution, error) {
	w.asked = append(w.asked, strings.TrimSpace(fmt.Sprintf("%s %v", key, conversations)))
	return slices.Clone(w.open), nil
}

func (w *workflows) Terminate(_ context.Context, x erase.Execution) error {
	if w.away > 0 {
		w.away--
		return errAway
	}
	w.stopped = append(w.stopped, x.Run)
	w.open = slices.DeleteFunc(w.open, func(o erase.Execution) bool { return o == x })
	return nil
}
