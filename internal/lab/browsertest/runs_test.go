package browsertest_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// The secrets of a call are shown after a click, which the audit log records.
func TestACallIsUnmasked(t *testing.T) {
	f, b := signedIn(t)
	secret := "sk-proj-" + strings.Repeat("a", 48)
	f.Model.Forget()
	f.Model.On(openaitest.Rule{Stage: "turn", Reply: "Keep it safe: " + secret})
	run := f.Say(f.Thread, 7, "Make me a key.").Run
	b.Visit(f.At("runs", run, "call") + "?round=0&step=" + url.QueryEscape(f.Step))
	shows(b, "Keep it safe")
	hides(b, secret)
	looked := func() (objects []string) {
		for _, e := range read[httpapi.AuditEvents](f, "/v1/audit?action=prompt.unmask").Events {
			objects = append(objects, e.Object)
		}
		return objects
	}
	if n := len(looked()); n != 0 {
		t.Errorf("%d looks before the click", n)
	}
	b.Submit("main form[method=post] button")
	shows(b, secret, "Secrets are shown.")
	if all := looked(); len(all) != 1 || !strings.Contains(all[0], run) {
		t.Errorf("audited %q", all)
	}
}

// A distillation is done again: from its stored replies, and from the beginning, as a new run.
func TestARunIsRetried(t *testing.T) {
	f, b := signedIn(t)
	ended := func(run string, attempt int) {
		t.Helper()
		testkit.Eventually(t, "the run has ended", func() bool {
			got := find(t, read[httpapi.RunList](f, "/v1/runs?kind=distill").Runs,
				func(r httpapi.RunSummary) bool { return r.Run == run })
			return got.Attempt == attempt && got.Outcome != ""
		})
		b.Visit(f.At("runs", run))
		b.Await("main:not(:has([data-reload]))") // it does not load itself any more
	}
	ended(f.Distill, 1)
	paid := f.Model.Count("segment")
	b.Act("form[action$='/retry']:not(:has([name=fresh])) button", "Started again.")
	if b.Path() != f.At("runs", f.Distill) {
		t.Errorf("the retry opens %s", b.Path())
	}
	ended(f.Distill, 2)
	if n := f.Model.Count("segment"); n != paid {
		t.Errorf("the retry has paid %d calls again", n-paid)
	}
	b.Act("form[action$='/retry']:has([name=fresh]) button", "Started again.")
	again := path.Base(b.Path())
	if again == f.Distill {
		t.Fatal("it is the same run")
	}
	ended(again, 1)
	if n := f.Model.Count("segment"); n != paid+1 {
		t.Errorf("the new run has paid %d calls", n-paid)
	}
	b.Visit(f.At("runs") + "?kind=distill")
	if !has(b, "a[href$='/"+again+"']") || !has(b, "a[href$='/"+f.Distill+"']") {
		t.Error("one of the runs is not listed")
	}
}

// An open run is canceled.
func TestARunIsCanceled(t *testing.T) {
	f, b := signedIn(t)
	f.Model.Forget()
	f.Model.On(openaitest.Rule{Reply: "{}", Barrier: "never"})
	defer f.Model.Release("never")
	c := apptest.C1()
	c.ID, c.Messages[0].Content = "another", c.Messages[0].Content+" Again."
	r := f.Accept(c)
	testkit.Must(t, f.Driver.Start(t.Context(), f.Workspace.Key, "import", r))
	testkit.Must(t, f.Model.AwaitBarrier(t.Context(), "never", 1)) // the page does not change until the click
	b.Visit(f.At("runs", r.Ref.Run))
	b.Act("form[action$='/cancel'] button", "A cancellation was requested.")
	testkit.Eventually(t, "the run has ended", func() bool {
		return read[httpapi.RunDetail](f, "/v1/runs/"+r.Ref.Run).Status == "ended"
	})
	if got := read[httpapi.RunDetail](f, "/v1/runs/"+r.Ref.Run); got.Outcome != "cancelled" {
		t.Errorf("the run is %+v", got)
	}
	b.Await("main .tag-cancelled")
	if has(b, "form[action$='/cancel']") {
		t.Error("the run can be canceled again")
	}
}
