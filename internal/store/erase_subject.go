package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

// subject is a target of memories, which all of its rows name by its ID.
type subject struct {
	hash  []byte // of the ID
	key   string
	names []string // the ID in messages, in requests and in metadata, which need not be in NFC
	marks []string // how stored requests name it
	known bool
}

// subjectOf finds what the workspace has of a subject. Another spelling is another subject.
func (s Erasures) subjectOf(ctx context.Context, t erasure.Target) (out subject, err error) {
	name, err := t.Name()
	if err != nil {
		return out, err
	}
	out.key = storable(name.Key)
	err = s.InWorkspace(ctx, t.Workspace, func(ctx context.Context, q Tx) error {
		registered, err := q.q.SubjectKnown(ctx, dbsqlc.SubjectKnownParams{WorkspaceID: q.ws, TargetKey: out.key})
		if err != nil {
			return classify("look for the target", err)
		}
		spellings, err := q.q.SubjectNames(ctx, q.ws)
		if err != nil {
			return classify("read the names", err)
		}
		out.names = []string{}
		for _, spelling := range spellings {
			if norm.NFC.String(spelling) == out.key {
				out.names = append(out.names, spelling)
			}
		}
		found, err := q.q.SubjectMemories(ctx, dbsqlc.SubjectMemoriesParams{WorkspaceID: q.ws, Keys: []string{out.key}})
		if err != nil {
			return classify("look for memories of the target", err)
		}
		out.known = found || registered || len(out.names) > 0
		self, err := q.Workspaces().Self(ctx)
		if err != nil {
			return err
		}
		out.hash = subjectHash(run.IncarnationBase(self.Key), out.key)
		out.marks = marksOf(distinct(append([]string{out.key}, out.names...)))
		return nil
	})
	return out, err
}

// subjectHash identifies a subject in an erasure and its tombstone. Those before exact IDs have a slash
// and folded names, so that none of them can be read as the hash of an ID.
func subjectHash(workspaceKey, id string) []byte {
	sum := sha256.Sum256([]byte(workspaceKey + ":" + id))
	return sum[:]
}

// foldedHashes are the hashes of a subject in tombstones before exact IDs.
func foldedHashes(workspaceKey string, t memory.Target) (out [][]byte) {
	for _, key := range []string{t.FoldedKey(), t.MatchKey()} {
		if key != "" {
			sum := sha256.Sum256([]byte(workspaceKey + "/" + key))
			out = append(out, sum[:])
		}
	}
	return out
}

// MeantSubject returns the ID of the subject that a person means by a name: of all targets, speakers
// and owners of the workspace, the one with this ID, else the only one with its folded form.
func (s Erasures) MeantSubject(ctx context.Context, ws int64, name string) (id string, err error) {
	wanted, err := memory.NamedTarget(memory.Personal, name)
	if err != nil {
		return "", err
	}
	var alike []memory.Target
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		ids, err := q.subjectIDs(ctx)
		for _, id := range ids {
			t, err := memory.NewTarget(memory.Personal, id)
			if err == nil && (t.Key == norm.NFC.String(name) || t.MatchKey() == wanted.MatchKey()) &&
				!slices.ContainsFunc(alike, func(o memory.Target) bool { return o.Key == t.Key }) {
				alike = append(alike, t)
			}
		}
		return err
	})
	if err != nil {
		return "", err
	}
	t, found, err := memory.ByName(name, alike)
	if err == nil && !found { // its erasure may be open
		t.Key = norm.NFC.String(name)
	}
	return t.Key, err
}

// subjectIDs lists the IDs of all subjects: of targets, speakers and mem0's owners.
func (q session) subjectIDs(ctx context.Context) ([]string, error) {
	targets, err := q.q.SubjectKeys(ctx, q.ws)
	if err != nil {
		return nil, classify("list the targets", err)
	}
	names, err := q.q.SubjectNames(ctx, q.ws)
	return append(targets, names...), classify("read the names", err)
}

func unknownSubject(name string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("target %q not found", name), "list the targets with `cairn targets`")
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
func (s Erasures) acceptSubject(ctx context.Context, t erasure.Target, look func(*dbsqlc.Queries,
	int64) error) (id int64,
	err error) {
	of, err := s.subjectOf(ctx, t)
	if err != nil {
		return 0, err
	}
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		id, err = q.EraseAcceptSubject(ctx, dbsqlc.EraseAcceptSubjectParams{Workspace: t.Workspace,
			Hashes: [][]byte{of.hash}, Keys: []string{of.key}, Names: of.names, Marks: of.marks, Known: of.known})
		if err != nil {
			return classify("accept the erase", err)
		}
		if id == 0 {
			return unknownSubject(t.Subject)
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
func (s Erasures) planSubject(ctx context.Context, t erasure.Target) (erasure.Plan, error) {
	out := erasure.Plan{Subject: t.Subject, Rows: map[string]int64{}}
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
func listed(ctx context.Context, q *dbsqlc.Queries, id int64) (derived []erasure.Derivation, review []erasure.Item,
	err error) {
	rows, err := q.EraseListed(ctx, id)
	for _, r := range rows {
		if r.Review {
			review = append(review, erasure.Item{Kind: r.Kind, Ref: r.Ref})
		} else {
			derived = append(derived, erasure.Derivation{Kind: r.Kind, ID: r.ID, Ref: r.Ref, Sole: true})
		}
	}
	return derived, review, classify("list the items of the erasure", err)
}

// ErasedConversations lists the conversations of a subject that are erased completely.
func (s Erasures) ErasedConversations(ctx context.Context, id int64) (out []int64, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		out, err = q.EraseConversations(ctx, id)
		return classify("list the conversations of the subject", err)
	})
	return out, err
}

// EraseSubject removes up to most messages and most memories of a subject and returns their number.
func (s Erasures) EraseSubject(ctx context.Context, id int64, most int) (n int, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		erased, err := q.EraseSubject(ctx, dbsqlc.EraseSubjectParams{ID: id, Most: int32(most)})
		n = int(erased)
		return classify("erase messages and memories", err)
	})
	return n, err
}

// eraseRequests removes stored requests that name the subject and returns the number of open runs
// with such requests.
func (s Erasures) eraseRequests(ctx context.Context, id int64) (open int, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		n, err := q.EraseRequests(ctx, id)
		open = int(n)
		return classify("erase requests", err)
	})
	return open, err
}
