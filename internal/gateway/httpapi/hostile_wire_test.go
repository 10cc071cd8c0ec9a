package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
)

// shot is a request as bytes. Go's client would refuse the worst of them.
type shot struct {
	method, target string
	header         [][2]string
	body           []byte
	bodiless       bool // neither a body nor its length
	broken         bool // no valid HTTP: Go's server refuses it with a text before Cairn sees it
}

// refusable reports whether Go's server may refuse the request with a text before Cairn sees it: it is no valid HTTP,
// or its line and headers are too large.
func (s shot) refusable() bool {
	s.body, s.bodiless = nil, true
	return s.broken || len(s.bytes()) > httpapi.MaxHeader
}

func (s shot) String() string {
	return fmt.Sprintf("%s %.200q %.200q %.300q", s.method, s.target, s.header, s.body)
}

func (s shot) bytes() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: localhost\r\n", s.method, s.target)
	for _, h := range s.header {
		fmt.Fprintf(&out, "%s: %s\r\n", h[0], h[1])
	}
	if !s.bodiless {
		fmt.Fprintf(&out, "Content-Length: %d\r\n", len(s.body))
	}
	out.WriteString("\r\n")
	out.Write(s.body)
	return out.Bytes()
}

// wire sends requests over one connection, and over a new one after the server has closed it.
type wire struct {
	address string
	conn    net.Conn
	reader  *bufio.Reader
}

// patience is the time within which every response must arrive. No request of the test waits for an agent.
const hostilePatience = 20 * time.Second

// send returns the response. An error means that none arrived.
func (w *wire) send(s shot) (int, http.Header, []byte, error) {
	if w.conn == nil {
		conn, err := net.Dial("tcp", w.address)
		if err != nil {
			return 0, nil, nil, err
		}
		w.conn, w.reader = conn, bufio.NewReader(conn)
	}
	if err := w.conn.SetDeadline(time.Now().Add(hostilePatience)); err != nil {
		return 0, nil, nil, err
	}
	written := make(chan error, 1)
	go func(conn net.Conn) { // an early refusal may arrive before the whole body is sent
		_, err := conn.Write(s.bytes())
		written <- err
	}(w.conn)
	res, err := http.ReadResponse(w.reader, &http.Request{Method: s.method})
	if err != nil {
		w.close()
		return 0, nil, nil, errors.Join(err, <-written)
	}
	defer res.Body.Close()
	stream := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	var body []byte
	if !stream { // a stream may last as long as its run
		body, err = io.ReadAll(res.Body)
	}
	if stream || res.Close || err != nil {
		w.close()
	}
	<-written
	return res.StatusCode, res.Header, body, err
}

func (w *wire) close() {
	if w.conn != nil {
		w.conn.Close()
	}
	w.conn = nil
}

// inside matches what messages must not show: Go's types and functions, SQL, and files of the server.
var inside = regexp.MustCompile(
	`\b(httpapi|mem0api|fault|json|huma|pgx|pgconn|strconv|time|http|url|reflect|mcp|base64|` +
		`zip|big|transcript|conversation|memory|skill)\.[A-Z]\w+|Go (value|struct)|\bstrconv\b|map\[|interface ?{|` +
		`\bfunc\(|goroutine|runtime error|\.go:\d|0x[0-9a-f]{8}|SQLSTATE|(?i:\bselect .* from\b|insert into|violates|` +
		`duplicate key|\brelation "|syntax for type|byte sequence for encoding)|cairn\.[a-z_]+\b \(|` +
		`/(tmp|root|home|dev/shm|usr|var|work)/`,
)

// longestMessage is the most that a message may repeat of a request, in bytes.
const longestMessage = 4000

// findings returns what is wrong with a response.
func (s shot) findings(status int, header http.Header, body []byte) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if status >= http.StatusInternalServerError {
		add("status %d", status)
	}
	if s.refusable() && (status == http.StatusBadRequest || status == http.StatusRequestHeaderFieldsTooLarge) {
		return out
	}
	kind := header.Get("Content-Type")
	if status < http.StatusBadRequest {
		if kind == "application/json" && !json.Valid(body) {
			add("a response that is not JSON")
		}
		return out
	}
	var p struct {
		Code      fault.Code
		Message   string
		Hint      string
		Retryable *bool
	}
	if err := json.Unmarshal(body, &p); err != nil || kind != "application/json" {
		add("an error of type %q that is no problem document: %v", kind, err)
		return out
	}
	row, known := fault.Table[p.Code]
	if !known || row.HTTP != status || p.Retryable == nil || *p.Retryable != row.Retryable {
		add("code %q does not belong to status %d", p.Code, status)
	}
	if p.Message == "" || p.Hint == "" {
		add("no message or no hint")
	}
	for _, text := range []string{p.Message, p.Hint} {
		if m := inside.FindString(text); m != "" {
			add("shows %q", m)
		}
		if len(text) > longestMessage {
			add("a text of %d bytes", len(text))
		}
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) ||
			!utf8.ValidString(text) {
			add("control characters in a text")
		}
	}
	return out
}
