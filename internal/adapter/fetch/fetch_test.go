package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
)

func TestGetReadsTheBodyWhateverItsType(t *testing.T) {
	t.Parallel()
	s := serve(t, true, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "%s of %s for %q", r.URL.Query().Get("v"), r.URL.Path, r.Header.Get("Accept-Encoding"))
	})
	o := trusting(s)
	o.AllowHTTP = false
	if got, err := Get(t.Context(), s.URL+"/a%20b.zip?v=2#part", o); err != nil ||
		string(got) != `2 of /a b.zip for ""` {
		t.Errorf("got %q, %v", got, err)
	}
	o.Resolver = names{"example.com": {"127.0.0.1"}} // a name of httptest's certificate
	if got, err := Get(t.Context(), s.at(t, "example.com")+"/x?v=1", o); err != nil || string(got) != `1 of /x for ""` {
		t.Errorf("by name: got %q, %v", got, err)
	}
	o.Roots = nil
	if _, err := Get(t.Context(), s.URL, o); fault.CodeOf(err) != fault.InvalidArgument ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
}

func TestGetRefusesURLsBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, false, text("x"))
	host := strings.TrimPrefix(s.URL, "http://")
	for _, address := range []string{s.URL, "file:///etc/passwd", "ftp://" + host, "gopher://" + host, "https://",
		"https:opaque", "/path", "", "%",
		"https://user@" + host, "https://user:secret@" + host, "://" + host} {
		o := trusting(s)
		o.AllowHTTP = false
		_, err := Get(t.Context(), address, o)
		if f := fault.From(err); f == nil || f.Code != fault.InvalidArgument || f.Hint == fault.Table[f.Code].Hint ||
			strings.Contains(f.Error(), "secret") {
			t.Errorf("%q: got %v", address, err)
		}
	}
	if n := s.connections.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

func TestGetFollowsThreeRedirectsAndNoMore(t *testing.T) {
	t.Parallel()
	var referers []string
	s := serve(t, false, func(w http.ResponseWriter, r *http.Request) {
		referers = append(referers, r.Header.Get("Referer"))
		if n := len(strings.Trim(r.URL.Path, "/")); n > 0 {
			http.Redirect(w, r, r.URL.Path[:n]+"?token=secret", http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write([]byte("end"))
	})
	if got, err := Get(t.Context(), s.URL+"/xxx?token=secret", trusting(s)); err != nil || string(got) != "end" {
		t.Errorf("three: got %q, %v", got, err)
	}
	if strings.Join(referers, "") != "" {
		t.Errorf("the URL before was told: %q", referers)
	}
	if _, err := Get(t.Context(), s.URL+"/xxxx?token=secret",
		trusting(s)); fault.CodeOf(err) != fault.InvalidArgument || strings.Contains(err.Error(), "secret") {
		t.Errorf("four: %v", err)
	}
}

func TestGetStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	written := make(chan int, 1)
	endless := serve(t, false, func(w http.ResponseWriter, _ *http.Request) {
		total, chunk := 0, make([]byte, 32<<10)
		for range 4096 { // 128 MB, if nothing stops it
			n, err := w.Write(chunk)
			if total += n; err != nil {
				break
			}
		}
		written <- total
	})
	o := trusting(endless)
	o.MaxBytes = 100_000
	if got, err := Get(t.Context(), endless.URL, o); fault.CodeOf(err) != fault.TooLarge || got != nil {
		t.Errorf("endless: got %d bytes, %v", len(got), err)
	}
	if n := <-written; n > 64<<20 {
		t.Errorf("%d bytes were sent before it stopped", n)
	}
	sized := serve(t, false, text(strings.Repeat("x", 1000)))
	for limit, want := range map[int64]fault.Code{999: fault.TooLarge, 1000: "", 0: ""} {
		o := trusting(sized)
		o.MaxBytes = limit
		if got, err := Get(t.Context(), sized.URL, o); fault.CodeOf(err) != want || want == "" && len(got) != 1000 {
			t.Errorf("limit %d: got %d bytes, %v", limit, len(got), err)
		}
	}
	big := serve(t, false, text(strings.Repeat("x", maxBytes+1)))
	if _, err := Get(t.Context(), big.URL, trusting(big)); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("more than 5 MB: %v", err)
	}
}

func TestGetStopsWaiting(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := serve(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
		}
		<-release
	})
	t.Cleanup(func() { close(release) })
	for _, path := range []string{"/head", "/body"} {
		o := trusting(slow)
		o.Timeout = 50 * time.Millisecond
		if got, err := Get(t.Context(), slow.URL+path, o); fault.CodeOf(err) != fault.Unavailable || got != nil ||
			!strings.Contains(err.Error(), "50ms") {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := Get(ctx, slow.URL+path, trusting(slow)); !errors.Is(err, context.DeadlineExceeded) ||
			fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: the caller's own end: %v", path, err)
		}
		cancel()
	}
}

func TestGetTellsAnswersApart(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]fault.Code{204: fault.InvalidArgument, 401: fault.InvalidArgument,
		403: fault.InvalidArgument, 404: fault.NotFound,
		410: fault.NotFound, 429: fault.Unavailable, 500: fault.Unavailable, 503: fault.Unavailable} {
		s := serve(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if _, err := Get(t.Context(), s.URL+"?token=secret", trusting(s)); fault.CodeOf(err) != want ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%d: got %v", status, err)
		}
	}
	cut := serve(t, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("half"))
	})
	if got, err := Get(t.Context(), cut.URL+"?token=secret", trusting(cut)); fault.CodeOf(err) != fault.Unavailable ||
		got != nil {
		t.Errorf("cut: got %q, %v", got, err)
	}
	cut.Close()
	if _, err := Get(t.Context(), cut.URL+"?token=secret", trusting(cut)); fault.CodeOf(err) != fault.Unavailable ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("closed: %v", err)
	}
}
