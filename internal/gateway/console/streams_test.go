package console_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/testkit"
)

// stream opens a stream of events, and returns its status and its first line. It ends with the test, or with leave.
func (b *bundle) stream(client *http.Client, path, key string) (status int, first string, leave context.CancelFunc) {
	b.T.Helper()
	ctx, leave := context.WithCancel(b.T.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	testkit.Must(b.T, err)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := client.Do(r)
	testkit.Must(b.T, err)
	b.T.Cleanup(func() {
		leave()
		res.Body.Close()
	})
	begin := make([]byte, len(": hello\n"))
	_, err = io.ReadFull(res.Body, begin)
	testkit.Must(b.T, err)
	return res.StatusCode, string(begin), leave
}

// Open pages take room for streams from the pages of their key only, and none from the API.
func TestStreamsOfPagesAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, _ := b.makeKey(b.Workspace, access.Admin)
	b.post("/console/sign-in", url.Values{"key": {key}}).is(http.StatusSeeOther)
	testkit.Must(t, b.gateway.Send(t.Context(), b.Workspace, "c", "m1", "Hello")) // no worker ends it
	var run string
	testkit.Must(t, b.Admin().QueryRow(t.Context(), "select id from cairn.runs where kind = 'turn'").Scan(&run))
	var all []context.CancelFunc
	for i := range 20 {
		path := b.at("runs/" + run + "/events")
		if i%2 == 0 {
			path = b.at("try/c/m1/events")
		}
		status, first, leave := b.stream(b.browser, path, "")
		if status != http.StatusOK || first != ": hello\n" {
			t.Fatalf("stream %d: %d %q", i+1, status, first)
		}
		all = append(all, leave)
	}
	for _, path := range []string{"runs/" + run + "/events", "try/c/m1/events"} {
		b.get(b.at(path)).is(http.StatusTooManyRequests)
	}
	if status, _, _ := b.stream(http.DefaultClient, "/v1/runs/"+run+"/events", key); status != http.StatusOK {
		t.Errorf("the API has status %d for the same key", status)
	}
	another := browser(t)
	own := b.browser
	b.browser = another
	b.signedIn(access.Write)
	if status, _, _ := b.stream(another, b.at("try/c/m1/events"), ""); status != http.StatusOK {
		t.Errorf("the page of another key has status %d", status)
	}
	all[0]()
	testkit.Eventually(t, "a closed page makes room", func() bool {
		status, _, leave := b.stream(own, b.at("runs/"+run+"/events"), "")
		if status != http.StatusOK {
			leave()
		}
		return status == http.StatusOK
	})
}
