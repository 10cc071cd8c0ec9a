package e2e_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/distillation"
	"cairn/internal/lab/pgtest"
	"cairn/internal/testkit"
)

// packed lists the objects of the package store.
func packed(t *testing.T, p *protocol) (out []string) {
	for path := range tree(t, p.Packages) {
		if strings.HasSuffix(path, ".zip") || strings.HasSuffix(path, ".md") {
			out = append(out, path)
		}
	}
	return out
}

// A worker that dies between the upload of a package and its commit leaves unreferenced objects.
// The collector removes them.
func TestAnUploadThatIsNeverCommittedIsCollected(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	ref, key := p.divided()
	_, err := p.App.Distill.Draft(t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(t, err)
	died := p.overtaken(func() error { return errCut })
	if _, err := died.Publish(t.Context(), pgtest.TaskRef(ref, key)); !errors.Is(err, errCut) {
		t.Fatalf("committed: %v", err)
	}
	if n := len(packed(t, p)); n != 2 {
		t.Fatalf("%d objects are uploaded, want 2", n)
	}
	tidier := *p.App.Relay
	tidier.Grace = time.Minute
	for range 2 { // condemned, then deleted
		_, err := p.admin.Exec(t.Context(), "update packages set touched_at = touched_at - interval '2 minutes'")
		testkit.Must(t, err)
		testkit.Must(t, tidier.Tidy(t.Context()))
	}
	if left := packed(t, p); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	// The next attempt uploads it again.
	c, err := p.App.Distill.Publish(t.Context(), pgtest.TaskRef(ref, key))
	if err != nil || c.Outcome != string(distillation.Created) {
		t.Errorf("published %+v: %v", c, err)
	}
}
