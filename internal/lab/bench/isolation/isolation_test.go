package isolation

import (
	"bytes"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/lab/apptest"
	"cairn/internal/testkit"
)

// A small version of the experiment; `make isolation` runs the full one.
func TestWorkspacesNeverSeeEachOther(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t, func(c *config.Config) { c.RateLimit = 0 })
	r, err := Run(t.Context(), b.App, Options{Workspaces: 10, Operations: 500})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	testkit.Must(t, r.Print(&out))
	t.Logf("\n%s", &out)
	if !r.Held() {
		t.Error("a workspace got data of another one, or not its own")
	}
}
