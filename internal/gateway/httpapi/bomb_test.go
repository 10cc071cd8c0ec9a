package httpapi_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"cairn/internal/app/config"
	"cairn/internal/testkit"
)

// plain leaves out the codec: a process of the bundle does not get its secret keys.
func plain(c *config.Config) { c.PayloadKeys = "" }

// maxGrowth is how much the gateway may grow for a request, in bytes.
const maxGrowth = 256 << 20

// measured is a running `cairn serve`, whose memory is measured.
type measured struct {
	*bundle
	pid int
}

// measured starts `cairn serve` over the database of the bundle.
func (b *bundle) measured() *measured {
	b.T.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(b.T, err)
	address := l.Addr().String()
	testkit.Must(b.T, l.Close())
	b.StartServe(address)
	b.url = "http://" + address
	m := &measured{bundle: b}
	testkit.Eventually(b.T, "the gateway serves", func() bool {
		res, err := http.Get(b.url + "/healthz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	testkit.Must(b.T, err)
	for _, file := range commands {
		if raw, err := os.ReadFile(file); err == nil && bytes.Contains(raw, []byte(address)) {
			m.pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file)))
			testkit.Must(b.T, err)
		}
	}
	if m.pid == 0 {
		b.T.Skip("no /proc: the memory of another process cannot be read")
	}
	return m
}

// memory returns a line of the status of the gateway in bytes.
func (m *measured) memory(line string) int {
	m.T.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.pid))
	testkit.Must(m.T, err)
	_, rest, _ := strings.Cut(string(raw), line+":")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	testkit.Must(m.T, err)
	return n << 10
}

// begin forgets the most memory that the gateway had, and returns what it has.
func (m *measured) begin() int {
	m.T.Helper()
	testkit.Must(m.T, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.pid), []byte("5"), 0o600))
	return m.memory("VmRSS")
}

// send sends a bomb and returns the status of the response.
func (m *measured) send(e endpoint, header map[string]string, body []byte) int {
	m.T.Helper()
	r, err := http.NewRequestWithContext(m.T.Context(), e.method, m.url+e.path, bytes.NewReader(body))
	testkit.Must(m.T, err)
	for _, all := range []map[string]string{{"Content-Type": "application/json"}, e.header, header} {
		for name, value := range all {
			r.Header.Set(name, value)
		}
	}
	client := http.Client{Timeout: 5 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil { // refused while the body was being sent
		return http.StatusRequestEntityTooLarge
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// repeat returns a text that begins and ends as given and has n parts between.
func repeat(begin, part string, n int, end string) []byte {
	return []byte(begin + strings.Repeat(part, n) + end)
}

func zipped(raw []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = w.Write(raw)
	_ = w.Close()
	return out.Bytes()
}

func archived(name string, raw []byte) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, _ := z.Create(name)
	_, _ = w.Write(raw)
	_ = z.Close()
	return out.Bytes()
}

func formed(parts int, content []byte) (kind string, body []byte) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for i := range parts {
		part, _ := w.CreateFormFile("file", fmt.Sprint(i))
		_, _ = part.Write(content)
	}
	_ = w.Close()
	return w.FormDataContentType(), out.Bytes()
}

type bomb struct {
	name   string
	header map[string]string
	body   []byte
}

// bombs returns bodies for the routes that decompress, or that parse something else than JSON, by their paths.
func bombs() map[string][]bomb {
	const size = 60 << 20
	gz := map[string]string{"Content-Encoding": "gzip", "Content-Type": "application/x-protobuf"}
	gzJSON := map[string]string{"Content-Encoding": "gzip", "Content-Type": "application/json"}
	z, _ := zstd.NewWriter(nil)
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	kind, many := formed(100_000, []byte("x"))
	_, one := formed(1, archived("a/SKILL.md", make([]byte, size)))
	attribute := "\x0a\x00"       // an attribute without members
	spans := func(n int) []byte { // one span with n attributes
		inner := repeat("", "\x4a\x00", n, "")
		for _, tag := range []string{"\x12", "\x12", "\x0a"} {
			inner = append(length(tag, len(inner)), inner...)
		}
		return inner
	}
	return map[string][]bomb{
		"/v1/otlp/v1/traces": {
			{"zeros", gz, zipped(make([]byte, 1<<30))},
			{"empty submessages", gz, zipped(repeat("", attribute, size/2, ""))},
			{"empty submessages without compression", map[string]string{"Content-Type": "application/x-protobuf"},
				repeat("", attribute, 8_000_000, "")},
			{"empty attributes", gz, zipped(spans(size / 2))},
			{"nested", gz, zipped(repeat("", "\x0a\xff\xff\xff\x7f", size/5, ""))},
			{"JSON objects", gzJSON, zipped(repeat(`{"resourceSpans":[`, "{},", size/3, "{}]}"))},
			{"nested JSON", gzJSON, zipped(repeat("", "[", size, ""))},
		},
		"/v1/imports": {
			{"zeros", nil, zipped(make([]byte, 1<<30))},
			{"objects", nil, zipped(repeat("[", "{},", size/3, "{}]"))},
			{"messages", nil, zipped(repeat(`[{"messages":[`, `{"role":"user","content":"x"},`, size/30,
				`{"role":"user","content":"x"}]}]`))},
			{"empty messages", nil, zipped(repeat(`{"messages":[`, `{},`, size/3, `{}]}`))},
			{"lines", nil, zipped(repeat("", "{}\n", size/3, ""))},
			{"nested", nil, zipped(repeat("", "[", size, ""))},
			{"zstd", nil, z.EncodeAll(repeat("[", "{},", size/3, "{}]"), nil)},
			{"archive", nil, archived("a.json", repeat("[", "{},", size/3, "{}]"))},
			{"archive of zeros", nil, archived("a.json", make([]byte, 1<<30))},
			{"blocks", nil, zipped(repeat(`{"messages":[{"role":"user","content":[`, `{},`, size/3, `{}]}]}`))},
		},
		"/v1/distill": {{"objects", nil, repeat(`{"messages":[`, "{},", 5_000_000, "{}]}")},
			{"lines", map[string]string{"Content-Type": "application/x-ndjson"}, repeat("", "{}\n", 5_000_000, "")}},
		"/v1/memories/load": {
			{"lines", nil, repeat("", "{}\n", 20_000_000, "")},
			{"one line", nil, repeat(`{"memory":[`, "{},", 10_000_000, "{}]}")},
			{"values of a memory", nil, repeat(`{"text":"x","metadata":{"a":[`, "{},", 10_000_000, "{}]}}")},
			{"endless line", nil, repeat("", "x", 100<<20, "")},
		},
		"/v1/skills/upload": {
			{"ratio", map[string]string{"Content-Type": "application/zip"},
				archived("a/SKILL.md", make([]byte, 1<<30))},
			{"front matter", map[string]string{"Content-Type": "application/zip"},
				archived("a/SKILL.md", repeat("---\na: &a [x]\nb: [", "*a,", 30_000, "*a]\n---\nText"))},
			{"nested front matter", map[string]string{"Content-Type": "application/zip"},
				archived("a/SKILL.md", repeat("---\na: ", "[", 90_000, "\n---\nText"))},
			{"in a form", map[string]string{"Content-Type": kind}, one},
			{"many parts", map[string]string{"Content-Type": kind}, many},
		},
		"/console/sign-in": {{"fields", form, repeat("", "a=&", 5_000_000, "")},
			{"names", form, []byte(strings.Repeat("%41=&", 3_000_000))},
			{"parts", map[string]string{"Content-Type": kind}, many}},
	}
}

// uploads returns forms with a file for the routes of the console that read one, by their paths in a workspace.
func uploads() map[string][]bomb {
	in := func(name string, content []byte) bomb {
		kind, body := formed(1, content)
		return bomb{name, map[string]string{"Content-Type": kind}, body}
	}
	return map[string][]bomb{
		"/skills": {
			in("ratio", archived("a/SKILL.md", make([]byte, 1<<30))),
			in("front matter", archived("a/SKILL.md", repeat("---\na: &a [x]\nb: [", "*a,", 30_000, "*a]\n---\nText"))),
		},
		"/memories/load": {
			in("lines", repeat("", "{}\n", 20_000_000, "")),
			in("one line", repeat(`{"memory":[`, "{},", 10_000_000, "{}]}")),
		},
	}
}

// length returns a tag and a length as in Protocol Buffers.
func length(tag string, n int) []byte {
	out := []byte(tag)
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// A small request that becomes large in memory is refused before it does.
func TestBombsAreRefusedWhileTheyAreSmall(t *testing.T) {
	testkit.Long(t)
	m := everything(t, plain).measured()
	all := m.bundle.endpoints()
	of := func(path string) endpoint {
		for _, e := range all {
			if e.path == path && e.method == http.MethodPost {
				return e
			}
		}
		t.Fatalf("no route %s", path)
		return endpoint{}
	}
	given := bombs()
	for path, list := range uploads() {
		given["/console/w/"+url.PathEscape(m.Workspace.Name)+path] = list
	}
	for path, list := range given {
		for _, b := range list {
			e := of(path)
			before := m.begin()
			status := m.send(e, b.header, b.body)
			grown := m.memory("VmHWM") - before
			t.Logf("%s, %s (%d kB): status %d, %d MiB", path, b.name, len(b.body)>>10, status, grown>>20)
			if grown > maxGrowth {
				t.Errorf("%s, %s: the gateway has grown by %d MiB", path, b.name, grown>>20)
			}
			if status != http.StatusRequestEntityTooLarge && status != http.StatusBadRequest {
				t.Errorf("%s, %s: status %d", path, b.name, status)
			}
		}
	}
	m.nothingStored()
}

// Every route refuses JSON that has more values than it needs.
func TestJSONBombsAreRefusedOnEveryRoute(t *testing.T) {
	testkit.Long(t)
	m := everything(t, plain).measured()
	for _, e := range m.bundle.endpoints() {
		if e.method == http.MethodGet || e.method == http.MethodOptions || e.header["Cookie"] != "" {
			continue
		}
		for name, body := range map[string][]byte{
			"objects": repeat(`{"messages":[`, "{},", 900_000, "{}]}"),
			"array":   repeat("[", "[],", 900_000, "[]]"),
			"members": repeat(`{`, `"":0,`, 900_000, `"":0}`),
			// As many values as are decoded.
			"below the limit": repeat(`{"messages":[`, "{},", 120_000, "{}]}"),

			"nested": repeat("", "[", 900_000, strings.Repeat("]", 900_000)),
		} {
			before := m.begin()
			status := m.send(e, nil, body)
			grown := m.memory("VmHWM") - before
			if grown > maxGrowth {
				t.Errorf("%s, %s: status %d, the gateway has grown by %d MiB", e, name, status, grown>>20)
			}
			if name == "below the limit" || e.path == "/v1/curation" { // which reads no body
				continue
			}
			admitted := status < http.StatusBadRequest && e.method != http.MethodDelete
			if admitted || status == http.StatusInternalServerError {
				t.Errorf("%s, %s: status %d", e, name, status)
			}
		}
	}
	m.nothingStored()
}

// Many bombs at once share one limit.
func TestBombsAtOnceShareALimit(t *testing.T) {
	testkit.Long(t)
	m := everything(t, plain).measured()
	said := `{"role":"user","content":"x"}`
	body := zipped(repeat(`[{"messages":[`, said+",", 60_000, said+`]}]`))
	export := zipped(bytes.Repeat([]byte("x"), 8<<20))
	before := m.begin()
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			e := endpoint{http.MethodPost, "/v1/imports", map[string]string{"Authorization": "Bearer " + m.key}}
			if i%2 == 0 {
				e.path = "/v1/otlp/v1/traces"
				m.send(e, map[string]string{"Content-Encoding": "gzip", "Content-Type": "application/x-protobuf"},
					export)
				return
			}
			m.send(e, nil, body)
		})
	}
	all.Wait()
	if grown := m.memory("VmHWM") - before; grown > maxGrowth {
		t.Errorf("the gateway has grown by %d MiB", grown>>20)
	}
}

// nothingStored checks that no request has left anything half written.
func (m *measured) nothingStored() {
	m.T.Helper()
	for _, table := range []string{"memories", "conversations", "skills", "imports", "trace_spans", "runs"} {
		var n int
		err := m.Admin().QueryRow(m.T.Context(), "select count(*) from cairn."+table).Scan(&n)
		if err != nil || n != 0 {
			m.T.Errorf("table %s: %d rows, %v", table, n, err)
		}
	}
}
