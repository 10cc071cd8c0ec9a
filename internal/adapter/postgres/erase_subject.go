package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/incarnation"
	"cairn/internal/domain/memory"
	"cairn/internal/service/erase"
)

// subject is a target of memories with all of its names.
type subject struct {
	hashes [][]byte // of the keys, that of its first target before the others, and of their letters
	keys   []string // of its targets, with their aliases
	names  []string // spellings in messages, in requests and in metadata
	marks  []string // how stored requests name it
	known  bool
}

// subjectOf finds all names of a subject. A name means the same target as elsewhere: by its key, an
// alias, or the same letters.
func (s erasures) subjectOf(ctx context.Context, t erase.Target) (out subject, err error) {
	name, err := t.Name()
	if err != nil {
		return out, err
	}
	err = s.InWorkspace(ctx, t.Workspace, func(ctx context.Context, q Tx) error {
		rows, err := q.q.SubjectTargets(ctx, dbsqlc.SubjectTargetsParams{WorkspaceID: q.ws,
			TargetKey: storable(name.Key), MatchKey: storable(name.MatchKey())})
		if err != nil {
			return classify("look for the target", err)
		}
		shown := []string{name.Display}
		for _, r := range rows {
			out.keys = append(append(out.keys, r.TargetKey), r.Aliases...)
			shown = append(shown, r.Target)
		}
		out.keys = distinct(append(out.keys, name.Key))
		spellings, err := q.q.SubjectNames(ctx, q.ws)
		if err != nil {
			return classify("read the names", err)
		}
		out.names = spelled(out.keys, spellings)
		found, err := q.q.SubjectMemories(ctx, dbsqlc.SubjectMemoriesParams{WorkspaceID: q.ws, Keys: out.keys})
		if err != nil {
			return classify("look for memories of the target", err)
		}
		out.known = found || len(rows) > 0 || len(out.names) > 0
		self, err := q.Workspaces().Self(ctx)
		if err != nil {
			return err
		}
		for _, key := range append(slices.Clone(out.keys), matches(out.keys)...) {
			sum := sha256.Sum256([]byte(incarnation.Base(self.Key) + "/" + key))
			out.hashes = append(out.hashes, sum[:])
		}
		out.marks = marksOf(distinct(append(shown, out.names...)))
		return nil
	})
	return out, err
}

// distinct returns texts without repetitions, in their order.
func distinct(texts []string) (out []string) {
	for _, text := range texts {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// spelled returns the names that are spellings of one of the keys.
func spelled(keys, names []string) []string {
	out, same := []string{}, map[string]bool{}
	for _, key := range append(slices.Clone(keys), matches(keys)...) {
		same[key] = true
	}
	for _, name := range names {
		t, err := memory.NewTarget(memory.Personal, name)
		if err == nil && (same[t.Key] || same[t.MatchKey()]) {
			out = append(out, name)
		}
	}
	return out
}

// matches returns the letters of keys.
func matches(keys []string) (out []string) {
	for _, key := range keys {
		if match := (memory.Target{Key: key}).MatchKey(); match != "" {
			out = append(out, match)
		}
	}
	return out
}

// marksOf returns texts that show that a stored request or result names the target: its line in a
// list of targets, and the argument of a tool, both as text and inside of JSON.
func marksOf(names []string) (out []string) {
	for _, name := range names {
		plain, err := json.Marshal(name)
		if err != nil {
			continue // a string can always be encoded
		}
		for _, text := range []string{
			memory.Target{Type: memory.Personal, Display: name}.Mention(),
			memory.Target{Type: memory.Procedural, Display: name}.Mention(),
			`"memory_target": ` + string(plain),
			`"memory_target":` + string(plain),
		} {
			encoded, err := json.Marshal(text)
			if err != nil {
				continue
			}
			out = append(out, text, strings.Trim(string(encoded), `"`))
		}
	}
	return distinct(out)
}

// acceptSubject opens an erasure of a subject. If look is set, it is called before the commit.
func (s erasures) acceptSubject(ctx context.Context, t erase.Target, look func(*dbsqlc.Queries, int64) error) (id int64,
	err error) {
	of, err := s.subjectOf(ctx, t)
	if err != nil {
		return 0, err
	}
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		id, err = q.EraseAcceptSubject(ctx, dbsqlc.EraseAcceptSubjectParams{Workspace: t.Workspace, Hashes: of.hashes,
			Keys: of.keys, Names: of.names, Marks: of.marks, Known: of.known})
		if err != nil {
			return classify("accept the erase", err)
		}
		if id == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("target %q not found", t.Subject),
				"list the targets with `cairn targets`")
		}
		if look != nil {
			return look(q, id)
		}
		return recordErasure(ctx, q, t, id)
	})
	return id, err
}

// errPlanned rolls back the transaction of a plan.
var errPlanned = errors.New("planned")

// planSubject accepts an erasure, counts, and rolls back: a plan and an erasure cannot differ.
func (s erasures) planSubject(ctx context.Context, t erase.Target) (erase.Plan, error) {
	out := erase.Plan{Rows: map[string]int64{}}
	_, err := s.acceptSubject(ctx, t, func(q *dbsqlc.Queries, id int64) error {
		r, err := q.EraseGet(ctx, id)
		if err != nil {
			return classify("read the erasure", err)
		}
		if err := json.Unmarshal(r.Deleted, &out.Rows); err != nil {
			return fmt.Errorf("decode erasure %d: %w", id, err)
		}
		rows, err := q.EraseRowsOf(ctx, dbsqlc.EraseRowsOfParams{Workspace: t.Workspace, Erasure: &id})
		if err != nil {
			return classify("count the rows", err)
		}
		for _, r := range rows {
			out.Rows[r.Tbl] += r.N
		}
		if out.Derived, out.NeedsReview, err = listed(ctx, q, id); err != nil {
			return err
		}
		return errPlanned
	})
	if errors.Is(err, errPlanned) {
		err = nil
	}
	return out, err
}

// listed returns what derives only from a subject's data, and what is left for review.
func listed(ctx context.Context, q *dbsqlc.Queries, id int64) (derived []erase.Derivation, review []erase.Item,
	err error) {
	rows, err := q.EraseListed(ctx, id)
	for _, r := range rows {
		if r.Review {
			review = append(review, erase.Item{Kind: r.Kind, Ref: r.Ref})
		} else {
			derived = append(derived, erase.Derivation{Kind: r.Kind, ID: r.ID, Ref: r.Ref, Sole: true})
		}
	}
	return derived, review, classify("list the items of the erasure", err)
}

// ErasedConversations lists the conversations of a subject that are erased completely.
func (s erasures) ErasedConversations(ctx context.Context, id int64) (out []int64, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		out, err = q.EraseConversations(ctx, id)
		return classify("list the conversations of the subject", err)
	})
	return out, err
}

// EraseSubject removes up to most messages and most memories of a subject and returns their number.
func (s erasures) EraseSubject(ctx context.Context, id int64, most int) (n int, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		erased, err := q.EraseSubject(ctx, dbsqlc.EraseSubjectParams{ID: id, Most: int32(most)})
		n = int(erased)
		return classify("erase messages and memories", err)
	})
	return n, err
}

// eraseRequests removes stored requests that name the subject and returns the number of open runs
// with such requests.
func (s erasures) eraseRequests(ctx context.Context, id int64) (open int, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		n, err := q.EraseRequests(ctx, id)
		open = int(n)
		return classify("erase requests", err)
	})
	return open, err
}
