// Package osstest is a small Alibaba Cloud OSS for tests: one bucket in memory behind HTTP on
// loopback. It is as strict as OSS. It refuses a request without a valid signature (V1 or V4, in
// the header or in the URL), with a wrong clock, or with a wrong Content-MD5. It does not overwrite
// objects that x-oss-forbid-overwrite protects.
//
//	server := osstest.New(t)
//	store, err := objectstore.OSS(objectstore.OSSConfig{Endpoint: server.URL, Bucket: osstest.Bucket, ...})
//	server.Fail(3, http.StatusServiceUnavailable, "SlowDown")
//	server.Cut(1)
//
// The rules are those of the OSS API reference. The code shares nothing with the SDK, so that each
// can reveal the other's mistakes.
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

// The settings of the server, which a client must use.
const (
	Bucket          = "cairn-test"
	Region          = "cn-shanghai"
	AccessKeyID     = "LTAI-test-id"
	AccessKeySecret = "test+secret/with=signs"
)

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	URL string // http://127.0.0.1:port; the bucket is the first part of the path

	mutex    sync.Mutex
	objects  map[string]object
	requests []Request
	faults   []fault
	ahead    time.Duration
}

// Request is a received request.
type Request struct {
	Method string
	Key    string // decoded
	Status int    // 0 if the connection was cut
	Code   string // OSS' error code; empty for success
}

// fault is the failure to apply to one request.
type fault struct {
	status int // 0: the connection is cut after the request was executed
	code   string
}

// New starts a server that stops at the end of the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{objects: map[string]object{}}
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	s.URL = listener.URL
	return s
}

// Fail answers the next times requests with a status and its OSS code.
func (s *Server) Fail(times, status int, code string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for range times {
		s.faults = append(s.faults, fault{status, code})
	}
}

// Cut executes the next times requests and breaks the connection in the middle of the response, so
// that the client cannot know the outcome.
func (s *Server) Cut(times int) { s.Fail(times, 0, "") }

// Advance moves the server's clock forward.
func (s *Server) Advance(by time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ahead += by
}

// Store stores an object without metadata, as another tool would.
func (s *Server) Store(key string, data []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.objects[key] = object{data: data}
}

// Objects returns the stored bytes by key.
func (s *Server) Objects() map[string]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := map[string]string{}
	for key, object := range s.objects {
		all[key] = string(object.data)
	}
	return all
}

// Requests returns all requests so far, in the order of arrival.
func (s *Server) Requests() []Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Request(nil), s.requests...)
}

// ServeHTTP handles one request of OSS' API. It reads the whole request before it responds: the SDK
// reads its count of sent bytes without a lock when the response arrives.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
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

// split returns the bucket and the key. The bucket is a label of the host name, or the first part
// of the path if the host is an address.
func split(r *http.Request) (bucket, key string) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	if host, _, named := strings.Cut(r.Host, ".oss-"); named {
		return host, path
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

func (s *Server) now() time.Time { return time.Now().Add(s.ahead) }
