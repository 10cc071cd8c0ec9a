package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/app/samples"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// scripted is a world whose worker uses a scripted endpoint. The commands run in an environment without it.
func scripted(t *testing.T) *world {
	t.Helper()
	w := &world{folder: t.TempDir(), Bundle: apptest.Open(t)}
	c := w.Config
	w.environ = []string{"HOME=" + w.folder, "DATABASE_URL=" + c.DatabaseURL, "TEMPORAL_ADDRESS=" + c.TemporalAddress,
		"TEMPORAL_NAMESPACE=" + c.TemporalNamespace, "CAIRN_HOME=" + filepath.Join(w.folder, "home"),
		"SKILLS_LOCAL_DIR=" + c.SkillsDir, "CAIRN_WORKSPACE=test", "CAIRN_CONFIG=" + os.DevNull,
		"CAIRN_MODEL=model-of-the-caller"}
	w.write("conversation.json", string(samples.Airline))
	return w
}

var runID = regexp.MustCompile(`run_[0-9a-z]{26}`)

// A run whose endpoint is unavailable is waiting. It says when the next attempt is due, and gives up when it should.
func TestARunWaitsForItsEndpointAndGivesUp(t *testing.T) {
	t.Parallel()
	w := scripted(t)
	w.Model.On(openaitest.Rule{Stage: "segment", Status: 503, Reply: "overloaded"})
	code, out, errs := w.run("", "distill", "conversation.json", "--give-up", "5s", "--detach")
	id := runID.FindString(out)
	if code != 0 || id == "" {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	testkit.Eventually(t, "the run is waiting", func() bool {
		_, out, _ := w.run("", "runs", "show", id)
		return strings.Contains(out, "  waiting\n  endpoint: 503, attempt ") && strings.Contains(out, ", next ")
	})
	_, out, errs = w.run("", "runs", "wait", id)
	if !strings.Contains(errs, "endpoint: 503, attempt ") || !strings.Contains(out, "failed") {
		t.Errorf("%s%s", out, errs)
	}
	for _, call := range w.Model.Requests() {
		if strings.Contains(string(call.Body), "model-of-the-caller") {
			t.Errorf("the worker uses the model of the caller: %.80s", call.Body)
		}
	}
	if code, _, errs := w.run("", "distill", "conversation.json", "--give-up", "1ms"); code != 2 ||
		!strings.Contains(errs, "such as 10m") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// The counts of masked values are shown by kind, without a value.
func TestPrivacyOfASkillIsShownWithoutValues(t *testing.T) {
	t.Parallel()
	w := open(t)
	if code, _, errs := w.run("", "distill", "conversation.json"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	code, out, errs := w.run("", "skills", "view", "update-reservation-flights", "--privacy")
	if code != 0 || !strings.Contains(out, "secrets removed before the model calls") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	code, out, _ = w.run("", "skills", "view", "update-reservation-flights", "--privacy", "-o", "json")
	if code != 0 || !strings.Contains(out, `"placeholders": {`) || strings.Contains(out, "Procedure") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// A judgment is shown with its criteria, their quotes and what is missing.
func TestTheCriteriaOfAJudgmentAreShown(t *testing.T) {
	t.Parallel()
	w := open(t)
	if code, _, errs := w.run("", "distill", "conversation.json"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, args := range [][]string{{"skills", "view", "update-reservation-flights"}, {"inbox", "show", "s1"}} {
		code, out, errs := w.run("", args...)
		for _, want := range []string{"quality ", "  trigger       2 of 2  “", "  verification  ", "missing: "} {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("%q: exit %d, no %q: %s%s", args, code, want, out, errs)
			}
		}
	}
}
