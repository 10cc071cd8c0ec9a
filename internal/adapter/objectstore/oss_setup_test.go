package objectstore

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/lab/fakes/osstest"
)

func ossConfig(server *osstest.Server) OSSConfig {
	return OSSConfig{Endpoint: server.URL, Region: osstest.Region, Bucket: osstest.Bucket,
		AccessKeyID: osstest.AccessKeyID, AccessKeySecret: osstest.AccessKeySecret, Dir: "skill_memory/"}
}

// setupOSS returns a store that uses the real SDK, and its server. Connections are not reused:
// net/http would repeat a request on a reused one that breaks, and these tests count requests.
func setupOSS(t *testing.T, change func(*OSSConfig)) (*OSSStore, *osstest.Server) {
	t.Helper()
	server := osstest.New(t)
	c := ossConfig(server)
	if change != nil {
		change(&c)
	}
	transport := ossTransport()
	transport.DisableKeepAlives = true
	store, err := openOSS(c, transport)
	if err != nil {
		t.Fatal(err)
	}
	return store, server
}

// toServer sends every connection to one server, whatever the host's name.
func toServer(server *osstest.Server) *http.Transport {
	return &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(server.URL, "http://"))
		}}
}

// made lists the received requests as METHOD status, METHOD status.
func made(server *osstest.Server) string {
	var list []string
	for _, r := range server.Requests() {
		list = append(list, r.Method+" "+http.StatusText(r.Status))
	}
	return strings.Join(list, ", ")
}

// download reads a URL without credentials.
func download(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}
