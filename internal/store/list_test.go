package store_test

import (
	"fmt"
	"slices"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
	"cairn/internal/testkit"
)

// put creates a skill with one version.
func (b *bundle) put(ws access.Workspace, category, name, status, description string) {
	b.t.Helper()
	b.exec("insert into packages (workspace_id, sha256, key, bytes) values ($1, sha256('p'), 'p', 1) on conflict do "+
		"nothing", ws.ID)
	b.exec(`with s as (insert into skills (workspace_id, category, name, status, head_version, origin) values ($1, `+
		`$2, $3, $4, 1, 'distill') returning id)
insert into skill_versions (workspace_id, skill_id, version, base_version, display_name, description, body, lang, `+
		`content_sha256, package_sha256, origin)
select $1, id, 1, 0, $3, $5, '', 'en', sha256('x'), sha256('p'), 'distill' from s`, ws.ID, category, name, status,
		description)
}

// pages returns the names on each page of a list. between is called after each page.
func (b *bundle) pages(f library.Filter, between func()) (out [][]string) {
	b.t.Helper()
	l := &library.Library{Ports: library.Ports{Store: b.Store}}
	for range 20 {
		page, err := l.List(b.t.Context(), b.a.ID, f)
		testkit.Must(b.t, err)
		var names []string
		for _, h := range page.Skills {
			names = append(names, h.Name)
		}
		out = append(out, names)
		if f.Cursor = page.Next; page.Next == "" {
			return out
		}
		between()
	}
	b.t.Fatal("the list has no end")
	return nil
}

func TestAListIsReadInPagesByCategoryAndName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, s := range []struct{ category, name string }{{"travel", "a"}, {"", "d"}, {"code", "c"}, {"", "b"},
		{"travel", "e"}, {"", "日本"}} {
		b.put(b.a, s.category, s.name, "active", "Something")
	}
	b.put(b.b, "", "of-the-other-workspace", "active", "Something")
	nothing := func() {}
	for limit, want := range map[int]string{2: "[[b d] [日本 c] [a e]]", 3: "[[b d 日本] [c a e]]", 6: "[[b d 日本 c a e]]",
		0: "[[b d 日本 c a e]]"} {
		if got := fmt.Sprint(b.pages(library.Filter{Limit: limit}, nothing)); got != want {
			t.Errorf("pages of %d: %s, want %s", limit, got, want)
		}
	}
	// A change before the position of a cursor does not shift the later rows.
	n := 0
	got := slices.Concat(b.pages(library.Filter{Limit: 2}, func() {
		n++
		b.put(b.a, "", fmt.Sprintf("a%d", n), "active", "Something")
		b.exec("update skills set status = 'archived' where workspace_id = $1 and name = 'b'", b.a.ID)
	})...)
	if want := "[b d 日本 c a e]"; fmt.Sprint(got) != want {
		t.Errorf("while it changed: %s, want %s", got, want)
	}
}

func TestAListIsFilteredBeforeItIsCut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, status := range skill.Statuses() {
		for j := range 3 {
			b.put(b.a, "", fmt.Sprintf("%d-%s-%d", i, status, j), string(status), fmt.Sprintf("Über %d 100%%", j))
		}
	}
	for _, c := range []struct {
		filter library.Filter
		want   string
	}{
		{library.Filter{Limit: 4}, "[[0-candidate-0 0-candidate-1 0-candidate-2 1-draft-0] [1-draft-1 1-draft-2 " +
			"2-active-0 2-active-1] [2-active-2]]"},
		{library.Filter{Limit: 2, Statuses: []skill.Status{skill.Archived}},
			"[[4-archived-0 4-archived-1] [4-archived-2]]"},
		{library.Filter{Limit: 2, Holds: " ACTIVE "}, "[[2-active-0 2-active-1] [2-active-2]]"},
		{library.Filter{Limit: 1, Holds: "über 2"}, "[[0-candidate-2] [1-draft-2] [2-active-2]]"},
		// a character like any other
		{library.Filter{Holds: "%"}, "[[0-candidate-0 0-candidate-1 0-candidate-2 1-draft-0 1-draft-1 1-draft-2 " +
			"2-active-0 2-active-1 2-active-2]]"},
		{library.Filter{Holds: "_"}, "[[]]"},
		{library.Filter{Holds: "\x00"}, "[[]]"},
	} {
		if got := fmt.Sprint(b.pages(c.filter, func() {})); got != c.want {
			t.Errorf("%+v: %s, want %s", c.filter, got, c.want)
		}
	}
	l := &library.Library{Ports: library.Ports{Store: b.Store}}
	for _, f := range []library.Filter{{Limit: -1}, {Limit: library.MaxListed + 1}, {Cursor: "x"}, {Cursor: "bm8"},
		{Cursor: "e30"}, {Cursor: "eyJuIjoiXHUwMDAwIn0"}} {
		if _, err := l.List(t.Context(), b.a.ID, f); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
