// Package osstest is Alibaba Cloud OSS in miniature, for tests: one bucket in
// memory behind HTTP on loopback. It is strict where OSS is. A request without
// a right signature (V1 or V4, in the header or in the URL), with a clock that
// is off, or with a wrong Content-MD5 is refused, and nothing is overwritten
// that x-oss-forbid-overwrite protects.
//
//	server := osstest.New(t)
//	store, err := blob.OSS(blob.OSSConfig{Endpoint: server.URL, Bucket: osstest.Bucket, ...})
//	server.Fail(3, http.StatusServiceUnavailable, "SlowDown")
//	server.Cut(1)
//
// The rules are those of the OSS API reference; the code shares nothing with
// the SDK, so that the one can find the other's mistakes.
package osstest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// What the server knows, and a client must be set up with.
const (
	Bucket          = "cairn-test"
	Region          = "cn-shanghai"
	AccessKeyID     = "LTAI-test-id"
	AccessKeySecret = "test+secret/with=signs"
)

// Server is a running server. Its methods may be called concurrently.
type Server struct {
	URL string // http://127.0.0.1:port; the bucket is the first part of paths

	mutex    sync.Mutex
	objects  map[string]object
	requests []Request
	faults   []fault
	ahead    time.Duration
}

// Request is a request that was made, in the order of arrival.
type Request struct {
	Method string
	Key    string // decoded
	Status int    // 0 when the connection was cut
	Code   string // OSS' error code; empty for success
}

// fault is what happens to one request.
type fault struct {
	status int // 0: the connection is cut after the work is done
	code   string
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{objects: map[string]object{}}
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	s.URL = listener.URL
	return s
}

// Fail answers the next requests with a status and OSS' code for it.
func (s *Server) Fail(times, status int, code string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for range times {
		s.faults = append(s.faults, fault{status, code})
	}
}

// Cut does what the next requests ask and breaks the connection in the middle
// of the answer, so that the client cannot know what became of them.
func (s *Server) Cut(times int) { s.Fail(times, 0, "") }

// Advance moves the server's clock.
func (s *Server) Advance(by time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ahead += by
}

// Store keeps an object as another tool would have: with no metadata.
func (s *Server) Store(key string, data []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.objects[key] = object{data: data}
}

// Objects are the stored bytes by key.
func (s *Server) Objects() map[string]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := map[string]string{}
	for key, object := range s.objects {
		all[key] = string(object.data)
	}
	return all
}

// Requests are all so far.
func (s *Server) Requests() []Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Request(nil), s.requests...)
}

// ServeHTTP is one request of OSS' API. All of it is read before it is answered:
// the SDK reads its count of what was sent without a lock when the answer is there.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mutex.Lock()
	defer s.mutex.Unlock()
	bucket, key := split(r)
	var next *fault
	if len(s.faults) > 0 {
		next, s.faults = &s.faults[0], s.faults[1:]
	}
	var answer answer
	switch code := s.verify(r, bucket, key); {
	case next != nil && next.status != 0:
		answer = failure(next.status, next.code)
	case code != "":
		answer = failure(http.StatusForbidden, code)
	case bucket != Bucket:
		answer = failure(http.StatusNotFound, "NoSuchBucket")
	default:
		answer = s.handle(r, key)
	}
	done := Request{Method: r.Method, Key: key, Status: answer.status, Code: answer.code}
	cut := next != nil && next.status == 0
	if cut {
		done.Status = 0
	}
	s.requests = append(s.requests, done)
	answer.write(w, r, cut)
}

// split finds bucket and key: the bucket is a label of the host's name, or the
// first part of the path when the host is an address.
func split(r *http.Request) (bucket, key string) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	if host, _, named := strings.Cut(r.Host, ".oss-"); named {
		return host, path
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

func (s *Server) now() time.Time { return time.Now().Add(s.ahead) }
