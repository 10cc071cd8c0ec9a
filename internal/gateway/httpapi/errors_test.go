package httpapi_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

func TestEveryErrorHasTheOneForm(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RequestBytes = 10_000 })
	long := `[{"role":"user","content":"` + strings.Repeat("x", 20_000) + `"}]`
	for name, c := range map[string]struct {
		request
		code fault.Code
		says string
	}{
		"no such route":      {request{path: "/v1/nothing"}, fault.NotFound, "/v1/nothing"},
		"no such run":        {request{path: "/v1/runs/" + noRun}, fault.NotFound, noRun},
		"a run by name":      {request{path: "/v1/runs/first"}, fault.InvalidArgument, `run ID "first"`},
		"a version too high": {request{path: "/v1/skills/1/versions/4294967297"}, fault.InvalidArgument, "path.n"},
		"a limit too high":   {request{path: "/v1/runs?limit=100000"}, fault.InvalidArgument, "query.limit"},
		"no query":           {request{path: "/v1/search"}, fault.InvalidArgument, "query.q"},
		"an empty query":     {request{path: "/v1/search?q=+"}, fault.InvalidArgument, "words"},
		"a bad parameter":    {request{path: "/v1/search?q=x&set=rrf_k=0"}, fault.InvalidArgument, "rrf_k"},
		"an unknown status":  {request{path: "/v1/skills?status=lost"}, fault.InvalidArgument, "query.status"},
		"a wait too long": {request{method: http.MethodPost, path: "/v1/distill?wait=61",
			body: sampleConversation()}, fault.InvalidArgument, "query.wait"},
		"no body": {request{method: http.MethodPost, path: "/v1/skills/1/rollback"}, fault.InvalidArgument,
			"body"},
		"broken JSON": {request{method: http.MethodPost, path: "/v1/skills/1/rollback", body: `{"to":`},
			fault.InvalidArgument, "JSON"},
		"an unknown field": {request{method: http.MethodPost, path: "/v1/skills/1/rollback",
			body: `{"to":1,"form":2}`}, fault.InvalidArgument, "form"},
		"another type": {request{method: http.MethodPost, path: "/v1/skills/1/rollback", body: "to=1",
			header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, fault.InvalidArgument,
			"content type"},
		"a body too long": {request{method: http.MethodPost, path: "/v1/distill", body: long}, fault.TooLarge,
			"10000"},
		"a package too long": {request{method: http.MethodPost, path: "/v1/skills/upload", body: long}, fault.TooLarge,
			"10000"},
	} {
		if p := b.do(c.request).refused(c.code); !strings.Contains(p.Message, c.says) ||
			strings.Contains(p.Message, "xxxx") {
			t.Errorf("%s: says %q", name, p.Message)
		}
	}
	res := b.do(request{method: http.MethodDelete, path: "/v1/runs"})
	if res.refused(fault.MethodNotAllowed); res.status != http.StatusMethodNotAllowed ||
		!strings.Contains(res.header.Get("Allow"), "GET") {
		t.Errorf("status %d, Allow %q", res.status, res.header.Get("Allow"))
	}
	b.get("/openapi.json").into(http.StatusOK, nil)
}

// The size limit also applies to a body without Content-Length.
func TestABodyOfUnknownLengthIsBounded(t *testing.T) {
	t.Parallel()
	b := idle(t, func(c *config.Config) { c.RequestBytes = 10_000 })
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	testkit.Must(t, err)
	defer conn.Close()
	chunk := strings.Repeat("x", 20_000)
	_, err = fmt.Fprintf(conn, "POST /v1/distill HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", b.key, len(chunk), chunk)
	testkit.Must(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	testkit.Must(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
}
