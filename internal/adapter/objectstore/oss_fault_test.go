package objectstore

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/lab/fakes/osstest"
)

// operations runs every operation of a store on one key and returns the errors.
func operations(ctx context.Context, store *OSSStore) map[string]error {
	_, read := store.Get(ctx, "k")
	_, looked := store.Exists(ctx, "k")
	return map[string]error{"put": store.Put(ctx, "k", []byte("x")), "get": read, "exists": looked,
		"delete": store.Delete(ctx, "k")}
}

func TestOSSWrongCredentialsAreMisconfigured(t *testing.T) {
	t.Parallel()
	for code, change := range map[string]func(*OSSConfig){
		"SignatureDoesNotMatch": func(c *OSSConfig) { c.AccessKeySecret = "wrong" },
		"InvalidAccessKeyId":    func(c *OSSConfig) { c.AccessKeyID = "unknown" },
	} {
		for _, version := range []string{"v1", "v4"} {
			store, server := setupOSS(t, func(c *OSSConfig) { c.Signature = version; change(c) })
			for operation, err := range operations(t.Context(), store) {
				f := fault.From(err)
				if f == nil || f.Code != fault.Misconfigured || fault.Table[f.Code].Retryable ||
					f.Hint != ossHints[code] {
					t.Errorf("%s, %s, %s: got %v, hint %q", code, version, operation, err, f.Hint)
				}
			}
			if n := len(server.Requests()); n != 4 || len(server.Objects()) != 0 {
				t.Errorf("%d requests, objects %q", n, server.Objects())
			}
		}
	}
}

func TestOSSFailsOnceForEachRefusalThenSucceeds(t *testing.T) {
	t.Parallel()
	store, server := setupOSS(t, nil)
	server.Fail(3, http.StatusServiceUnavailable, "SlowDown")
	for attempt := range 3 {
		err := store.Put(t.Context(), "k", []byte("x"))
		if fault.CodeOf(err) != fault.Unavailable || !fault.Table[fault.CodeOf(err)].Retryable {
			t.Errorf("attempt %d: got %v", attempt, err)
		}
		if n := len(server.Requests()); n != attempt+1 || len(server.Objects()) != 0 {
			t.Fatalf("after attempt %d there were %d requests, objects %q", attempt, n, server.Objects())
		}
	}
	if err := store.Put(t.Context(), "k", []byte("x")); err != nil || server.Objects()["skill_memory/k"] != "x" {
		t.Errorf("the fourth: %v", err)
	}
}

func TestOSSAnswersHaveTheirCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
		want   fault.Code
	}{
		{403, "AccessDenied", fault.Misconfigured},
		{403, "RequestTimeTooSkewed", fault.Misconfigured},
		{404, "NoSuchBucket", fault.Misconfigured},
		{400, "InvalidArgument", fault.Misconfigured},
		{301, "Moved", fault.Misconfigured},
		{400, "BadDigest", fault.Unavailable},
		{409, "OperationAborted", fault.Unavailable},
		{429, "TooManyRequests", fault.Unavailable},
		{500, "InternalError", fault.Unavailable},
		{502, "BadGateway", fault.Unavailable},
		{520, "Odd", fault.Unavailable},
	} {
		store, server := setupOSS(t, nil)
		server.Fail(4, c.status, c.code)
		for operation, err := range operations(t.Context(), store) {
			if fault.CodeOf(err) != c.want {
				t.Errorf("%d %s, %s: got %v, want %s", c.status, c.code, operation, err, c.want)
			}
		}
		if n := len(server.Requests()); n != 4 {
			t.Errorf("%d %s: %d requests", c.status, c.code, n)
		}
	}
}

func TestOSSAbsentObjects(t *testing.T) {
	t.Parallel()
	store, server := setupOSS(t, nil)
	if _, err := store.Get(t.Context(), "k"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("get: %v", err)
	}
	if found, err := store.Exists(t.Context(), "k"); found || err != nil {
		t.Errorf("exists: %v, %v", found, err)
	}
	if err := store.Delete(t.Context(), "k"); err != nil {
		t.Errorf("delete: %v", err)
	}
	server.Fail(1, http.StatusConflict, "FileAlreadyExists")
	if err := store.Put(t.Context(), "k", nil); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("an object that vanished before it was compared: %v", err)
	}
	server.Fail(1, http.StatusConflict, "FileImmutable")
	if err := store.Delete(t.Context(), "k"); fault.CodeOf(err) != fault.Protected {
		t.Errorf("a retained object: %v", err)
	}
}

// The response to a write can be lost after the object was stored.
func TestOSSPutIsRepeatableAfterALostAnswer(t *testing.T) {
	t.Parallel()
	store, server := setupOSS(t, nil)
	server.Cut(1)
	if err := store.Put(t.Context(), "k", []byte("whole")); fault.CodeOf(err) != fault.Unavailable {
		t.Fatalf("cut: got %v", err)
	}
	if err := store.Put(t.Context(), "k", []byte("whole")); err != nil {
		t.Errorf("again: %v", err)
	}
	server.Cut(1)
	if data, err := store.Get(t.Context(), "k"); fault.CodeOf(err) != fault.Unavailable || data != nil {
		t.Errorf("half an answer: got %q, %v", data, err)
	}
	if got, want := made(server), "PUT , PUT Conflict, HEAD OK, GET "; got != want {
		t.Errorf("requests %s, want %s", got, want)
	}
}

func TestOSSFailuresWithoutOSSAreRetryable(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>no upstream", http.StatusBadGateway)
	}))
	defer proxy.Close()
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer silent.Close()
	defer close(release)
	for name, endpoint := range map[string]string{"closed": closed.URL, "proxy": proxy.URL, "silent": silent.URL} {
		store, err := OSS(OSSConfig{Endpoint: endpoint, Region: osstest.Region, Bucket: "bucket", AccessKeyID: "id",
			AccessKeySecret: "secret", Timeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		for operation, err := range operations(t.Context(), store) {
			if fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("%s, %s: got %v", name, operation, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	store, _ := setupOSS(t, func(c *OSSConfig) {
		c.Endpoint = silent.URL
		time.AfterFunc(20*time.Millisecond, cancel)
	})
	if err := store.Put(ctx, "k", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
}
