package dump_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/dump"
	"cairn/internal/testkit"
)

// decoded reads each line of a file.
func decoded(t *testing.T, file string) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(file) {
		var v map[string]any
		testkit.Must(t, json.Unmarshal([]byte(line), &v))
		out = append(out, v)
	}
	return out
}

func TestDumpHoldsAllThatAWorkspaceRemembers(t *testing.T) {
	t.Parallel()
	d := setup(t)
	lines := decoded(t, d.dumped(d.A, dump.Options{}))
	var kinds []string
	var veil, sails map[string]any
	for _, line := range lines {
		kinds = append(kinds, line["kind"].(string))
		switch line["content"] {
		case "Wear a veil.":
			veil = line
		case "Sails on Sundays.":
			sails = line
		}
		if _, there := line["vector"]; there {
			t.Errorf("unexpected vector: %v", line["content"])
		}
	}
	compact := slices.Compact(slices.Clone(kinds))
	want := []string{"header", "target", "conversation", "message", "history", "memory", "identity", "soul", "end"}
	if !slices.Equal(compact, want) {
		t.Errorf("kinds in the order %v", compact)
	}
	if head := lines[0]; head["format"] != dump.Format || head["version"] != float64(dump.Version) ||
		head["workspace"] != "a" || head["vectors"] != false {
		t.Errorf("header %v", head)
	}
	if veil["when_to_use"] != "near hives" || veil["memory_type"] != string(memory.Procedural) {
		t.Errorf("a procedure is %v", veil)
	}
	if revisions, _ := sails["revisions"].([]any); len(revisions) != 2 || sails["version"] != 2.0 {
		t.Errorf("what was said before is lost: %v", sails)
	}
	if end := lines[len(lines)-1]; end["lines"] != float64(len(lines)-1) {
		t.Errorf("the end counts %v of %d lines", end["lines"], len(lines)-1)
	}
}

func TestDumpOfAnEmptyWorkspaceIsAWholeFile(t *testing.T) {
	t.Parallel()
	d := setup(t)
	file := d.dumped(d.B, dump.Options{})
	if lines := decoded(t, file); len(lines) != 2 || lines[0]["kind"] != "header" || lines[1]["kind"] != "end" {
		t.Errorf("lines %v", lines)
	}
	if got := d.load(d.User(), file); got != (dump.LoadResult{Signature: dump.Verified}) {
		t.Errorf("loaded %+v", got)
	}
}

func TestDumpRepeatedIsTheSameFile(t *testing.T) {
	t.Parallel()
	d := setup(t)
	first, second := d.dumped(d.A, dump.Options{Vectors: true}), d.dumped(d.A, dump.Options{Vectors: true})
	if content(first) != content(second) {
		t.Errorf("first\n%s\nthen\n%s", first, second)
	}
}

func TestDumpGoesOnWhereAPageEnds(t *testing.T) {
	t.Parallel()
	d := setup(t)
	const more = 450 // more than two pages
	d.Exec(`insert into memory_targets (workspace_id, type, target_key, match_key, target, created_at, last_used_at)
		select $1, 'personal', 'person ' || n, 'person ' || n, 'Person ' || n, now(), now()
		from generate_series(1, $2::int) n`, d.A.ID, more)
	file := d.dumped(d.A, dump.Options{})
	if n := strings.Count(file, `{"kind":"target"`); n != more+2 {
		t.Errorf("%d targets are dumped, want %d", n, more+2)
	}
	if got := d.load(d.inB(), file); got.Targets != more+2 {
		t.Errorf("loaded %+v", got)
	}
}

func TestDumpOfAnUnknownWorkspaceIsNotFound(t *testing.T) {
	t.Parallel()
	d := setup(t)
	var out strings.Builder
	err := d.Dump(t.Context(), 999_999, &out, dump.Options{})
	if fault.CodeOf(err) != fault.NotFound || fault.From(err).Hint == "" || out.Len() != 0 {
		t.Errorf("%v, after %q", err, out.String())
	}
}

// limited takes so many lines, and then no more.
type limited struct {
	strings.Builder
	left int
}

var errFull = errors.New("the disk is full")

func (l *limited) Write(p []byte) (int, error) {
	if l.left == 0 {
		return 0, errFull
	}
	l.left--
	return l.Builder.Write(p)
}

func TestDumpThatCannotBeWrittenIsRefusedByLoad(t *testing.T) {
	t.Parallel()
	d := setup(t)
	out := &limited{left: 5}
	if err := d.Dump(t.Context(), d.A.ID, out, dump.Options{}); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	d.refused(out.String(), fault.InvalidArgument, "line 5")
}

// A failed page ends the dump with an error.
func TestDumpThatCannotBeReadHasNoLastLine(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.Exec(`revoke select on soul_versions from cairn_app`)
	d.Exec(`grant select (workspace_id) on soul_versions to cairn_app`) // the first line has their number
	denied := func(err error) bool {
		var pg *pgconn.PgError
		return errors.As(err, &pg) && pg.Code == "42501"
	}
	var out strings.Builder
	if err := d.Dump(t.Context(), d.A.ID, &out, dump.Options{}); !denied(err) {
		t.Errorf("%v", err)
	}
	if out.Len() == 0 || strings.Contains(out.String(), `"kind":"end"`) {
		t.Errorf("written: %s", out.String())
	}
	if _, err := d.Copy(t.Context(), dump.CopySource{Workspace: d.A.ID}, d.inB()); !denied(err) {
		t.Errorf("copied: %v", err)
	}
	if got := d.remembers(d.B); got != nothing {
		t.Errorf("the copy leaves %s", got)
	}
}
