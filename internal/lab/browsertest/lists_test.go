package browsertest_test

import (
	"strings"
	"testing"

	"cairn/internal/lab/browsertest"
	"cairn/internal/service/reflection"
)

// Lists show what the form above them asks for, and the form keeps it.
func TestListsAreFiltered(t *testing.T) {
	f, b := signedIn(t)
	rows := func() string {
		t.Helper()
		return browsertest.Evaluate[string](b,
			"[...document.querySelectorAll('main td, main tbody th, main .cards')].map(e => e.innerText).join('\\n')")
	}
	for _, list := range []struct{ page, field, value, kept, gone string }{
		{"runs", "#kind", "distill", f.Distill, f.Turn},
		{"memories", "#status", "removed", "Sails on Sundays.", "Lives in Oslo."},
		{"memories", "#as_of", "2020-01-01", "", "Lives in Oslo."},
		{"memories", "#type", "core", "green tea", "Lives in Oslo."},
		{"skills", "#status", "candidate", "install-a-release", f.Versioned},
		{"conversations", "#channel", "import", "c1", f.Thread},
		{"channels", "#filter-state", "dropped", "", "unreachable"},
		{"audit", "#filter-action", "console.sign_in", "127.0.0.1", "key.create"},
	} {
		b.Visit(f.At(list.page))
		if before := rows(); !strings.Contains(before, list.gone) || !strings.Contains(before, list.kept) &&
			list.value != "removed" {
			t.Errorf("%s without a filter: %s", list.page, before)
		}
		b.Choose(list.field, list.value)
		b.Submit("main form[method=get] button")
		if after := rows(); strings.Contains(after, list.gone) || !strings.Contains(after, list.kept) {
			t.Errorf("%s by %s: %s", list.page, list.field, after)
		}
		b.Choose(list.field, "") // of the page that follows
		if b.Submit("main form[method=get] button"); !strings.Contains(rows(), list.gone) {
			t.Errorf("%s after the filter %s: %s", list.page, list.field, rows())
		}
	}
	b.Visit(f.At("memories"))
	b.Enter("#q", "green tea")
	b.Submit("main form[method=get] button")
	if found := rows(); !strings.Contains(found, "Ada likes green tea") {
		t.Errorf("a search finds %s", found)
	}
}

// A day of the reflections leads to what happened on it.
func TestADayOfReflectionsIsOpened(t *testing.T) {
	f, b := signedIn(t)
	b.Visit(f.At("reflections"))
	shows(b, f.Day, "saved", "nothing to save")
	b.Submit("main tbody th a[href$='/" + f.Day + "']")
	if b.Path() != f.At("reflections", f.Day) {
		t.Errorf("the day opens %s", b.Path())
	}
	shows(b, f.Day, "Notes", browsertest.Note)
	if got := read[reflection.DayDetail](f, "/v1/reflections/"+f.Day); got.Date != f.Day || got.Status != "saved" {
		t.Errorf("the day is %+v", got)
	}
}
